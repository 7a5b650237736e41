"""Compare new texts with those that a model was trained on: unknown words, its answers, its confidence."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.console import note_once, print_json, print_rich, say_result
from vmask.cli.options import add_columns, add_device, add_json, add_model, add_reading, reading_of
from vmask.errors import DataError

if TYPE_CHECKING:
    from vmask.evaluation.drift import Drift


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_model(parser)
    parser.add_argument(
        "input",
        metavar="FILE",
        nargs="+",
        help="a text a line, or a column of a table (CSV, JSONL, Excel, Parquet, …); a folder or 'pattern-*' of such "
        "files, or - for stdin",
    )
    add_columns(parser, "as in training")
    add_reading(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read, compare and print."""
    from vmask.data.table_chunks import InputTable
    from vmask.evaluation.drift import drift_of
    from vmask.persistence.model_folder import load_model

    model = load_model(Path(args.model), args.device)
    about = model.about
    reading, note = reading_of(args), note_once(args)
    table = InputTable(args.input, args.text, about.get("text"), reading=reading, note=note)
    if args.label is not None and args.label not in table.columns:
        raise DataError(f"There is no column '{args.label}'. Name one of the columns with --label, or leave it out.")
    label = args.label or (about.get("label") if about.get("label") in table.columns else None)
    labels: list[Any] = []

    def texts() -> Iterator[str]:
        for chunk in table.chunks(512):
            given = [row.get(label) for row in chunk.rows] if label else [None] * len(chunk)
            for text, its_label in zip(chunk.texts, given, strict=True):
                if text is not None:
                    labels.append(its_label)
                    yield text

    stream = texts()
    first = next(stream, None)
    if first is None:
        raise DataError("There is no text to compare. Give a file with texts, or name their column with --text.")
    found = drift_of(model.predictor, about, chain([first], stream), labels if label else None)
    assert found is not None
    if args.json:
        print_json(found.to_dict())
    else:
        _print(found)
    return 0


def _print(drift: Drift) -> None:
    """A sentence first, then the tables."""
    from rich.table import Table

    say_result(drift.summary)
    if drift.changes:
        table = Table("", "dev", "new", "difference (95%)", "p")
        for change in drift.changes:
            form = "{:.1%}" if change.share else "{:.1f}"
            times, unit = (100, " points") if change.share else (1, "")
            interval = f"{change.low * times:+.1f} to {change.high * times:+.1f}{unit}"
            what = f"{change.what}{' *' if change.real else ''}"
            table.add_row(what, form.format(change.before), form.format(change.now), interval, f"{change.p:.3f}")
        print_rich(table)
    if drift.unknown_words:
        named = ", ".join(f"{word} ({count:,})" for word, count in drift.unknown_words)
        kind = "unseen in training" if drift.encoder else "unknown to the model"
        share = f"{drift.new.unknown_types:,} of {drift.new.types:,} distinct words"
        say_result(f"{kind}: {share}; most frequent: {named}")
    if drift.words:
        table = Table("important word", "per 1,000 words in training", "now", "p")
        for word in drift.words:
            table.add_row(word.word, f"{word.before:.2f}", f"{word.now:.2f}", f"{word.p:.3f}")
        print_rich(table)
    if drift.other_labels:
        names = ", ".join(map(str, drift.labels[:10]))
        wrong = "they count as wrong" if drift.accuracy else "accuracy is left out"
        say_result(f"{drift.other_labels:,} texts have labels that the model does not have ({names}): {wrong}")
    for name, value in (("new texts", drift.accuracy), ("test texts of the training", drift.test_accuracy)):
        if drift.accuracy is not None and value is not None:
            say_result(f"accuracy on the {name}: {value[0]:.4f} ({value[1]:.4f} to {value[2]:.4f})")
