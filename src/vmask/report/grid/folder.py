"""The folder that a report is written to: it takes the place of the one before as a whole."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vmask._core.files import write_text
from vmask._core.folders import replacing_folder
from vmask.report.grid import formats
from vmask.report.grid.table import Table

TABLES, FIGURES, PAGES = "tables", "figures", ("report.md", "report.html")
"""What a report is made of: two folders and two pages."""


def write_tables(folder: Path, tables: Iterable[Table[Any]]) -> None:
    """Write every table as CSV and as LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_csv(folder / f"{table.name}.csv", formats.csv_rows(table))
        write_text(folder / f"{table.name}.tex", formats.latex(table))


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    write_text(path, stream.getvalue())


@contextmanager
def filling(out: Path) -> Iterator[Path]:
    """The folder to write a report to: a new one that takes the place of the old one as a whole.

    Tables and figures that are not made anew stay. A folder that holds other things than a report, or that somebody is
    in, is written to file by file.
    """
    here = Path.cwd()
    ours = not out.exists() or {path.name for path in out.iterdir()} <= {TABLES, FIGURES, *PAGES}
    if not ours or Path(os.path.realpath(out)) in (here, *here.parents):
        out.mkdir(parents=True, exist_ok=True)
        yield out
        return
    with replacing_folder(out, last=PAGES[-1]) as folder:
        yield folder
        for name in (TABLES, FIGURES):
            for old in (out / name).glob("*"):
                if not (folder / name / old.name).exists():
                    (folder / name).mkdir(exist_ok=True)
                    (shutil.copytree if old.is_dir() else shutil.copy2)(old, folder / name / old.name)
