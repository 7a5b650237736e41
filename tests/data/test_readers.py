from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.data.readers import guess_columns, iter_texts, read_header, read_rows, tsv_is_quoted
from vmask.data.streams import Content
from vmask.errors import DataError, FileMissing

SHARED = Path(__file__).parents[3] / "shared" / "data"
ROWS = [
    {"text": 'A "good" film, really; yes|no', "label": "pos"},
    {"text": "two\u0085ends\u2028here, and\x0bthere", "label": "neg"},
    {"text": "日本 été", "label": "neg"},
]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_csv(rows, delimiter=",") -> str:
    import csv

    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_tsv(rows) -> str:
    return "".join("\t".join(values) + "\n" for values in [list(rows[0]), *(row.values() for row in rows)])


def as_jsonl(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


CONTENT = {
    "a.csv": as_csv(ROWS),
    "semicolon.csv": as_csv(ROWS, ";"),
    "tab.csv": as_csv(ROWS, "\t"),
    "bar.csv": as_csv(ROWS, "|"),
    "bom.csv": "\ufeff" + as_csv(ROWS),
    "crlf.csv": as_csv(ROWS).replace("\n", "\r\n"),
    "plain.tsv": as_tsv(ROWS),
    "bom.tsv": "\ufeff" + as_tsv(ROWS),
    "crlf.tsv": as_tsv(ROWS).replace("\n", "\r\n"),
    "quoted.tsv": as_csv(ROWS, "\t"),
    "a.jsonl": as_jsonl(ROWS),
    "a.ndjson": as_jsonl(ROWS) + "\n",
    "a.json": json.dumps(ROWS, indent=1),
    "A.JSON": json.dumps(ROWS, ensure_ascii=False),
}


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_format_gives_the_same_rows(name, zipped, tmp_path):
    raw = CONTENT[name].encode()
    path = write(tmp_path / (f"{name}.gz" if zipped else name), gzip.compress(raw, mtime=0) if zipped else raw)
    assert list(read_rows(path)) == ROWS
    assert list(iter_texts(path)) == [row["text"] for row in ROWS]


def test_parquet_comes_batch_by_batch(tmp_path):
    rows = [{"text": f"t{i}", "label": i % 2, "flag": True} for i in range(3000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=700)
    assert list(read_rows(tmp_path / "a.parquet")) == rows
    write(tmp_path / "b.parquet", b"PAR1 nonsense")
    with pytest.raises(DataError, match=r"'b\.parquet' cannot be read as parquet"):
        list(read_rows(tmp_path / "b.parquet"))


FIELD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=12)


@given(st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=5), st.sampled_from([".csv", ".tsv", ".jsonl"]))
@settings(max_examples=examples(100))
def test_what_is_written_with_quotes_is_read_back(tmp_path_factory, pairs, ending):
    rows = [{"text": a + "x", "label": f'"{b}'} for a, b in pairs]  # a quote in each, so that quoting shows
    content = as_jsonl(rows) if ending == ".jsonl" else as_csv(rows, "\t" if ending == ".tsv" else ",")
    assert list(read_rows(write(tmp_path_factory.mktemp("r") / f"a{ending}", content))) == rows


@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        ("a\tb\n", False),
        ('"a ""b"" c"\tx\n', True),
        ('"a\nb"\tx\n', True),
        ('he said "no"\tx\n', False),
        ('"fully quoted"\tx\nhe said "no"\tx\n', False),
        ('"open\tx\n', False),
        ('"a" b\tx\n', False),
    ],
)
def test_when_a_tsv_counts_as_quoted(body, quoted, tmp_path):
    path = write(tmp_path / "a.tsv", f"text\tlabel\n{body}")
    assert tsv_is_quoted(path) is quoted
    assert next(iter(read_rows(path, quoted=False)))["text"] == body.split("\t")[0].split("\n")[0]


def test_a_field_of_a_megabyte(tmp_path):
    long = "word " * 220_000
    for name, content in (("a.csv", f'text,label\n"{long}",x\n'), ("a.tsv", f"text\tlabel\n{long}\tx\n")):
        (row,) = read_rows(write(tmp_path / name, content))
        assert row == {"text": long, "label": "x"}


def test_reading_is_a_stream(tmp_path):
    path = write(tmp_path / "a.jsonl", as_jsonl(ROWS) + "not json\n")
    rows = read_rows(path)
    assert [next(rows) for _ in ROWS] == ROWS
    with pytest.raises(DataError, match=r"Line 4 of 'a\.jsonl' is not JSON"):
        next(rows)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "text,label\nfüné,x\n".encode() + b"caf\xe9,y\n",
            "Line 3 of 'a.csv' is not UTF-8.*--encoding windows-1252",
        ),
        ("a.tsv", b"text\tlabel\ncaf\x81\ty\n", "Line 2 of 'a.tsv' is neither UTF-8 nor Windows-1252"),
        ("a.csv", "text,label\na,b".encode("utf-16")[:-1], "Line 2 of 'a.csv' is not UTF-16-LE text.*--encoding"),
        ("a.csv", b"text,label\n\x00\x01", "'a.csv' is a binary file"),
        ("a.csv", b"", "'a.csv' is empty.*text,label"),
        ("a.tsv", b"", "'a.tsv' is empty"),
        ("a.csv", b"text,text\na,b\n", "two columns called 'text'"),
        ("a.csv", b"text,label\na,b\na,b,c\n", "Line 3 of 'a.csv' has 3 fields.*double quotes"),
        ("a.tsv", b"text\tlabel\na\tb\tc\n", "Line 2 of 'a.tsv' has 3 fields"),
        ("a.csv", b'text,label\n"a"b,c\n', "Line 2 of 'a.csv' cannot be read as csv.*double the inner"),
        ("a.csv.gz", gzip.compress(b"text,label\n", mtime=0)[:-4], "'a.csv.gz' cannot be unpacked.*Copy it again"),
        ("a.csv.gz", b"text,label\n", "'a.csv.gz' cannot be unpacked"),
        ("a.json", b'{"text": 1}', r"'a\.json' is not a list of objects.*`\.jsonl`"),
        ("a.json", b"[1]", "Entry 1 of 'a.json' is not an object"),
        ("a.json", b"[\n{]", "Line 2 of 'a.json' is not JSON"),
        ("a.jsonl", b"[1]\n", "Line 1 of 'a.jsonl' is not an object"),
        ("a.docx", b"PK", r"'a\.docx' is no table by its ending.*\.csv"),
    ],
)
def test_bad_files_say_where_and_what_to_do(name, content, message, tmp_path):
    with pytest.raises(DataError, match=message):
        list(read_rows(write(tmp_path / name, content)))


def test_missing_files_suggest_a_near_name(tmp_path):
    write(tmp_path / "reviews.csv", "text\n")
    with pytest.raises(FileMissing, match=r"no file .*Did you mean 'reviews\.csv'"):
        read_rows(tmp_path / "review.csv")
    with pytest.raises(FileMissing, match="is a folder"):
        read_rows(tmp_path)


def test_a_short_row_has_missing_values(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\nalone\n\nlast,x\n")
    assert list(read_rows(path)) == [{"text": "alone", "label": None}, {"text": "last", "label": "x"}]


def test_texts_of_plain_files_and_streams_are_lines(tmp_path, monkeypatch):
    raw = "one\u2028still one\n\nthree\r\nlast".encode()
    expected = ["one\u2028still one", "", "three", "last"]
    assert list(iter_texts(write(tmp_path / "a.txt", raw))) == expected
    assert list(iter_texts(write(tmp_path / "noending", raw))) == expected
    assert list(iter_texts(io.BytesIO(b"\xef\xbb\xbf" + raw))) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))
    assert list(iter_texts(sys.stdin)) == expected
    assert list(iter_texts(io.StringIO("a\nb\n"))) == ["a", "b"]
    with pytest.raises(DataError, match="Line 2 of the input is not UTF-8 text"):
        list(iter_texts(io.BytesIO("é\n".encode() + b"\xff\n")))
    with pytest.raises(DataError, match=r"Line 1 of 'b\.txt' is neither UTF-8 nor"):
        list(iter_texts(write(tmp_path / "b.txt", b"\x90\n")))


def test_the_encoding_of_a_stream_is_found_as_it_is_read():
    notes = []
    assert list(iter_texts(io.BytesIO(b"ok\nsch\xf6n\n\xe9\n"), note=notes.append)) == ["ok", "schön", "é"]
    assert notes == ["The input is not UTF-8; read as Windows-1252. Name another with --encoding."]
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"):
        stream = io.BytesIO("ab\nschön\n".encode(encoding))
        assert list(iter_texts(stream)) == ["ab", "schön"]
        assert not stream.closed
    with pytest.raises(DataError, match="is not UTF-16-LE text"):
        list(iter_texts(io.BytesIO("ab\nschön\n".encode("utf-16")[:-1])))
    with pytest.raises(DataError, match="Line 2 of the input is neither UTF-8 nor Windows-1252"):
        list(iter_texts(io.BytesIO(b"ok\n\x00\xf6n\n")))


def test_missing_texts_keep_their_place(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "a", "n": 1}\n{"n": 2}\n{"text": 7, "n": 3}\n')
    assert list(iter_texts(path)) == ["a", "", "7"]
    assert list(iter_texts(path, "n")) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": 1, "text": "a", "label": "x"}, ("text", "label")),
        ({"Review": "a", "Sentiment": "x", "when": "now"}, ("Review", "Sentiment")),
        ({"q": "a longer text", "z": "x"}, ("q", "z")),
        ({"z": "x", "q": "a longer text"}, ("q", "z")),
        ({"text": "a", "kind": "x"}, ("text", "kind")),
        ({"label": "x", "words": "a"}, ("words", "label")),
        ({"text": "a", "label": "x", "category": "c", "rating": 3}, ("text", "label")),
    ],
)
def test_obvious_columns_are_guessed(row, expected):
    assert guess_columns([row]) == expected


def test_columns_that_are_not_obvious_are_asked_for():
    with pytest.raises(DataError, match=r"which column holds the labels\. .*text, a, b.*--label"):
        guess_columns([{"text": "x", "a": 1, "b": 2}])
    with pytest.raises(DataError, match=r"which column holds the texts.*--text"):
        guess_columns([{"review": "x", "comment": "y", "label": 2}])
    with pytest.raises(DataError, match=r"no column 'txt'\. Did you mean 'text'.*--text"):
        guess_columns([{"text": "x", "label": 2}], text="txt")
    with pytest.raises(DataError, match=r"no column 'lable'\. Did you mean 'label'.*--label"):
        guess_columns([{"text": "x", "label": 2}], label="lable")
    assert guess_columns([{"text": "x"}], want_label=False) == ("text", None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")
def test_real_unquoted_files_are_read_line_by_line():
    for name in ("imdb/test.tsv", "agnews/train.tsv", "subj/all.tsv", "trec/train.tsv"):
        path = SHARED / name
        assert sum(1 for _ in read_rows(path)) == path.read_bytes().count(b"\n") - 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "a"}\n' + b"[" * 100_000, "Line 2 of 'a.jsonl' .* nested too deeply"),
        ("a.json", b"[" * 100_000, "Line 1 of 'a.json' .* nested too deeply"),
        ("a.jsonl", b'{"text": ' + b"9" * 5000 + b"}", "Line 1 of 'a.jsonl' .* thousands of digits"),
        ("a.json", b'[{"text": ' + b"9" * 5000 + b"}]", "Line 1 of 'a.json' .* thousands of digits"),
        (
            "a.csv",
            b",".join(b"c%d" % i for i in range(1_000_000)),
            "Line 1 of 'a.csv' has 1,000,000 columns; the limit",
        ),
        ("a.tsv", b"\t".join(b"c%d" % i for i in range(20_000)), "Line 1 of 'a.tsv' has 20,000 columns; the limit"),
        ("a.jsonl", json.dumps(dict.fromkeys(map(str, range(20_000)))).encode(), "Line 1 of 'a.jsonl' has 20,000"),
        ("a.tsv", b"\ntext\n", "'a.tsv' is empty"),
    ],
    ids=range(8),
)
def test_monstrous_files_are_refused_with_the_fix(name, content, message, tmp_path):
    with pytest.raises(DataError, match=message) as caught:
        list(read_rows(write(tmp_path / name, content)))
    assert len(str(caught.value)) < 300


def test_half_a_character_becomes_the_sign_for_none(tmp_path):
    content = '{"text": "a\\ud83d b", "\\udc00": ["\\uD800"], "whole": "\\ud83c\\udfac"}'
    row = {"text": "a\ufffd b", "\ufffd": ["\ufffd"], "whole": "🎬"}
    assert list(read_rows(write(tmp_path / "a.jsonl", content))) == [row]
    assert list(read_rows(write(tmp_path / "a.json", f"[{content}]"))) == [row]


def test_a_message_lists_the_first_of_many_columns(tmp_path):
    columns = [f"c{i}" for i in range(5000)]
    path = write(tmp_path / "a.csv", ",".join(columns) + "\n" + ",".join(columns) + "\n")
    with pytest.raises(DataError, match="and 4,980 more") as caught:
        list(iter_texts(path))
    assert len(str(caught.value)) < 400
    with pytest.raises(DataError, match="two lines") as caught:
        guess_columns([{"two\nlines": 1, "b": 2}], text="none")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_bytes_of_parquet_are_text_where_they_can_be(kind, tmp_path):
    def table(values):
        return pa.table({"text": pa.array(values, kind), "blob": pa.array([b"\xff\xfe"] * len(values), kind)})

    pq.write_table(table(["é".encode(), None]), tmp_path / "a.parquet")
    assert [row["text"] for row in read_rows(tmp_path / "a.parquet")] == ["é", None]
    assert list(iter_texts(tmp_path / "a.parquet")) == ["é", ""]
    with pytest.raises(DataError, match=r"column 'blob' holds bytes that are not UTF-8 text.*--text"):
        list(iter_texts(tmp_path / "a.parquet", "blob"))
    pq.write_table(table([b"ok"] * 2000 + [b"\xff\xff"]), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"Row 2,001 of 'b\.parquet' has bytes in the column 'text'"):
        list(read_rows(tmp_path / "b.parquet"))


def test_content_in_memory_is_read_as_a_file_is():
    for name, text in CONTENT.items():
        assert list(read_rows(Content.of_bytes(name, text.encode()))) == ROWS
    assert read_header(Content.of_bytes("a.csv", b"text;label\n")) == ["text", "label"]
    assert read_header(Content.of_bytes("a.tsv", b"text\tlabel\n")) == ["text", "label"]


class Counted(str):
    """A line that counts how often its quotes are counted."""

    looks = 0

    def count(self, *given):
        Counted.looks += 1
        return super().count(*given)


def test_a_stray_quote_is_looked_at_once(monkeypatch):
    """Each line of a record that stays open is looked at once, not with all lines before it."""
    monkeypatch.setattr(Content, "each_line", lambda self, lines: map(Counted, lines))
    assert not tsv_is_quoted(Content.of_bytes("a.tsv", b'text\n"stray\n' + b"x\n" * 5000))
    assert Counted.looks == 5002
