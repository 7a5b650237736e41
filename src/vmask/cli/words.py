"""List the words a model uses most, wherever they stand."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from vmask.cli.options import add_device, add_json, at_least_0


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="DIR", help="a model folder")
    parser.add_argument("--top", type=at_least_0, default=20, metavar="N", help="how many words [20]; 0 for all")
    parser.add_argument(
        "--min-count", type=at_least_0, default=3, metavar="N", help="only words seen so often in training [3]"
    )
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Rank the words and print the first of them."""
    from rich.table import Table

    from vmask.classifier import TextClassifier
    from vmask.cli.show import print_json, print_rich
    from vmask.metrics.global_words import frequency_correlation

    classifier = TextClassifier.load(args.model, args.device)
    ranked = classifier.word_importance(args.top or None, args.min_count)
    everything = classifier.word_importance(min_count=1)
    correlation = frequency_correlation(everything)
    if args.json:
        print_json(
            {
                "words": [dataclasses.asdict(word) for word in ranked],
                "frequency_correlation": correlation,
                "n": len(everything),
            }
        )
        return 0
    table = Table("word", "importance", "count", box=None, header_style="bold")
    table.columns[1].justify = table.columns[2].justify = "right"
    for word in ranked:
        table.add_row(word.word if word.known else f"{word.word} (no vector)", f"{word.score:.3f}", f"{word.count:,}")
    print_rich(table)
    print_rich(f"correlation of importance with frequency: {correlation:+.3f} (Pearson, {len(everything):,} words)")
    return 0
