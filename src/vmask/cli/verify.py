"""Verify that hidden words change no answer: exchange them at random and compare the probabilities."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.console import print_json, say, say_result, shows_progress
from vmask.cli.options import add_columns, add_data_dir, add_device, add_json, add_reading, whole_number
from vmask.errors import ConfigError

if TYPE_CHECKING:
    from vmask.evaluation.verify import Verification

FAILED = 1
IN_EXPORTS = 1e-6
"""Largest change of an export's probability that counts as none: there the mask sits in the vectors."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="DIR", help="a model folder, or an export of one (hf or onnx)")
    parser.add_argument("data", metavar="DATA", help="a dataset, a folder of splits, or a file of texts")
    parser.add_argument("--split", metavar="NAME", help="which split of a dataset [test]")
    parser.add_argument(
        "--exchanges", type=whole_number(1), default=10_000, metavar="N", help="words to exchange, at least [10,000]"
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, metavar="N", help="seed of the draws [0]")
    parser.add_argument(
        "--export", metavar="EXPORT", help="ask this export of the model (hf or onnx) in its place, to 1e-6"
    )
    parser.add_argument("--unlabelled", action="store_true", help="the data has no labels")
    add_columns(parser, "as in training")
    add_reading(parser)
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Exchange, compare, print; the exit code is 1 if a probability moved."""
    from vmask._core.progress import advancing
    from vmask.export.folder import exported_files

    check = _of_model if exported_files(Path(args.model)) is None else _of_export
    with advancing(args.exchanges, "exchanging hidden words") if shows_progress(args) else nullcontext() as advance:
        found = check(args, advance)
    if args.json:
        print_json({**dataclasses.asdict(found), "holds": found.holds})
    else:
        _show(found)
    return 0 if found.holds else FAILED


def _of_model(args: argparse.Namespace, progress: Callable[[int], None] | None) -> Verification:
    from vmask.classifier import TextClassifier
    from vmask.evaluation.verify import verify
    from vmask.export.answers import answers_of

    classifier = TextClassifier.load(args.model, args.device)
    asked: dict[str, Any] = {}
    if args.export:
        asked = {"answer": answers_of(Path(args.export)), "tolerance": IN_EXPORTS}
    texts, labels = _texts(args, classifier.about_)
    options = {"exchanges": args.exchanges, "seed": args.seed, "progress": progress}
    return verify(classifier.predictor_, texts, labels, **options, **asked)


def _of_export(args: argparse.Namespace, progress: Callable[[int], None] | None) -> Verification:
    from vmask.evaluation.verify import verify_export
    from vmask.export.answers import answers_of
    from vmask.export.hidden import ExportReader

    folder = Path(args.model)
    if args.export:
        raise ConfigError(f"{folder} is an export itself. Leave --export out, or name its model folder before it.")
    reader, answer = ExportReader.of(folder), answers_of(folder)
    texts, labels = _texts(args, {})
    options = {"exchanges": args.exchanges, "seed": args.seed, "tolerance": IN_EXPORTS, "progress": progress}
    return verify_export(reader, answer, texts, labels, **options)


def _texts(args: argparse.Namespace, about: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[object] | None]:
    """The texts to exchange words in, and their labels if they have any."""
    from vmask.cli.evaluate import data_of
    from vmask.data.datasets import Split

    found = data_of(args, about)
    for note in found.notes:
        say(args, note)
    data = found.texts
    split = data if isinstance(data, Split) else data.splits[args.split or "test"]
    return split.texts, None if args.unlabelled else split.labels


def _show(found: Verification) -> None:
    say_result(
        f"visible: {found.visible_types:,} of {found.types:,} word types, {found.visible_share:.1%} of "
        f"{found.running:,} running words"
    )
    if found.accuracy is not None:
        say_result(f"accuracy {found.accuracy:.4f}")
    say_result(
        f"exchanged {found.exchanges:,} hidden words in {found.texts:,} texts: greatest change of a probability "
        f"{found.greatest:.3g}"
    )
    if found.holds:
        say_result("holds: hidden words change no answer")
    else:
        say_result(f"FAILS: the answers to {found.moved:,} texts moved")
        if found.example is not None:
            say_result(f"  before: {found.example[0]}\n  after:  {found.example[1]}")
    say_result(
        "what is still seen of a hidden word: that a word stands there, so the length of the text and the places"
    )
