"""Tables that are sent to be scored."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.helpers import WAIT, Call
from table_files import as_csv, as_xlsx
from thoroughness import examples
from vmask.errors import VmaskError
from vmask.serve.config import ServeConfig
from vmask.serve.jobs import JobCancelled
from vmask.serve.queries import Prediction
from vmask.serve.tables import Table, escape_formula, read_table, text_column, write_table

QUOTED = '\ufeffid;review\r\n1;"so ""good"" it was; lovely"\r\n2;"two\r\nlines, dreadful"\r\n\r\n3;=1+1\r\n'


def read_csv(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))


def score(client, content, **query):
    return client.post("/api/table", params=query, content=content, headers={"content-type": "text/csv"})


def test_a_table_comes_back_with_predictions(client, served):
    answer = score(client, QUOTED.encode(), filename="my reviews.csv")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="my_reviews-predicted.csv"'
    assert answer.headers["x-text-column"] == "review"
    assert answer.content.startswith(b"\xef\xbb\xbf")  # it came with one
    head, *rows = read_csv(answer.content)
    assert head == ["id", "review", "predicted", "probability_neg", "probability_pos"]
    texts = ['so "good" it was; lovely', "two\r\nlines, dreadful", "=1+1"]
    assert [row[:2] for row in rows] == [["1", texts[0]], ["2", texts[1]], ["3", texts[2]]]
    assert [row[2] for row in rows] == served.classifier.predict(texts).tolist()
    for row, expected in zip(rows, served.classifier.predict_proba(texts).tolist(), strict=True):
        assert [float(cell) for cell in row[3:]] == pytest.approx(expected, abs=1e-6)


def test_a_table_comes_back_as_json_with_a_summary(client, served):
    texts = ["a lovely film", "", "so dreadful", "a lovely cast", "a lovely plot", "awful, =1+1", "<b>"]
    rows = "".join(f'"{text}",{number}\r\n' for number, text in enumerate(texts))
    content = f"review,predicted\r\n{rows}".encode("utf-8-sig")
    plain = score(client, content)
    found = score(client, content, format="json").json()
    labels, probabilities = served.classifier.predict(texts), served.classifier.predict_proba(texts)
    assert found["csv"].encode() == plain.content
    assert (found["model"], found["labels"], found["column"]) == ("cnn", ["neg", "pos"], "review")
    assert (found["total"], found["empty"]) == (7, 1)
    assert found["added"] == ["predicted_2", "probability_neg", "probability_pos"]
    assert found["counts"] == [(labels == label).sum() for label in found["labels"]]
    assert [row["text"] for row in found["first"]] == texts[:5]
    assert [row["label"] for row in found["first"]] == labels[:5].tolist()
    assert [row["probability"] for row in found["first"]] == pytest.approx(probabilities[:5].max(1).tolist(), abs=1e-6)
    none = score(client, b"text\n", format="json").json()
    assert (none["total"], none["counts"], none["first"]) == (0, [0, 0], [])


def test_every_row_of_a_long_table_is_answered(client, served, toy):
    texts = [f"{text} {number}" for number, text in enumerate(toy[0] * 20)]
    answer = score(client, ("text\r\n" + "".join(f'"{text}"\r\n' for text in texts)).encode())
    rows = read_csv(answer.content)[1:]
    assert [row[0] for row in rows] == texts
    assert [row[1] for row in rows] == served.classifier.predict(texts).tolist()


@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("a.tsv", "text\tn\na lovely film\t1\n"),
        ("a.TSV", '"text"\t"n"\n"a lovely film"\t"1"\n'),
        ("a.jsonl", '{"text": "a lovely film", "n": 1}\n\n'),
        ("a.ndjson", '{"text": "a lovely film", "n": 1}'),
        ("a.csv", "text|n\na lovely film|1\n"),
        ("a.csv", "text\tn\na lovely film\t1\n"),
        ("noending", "text,n\na lovely film,1"),
    ],
)
def test_other_kinds_come_back_as_csv(client, filename, content):
    rows = read_csv(score(client, content.encode(), filename=filename).content)
    assert rows[0][:3] == ["text", "n", "predicted"]
    assert rows[1][:2] == ["a lovely film", "1"]
    assert len(rows) == 2


def test_the_column_is_the_named_one_the_trained_one_or_the_obvious_one(client):
    content = b"id,comment,note\n1,a lovely film,dreadful\n"
    assert score(client, content).headers["x-text-column"] == "comment"
    assert score(client, content, column="note").headers["x-text-column"] == "note"
    table = Table(["title", "body", "about"], [["a", "b", "c"]])
    assert text_column(table, None, "about") == "about"
    assert text_column(table, "title", "about") == "title"
    assert text_column(table, None, "gone") == "body"


def test_a_column_of_any_name_can_be_told_in_a_header(client):
    answer = score(client, "größe 🎬\r\nlovely\r\n".encode())
    assert answer.headers["x-text-column"] == "gr%C3%B6%C3%9Fe%20%F0%9F%8E%AC"


def test_a_table_without_rows_has_none(client):
    answer = score(client, b"text,n\n")
    assert read_csv(answer.content) == [["text", "n", "predicted", "probability_neg", "probability_pos"]]


@pytest.mark.parametrize(
    ("content", "query", "status", "message"),
    [
        (b"", {}, 422, "'table.csv' is empty"),
        (b"\n", {}, 422, "'table.csv' is empty"),
        (b"text,text\na,b\n", {}, 422, "two columns called 'text'"),
        (b'text,n\n"a,1\n', {}, 422, "cannot be read"),
        (b"text,n\na,1,2\n", {}, 422, "Line 2 of 'table.csv' has 3 fields, but the first line names 2"),
        (b"text,n\n\x90,1\n", {}, 422, "Line 2 of 'table.csv' is neither UTF-8 nor Windows-1252"),
        (b"text\na\0b\n", {}, 422, "NUL"),
        (b"a,b\n1,2\n", {}, 422, "Name one of them by `column` (on the page: Column of the texts)"),
        (b"a,b\n1,2\n", {"column": "c"}, 422, "There is no column 'c'"),
        (b"text\n" + b"a\n" * 5, {}, 413, "the limit of 4"),
        (b"text\nok\n" + b"a" * 31, {}, 422, "Row 2 has 31 characters; the limit is 30"),
        (b"text\na", {"filename": "a.parquet"}, 422, ".csv .tsv .tab .jsonl .ndjson .xlsx"),
        (b"text\na", {"filename": "a.csv.gz"}, 422, ".csv .tsv .tab .jsonl .ndjson .xlsx"),
        (b"text\na", {"model": "none"}, 404, "There is no model 'none'"),
        (b"text\na", {"format": "xlsx"}, 422, "format: "),
        (b"[1]", {"filename": "a.jsonl"}, 422, "Line 1 of 'a.jsonl' is not an object"),
        (b'{"text": "a"}\n{', {"filename": "a.jsonl"}, 422, "Line 2 of 'a.jsonl' is not JSON"),
        (b"[" * 100_000, {"filename": "a.jsonl"}, 422, "Line 1 of 'a.jsonl' is not JSON"),
        (b'{"text": ' + b"9" * 5000 + b"}", {"filename": "a.jsonl"}, 422, "Line 1 of 'a.jsonl' is not JSON"),
        (b"{}", {"filename": "a.jsonl"}, 422, "The file is empty"),
        (b'{"text":"a"}\n' * 5, {"filename": "a.jsonl"}, 413, "the limit of 4"),
    ],
    ids=range(21),
)
def test_what_is_no_table_is_refused(shared_client, content, query, status, message):
    answer = score(shared_client(max_table_rows=4, max_characters=30), content, **query)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "filename", "empty"),
    [
        (b"text,n\na film,1\n,2\n  \t,3\nanother,4\n", "a.csv", "2"),
        (b'{"text": "a"}\n{"text": null}\n{"text": "", "n": 1}\n{"n": 2}\n', "a.jsonl", "3"),
        (b"text\na film\n", "a.csv", "0"),
    ],
)
def test_empty_texts_are_scored_and_counted(client, content, filename, empty):
    answer = score(client, content, filename=filename)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-empty-texts"] == empty
    assert all(row[-3] in ("neg", "pos") for row in read_csv(answer.content)[1:])


def test_headers_of_a_scored_table_are_described(client):
    answers = client.get("/openapi.json").json()["paths"]["/api/table"]["post"]["responses"]
    assert {*answers["200"]["headers"]} == {"X-Text-Column", "X-Empty-Texts", "X-Notes"}
    page = client.get("/docs").text
    for name, header in answers["200"]["headers"].items():
        assert f"<code>{name}</code> {header['description']}" in page


def test_a_form_is_refused(client):
    answer = client.post("/api/table", files={"file": ("a.csv", b"text\na\n")})
    assert answer.status_code == 415
    assert "not a form" in answer.json()["detail"]


def prediction(*probabilities):
    return Prediction(list(probabilities), 0, ())


@pytest.mark.parametrize("label", ["=cmd()", "+1", "-1", "@x", "\tx", "\rx"])
def test_labels_that_begin_like_a_formula_are_made_harmless(label):
    written = write_table(Table(["text"], [["=1+1"]]), [label, "b"], [prediction(0.9, 0.1)])
    head, row = read_csv(written)
    assert row == ["=1+1", f"'{label}", "0.900000", "0.100000"]  # what the user sent stays
    assert head[2] == f"probability_{label}"
    assert escape_formula("pos-1") == "pos-1"


def test_names_that_are_taken_get_a_number():
    table = Table(["predicted", "text", "probability_a"], [["x", "y", "z"]])
    head, _ = read_csv(write_table(table, ["a", "b"], [prediction(0.2, 0.8)]))
    assert head == ["predicted", "text", "probability_a", "predicted_2", "probability_a_2", "probability_b"]


def test_an_answer_that_is_no_number_is_an_empty_cell():
    _, row = read_csv(write_table(Table(["t"], [["x"]]), ["a", "b"], [prediction(float("nan"), float("nan"))]))
    assert row[2:] == ["", ""]


LIMITS = ServeConfig(max_table_rows=5, max_table_columns=3, max_table_cells=12)
CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@settings(max_examples=examples(150), derandomize=True)
@given(rows=st.lists(st.tuples(CELL, CELL), max_size=4), mark=st.booleans(), delimiter=st.sampled_from(",;\t|"))
def test_what_the_user_sent_comes_back_to_the_letter(rows, mark, delimiter):
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("text", "more"), *rows])
    sent = stream.getvalue().encode("utf-8-sig" if mark else "utf-8")
    table = read_table(sent, "a.tsv" if delimiter == "\t" else "a.csv", ServeConfig(max_table_rows=100))
    assert table.columns == ["text", "more"]
    assert [tuple(row) for row in table.rows] == rows
    written = write_table(table, ["a"], [prediction(1.0)] * len(rows))
    assert written.startswith(b"\xef\xbb\xbf") == mark
    assert [tuple(row[:2]) for row in read_csv(written)[1:]] == rows


@settings(max_examples=examples(100), derandomize=True)
@given(st.binary(max_size=60), st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a"]))
def test_any_bytes_are_a_table_or_refused(content, filename):
    try:
        table = read_table(content, filename, LIMITS)
    except VmaskError:
        return
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_plain_quotes_in_a_tsv_belong_to_the_texts():
    table = read_table(b'text\tn\nhe said "no"\t1\n"odd\t2\n', "a.tsv", LIMITS)
    assert table.rows == [['he said "no"', "1"], ['"odd', "2"]]
    table = read_table(b'text\tn\n"two\nlines"\t1\n', "a.tsv", LIMITS)
    assert table.rows == [["two\nlines", "1"]]


def test_values_of_json_become_cells():
    lines = [{"a": 1, "b": None}, {"c": [1, "ö"], "a": True}, {"a": "x\ud800"}]
    table = read_table("\n".join(map(json.dumps, lines)).encode(), "a.jsonl", LIMITS)
    assert table.columns == ["a", "b", "c"]
    assert table.rows == [["1", "", ""], ["true", "", '[1, "ö"]'], ["x\ufffd", "", ""]]


def test_limits_of_columns_cells_and_answers(make_client):
    client = make_client(max_table_columns=3, max_table_cells=8, max_answer_bytes=150)
    for content, name, message in (
        (b"a,b,c,text\n1,2,3,4\n", "a.csv", "more columns than the limit of 3"),
        (b"a,b,c,text\n", "a.csv", "more columns than the limit of 3"),
        (b"text,b,c\n" + b"a,b,c\n" * 3, "a.csv", "more cells than the limit of 8"),
        (b"".join(b'{"text": "a", "k%d": 1}\n' % i for i in range(4)), "a.jsonl", "more columns than the limit of 3"),
        (b"text\n" + b"a film of some length\n" * 5, "a.csv", "more bytes than the limit of 150"),
    ):
        answer = score(client, content, filename=name)
        assert answer.status_code == 413, answer.text
        assert message in answer.json()["detail"]


def test_reading_and_writing_look_up_at_every_row():
    looks = []
    table = read_table(b"text\n" + b"a\n" * 5, "a.csv", LIMITS, lambda: looks.append(1))
    assert len(looks) == 5
    write_table(table, ["a"], [prediction(1.0)] * 5, check=lambda: looks.append(1))
    assert len(looks) == 10


@pytest.mark.full
def test_a_client_that_leaves_ends_the_reading(client, monkeypatch):
    reading, ended = threading.Event(), threading.Event()

    def slowly(body, filename, limits, check, how):
        reading.set()
        try:
            for _ in range(100 * WAIT):
                check()
                time.sleep(0.01)
        except JobCancelled:
            ended.set()
            raise

    monkeypatch.setattr("vmask.serve.api.read_table", slowly)

    async def leave():
        call = Call("/api/table", b"text\na\n", headers=[("content-type", "text/csv")])
        task = asyncio.ensure_future(call.made(client.app))
        assert await asyncio.to_thread(reading.wait, WAIT)
        call.gone.set()
        return await task

    assert asyncio.run(leave()).status == 499
    assert ended.wait(WAIT)


def test_a_long_name_of_a_column_is_cut_in_the_header(client):
    answer = score(client, b"c" * 100_000 + b"\na\n")
    assert answer.status_code == 200
    assert len(answer.headers["x-text-column"]) == 500


def test_a_refusal_is_no_longer_than_anybody_reads(client):
    answer = client.post("/api/predict", json={"texts": ["a"], "m" * 100_000: 1})
    assert answer.status_code == 422
    assert len(answer.json()["detail"]) < 3000


def test_a_workbook_and_other_encodings(client):
    rows = [{"n": 1, "text": "a lovely film"}, {"n": 2, "text": "schön, boring"}]
    for content, query, note in (
        (as_xlsx(rows, ("Empty", "Reviews")), {"filename": "a.xlsx"}, "a.xlsx has 2 sheets; 'Reviews' was read. Name"),
        (as_xlsx(rows, ("Empty", "Reviews")), {"filename": "a.xlsx", "sheet": "2"}, ""),
        (as_csv(rows).decode().encode("cp1252"), {}, "not UTF-8; read as Windows-1252. Name another by `encoding`."),
        (as_csv(rows).decode().encode("cp1252"), {"encoding": "latin-1"}, ""),
        (as_csv(rows).decode().encode("utf-16"), {}, ""),
    ):
        answer = score(client, content, **query)
        assert answer.status_code == 200, answer.text
        head, *scored = read_csv(answer.content)
        assert head[:3] == ["n", "text", "predicted"]
        assert [row[:2] for row in scored] == [["1", "a lovely film"], ["2", "schön, boring"]]
        assert answer.content.startswith(b"\xef\xbb\xbf")  # so that a spreadsheet reads it as UTF-8
        summary = score(client, content, **query, format="json").json()
        assert note in " ".join(summary["notes"])
        assert bool(note) == bool(summary["notes"]) == bool(answer.headers["x-notes"])


@pytest.mark.parametrize(
    ("content", "query", "message"),
    [
        (b"text\na", {"filename": "a.xlsx"}, "is a text file with the name of a workbook"),
        (as_xlsx([{"text": "a"}]), {"filename": "a.xlsx", "sheet": "none"}, "has no sheet 'none'"),
        (b"text\na", {"sheet": "1"}, "so it has no sheets"),
        (b"text\na", {"encoding": "none"}, "encoding is 'none', which is not known"),
        (as_xlsx([{"text": "a"}] * 5), {"filename": "a.xlsx"}, "the limit of 4"),
    ],
)
def test_workbooks_that_cannot_be_scored(shared_client, content, query, message):
    answer = score(shared_client(max_table_rows=4, max_characters=30), content, **query)
    assert 400 <= answer.status_code < 500
    assert message in answer.json()["detail"]
