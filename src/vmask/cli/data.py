"""Check a dataset against the paper's table, or fetch a download into the cache."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from vmask.cli.console import print_json, print_rich, say, say_result
from vmask.cli.options import add_data_dir, add_json, add_talk


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    what = parser.add_subparsers(dest="what", required=True, metavar="check|fetch")
    check = what.add_parser("check", help="classes, lengths, sizes and vocabulary beside the paper's table")
    check.add_argument("name", metavar="NAME", help="a dataset, see `vmask ls datasets`")
    add_data_dir(check)
    add_json(check)
    fetch = what.add_parser("fetch", help="download the default dataset or word vectors, for work offline")
    fetch.add_argument("name", metavar="NAME", help="reviews or word2vec-26k")
    add_json(fetch)
    for sub in (check, fetch):
        add_talk(sub)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    return _check(args) if args.what == "check" else _fetch(args)


def _check(args: argparse.Namespace) -> int:
    from rich.table import Table

    from vmask.data.paper_check import check_dataset

    report = check_dataset(args.name, args.data_dir)
    for note in report.notes:
        say(args, note)
    if args.json:
        print_json(report.to_dict())
        return 0
    table = Table(args.name, "here", "paper", "note", box=None, header_style="bold")
    table.columns[1].justify = table.columns[2].justify = "right"
    for row in report.rows:
        table.add_row(row.quantity, str(row.ours), "" if row.paper is None else str(row.paper), row.note)
    print_rich(table)
    for line in report.differences:
        print_rich(f"- {line}")
    return 0


def _fetch(args: argparse.Namespace) -> int:
    from vmask.data.downloads import fetch

    path = fetch(args.name)
    if args.json:
        print_json({"name": args.name, "path": str(path)})
    else:
        say_result(str(path))
    return 0
