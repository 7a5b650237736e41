"""Hide words from a model, or show them to it, and see what that costs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask._core.wording import plural
from vmask.cli.console import print_json, say, say_result
from vmask.cli.options import (
    add_columns,
    add_data_dir,
    add_device,
    add_json,
    add_model,
    add_reading,
    reading_of,
    words_of,
)
from vmask.errors import ConfigError

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier
    from vmask.evaluation.edit_cost import EditCost

SHOWN_FLIPS, SHOWN_WORDS = 5, 12


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_model(parser)
    parser.add_argument("out", metavar="OUT", help="folder for the edited copy")
    for verb, done in (("hide", "that the model must not see"), ("show", "that it sees as they are")):
        parser.add_argument(
            f"--{verb}", action="append", default=[], metavar="WORDS", help=f"words {done}: he,she,@names.txt"
        )
        parser.add_argument(
            f"--{verb}-pattern",
            action="append",
            default=[],
            metavar="REGEX",
            help=f"known words {done}, such as ^[0-9]+$",
        )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORDS",
        help="the only words that the model may see, besides those of --show: good,bad,@words.txt",
    )
    parser.add_argument(
        "--data", metavar="DATA", help="texts to measure the cost on, or none [the test split of the training data]"
    )
    parser.add_argument("--split", metavar="NAME", help="which split of a dataset [test]")
    add_columns(parser, "as in training")
    add_reading(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace a model that is in OUT")
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Edit, measure, save."""
    from vmask._core.locks import only_writer
    from vmask.classifier import TextClassifier
    from vmask.persistence.model_folder import check_free

    hide, show = words_of(",".join(args.hide)), words_of(",".join(args.show))
    only = words_of(",".join(args.only)) if args.only else None
    if not (hide or show or args.only or args.hide_pattern or args.show_pattern):
        raise ConfigError("There is nothing to edit. Name words with --hide, --show or --only, or a pattern.")
    out = Path(args.out)
    if out.resolve() == Path(args.model).resolve():
        raise ConfigError("The edited model would replace the one it is made from. Choose another folder for it.")
    check_free(out, args.overwrite, False)
    classifier = TextClassifier.load(args.model, args.device)
    patterns = {"hide_patterns": args.hide_pattern, "show_patterns": args.show_pattern}
    edited = classifier.edit(hide, show, only=only, **patterns)
    cost = _cost(args, classifier, edited)
    if cost is not None:
        edited.about_["edits"] = {**edited.about_["edits"], "cost": cost.to_dict()}
    with only_writer(out):
        edited.save(out, args.overwrite)
    words: dict[str, Any] = edited.about_["edits"]
    if args.json:
        print_json({"out": str(out), **words})
        return 0
    for name, verb in (("only", "reads only"), ("hidden", "hides"), ("shown", "shows")):
        if words.get(name):
            more = f" and {len(words[name]) - SHOWN_WORDS:,} more" if len(words[name]) > SHOWN_WORDS else ""
            say_result(f"{verb} {plural(len(words[name]), 'word')}: {', '.join(words[name][:SHOWN_WORDS])}{more}")
    if cost is not None:
        _show(cost)
    say_result(f"saved to {out}")
    say(args, f"next: vmask verify {out} DATA")
    return 0


def _cost(args: argparse.Namespace, before: TextClassifier, after: TextClassifier) -> EditCost | None:
    """The cost on the data that is named, or on that of the training if it can be found."""
    from vmask.data.datasets import Split
    from vmask.data.recorded_source import dataset_of
    from vmask.errors import UnknownName, VmaskError
    from vmask.evaluation.edit_cost import edit_cost
    from vmask.evaluation.subjects import load_data

    wanted = args.split or "test"
    if args.data == "none":
        return None
    if args.data is None:
        try:
            dataset = dataset_of(before.about_, data_dir=args.data_dir)
        except VmaskError as error:
            say(args, f"the cost was not measured: {error} Name the data with --data.")
            return None
        if args.split and args.split not in dataset.splits:
            raise UnknownName("split", args.split, dataset.splits)
        name = wanted if wanted in dataset.splits else "dev"
        split = dataset.splits[name]
        return edit_cost(before, after, split.texts, split.labels, f"{dataset.name} {name}")
    columns = {"text": args.text, "label": args.label, "label_separator": args.label_separator}
    where = {"split": args.split, "data_dir": args.data_dir, "reading": reading_of(args)}
    data = load_data(args.data, before.about_, labelled=True, **where, **columns)
    for note in data.notes:
        say(args, note)
    if isinstance(data, Split):
        return edit_cost(before, after, data.texts, data.labels, Path(args.data).name)
    split = data.splits[wanted]
    return edit_cost(before, after, split.texts, split.labels, f"{data.name} {wanted}")


def _show(cost: EditCost) -> None:
    from vmask.data.label_sets import label_text

    difference = cost.difference
    if difference is not None:
        say_result(
            f"accuracy {cost.before:.4f} before, {cost.after:.4f} after: {100 * difference.value:+.2f} points "
            f"({100 * difference.low:+.2f} to {100 * difference.high:+.2f}, p {difference.p:.3f}, "
            f"{cost.n:,} texts of {cost.data})"
        )
    what = "other labels" if cost.flips and isinstance(cost.flips[0].before, tuple) else "another class"
    say_result(f"{len(cost.flips):,} of {cost.n:,} texts get {what}")
    for flip in cost.flips[:SHOWN_FLIPS]:
        text = flip.text if len(flip.text) <= 90 else f"{flip.text[:87]}..."
        say_result(f"  {label_text(flip.before)} -> {label_text(flip.after)}: {text}")
