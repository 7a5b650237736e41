"""Write a report of a grid: every method and metric of its results in tables, curves, words and explained texts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vmask.cli.console import print_json, say_result
from vmask.cli.options import add_json
from vmask.errors import VmaskError


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="DIR", help="a folder of results that `vmask grid` wrote")
    parser.add_argument("--out", metavar="DIR", help="folder of the report [DIR/report]")
    parser.add_argument(
        "--baseline", metavar="MASK", help="the method that others are compared with [base, or the first there is]"
    )
    parser.add_argument("--no-figures", action="store_true", help="tables alone")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the report."""
    from vmask.report.grid import GridReport

    folder = Path(args.results)
    out = Path(args.out) if args.out else folder / "report"
    with _consistent(folder):
        report = GridReport.read(folder, args.baseline)
        pictures = report.write(out, figures=not args.no_figures)
    written = {
        "report": str(out),
        "baseline": report.baseline,
        "tables": len(report.tables),
        "figures": len(pictures),
        "failed": len(report.results.failed),
    }
    if args.json:
        print_json(written)
    else:
        say_result(report.lead())
        say_result(f"{written['tables']} tables and {written['figures']} figures in {out}: open {out / 'report.html'}")
    return 0


@contextmanager
def _consistent(folder: Path) -> Iterator[None]:
    """Raise a DataError for results that do not fit together: each file may be valid, but of another run."""
    from vmask.errors import DataError

    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, VmaskError):
            raise
        reason = f"they lack {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise DataError(
            f"The results in {folder} do not fit together ({reason}). Remove what was changed by hand, and the grid "
            "makes it anew."
        ) from error
