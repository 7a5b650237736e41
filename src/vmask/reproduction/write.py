"""Make a report from a folder of results, and write it in four formats."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vmask._core.files import write_text
from vmask._core.folders import replacing_folder
from vmask.grid.published import Published, load_published
from vmask.reproduction import formats
from vmask.reproduction.claims import all_claims
from vmask.reproduction.context import Context
from vmask.reproduction.document import Document
from vmask.reproduction.examples import all_examples
from vmask.reproduction.figures import Picture, all_figures, save
from vmask.reproduction.results import Results
from vmask.reproduction.tables import all_tables
from vmask.reproduction.variants import variants_table

PUBLISHED = Path("experiments") / "published.yaml"
TABLES, FIGURES, PAGES = "tables", "figures", ("report.md", "report.html")
"""What a report is made of: two folders and two pages."""
VECTORS = "vectors"
"""Folder in the results where word vectors were compared."""


def find_published(folder: Path) -> Path | None:
    """The file of published numbers: from where the command is run, or beside the folder of results."""
    return next((path for path in (PUBLISHED, folder.absolute().parent / PUBLISHED) if path.is_file()), None)


def read_document(folder: Path, published: Path | None) -> Document:
    """Everything but the pictures, which are drawn when the report is written.

    Raises:
        DataError: where there are no results.
    """
    numbers: Published | None = None if published is None else load_published(published)
    results = Context(Results.read(folder), numbers).named()
    return Document(
        results=results,
        published=numbers,
        tables=all_tables(results, numbers),
        claims=[] if numbers is None or not results.of_paper else all_claims(results, numbers),
        pictures=(),
        examples=all_examples(results),
        vectors=variants_table(folder / VECTORS),
    )


def draw(document: Document, folder: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Picture]:
    """Draw the figures into a folder.

    Raises:
        MissingExtra: where what draws them is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = list(all_figures(document.results))
    for picture in pictures:
        save(picture, folder, kinds)
    return pictures


def write_report(document: Document, out: Path) -> None:
    """Write `report.md`, `report.html`, `tables/*.csv`, `tables/*.tex`; the figures are in `figures/` already."""
    tables = out / TABLES
    tables.mkdir(parents=True, exist_ok=True)
    for table in [*document.tables, *([document.vectors] if document.vectors else [])]:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(formats.csv_rows(table))
        write_text(tables / f"{table.name}.csv", stream.getvalue())
        write_text(tables / f"{table.name}.tex", formats.latex(table))
    write_text(out / PAGES[0], document.markdown(FIGURES))
    write_text(out / PAGES[1], document.html(out / FIGURES))


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
