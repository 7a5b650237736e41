"""The paper's report: `docs` writes docs/reproduction.md, `check` compares with the paper, `report` fills a folder."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from reproduction.check import checked
from reproduction.document import Document
from reproduction.write import PUBLISHED, RESULTS, draw, read_document, write_report
from vmask._core.files import write_text
from vmask.cli.console import print_json, print_rich, say_result
from vmask.errors import VmaskError
from vmask.report.grid.report import FIGURES, filling

ROOT = Path(__file__).parents[1]
DOC, DOC_FIGURES = ROOT / "docs" / "reproduction.md", ROOT / "docs" / "reproduction"
NOTE = """<!-- Made by `make reproduction` from the files in reproduction/results/. Do not edit. -->

"""


def main(words: list[str] | None = None) -> int:
    """Run a command; the exit code is 2 where it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument("command", nargs="?", choices=("docs", "check", "report"), default="docs", help="[docs]")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="[reproduction/results]")
    parser.add_argument("--published", type=Path, default=PUBLISHED, metavar="FILE", help="the paper's numbers")
    parser.add_argument("--out", type=Path, metavar="DIR", help="of `report` [`report` in the folder of results]")
    parser.add_argument("--no-figures", action="store_true", help="of `report`: tables alone")
    parser.add_argument("--json", action="store_true", help="of `check`: all verdicts as JSON")
    args = parser.parse_args(words)
    try:
        document = read_document(args.results, args.published)
        if args.command == "check":
            check(document, args.json)
        elif args.command == "report":
            report(document, args.out or args.results / "report", not args.no_figures)
        else:
            write_docs(document)
    except VmaskError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def write_docs(document: Document) -> None:
    """Write docs/reproduction.md and its figures."""
    DOC_FIGURES.mkdir(exist_ok=True)
    for old in DOC_FIGURES.glob("*.png"):
        old.unlink()
    document = dataclasses.replace(document, pictures=draw(document, DOC_FIGURES, ("png",)))
    write_text(DOC, NOTE + document.markdown(DOC_FIGURES.name))


def report(document: Document, out: Path, figures: bool) -> None:
    """Write the paper's tables and figures beside ours into a folder: HTML, Markdown, CSV, LaTeX."""
    with filling(out) as folder:
        if figures:
            document = dataclasses.replace(document, pictures=draw(document, folder / FIGURES))
        write_report(document, folder)
    for line in document.checked():
        say_result(line)
    say_result(f"open {out / 'report.html'}")


def check(document: Document, as_json: bool) -> None:
    """Show number by number what holds, and what the paper's claims come to."""
    from rich.table import Table

    numbers = list(checked(document.tables))
    if as_json:
        rows: list[dict[str, Any]] = [
            {"table": one.table, "row": list(one.row), "column": one.column, "published": one.entry.published}
            | {"ours": None if one.entry.ours is None else one.entry.ours.value, "verdict": one.entry.verdict}
            | {"differs": list(one.entry.differs)}
            for one in numbers
        ]
        claims = [claim.to_dict() for claim in document.claims]
        print_json({"summary": document.checked(), "claims": claims, "numbers": rows})
        return
    for name in dict.fromkeys(one.table for one in numbers):
        table = Table(title=name, box=None, pad_edge=False, title_justify="left")
        for head in ("cell", "ours", "published", "verdict", "not like for like in"):
            table.add_column(head, justify="right" if head in ("ours", "published") else "left")
        for one in numbers:
            if one.table == name and one.entry.ours is not None:
                published = "" if one.entry.published is None else f"{one.entry.published:g}"
                cell, ours = f"{' '.join(one.row)} {one.column}", f"{one.entry.ours.value:.5g}"
                table.add_row(cell, ours, published, one.entry.verdict, ", ".join(one.entry.differs))
        if table.row_count:
            print_rich(table)
            print_rich("")
    for claim in document.claims:
        say_result(f"{claim.verdict.upper()}: {claim.sentence}")
        for line in claim.lines():
            say_result(f"  {line}")
    say_result("")
    for line in document.checked():
        say_result(line)


if __name__ == "__main__":
    sys.exit(main())
