"""Score a model on a dataset's split or on a file of labelled texts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vmask.cli.options import add_columns, add_data_dir, add_device, add_json


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="DIR", help="a model folder")
    parser.add_argument("data", metavar="DATA", help="a dataset, a folder of splits, or a single file (scored whole)")
    parser.add_argument("--split", metavar="NAME", help="which split of a dataset [test]")
    add_columns(parser, "as in training")
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Predict and compare."""
    import numpy as np

    from vmask.classifier import TextClassifier
    from vmask.cli.show import print_json, say, say_result
    from vmask.data.datasets import load_dataset, load_table
    from vmask.data.labelled import as_label
    from vmask.errors import DataError, UnknownName
    from vmask.metrics.accuracy import accuracy
    from vmask.metrics.macro_f1 import macro_f1

    classifier = TextClassifier.load(args.model, args.device)
    about = classifier.about_
    if Path(args.data).is_file():
        if args.split:
            raise DataError(f"{args.data} is a single file and is scored whole. Leave --split out.")
        split = load_table(args.data, text=args.text or about.get("text"), label=args.label or about.get("label"))
        name, notes = args.data, split.notes
        if Path(args.data).name == about.get("dataset"):
            notes += (f"The model was trained on a file called {about['dataset']}: these rows may not be new to it.",)
    else:
        known = about if Path(args.data).is_dir() else {}  # a dataset with a card names its columns itself
        dataset = load_dataset(
            args.data,
            data_dir=args.data_dir,
            text=args.text or known.get("text"),
            label=args.label or known.get("label"),
        )
        wanted = args.split or "test"
        if wanted not in dataset.splits:
            raise UnknownName("split", wanted, dataset.splits)
        name, split, notes = f"{dataset.name} {wanted}", dataset.splits[wanted], dataset.notes
    for note in notes:
        say(args, note)
    code = {str(as_label(label)): number for number, label in enumerate(classifier.classes_)}
    if unseen := sorted({label for label in split.labels if label not in code}):
        raise DataError(
            f"{name} has labels that the model was not trained on: {', '.join(unseen[:5])}. "
            f"It knows: {', '.join(code)}. Check --label, or drop those rows."
        )
    true = np.array([code[label] for label in split.labels], dtype=np.int64)
    predicted = classifier.predict_proba(split.texts).argmax(1).astype(np.int64)
    result = {
        "accuracy": accuracy(true, predicted),
        "macro_f1": macro_f1(true, predicted),
        "n": len(true),
        "data": name,
    }
    if args.json:
        print_json(result)
    else:
        say_result(f"accuracy {result['accuracy']:.4f}  macro F1 {result['macro_f1']:.4f}  n {len(true):,}  ({name})")
    return 0
