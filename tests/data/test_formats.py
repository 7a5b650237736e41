"""Every format and encoding through the functions that load data."""

from __future__ import annotations

from contextlib import suppress

import pyarrow.ipc as ipc
import pytest

from table_files import ENCODINGS, FORMATS, NAMED, as_arrow, as_csv, zstd
from toy import toy_texts
from vmask.data.config import ReadConfig
from vmask.data.datasets import load_dataset, load_table
from vmask.data.readers import TABLES, iter_texts, read_rows, table_kind
from vmask.errors import ConfigError, DataError

ROWS = [{"text": text, "label": label} for text, label in zip(*toy_texts(40), strict=True)]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_same_table_and_dataset(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FORMATS[name](ROWS))
    assert list(read_rows(path)) == ROWS
    assert list(iter_texts(path)) == [row["text"] for row in ROWS]
    table = load_table(path)
    assert [{"text": text, "label": label} for text, label in zip(table.texts, table.labels, strict=True)] == ROWS
    (tmp_path / "plain.csv").write_bytes(as_csv(ROWS))
    assert load_dataset(path).fingerprint == load_dataset(tmp_path / "plain.csv").fingerprint


def test_every_ending_has_a_test():
    written = {table_kind(name) for name in FORMATS}
    assert set(TABLES) - written == {".xls", ".xlsb"}  # no library at hand writes them


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.tsv", "a.txt"])
def test_encodings_are_found(name, encoding, tmp_path):
    text = ENCODINGS[encoding]
    content = {
        "a.csv": f'text,label\n"{text}",x\nfine,y\n',
        "a.jsonl": f'{{"text": "{text}", "label": "x"}}\n{{"text": "fine", "label": "y"}}\n'.replace("“", "'").replace(
            "”", "'"
        ),
        "a.tsv": f"text\tlabel\n{text}\tx\nfine\ty\n",
        "a.txt": f"{text}\nfine\n",
    }[name]
    expected = [text.replace("“", "'").replace("”", "'") if name == "a.jsonl" else text, "fine"]
    path = tmp_path / name
    path.write_bytes(content.encode(encoding))
    notes = []
    assert list(iter_texts(path, note=notes.append)) == expected
    assumed = encoding in ("cp1252", "utf-16-le", "utf-16-be")
    assert bool(notes) is assumed, notes
    if encoding == "cp1252":
        assert set(notes) == {f"{name} is not UTF-8; read as Windows-1252. Name another with --encoding."}
    if name != "a.txt":
        table = load_table(path)
        assert (list(table.texts), table.notes) == (expected, tuple(notes[:1]))
    with path.open("rb") as stream:
        assert list(iter_texts(stream)) == list(iter_texts(path)) or name != "a.txt"


@pytest.mark.parametrize("encoding", NAMED)
def test_encodings_are_named(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f"text,label\n{NAMED[encoding]},x\nfine,y\n".encode(encoding))
    table = load_table(path, encoding=encoding)
    assert (list(table.texts), table.notes) == ([NAMED[encoding], "fine"], ())
    with path.open("rb") as stream:
        header, line, *_ = iter_texts(stream, reading=ReadConfig(encoding=encoding))
        assert (header, line) == ("text,label", f"{NAMED[encoding]},x")


def test_options_that_a_file_does_not_have(tmp_path):
    (tmp_path / "a.csv").write_bytes(as_csv(ROWS))
    with pytest.raises(DataError, match=r"'a\.csv' is not a workbook, so it has no sheets"):
        load_table(tmp_path / "a.csv", sheet=1)
    (tmp_path / "a.parquet").write_bytes(FORMATS["a.parquet"](ROWS))
    with pytest.raises(DataError, match="so it has no encoding"):
        load_table(tmp_path / "a.parquet", encoding="utf-8")
    (tmp_path / "a.xlsx.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"Unpack it, and leave out \.gz"):
        load_table(tmp_path / "a.xlsx.gz")
    with pytest.raises(ConfigError, match=r"encoding is 'windows-1225'.*Did you mean 'windows-125\d'"):
        load_table(tmp_path / "a.csv", encoding="windows-1225")
    for name in ("hex", "", "rot13", "utf-8\0"):
        with pytest.raises(ConfigError, match="which is not known"):
            load_table(tmp_path / "a.csv", encoding=name)


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2", ".xz"])
def test_damaged_packed_files_say_so(ending, tmp_path):
    packed = {**FORMATS, "a.csv.bz2": FORMATS["a.tab.bz2"], "a.csv.xz": FORMATS["a.ndjson.xz"]}[f"a.csv{ending}"](ROWS)
    for content in (packed[: len(packed) // 2], b"text,label\nplain,x\n"):
        (tmp_path / f"a.csv{ending}").write_bytes(content)
        with pytest.raises(DataError, match="cannot be unpacked: it is damaged or was cut short"):
            list(read_rows(tmp_path / f"a.csv{ending}"))


def test_packed_lines_without_end_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.data.streams.LONGEST_LINE", 1000)
    (tmp_path / "a.jsonl.zst").write_bytes(zstd(b"a" * 10_000_000))
    with pytest.raises(DataError, match="has more than 1,000 characters"):
        list(read_rows(tmp_path / "a.jsonl.zst"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b\x08\0\0\0", r"begins like a gzip file; its name should end with \.gz"),
        (b"PK\x03\x04\x14\0\0\0", r"begins like a zip file or a workbook"),
        (b"PAR1\x15\0\0", r"Parquet"),
        (b"%PDF-1.4\n\0", "PDF"),
    ],
)
def test_the_wrong_name_of_a_known_format_is_told(content, message, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_table(tmp_path / "a.csv")


def test_damaged_arrow_files_are_refused(tmp_path):
    good = as_arrow(ROWS)
    stream = as_arrow(ROWS, ipc.new_stream)
    bad = [b"", b"text,label\n", good[: len(good) // 2], stream[:100], b"FEA1" + good]
    bad += [good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :] for at in range(0, len(good), 41)]
    for content in bad:
        (tmp_path / "a.arrow").write_bytes(content)
        with suppress(DataError):  # a flipped byte of a text is a text
            list(read_rows(tmp_path / "a.arrow"))


def test_wrong_offsets_in_arrow_are_found(tmp_path):
    good = as_arrow([{"text": "abcdefg"}], ipc.new_stream)
    bad = good.replace(b"\0\0\0\0\x07\0\0\0", b"\0\0\0\0\xff\xff\xff\x0f")
    assert bad != good
    (tmp_path / "a.arrow").write_bytes(bad)
    with pytest.raises(DataError, match=r"'a\.arrow' cannot be read as arrow"):
        list(read_rows(tmp_path / "a.arrow"))
