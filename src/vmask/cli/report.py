"""Write the tables and figures of the paper from a folder of results, beside the published numbers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="DIR", help="a folder of results that `vmask grid` wrote")
