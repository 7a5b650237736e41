"""`vmask predict`: one line out for every line in, whatever the lines, in bounded memory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from toy import write_csv
from vmask import TextClassifier
from vmask.cli import main
from vmask.cli.predict import CHUNK, chunks

TEXTS = ["a lovely film", "", "an awful film", "   ", "qwertz", "Grüße 电影 👍🏽", "lovely " * 150_000]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


def objects(done):
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.lines]


def test_every_line_gets_an_object_with_its_label_and_probabilities(vmask, trained, lines):
    answers = objects(vmask("predict", trained, lines, "--json"))
    assert len(answers) == len(TEXTS)
    classifier = TextClassifier.load(trained)
    for answer, label, row in zip(answers, classifier.predict(TEXTS), classifier.predict_proba(TEXTS), strict=True):
        assert list(answer) == ["label", "probabilities"]
        assert answer["label"] == label
        assert list(answer["probabilities"]) == ["1", "5"]
        np.testing.assert_allclose(list(answer["probabilities"].values()), row, atol=1e-6)


def test_without_json_a_line_is_label_probability_and_text(vmask, trained, lines):
    done = vmask("predict", trained, lines)
    assert len(done.lines) == len(TEXTS)
    label, probability, text = done.lines[0].split("\t")
    assert label in ("1", "5")
    assert 0.5 <= float(probability) <= 1
    assert text == "a lovely film"


def test_a_line_feed_in_a_label_makes_no_line(vmask, toy, tmp_path):
    texts, labels = toy
    odd = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2)
    odd.fit(texts, [f"of\n{label}" for label in labels]).save(tmp_path / "m")
    (tmp_path / "lines.txt").write_text("a\nb\n", encoding="utf-8")
    assert [line.split("\t")[0][:3] for line in vmask("predict", tmp_path / "m", tmp_path / "lines.txt").lines] == [
        "of "
    ] * 2


def test_empty_texts_are_counted(vmask, trained, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a lovely film\n\n  \n")
    done = vmask("predict", trained, path)
    assert len(done.lines) == 3
    assert done.err.startswith("2 texts are empty")
    assert vmask("predict", trained, path, "--quiet").err == ""


def test_standard_input_is_read_by_lines(vmask, trained, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("\ufeffa lovely film\r\n\nGrüße\nlast line".encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    answers = objects(vmask("predict", trained, "-", "--json"))
    assert len(answers) == 4
    alone = TextClassifier.load(trained).predict_proba(["a lovely film"])[0]
    np.testing.assert_allclose(list(answers[0]["probabilities"].values()), alone, atol=1e-6)


def test_the_column_of_training_is_read_from_a_table(vmask, fails, trained, tmp_path):
    rows = [{"review": text, "comment": "x", "stars": 1} for text in ("lovely", "awful", "")]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"comment": "no review"}]), encoding="utf-8")
    assert len(objects(vmask("predict", trained, path, "--json"))) == 4
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful"], ["x", "y"], header=("body", "other"))
    assert "There is no column 'review'" in fails("predict", trained, data)
    assert len(objects(vmask("predict", trained, data, "--text", "body", "--json"))) == 2


def test_labels_that_are_numbers_in_python_are_numbers_in_json(vmask, tmp_path, lines):
    model = TextClassifier(mask="base", embeddings="random", epochs=1)
    model.fit([f"{word} {i}" for i in range(10) for word in ("one", "two")], [0, 1] * 10)
    answer = objects(vmask("predict", model.save(tmp_path / "m"), lines, "--json"))[0]
    assert answer["label"] in (0, 1)
    assert answer["label"] == int(max(answer["probabilities"], key=answer["probabilities"].get))


def test_an_empty_file_gives_nothing(vmask, trained, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    done = vmask("predict", trained, tmp_path / "empty.txt", "--json")
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"gut\nsch\x90n\n", "Line 2 of 'a.txt' is neither UTF-8 nor Windows-1252"),
        (b"\x7fELF\0\0\1", "is a binary file"),
    ],
)
def test_a_file_that_is_no_text_is_refused(fails, trained, tmp_path, data, message):
    (tmp_path / "a.txt").write_bytes(data)
    assert message in fails("predict", trained, tmp_path / "a.txt", "--json")


def test_a_missing_file_and_a_folder_without_texts_are_said(fails, trained, tmp_path, lines):
    assert "Did you mean 'texts.txt'" in fails("predict", trained, tmp_path / "text.txt")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "model.bin").write_bytes(b"")
    assert "has no texts" in fails("predict", trained, tmp_path / "empty")


def test_the_files_of_a_folder_are_read_in_the_order_of_their_names(vmask, trained, tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    write_csv(folder / "part-2.csv", ["third"], ["x"], header=("review", "other"))
    write_csv(folder / "part-1.csv", ["first", "second"], ["x", "y"], header=("review", "other"))
    (folder / "part-3.txt").write_text("fourth\n", encoding="utf-8")
    for ignored in ("_SUCCESS", ".hidden.csv", "notes.md"):
        (folder / ignored).write_text("none of these", encoding="utf-8")
    assert [line.split("\t")[2] for line in vmask("predict", trained, folder).lines] == [
        "first",
        "second",
        "third",
        "fourth",
    ]


def test_the_number_of_threads_changes_no_byte(vmask, trained, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"a lovely film about {i} things\n" for i in range(3 * CHUNK + 7)), encoding="utf-8")
    first, *others = (
        vmask("predict", trained, path, "--json", *more).out for more in ([], *(["--workers", n] for n in (1, 3)))
    )
    assert len(first.splitlines()) == 3 * CHUNK + 7
    assert others == [first, first]


def test_half_a_character_does_not_stop_the_stream(trained, tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"review": "half \\ud83d"}\n{"review": "next"}\n', encoding="utf-8")
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr("sys.stdout", stdout)
    assert main(["predict", str(trained), str(tmp_path / "a.jsonl")]) == 0
    lines = stdout.buffer.getvalue().decode("utf-8").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["half \ufffd", "next"]


def test_chunks_are_short_in_texts_and_in_characters():
    assert [len(chunk) for chunk in chunks("x" for _ in range(2 * CHUNK + 1))] == [CHUNK, CHUNK, 1]
    assert [len(chunk) for chunk in chunks(["y" * 2_000_000] * 3)] == [1, 1, 1]
    assert list(chunks([])) == []


@pytest.mark.full
def test_a_reader_that_leaves_early_is_no_error(trained, tmp_path):
    path = tmp_path / "few.txt"
    path.write_text("a lovely film\n" * 20, encoding="utf-8")  # so few that they are written at the very end
    command = [sys.executable, "-m", "vmask", "predict", str(trained), str(path)]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) == 0
    assert err == b""


MEMORY = """
import resource, sys
from vmask.cli import main
peaks = []
for path in sys.argv[2:]:
    assert main(["predict", sys.argv[1], path, "--json"]) == 0
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((peaks[1] - peaks[0]) / 1024, file=sys.stderr)
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_file(trained, tmp_path):
    line = "a lovely film that my neighbour called dreadful {}\n"
    for name, count in (("few", 2_000), ("many", 80_000)):
        with (tmp_path / f"{name}.txt").open("w", encoding="utf-8") as file:
            file.writelines(line.format(i) for i in range(count))
    paths = [str(tmp_path / f"{name}.txt") for name in ("few", "many")]
    with (tmp_path / "out.jsonl").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(trained), *paths], stdout=out, stderr=subprocess.PIPE, timeout=300
        )
    assert done.returncode == 0, done.stderr
    assert float(done.stderr) < 30  # MB; the texts and their words would take more
    with (tmp_path / "out.jsonl").open("rb") as out:
        assert sum(1 for _ in out) == 82_000


def test_rows_before_one_that_cannot_be_read_are_answered(model_folder, tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "lovely"}\n{"text": "awful"}\n{"text": \n', encoding="utf-8")
    assert main(["predict", str(model_folder), str(path), "--json"]) == 2
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert "rows.jsonl" in shown.err


def test_a_blank_line_of_a_table_with_one_column_is_a_text(model_folder, tmp_path, capsys):
    for name in ("rows.csv", "rows.tsv"):
        path = tmp_path / name
        path.write_text("text\nlovely\n\nawful\n", encoding="utf-8")
        assert main(["predict", str(model_folder), str(path), "--json"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.full
def test_it_imports_no_more_than_it_needs(model_folder, tmp_path):
    (tmp_path / "lines.txt").write_text("a\n", encoding="utf-8")
    code = (
        "import sys; from vmask.cli import main\n"
        f"code = main(['predict', {str(model_folder)!r}, 'lines.txt'])\n"
        "print(code, [name for name in ('sklearn', 'scipy', 'pandas', 'accelerate', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


# No answer where the model is not sure --------------------------------------------------------------------


@pytest.fixture
def careful(toy, tmp_path):
    """A model that was trained with a threshold, and its texts in a file with one that it does not know."""
    from toy import toy_texts

    made = TextClassifier(embeddings="random", epochs=4, model__filters=8, learning_rate=0.02, abstain_accuracy=0.9)
    folder = made.fit(*toy, dev=toy_texts(200, seed=1)).save(tmp_path / "careful")
    made.predictor_.abstain_below = 0.9
    made.save(folder, overwrite=True)
    texts = tmp_path / "some.txt"
    texts.write_text("a lovely film\nnobody knows\nan awful film\n", encoding="utf-8")
    return str(folder), texts, made


def test_below_a_threshold_the_label_is_empty_and_the_probability_stays(vmask, careful):
    folder, texts, made = careful
    sure = made.predict_proba(texts.read_text().splitlines()).max(1)
    middle = str(np.float64(np.sort(sure)[1]))
    rows = [line.split("\t") for line in vmask("predict", folder, texts, "--abstain", middle).lines]
    assert sum(not label for label, *_ in rows) == 1
    assert [float(probability) for _, probability, _ in rows] == pytest.approx(sure.tolist(), abs=1e-4)
    answers = objects(vmask("predict", folder, texts, "--abstain", middle, "--json"))
    assert [answer["label"] or "" for answer in answers] == [label for label, *_ in rows]
    assert [max(answer["probabilities"].values()) for answer in answers] == pytest.approx(sure.tolist())


def test_a_model_that_was_trained_with_a_threshold_uses_it_unless_told(vmask, careful):
    folder, texts, made = careful
    sure = made.predict_proba(texts.read_text().splitlines()).max(1)
    done = vmask("predict", folder, texts)
    assert [not line.split("\t")[0] for line in done.lines] == (sure < np.float32(0.9)).tolist()
    assert f"{(sure >= np.float32(0.9)).sum()} of 3 texts answered" in done.err
    assert "of the dev texts" in done.err
    assert all(line.split("\t")[0] for line in vmask("predict", folder, texts, "--abstain", "0").lines)


def test_a_threshold_is_found_for_an_accuracy(vmask, fails, careful, trained):
    folder, texts, _made = careful
    done = vmask("predict", folder, texts, "--abstain-accuracy", "0.8")
    assert done.code == 0, done.err
    assert len(done.lines) == 3
    assert "No threshold shows" in fails("predict", folder, texts, "--abstain-accuracy", "0.9999")
    assert "Leave one out" in fails("predict", folder, texts, "--abstain", "0.5", "--abstain-accuracy", "0.8")
    assert "abstain" in fails("predict", folder, texts, "--abstain", "80")


def test_a_table_has_no_label_where_the_model_is_not_sure(vmask, careful, tmp_path):
    folder, texts, made = careful
    sure = made.predict_proba(texts.read_text().splitlines()).max(1)
    middle = float(np.sort(sure)[1])
    out = tmp_path / "out.jsonl"
    done = vmask("predict", folder, texts, "--out", out, "--abstain", str(middle), "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["label"] is None for row in rows] == (sure < np.float32(middle)).tolist()
    assert [row["probability"] for row in rows] == pytest.approx(sure.tolist(), abs=1e-6)
    assert (json.loads(done.lines[0])["unsure"], json.loads(done.lines[0])["missing"]) == (1, 0)
    again = vmask("predict", folder, texts, "--out", tmp_path / "again.csv", "--abstain", str(middle))
    assert "2 of 3 texts answered" in again.err
