"""`vmask predict --out`: the whole table with its predictions, in every format, also after a kill."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaos.killing import killed_at, points_of
from thoroughness import examples
from toy import write_csv
from vmask import TextClassifier
from vmask.cli import predict as command
from vmask.cli.main import main
from vmask.data.readers import read_rows
from vmask.data.writers import OUTPUTS, PACKED, _Excel
from vmask.inference.answers_file import AnswersFile

ROWS = [
    {"id": "007", "review": "a lovely film", "note": "=1+1"},
    {"id": "+1", "review": "", "note": 'a, "b"\nc'},
    {"id": "-2", "review": "an awful film", "note": "tab\tand\rreturn"},
    {"id": "@x", "review": "  ", "note": ""},
    {"id": "1e5", "review": "a lovely, lovely film; é 电影", "note": " spaces "},
]
ENDINGS = [*OUTPUTS, *(f"{ending}.gz" for ending in PACKED)]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_rows(path, rows, **how):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), quoting=csv.QUOTE_ALL, **how)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path):
    if path.suffix != ".xlsx":
        return list(read_rows(path))
    openpyxl = pytest.importorskip("openpyxl")
    header, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    rows = [[v.replace("_x000D_", "\r") if isinstance(v, str) else v for v in row] for row in rows]  # as Excel does
    return [dict(zip(header, row, strict=True)) for row in rows]


def scored(vmask, trained, source, out, *more):
    done = vmask("predict", trained, *([source] if not isinstance(source, list) else source), "--out", out, *more)
    assert done.code == 0, done.err
    return read(out)


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "table.csv", ROWS)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_has_the_columns_of_the_input_and_the_predictions(vmask, trained, table, tmp_path, ending):
    if ending == ".xlsx":
        pytest.importorskip("xlsxwriter")
    out = scored(vmask, trained, table, tmp_path / f"out{ending}")
    classifier = TextClassifier.load(trained)
    for row, given_row in zip(out, ROWS, strict=True):
        assert list(row) == ["id", "review", "note", "label", "probability"]
        kept = {name: "" if row[name] is None else row[name] for name in given_row}
        assert kept == given_row
        if given_row["review"].strip():
            probabilities = classifier.predict_proba([given_row["review"]])[0]
            assert str(row["label"]) == str(classifier.classes_[probabilities.argmax()])
            assert float(row["probability"]) == pytest.approx(probabilities.max(), abs=1e-6)
        else:
            assert row["label"] in (None, "")
            assert row["probability"] in (None, "")
    first = (tmp_path / f"out{ending}").read_bytes()
    scored(vmask, trained, table, tmp_path / f"out{ending}", "--overwrite")
    assert (tmp_path / f"out{ending}").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["table.csv", f"out{ending}"])


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.text(
    "\"',;\t\r\n =+-@\\\ufeff\u2028'", max_size=6
)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_awkward_cells_come_back_as_they_were(trained, tmp_path, cells):
    rows = [{"review": f"x{text}", "a b": cell} for text, cell in cells]
    source = write_rows(tmp_path / "in.csv", rows)
    for ending in (".csv", ".tsv", ".jsonl", ".json", ".parquet"):
        out = tmp_path / f"out{ending}"
        assert main(["predict", str(trained), str(source), "--out", str(out), "--overwrite", "--quiet"]) == 0
        assert [{name: row[name] or "" for name in rows[0]} for row in read(out)] == rows


def test_types_of_parquet_are_kept(vmask, trained, tmp_path):
    columns = {
        "n": pa.array([1, None], pa.int8()),
        "x": pa.array([0.1, 2.5], pa.float32()),
        "when": pa.array([1, 2], pa.timestamp("ns", "UTC")),
        "kind": pa.array(["a", "b"]).dictionary_encode(),
        "raw": pa.array([b"\xff", b"\x00"]),
        "list": pa.array([[1], None], pa.list_(pa.int16())),
        "review": pa.array(["lovely", "awful"]),
    }
    before = pa.table(columns)
    pq.write_table(before, tmp_path / "in.parquet")
    scored(vmask, trained, tmp_path / "in.parquet", tmp_path / "out.parquet")
    after = pq.read_table(tmp_path / "out.parquet")
    assert after.select(list(columns)).equals(before)
    assert after.schema.field("probability").type == pa.float64()
    assert after.schema.field("label").type == pa.string()


def test_values_of_json_keep_their_types(vmask, trained, tmp_path):
    rows = [
        {"review": "lovely", "n": 1, "big": 2**60, "flag": True, "tags": ["a", {"b": None}], "x": 1},
        {"n": None, "review": "awful", "extra": "é", "x": 0.5},
    ]
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    for row, out in zip(rows, scored(vmask, trained, source, tmp_path / "out.jsonl"), strict=True):
        assert {name: out[name] for name in row} == row
        assert set(out) == {*row, "label", "probability"}
    (first, second) = scored(vmask, trained, source, tmp_path / "out.parquet")
    assert (first["n"], first["big"], first["flag"], first["x"], second["x"]) == (1, 2**60, True, 1.0, 0.5)
    assert (json.loads(first["tags"]), first["extra"], second["extra"]) == (rows[0]["tags"], None, "é")
    (first, second) = scored(vmask, trained, source, tmp_path / "out.csv")
    assert json.loads(first["tags"]) == rows[0]["tags"]
    assert second["flag"] == ""


def test_names_that_the_input_has_get_another_ending(vmask, trained, tmp_path):
    source = write_csv(tmp_path / "in.csv", ["lovely"], ["5"], header=("review", "label"))
    done = vmask("predict", trained, source, "--out", tmp_path / "out.csv", "--probabilities")
    assert "The input has a column 'label' already; the new one is 'label_predicted'" in done.err
    (row,) = read(tmp_path / "out.csv")
    assert list(row) == ["review", "label", "label_predicted", "probability", "probability_1", "probability_5"]
    assert row["label"] == "5"
    assert float(row["probability_1"]) + float(row["probability_5"]) == pytest.approx(1, abs=2e-6)
    (row,) = scored(vmask, trained, source, tmp_path / "more.csv", "--prefix", "model_")
    assert list(row) == ["review", "label", "model_label", "model_probability"]
    again = scored(vmask, trained, tmp_path / "out.csv", tmp_path / "again.csv")
    assert list(again[0])[-2:] == ["label_predicted_2", "probability_predicted"]


def test_words_for_and_against_the_label(vmask, trained, tmp_path):
    texts = ["a lovely film", "lovely and awful and lovely", ""]
    source = write_csv(tmp_path / "in.csv", texts, [1, 2, 3], header=("review", "n"))
    rows = scored(vmask, trained, source, tmp_path / "out.csv", "--explain", "--explain-words", "1")
    expected = TextClassifier.load(trained).explain(texts[:2], "occlusion")
    for row, one in zip(rows, expected, strict=False):
        best = max(range(len(one.scores)), key=lambda i: abs(one.scores[i]) if one.scores[i] > 0 else 0)
        assert row["words_for"] == one.words[best]
        assert len(row["words_against"].split()) <= 1
    assert rows[2]["words_for"] == rows[2]["words_against"] == ""
    (row, *_) = scored(
        vmask, trained, source, tmp_path / "lime.csv", "--explain", "--explain-method", "lime", "--lime.samples", "50"
    )
    assert row["words_for"]


def test_options_that_do_not_go_together(fails, trained, table, tmp_path):
    out = tmp_path / "o.csv"
    assert "--probabilities is for --out" in fails("predict", trained, table, "--probabilities")
    assert "--lime.samples is for --explain" in fails("predict", trained, table, "--out", out, "--lime.samples", "5")
    assert "which is read" in fails("predict", trained, table, "--out", table)
    assert "would lie in" in fails("predict", trained, tmp_path, "--out", tmp_path / "x.csv")
    assert "has no ending" in fails("predict", trained, table, "--out", tmp_path / "x.doc")
    assert "has no ending" in fails("predict", trained, table, "--out", tmp_path / "x.parquet.gz")
    out.write_text("old")
    assert "--overwrite" in fails("predict", trained, table, "--out", out)
    assert out.read_text() == "old"
    assert "Standard input is read alone" in fails("predict", trained, table, "-", "--out", tmp_path / "y.csv")


def test_our_own_words_are_no_formulas(vmask, toy, tmp_path):
    texts, labels = toy
    odd = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2)
    odd.fit(texts, [{"pos": "=cmd|' /C calc'!A0", "neg": "-1"}[label] for label in labels]).save(tmp_path / "m")
    source = write_csv(tmp_path / "in.csv", texts[:9], ["=1"] * 9, header=("text", "n"))
    rows = scored(vmask, tmp_path / "m", source, tmp_path / "out.csv")
    assert {row["label"] for row in rows} <= {"'=cmd|' /C calc'!A0", "-1"}
    assert {row["n"] for row in rows} == {"=1"}
    names = {row["label"] for row in scored(vmask, tmp_path / "m", source, tmp_path / "out.jsonl")}
    assert names <= {"=cmd|' /C calc'!A0", "-1"}


def test_several_files_and_folders_are_one_table(vmask, fails, trained, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write_rows(folder / "b.csv", [{"review": "third", "id": "3"}])
    write_rows(folder / "a.csv", [{"id": "1", "review": "first"}, {"id": "2", "review": "second"}], delimiter=";")
    last = write_rows(tmp_path / "last.csv", [{"id": "4", "review": "fourth"}])
    rows = scored(vmask, trained, [folder, last], tmp_path / "out.csv")
    assert [(row["id"], row["review"]) for row in rows] == [
        ("1", "first"),
        ("2", "second"),
        ("3", "third"),
        ("4", "fourth"),
    ]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("id;review;label;probability\n1;first;")
    other = write_rows(tmp_path / "other.csv", [{"review": "x", "more": "y"}])
    assert "has other columns (review, more)" in fails("predict", trained, last, other, "--out", tmp_path / "no.csv")


def test_lines_and_streams_are_tables_of_one_column(vmask, trained, tmp_path, monkeypatch):
    import io

    (tmp_path / "lines.txt").write_text("lovely\n\nawful\n", encoding="utf-8")
    rows = scored(vmask, trained, tmp_path / "lines.txt", tmp_path / "out.csv")
    assert [row["text"] for row in rows] == ["lovely", "", "awful"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"lovely\n\nawful\n")))
    assert scored(vmask, trained, "-", tmp_path / "stdin.csv") == rows


@pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.jsonl"])
def test_a_table_without_rows_has_a_header(vmask, trained, tmp_path, name):
    if name == "in.csv":
        (tmp_path / name).write_text("id,review\n")
    elif name == "in.jsonl":
        (tmp_path / name).write_text("")
    else:
        pq.write_table(pa.table({"id": pa.array([], pa.int8()), "review": pa.array([], pa.string())}), tmp_path / name)
    assert scored(vmask, trained, tmp_path / name, tmp_path / "out.csv") == []
    assert (tmp_path / "out.csv").read_text().endswith("label,probability\n")


def test_the_summary(vmask, trained, table, tmp_path):
    done = vmask("predict", trained, table, "--out", tmp_path / "a.csv", "--json")
    found = done.json
    assert (found["rows"], found["missing"], found["resumed"]) == (5, 2, 0)
    assert sum(found["labels"].values()) == 3
    assert found["columns"] == {"label": "label", "probability": "probability"}
    done = vmask("predict", trained, table, "--out", tmp_path / "b.csv")
    assert done.lines[0].startswith("5 rows in ")
    assert "2 rows have no text, and no label." in done.err


def test_limits_of_excel_are_errors_before_the_work(fails, trained, table, tmp_path, monkeypatch):
    pytest.importorskip("xlsxwriter")
    monkeypatch.setattr("vmask.data.writers.MOST_EXCEL_ROWS", 4)
    monkeypatch.setattr("vmask.inference.answers_file.AnswersFile.opened", lambda self: pytest.fail("work was begun"))
    assert "would have 5 rows, and Excel" in fails("predict", trained, table, "--out", tmp_path / "o.xlsx")
    long = write_csv(tmp_path / "long.csv", ["x" * 40_000], [1], header=("review", "n"))
    assert "40,000 characters in a cell" in fails("predict", trained, long, "--out", tmp_path / "o.xlsx")


def test_what_excel_has_types_for(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    from vmask.data.table_chunks import TableChunk

    when = datetime.datetime(2026, 1, 2, 3, 4, 5)
    row = {"n": 3, "x": 0.5, "flag": True, "when": when, "big": 2**60, "bad": float("nan"), "s": "=1", "no": None}
    sheet = _Excel(tmp_path / "a.xlsx", "a.xlsx", dict.fromkeys(row, object), {"label": str})
    sheet.write(TableChunk(["x"], [row]), {"label": ["=2"]})
    sheet.close()
    cells = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows())[1]
    assert [cell.value for cell in cells] == [3, 0.5, True, when, str(2**60), "nan", "=1", None, "=2"]
    assert cells[6].data_type == cells[8].data_type == "s"


# Kills ---------------------------------------------------------------------------------------------------


@pytest.fixture
def long_table(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "QUICK_CHUNK", 4)
    rows = [{"id": str(i), "review": "" if i % 7 == 3 else f"a lovely film number {i}"} for i in range(22)]
    return write_rows(tmp_path / "long.csv", rows)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl.gz"])
@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_what_is_interrupted_goes_on_to_the_same_bytes(
    vmask, trained, long_table, tmp_path, monkeypatch, ending, after
):
    scored(vmask, trained, long_table, tmp_path / f"whole{ending}")
    out, added = tmp_path / f"out{ending}", []
    add = AnswersFile.add

    def stop(self, texts, answers):
        if len(added) == after:
            raise KeyboardInterrupt
        added.append(len(texts))
        add(self, texts, answers)

    monkeypatch.setattr(AnswersFile, "add", stop)
    done = vmask("predict", trained, long_table, "--out", out)
    assert done.code == 130
    assert not out.exists()
    assert ("the same command goes on" in done.err) == (after > 0)
    computed = []
    monkeypatch.setattr(AnswersFile, "add", lambda *given: computed.append(len(given[1])) or add(*given))
    done = vmask("predict", trained, long_table, "--out", out, "--json")
    assert done.json["resumed"] == 4 * after
    assert sum(computed) == 22 - 4 * after
    assert out.read_bytes() == (tmp_path / f"whole{ending}").read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_answers_are_never_put_beside_other_texts(vmask, fails, trained, other_seed, long_table, tmp_path, monkeypatch):
    out, add, added = tmp_path / "out.csv", AnswersFile.add, []

    def stop(self, texts, answers):
        if added:
            raise KeyboardInterrupt
        added.append(len(texts))
        add(self, texts, answers)

    monkeypatch.setattr(AnswersFile, "add", stop)
    vmask("predict", trained, long_table, "--out", out)
    monkeypatch.setattr(AnswersFile, "add", add)
    assert "asked otherwise: model " in fails("predict", other_seed, long_table, "--out", out)
    assert "words None, now 5" in fails("predict", trained, long_table, "--out", out, "--explain")
    changed = write_rows(tmp_path / "changed.csv", [{"id": "1", "review": "another"}] * 6)
    assert "answers to other texts" in fails("predict", trained, changed, "--out", out)
    empty = write_rows(tmp_path / "empty.csv", [{"id": "1", "review": "another"}])
    empty.write_text("id,review\n")
    assert "answers to other texts" in fails("predict", trained, empty, "--out", out)
    torn = tmp_path / "out.csv.part"
    torn.write_bytes(torn.read_bytes() + b'{"rows": 4, "tex')
    assert len(scored(vmask, trained, long_table, out, "--probabilities")) == 22
    assert len(scored(vmask, trained, changed, out, "--overwrite")) == 6


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs fork and /proc")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_kill_at_any_file_operation(trained, long_table, tmp_path, monkeypatch, ending):
    def make():
        assert main(["predict", str(trained), str(long_table), "--out", f"out{ending}", "--quiet"]) == 0

    whole = tmp_path / "whole"
    whole.mkdir()
    monkeypatch.chdir(whole)
    points = points_of(make, whole)
    expected = (whole / f"out{ending}").read_bytes()
    assert len(points) >= 10
    for point in points[:: -(-len(points) // 15)]:
        folder = tmp_path / f"killed-{point.number}-{point.kind}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert killed_at(point, make, folder) is None
        out = folder / f"out{ending}"
        if not out.exists() or (folder / f"out{ending}.part").exists():
            make()
        assert out.read_bytes() == expected, point
        assert [path.name for path in folder.iterdir()] == [out.name], point


def test_the_number_of_workers_changes_no_byte(vmask, trained, long_table, tmp_path):
    for number in ("1", "3"):
        scored(vmask, trained, long_table, tmp_path / f"{number}.csv", "--workers", number, "--explain")
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()


def test_gzip_files_have_no_time_in_them(vmask, trained, table, tmp_path):
    scored(vmask, trained, table, tmp_path / "a.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes()[4:8] == bytes(4)
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).count(b"\n") == 7


def test_probabilities_of_every_class_are_in_the_order_of_the_labels(vmask, trained, table, tmp_path):
    rows = scored(vmask, trained, table, tmp_path / "o.parquet", "--probabilities")
    expected = TextClassifier.load(trained).predict_proba([ROWS[0]["review"]])[0]
    np.testing.assert_allclose([rows[0]["probability_1"], rows[0]["probability_5"]], expected, atol=1e-6)
