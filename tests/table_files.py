"""Tables in every format that is read, as bytes by the name of the file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from xml.sax.saxutils import escape

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq


def as_csv(rows, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def as_arrow(rows, open_writer=ipc.new_file):
    out, table = io.BytesIO(), pa.Table.from_pylist(rows)
    with open_writer(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return out.getvalue()


def as_feather(rows):
    out = io.BytesIO()
    feather.write_feather(pa.Table.from_pylist(rows), out, compression="zstd")
    return out.getvalue()


def as_xlsx(rows, sheets=("Sheet1",), skip=0):
    """A workbook with the rows in the last sheet, after some empty ones."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    for number, values in enumerate(table, skip + 1):
        for column, value in enumerate(values, 1):
            if value is not None:
                sheet.cell(number, column, value)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_ods(rows):
    def line(values):
        cells = (
            f'<table:table-cell office:value-type="string"><text:p>{escape(v)}</text:p></table:table-cell>'
            for v in values
        )
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    lines = "".join(line(values) for values in [list(rows[0]), *(row.values() for row in rows)])
    table = f'<table:table table:name="A">{lines}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "content.xml", f"<?xml version='1.0'?><office:document-content{names}>{body}</office:document-content>"
        )
        file.writestr("META-INF/manifest.xml", "<?xml version='1.0'?><manifest/>")
    return out.getvalue()


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


FORMATS = {
    "a.csv": as_csv,
    "a.csv.gz": lambda rows: gzip.compress(as_csv(rows)),
    "a.csv.zst": lambda rows: zstd(as_csv(rows)),
    "a.tsv": lambda rows: as_csv(rows, "\t"),
    "a.tab.bz2": lambda rows: bz2.compress(as_csv(rows, "\t")),
    "a.jsonl": as_jsonl,
    "a.jsonl.zst": lambda rows: zstd(as_jsonl(rows)),
    "a.ndjson.xz": lambda rows: lzma.compress(as_jsonl(rows)),
    "a.json": lambda rows: json.dumps(rows).encode(),
    "a.json.gz": lambda rows: gzip.compress(json.dumps(rows).encode()),
    "a.parquet": as_parquet,
    "a.arrow": as_arrow,
    "a.ipc": lambda rows: as_arrow(rows, ipc.new_stream),
    "a.feather": as_feather,
    "a.xlsx": as_xlsx,
    "a.xlsm": lambda rows: as_xlsx(rows, ("Notes", "Data"), skip=3),
    "a.ods": as_ods,
}
"""Functions that write rows of texts, by the name of a file of that format."""

ENCODINGS = {
    "utf-8": "Ein schöner Film, €5",
    "utf-8-sig": "Ein schöner Film, €5",
    "utf-16": "Ein schöner Film, €5",
    "utf-16-le": "Ein schöner Film, €5 日本",
    "utf-16-be": "Ein schöner Film, €5 日本",
    "utf-32": "Ein schöner Film, €5",
    "cp1252": "Ein schöner “Film”, €5",
}
"""Encodings that are found without being named, and a text for each."""
NAMED = {
    "latin-1": "Ein schöner Film",
    "windows-1251": "Хороший фильм",
    "shift_jis": "良い映画",
    "gb18030": "好电影",
    "utf-16-be": "良い映画",
    "koi8_r": "Хороший фильм",
}
"""Encodings that a user may name."""
