"""Files that are wrong in every way that we thought of: tables, YAML, word vectors, and JSON with values changed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Files = Iterator[tuple[str, str, bytes]]
"""What is wrong with a file, its name, and what is in it."""

DEEP = "[" * 100_000
LONG_NUMBER = "9" * 5_000
EVIL = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2J\x9b31m\u202e\x08"
"""What a terminal must not be sent."""


def texts(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Short reviews with their labels."""
    draw = random.Random(seed)
    words = {"good": ["lovely", "superb", "fine"], "bad": ["awful", "dull", "broken"]}
    frames = ["a {} film about a town", "the plot is {} and the cast tries", "what a {} evening", "{} from the start"]
    labels = [("good", "bad")[i % 2] for i in range(count)]
    return [(draw.choice(frames).format(draw.choice(words[label])), label) for label in labels]


def table(rows: list[tuple[str, str]], header: tuple[str, ...] = ("text", "label")) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream).writerows([header, *rows])
    return stream.getvalue()


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def bad_tables(seed: int) -> Files:
    """Tables."""
    good = texts(40, seed)
    plain = table(good)
    rows = [{"text": text, "label": label} for text, label in good]

    def labelled(odd: Any) -> bytes:
        return lines([{**row, "label": odd if i % 4 == 0 else row["label"]} for i, row in enumerate(rows)])

    yield "empty", "a.csv", b""
    yield "header alone", "a.csv", b"text,label\n"
    yield "one row", "a.csv", b"text,label\na fine film,good\n"
    yield "two rows", "a.csv", b"text,label\na fine film,good\na dull film,bad\n"
    yield "one class", "a.csv", table([(text, "good") for text, _ in good]).encode()
    yield "a class a row", "a.csv", table([(text, f"c{i}") for i, (text, _) in enumerate(good)]).encode()
    yield "blank texts", "a.csv", table([(" \t", label) for _, label in good]).encode()
    yield "punctuation alone", "a.csv", table([("!?.", label) for _, label in good]).encode()
    yield "no labels", "a.csv", table([(text, "") for text, _ in good]).encode()
    yield "one column", "a.csv", "\n".join(["text", *(text for text, _ in good)]).encode()
    yield "no header", "a.csv", plain.partition("\n")[2].encode()
    yield "duplicate columns", "a.csv", plain.replace("text,label", "text,text").encode()
    yield "empty column names", "a.csv", plain.replace("text,label", ",").encode()
    yield "escapes in columns", "a.csv", plain.replace("text,label", f"{EVIL},{EVIL}2,x").encode()
    yield "escapes in labels", "a.csv", table([(text, EVIL + label) for text, label in good]).encode()
    yield "escapes in texts", "a.csv", table([(text + EVIL, label) for text, label in good]).encode()
    yield "many columns", "a.csv", (",".join(f"c{i}" for i in range(5_000)) + "\n").encode()
    yield "uneven rows", "a.csv", (plain + "a,b,c,d\n").encode()
    yield "open quote", "a.csv", (plain + '"never closed').encode()
    yield "stray quotes", "a.csv", plain.replace("a ", 'a "b" ').encode()
    yield "nul", "a.csv", plain.replace("film", "fi\0lm").encode()
    yield "late nul", "a.csv", (plain * 100 + "a\0b,good\n").encode()
    yield "latin1", "a.csv", plain.replace("film", "caf\xe9").encode("latin-1")
    yield "utf16", "a.csv", plain.encode("utf-16")
    yield "utf32", "a.csv", plain.encode("utf-32")
    yield "byte order mark", "a.csv", plain.encode("utf-8-sig")
    yield "surrogates as utf8", "a.csv", plain.replace("film", "fi\ud800lm").encode("utf-8", "surrogatepass")
    yield "carriage returns", "a.csv", plain.replace("\r\n", "\r").encode()
    yield "random bytes", "a.csv", random.Random(seed).randbytes(10_000)
    yield "long cell", "a.csv", (plain + f"{'x ' * 2_000_000},good\n").encode()
    yield "long word", "a.csv", (plain + f"{'x' * 4_000_000},good\n").encode()
    yield "long label", "a.csv", (plain + f"fine,{'y' * 1_000_000}\n" * 2).encode()
    yield "long line", "a.txt", b"x" * 4_000_000
    yield "tabs for commas", "a.csv", plain.replace(",", "\t").encode()
    yield "plain tsv", "a.tsv", plain.replace(",", "\t").encode()
    yield "quoted tsv", "a.tsv", b'"text"\t"label"\n"a\tb"\t"x\n'
    yield "wrong ending", "a.xlsx", b"PK\x03\x04"
    yield "no ending", "a", plain.encode()
    yield "gzip that is none", "a.csv.gz", plain.encode()
    yield "gzip cut short", "a.csv.gz", gzip.compress(plain.encode())[:-20]
    yield "gzip twice", "a.csv.gz", gzip.compress(gzip.compress(plain.encode()))
    yield "json object", "a.json", b'{"text": "a"}'
    yield "json scalars", "a.json", b"[1, 2, 3]"
    yield "json cut short", "a.json", b'[{"text": "a", "label"'
    yield "json deep", "a.json", DEEP.encode()
    yield "json deep in a row", "a.json", f'[{{"text": {DEEP}'.encode()
    yield "json long number", "a.json", f'[{{"text": "a", "label": {LONG_NUMBER}}}]'.encode()
    yield "json empty list", "a.json", b"[]"
    yield "json nan", "a.json", b'[{"text": NaN, "label": Infinity}]'
    yield "jsonl deep", "a.jsonl", f"{DEEP}\n".encode()
    yield "jsonl long number", "a.jsonl", f'{{"text": "a", "label": {LONG_NUMBER}}}\n'.encode()
    yield "jsonl lists", "a.jsonl", lines([{"text": ["a"], "label": {"b": 1}}] * 40)
    yield "jsonl arrays for rows", "a.jsonl", b'["text", "label"]\n' * 40
    yield "jsonl mixed columns", "a.jsonl", lines([*rows, {"other": 1}])
    yield "jsonl rubbish in the middle", "a.jsonl", lines(rows[:20]) + b"{oops\n" + lines(rows[20:])
    yield "jsonl surrogate column", "a.jsonl", lines([{"\udfff": row["text"], "label": row["label"]} for row in rows])
    yield "jsonl surrogate texts", "a.jsonl", lines([{**row, "text": row["text"] + "\ud83d"} for row in rows])
    odd = ["\udfff", EVIL, "\0", True, None, 1e400, 10**300, "9" * 5_000, " ", "nan", "\u2028", "x" * 10_000, [1], {}]
    for number, label in enumerate(odd):
        yield f"odd label {number}", "a.jsonl", labelled(label)
    yield "surrogate ids", "a.jsonl", lines([{**row, "id": f"{i}\udfff"} for i, row in enumerate(rows)])
    for number, spans in enumerate(["x", [[0, 10**9]], [[5, 1]], [0, 1], [[0, 1, 2]], [["a", "b"]], {"a": 1}]):
        yield f"odd rationales {number}", "a.jsonl", lines([{**row, "rationales": spans} for row in rows])
    for number, tokens in enumerate(["x", [1, 2], [["a"]], None, [None]]):
        odd_rows = [{"tokens": tokens, "rationale_spans": [[0, 1]], "label": row["label"]} for row in rows]
        yield f"odd tokens {number}", "a.jsonl", lines(odd_rows)
    yield "parquet that is none", "a.parquet", plain.encode()
    yield "parquet magic alone", "a.parquet", b"PAR1" * 4
    yield from _bad_parquet(rows, seed)
    yield from _bad_encodings(plain)
    yield from _bad_workbooks(good, seed)
    yield from _bad_arrow(rows, seed)


def _bad_encodings(plain: str) -> Files:
    import pyarrow as pa

    yield "utf16 of odd length", "a.csv", plain.encode("utf-16")[:-1]
    yield "utf16 without a mark", "a.csv", plain.encode("utf-16-le")
    yield "utf16 with half a pair", "a.csv", plain.encode("utf-16") + b"\x00\xd8,\x00"
    yield "utf8 with one bad byte", "a.csv", plain.replace("film", "füm").encode() + b"caf\xe9,good\n"
    yield "cyrillic", "a.csv", plain.replace("film", "фильм" * 9).encode("windows-1251")
    yield "windows-1252 with controls", "a.csv", plain.replace("film", "\x01\xe9").encode("latin-1")
    for name, packed in (
        ("zst that is none", plain.encode()),
        ("zst cut short", pa.compress(plain.encode(), codec="zstd", asbytes=True)[:-9]),
        ("zst bomb", pa.compress(b"a" * (200 << 20), codec="zstd", asbytes=True)),
        ("zst bomb of lines", pa.compress(b"text,label\n" + b"\n" * (5 << 20), codec="zstd", asbytes=True)),
    ):
        yield name, "a.csv.zst", packed
    yield "gzip bomb", "a.jsonl.gz", gzip.compress(b"a" * (200 << 20), 1)
    for ending in ("bz2", "xz"):
        yield f"{ending} that is none", f"a.csv.{ending}", plain.encode()


def _bad_workbooks(good: list[tuple[str, str]], seed: int) -> Files:
    import openpyxl

    def saved(cells: dict[str, object]) -> bytes:
        book = openpyxl.Workbook()
        for row in [("text", "label"), *good]:
            book.active.append(row)
        for place, value in cells.items():
            book.active[place] = value
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()

    whole = saved({})
    yield "workbook", "a.xlsx", whole
    yield "workbook of billions of cells", "a.xlsx", saved({"XFD1048576": "far"})
    yield "workbook of many rows", "a.xlsx", saved({"A1048576": "far"})
    yield "workbook with unnamed columns", "a.xlsx", saved({"D2": "x", "F3": "y"})
    yield "workbook with odd cells", "a.xlsx", saved({"A2": "=1/0", "A3": True, "B4": 1e300, "B5": "#N/A"})
    yield "workbook cut short", "a.xlsx", whole[: len(whole) // 2]
    yield "workbook with another name", "a.xls", whole
    yield "workbook called csv", "a.csv", whole
    yield "csv called workbook", "a.xlsx", table(good).encode()
    yield "empty workbook", "a.ods", b""
    draw = random.Random(seed)
    for number in range(6):
        at = draw.randrange(len(whole) - 8)
        yield f"workbook changed {number}", "a.xlsx", whole[:at] + draw.randbytes(8) + whole[at + 8 :]
    bomb = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            padding = b" " * (300 << 20) if name.endswith("sheet1.xml") else b""
            new.writestr(name, old.read(name).replace(b"<sheetData>", b"<sheetData>" + padding))
    yield "workbook that unpacks to much", "a.xlsx", bomb.getvalue()


def _bad_arrow(rows: list[dict[str, Any]], seed: int) -> Files:
    import pyarrow as pa

    out, arrow = io.BytesIO(), pa.Table.from_pylist(rows)
    with pa.ipc.new_file(out, arrow.schema) as writer:
        writer.write_table(arrow)
    good = out.getvalue()
    yield "arrow cut short", "a.arrow", good[: len(good) // 2]
    yield "arrow that is none", "a.feather", b"text,label\n"
    yield "arrow of the first version", "a.feather", b"FEA1" + good
    draw = random.Random(seed)
    for number in range(10):
        at = draw.randrange(8, len(good) - 8)
        yield f"arrow changed {number}", "a.arrow", good[:at] + draw.randbytes(8) + good[at + 8 :]


def _bad_parquet(rows: list[dict[str, Any]], seed: int) -> Files:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(columns: dict[str, Any]) -> bytes:
        stream = io.BytesIO()
        pq.write_table(pa.table(columns), stream)
        return stream.getvalue()

    texts_of, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    good = written({"text": texts_of, "label": labels})
    draw = random.Random(seed)
    yield "parquet cut short", "a.parquet", good[: len(good) // 2]
    for number in range(6):
        at = draw.randrange(4, len(good) - 8)
        yield f"parquet changed {number}", "a.parquet", good[:at] + draw.randbytes(8) + good[at + 8 :]
    yield "parquet without rows", "a.parquet", written({"text": pa.array([], pa.string()), "label": pa.array([])})
    yield "parquet without columns", "a.parquet", written({})
    yield "parquet of numbers", "a.parquet", written({"text": list(range(40)), "label": labels})
    yield "parquet of lists", "a.parquet", written({"text": [[t] for t in texts_of], "label": labels})
    yield "parquet of bytes", "a.parquet", written({"text": [b"\xff\xfe"] * 40, "label": labels})
    yield "parquet of nulls", "a.parquet", written({"text": [None] * 40, "label": labels})
    dictionary = pa.array(labels).dictionary_encode()
    yield "parquet dictionary", "a.parquet", written({"text": texts_of, "label": dictionary})


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def bad_yaml() -> Iterator[tuple[str, bytes]]:
    """What is wrong with a YAML file whatever it is for."""
    yield "empty", b""
    yield "a number", b"1"
    yield "a list", b"[1, 2]"
    yield "a text", b"hello"
    yield "not yaml", b"a: [1, 2\nb: }"
    yield "tabs", b"a:\n\t- b"
    yield "deep", DEEP.encode()
    yield "deep by lines", "".join(f"{' ' * i}a:\n" for i in range(1_500)).encode()
    yield "laughs", LAUGHS.encode()
    yield "an alias of itself", b"a: &a [*a]\n"
    yield "an unknown alias", b"a: *b\n"
    yield "a long number", f"name: {LONG_NUMBER}\n".encode()
    yield "a date", b"name: 2020-01-01\n"
    yield "a wrong date", b"name: 2020-99-99\n"
    yield "a tag", b"name: !!python/object/apply:os.system ['true']\n"
    yield "binary", b"name: !!binary aGk=\n"
    yield "a surrogate", b'name: "\\ud800"\n'
    yield "beyond unicode", b'name: "\\UFFFFFFFF"\n'
    yield "a nul", b'name: "a\\0b"\n'
    yield "control characters", b"name: a\x01b\n"
    yield "latin1", "name: café\n".encode("latin-1")
    yield "utf16", "name: a\n".encode("utf-16")
    yield "a list as key", b"? [a, b]\n: 1\n"
    yield "numbers as keys", b"1: 2\n3.5: 4\nnull: 5\ntrue: 6\n"
    yield "two documents", b"a: 1\n---\nb: 2\n"
    yield "large", b"a: 1\n" * 500_000
    yield "escapes", json.dumps({EVIL: EVIL}).encode()


def bad_vectors(seed: int) -> Files:
    """Word vectors."""
    import numpy as np

    def npy(array: Any) -> bytes:
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        return stream.getvalue()

    draw = random.Random(seed)
    yield "empty", "v.txt", b""
    yield "a word alone", "v.txt", b"lovely\n"
    yield "words for numbers", "v.txt", b"lovely a b c\nawful d e f\n"
    yield "nan", "v.txt", b"lovely nan 1 2\n"
    yield "beyond float16", "v.txt", b"lovely 1e30 1 2\n"
    yield "uneven", "v.txt", b"lovely 1 2 3\nawful 1 2\n"
    yield "a huge header", "v.vec", b"5 999999999999\nlovely 1 2\n"
    yield "a header of many digits", "v.vec", f"{LONG_NUMBER} {LONG_NUMBER}\nlovely 1 2\n".encode()
    yield "a wrong count", "v.vec", b"99 2\nlovely 1 2\n"
    yield "an odd digit", "v.vec", "² ²\nlovely 1 2\n".encode()
    yield "one endless line", "v.txt", b"1 " * 10_000_000
    yield "random bytes as text", "v.txt", draw.randbytes(100_000)
    yield "not utf8", "v.txt", b"lov\xffely 1 2\n"
    yield "gzip that is none", "v.txt.gz", b"lovely 1 2\n"
    yield "gzip cut short", "v.txt.gz", gzip.compress(b"lovely 1 2\n" * 100)[:-9]
    yield "binary without a size", "v.bin", draw.randbytes(1_000)
    yield "binary of a huge size", "v.bin", b"999999999999 999999999999\n"
    yield "binary of many words", "v.bin", b"9" * 90 + b" 3\nlovely " + bytes(12)
    yield "binary without spaces", "v.bin", b"1000 3\n" + b"x" * 10_000_000
    yield "binary cut short", "v.bin", b"2 3\nlovely " + bytes(12)
    yield "npy without words", "v.npy", npy(np.zeros((2, 3), np.float32))
    yield "an unknown ending", "v.pickle", b"\x80\x04."
    for name, data in {
        "npy that is none": b"no numpy",
        "npy cut short": npy(np.zeros((2, 3), np.float32))[:-4],
        "npy of integers": npy(np.zeros((2, 3), np.int32)),
        "npy of one row more": npy(np.zeros((3, 3), np.float32)),
        "npy of three dimensions": npy(np.zeros((2, 3, 1), np.float32)),
        "npy of nan": npy(np.full((2, 3), np.nan, np.float32)),
        "npy with a forged header": npy(np.zeros((2, 3), np.float32)).replace(b"(2, 3)", b"(9**9,"),
        "npy with a huge shape": npy(np.zeros((2, 3), np.float32)).replace(b"(2, 3), }", b"(2,9999999), }"),
    }.items():
        yield name, "w/v.npy", data


def changed(value: Any, draw: random.Random) -> Any:
    """A JSON value with one value in it, somewhere, replaced by one of another kind or taken out."""
    value = json.loads(json.dumps(value))
    odd = [None, -1, 0, 10**30, "x", "", [], {}, [None], {"a": 1}, float("nan"), 1e300, True, EVIL, "9" * 50]
    node, steps = value, draw.randrange(1, 6)
    for step in range(steps):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = draw.choice(keys)
        inner = node[key]
        if step + 1 == steps or not isinstance(inner, (dict, list)) or not inner:
            if draw.random() < 0.2:
                del node[key]
            else:
                node[key] = draw.choice(odd)
            return value
        node = inner
    return value


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write one of the files; vectors of `.npy` get their words beside them."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if name == "w/v.npy":
        path.with_suffix(".vocab.txt").write_text("lovely\nawful\n", encoding="utf-8")
    return path
