"""List the words a model uses most, wherever they stand."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vmask.cli.console import print_json, print_rich
from vmask.cli.options import add_device, add_json, at_least_0, choices
from vmask.errors import ConfigError

if TYPE_CHECKING:
    from vmask.explain.contract import Explanation


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    from vmask.explain.aggregate import RANKINGS

    parser.add_argument("model", metavar="DIR", nargs="?", help="a model folder")
    parser.add_argument("--top", type=at_least_0, default=20, metavar="N", help="how many words [20]; 0 for all")
    parser.add_argument(
        "--min-count",
        type=at_least_0,
        metavar="N",
        help="only words seen so often in training, or in the explained texts [3; 1 by signed, absolute and count]",
    )
    parser.add_argument(
        "--visible", action="store_true", help="all words that the model sees, by the class they are used for"
    )
    group = parser.add_argument_group("words of explanations, instead of a model folder")
    group.add_argument("--explanations", metavar="FILE", help="what `vmask explain` wrote, a line of JSON each")
    group.add_argument(
        "--by",
        **choices(RANKINGS),
        help="rank by the sum of a word's scores, of their absolute values, their mean, or the number of places "
        "[signed]",
    )
    group.add_argument("--label", metavar="LABEL", help="only explanations of this class [all]")
    group.add_argument(
        "--pick", type=at_least_0, metavar="N", help="also show N texts that together have most of the important words"
    )
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Rank the words and print the first of them."""
    if args.min_count is None:  # sums need no guard against rare words
        args.min_count = 3 if args.explanations is None or args.by == "mean" else 1
    if (args.model is None) == (args.explanations is None):
        raise ConfigError("Give either a model folder (vmask words DIR) or explanations (--explanations FILE).")
    if args.explanations is not None:
        if args.visible:
            raise ConfigError("--visible is for a model folder. Leave it out.")
        if args.device != "auto":
            raise ConfigError("--device is for a model folder. Leave it out.")
        return _words_of_explanations(args)
    for name in ("by", "label", "pick"):
        if getattr(args, name) is not None:
            raise ConfigError(f"--{name} is for explanations. Leave it out, or give --explanations FILE.")
    return _visible_words(args) if args.visible else _words_of_model(args)


def _visible_words(args: argparse.Namespace) -> int:
    """Print every word that the model sees, under the class that it speaks for."""
    from vmask.classifier import TextClassifier
    from vmask.inference.visible_words import visible_share, visible_words

    predictor = TextClassifier.load(args.model, args.device).predictor_
    words, share, types = visible_words(predictor), visible_share(predictor), len(predictor.word_counts())
    if args.json:
        rows = [dataclasses.asdict(word) for word in words]
        print_json({"words": rows, "visible": len(words), "n": types, "visible_share": share})
        return 0
    for label in predictor.labels:
        of_label = [word for word in words if word.label == label]
        print_rich(f"{label}: {len(of_label):,} words")
        lines = ((f"  {word.word}", f"{word.effect:+.3f}", f"{word.count:,}") for word in of_label)
        print_rich(_table(("  word", "effect", "count"), lines))
    print_rich(
        f"this model reads {len(words):,} of {types:,} words, {share:.1%} of the running words of its training texts"
    )
    print_rich("effect: by how much a word alone raises the probability of its class")
    return 0


def _words_of_model(args: argparse.Namespace) -> int:
    from vmask.classifier import TextClassifier
    from vmask.metrics.frequency_correlation import frequency_correlation
    from vmask.training.visibility import describe_visibility

    classifier = TextClassifier.load(args.model, args.device)
    ranked = classifier.word_importance(args.top or None, args.min_count)
    all_words = classifier.word_importance(min_count=1)
    correlation = frequency_correlation(all_words)
    visible = sum(word.score >= 0.5 for word in all_words)
    kept = classifier.history_[classifier.best_epoch_ - 1]
    line = describe_visibility(classifier.plan_.mask, classifier.predictor_.model.mask, kept, visible)
    if args.json:
        print_json(
            {
                "words": [dataclasses.asdict(word) for word in ranked],
                "frequency_correlation": correlation,
                "n": len(all_words),
                "above_half": visible,
                "running_words_above_half": kept.get("mask_visible"),
            }
        )
        return 0
    rows = (
        (word.word if word.known else f"{word.word} (no vector)", f"{word.score:.3f}", f"{word.count:,}")
        for word in ranked
    )
    print_rich(_table(("word", "importance", "count"), rows))
    print_rich(f"correlation of importance with frequency: {correlation:+.3f} (Pearson, {len(all_words):,} words)")
    if line:
        print_rich(line)
    return 0


def _words_of_explanations(args: argparse.Namespace) -> int:
    from vmask.explain.aggregate import global_importance
    from vmask.explain.explanation_file import read_explanations

    ranked = global_importance(
        read_explanations(args.explanations), args.by or "signed", label=args.label, min_count=args.min_count
    )
    first = ranked[: args.top or None]
    picked = _picked(args) if args.pick else []
    if args.json:
        value: dict[str, Any] = {"words": [dataclasses.asdict(word) for word in first], "n": len(ranked)}
        if args.pick:
            value["picked"] = [{"number": number + 1, **explanation.to_dict()} for number, explanation in picked]
        print_json(value)
        return 0
    rows = (
        (
            word.word,
            f"{word.signed:+.3f}",
            f"{word.absolute:.3f}",
            f"{word.mean:+.3f}",
            f"{word.texts:,}",
            f"{word.count:,}",
        )
        for word in first
    )
    print_rich(_table(("word", "signed", "absolute", "mean", "texts", "count"), rows))
    print_rich(f"{len(ranked):,} words with a count of {args.min_count} or more")
    for number, explanation in picked:
        print_rich(explanation.to_rich())
        print_rich(f"  {explanation.target} {explanation.probability:.2f}  text number {number + 1}")
    return 0


def _picked(args: argparse.Namespace) -> list[tuple[int, Explanation]]:
    """The picked explanations with their numbers in the file, which is read twice so that only these are in memory."""
    from vmask.explain.aggregate import pick

    places = pick((explanation for _, explanation in _explanations(args)), args.pick)
    picked = {place: numbered for place, numbered in enumerate(_explanations(args)) if place in places}
    return [picked[place] for place in places]


def _explanations(args: argparse.Namespace) -> Iterator[tuple[int, Explanation]]:
    """The explanations of the requested class, each with its number in the file."""
    from vmask.explain.explanation_file import read_explanations

    for number, explanation in enumerate(read_explanations(args.explanations)):
        if args.label is None or str(explanation.target) == args.label:
            yield number, explanation


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Any:
    """A table of words with their numbers."""
    from rich.table import Table

    table = Table(*head, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    return table
