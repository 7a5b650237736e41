"""Write the paper's tables and figures from a folder of results, beside the published numbers; or check them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.options import add_json
from vmask.errors import VmaskError

if TYPE_CHECKING:
    from vmask.reproduction.document import Document

DEFAULT = ""
"""What `--check` without a file stands for: the file that is found."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="DIR", help="a folder of results that `vmask grid` wrote")
    parser.add_argument("--out", metavar="DIR", help="folder of the report [DIR/report]")
    parser.add_argument(
        "--check",
        nargs="?",
        const=DEFAULT,
        metavar="FILE",
        help="write nothing; say number by number what holds, and what the paper's claims come to "
        "[experiments/published.yaml]",
    )
    parser.add_argument("--no-figures", action="store_true", help="tables alone")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Check, or write the report."""
    from vmask.errors import FileMissing
    from vmask.reproduction.write import PUBLISHED, find_published

    folder = Path(args.results)
    published = Path(args.check) if args.check else find_published(folder)
    if args.check is not None and published is None:
        raise FileMissing(f"There is no {PUBLISHED} here. Name the file of published numbers: --check FILE")
    with _whole(folder):
        _report(args, folder, published)
    return 0


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Say of results that do not fit together that they do not: each file may be as it should, of another run."""
    from vmask.errors import DataError

    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, VmaskError):
            raise
        what = f"they lack {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise DataError(
            f"The results in {folder} do not fit together ({what}). Remove what was changed by hand, and the grid "
            "makes it anew."
        ) from error


def _report(args: argparse.Namespace, folder: Path, published: Path | None) -> None:
    from vmask.cli.console import print_json, say_result
    from vmask.reproduction.write import FIGURES, draw, filling, read_document, write_report

    document = read_document(folder, published)
    if args.check is not None:
        _show_check(document, args.json)
        return
    out = Path(args.out) if args.out else folder / "report"
    with filling(out) as new:
        if not args.no_figures:
            document = dataclasses.replace(document, pictures=draw(document, new / FIGURES))
        write_report(document, new)
    written = {"report": str(out), "tables": len(document.tables), "figures": len(document.pictures)}
    if args.json:
        print_json({**written, "checked": document.checked()})
    else:
        for line in document.checked():
            say_result(line)
        say_result(f"{written['tables']} tables and {written['figures']} figures in {out}: open {out / 'report.html'}")


def _show_check(document: Document, as_json: bool) -> None:
    from rich.table import Table

    from vmask.cli.console import print_json, print_rich, say_result
    from vmask.reproduction.check import checked

    found = list(checked(document.tables))
    if as_json:
        numbers: list[dict[str, Any]] = [
            {"table": one.table, "row": list(one.row), "column": one.column, "published": one.entry.published}
            | {"ours": None if one.entry.ours is None else one.entry.ours.value, "verdict": one.entry.verdict}
            | {"differs": list(one.entry.differs)}
            for one in found
        ]
        claims = [dataclasses.asdict(claim) for claim in document.claims]
        print_json({"summary": document.checked(), "claims": claims, "numbers": numbers})
        return
    for name in dict.fromkeys(one.table for one in found):
        run_ones = [one for one in found if one.table == name and one.entry.ours is not None]
        if not run_ones:
            continue
        table = Table(title=name, box=None, pad_edge=False, title_justify="left")
        for head in ("cell", "ours", "published", "verdict", "not like for like in"):
            table.add_column(head, justify="right" if head in ("ours", "published") else "left")
        for one in run_ones:
            assert one.entry.ours is not None
            ours = f"{one.entry.ours.value:.5g}"
            shown = "" if one.entry.published is None else f"{one.entry.published:g}"
            table.add_row(
                f"{' '.join(one.row)} {one.column}", ours, shown, one.entry.verdict, ", ".join(one.entry.differs)
            )
        print_rich(table)
        print_rich("")
    for claim in document.claims:
        say_result(f"{claim.verdict.upper()}: {claim.sentence}")
        for line in claim.lines():
            say_result(f"  {line}")
    say_result("")
    for line in document.checked():
        say_result(line)
