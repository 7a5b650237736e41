"""Predict the label of every text of a file or of standard input, one line out for every line in."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vmask.cli.console import print_json, say, say_result
from vmask.cli.options import add_device, add_json, add_model
from vmask.errors import VmaskError

CHUNK, CHUNK_CHARACTERS = 512, 1 << 20
"""Texts in memory at a time: a maximum number, or fewer if they are long."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_model(parser)
    parser.add_argument("input", metavar="FILE", help="a text a line, a CSV/TSV/JSONL/Parquet column, or - for stdin")
    parser.add_argument("--text", metavar="COLUMN", help="column with the texts [as in training]")
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read, predict and print in chunks."""
    from vmask._core.wording import plural
    from vmask.persistence.model_folder import load_model  # not TextClassifier: scikit-learn takes seconds to import

    trained = load_model(Path(args.model), args.device)
    predictor, labels = trained.predictor, list(trained.labels)
    names = [str(label) for label in labels]
    lines = [" ".join(name.split()) for name in names]  # a label may have a line feed
    empty = 0
    for texts in chunks(read_texts(args.input, args.text, trained.about.get("text"))):
        empty += sum(not text.strip() for text in texts)
        for text, row in zip(texts, predictor.predict_docs(predictor.prepare(texts)).tolist(), strict=True):
            best = max(range(len(row)), key=row.__getitem__)
            if args.json:
                print_json({"label": labels[best], "probabilities": dict(zip(names, row, strict=True))})
            else:
                say_result(f"{lines[best]}\t{row[best]:.4f}\t{' '.join(text.split())}")
    if empty:
        say(args, f"{plural(empty, 'text is', 'texts are')} empty: the prediction is the model's answer to no words.")
    return 0


def read_texts(source: str, column: str | None, trained_on: str | None) -> Iterator[str]:
    """The texts of a file, or of standard input if `source` is `-`; a table is read by the column of the training."""
    import sys

    from vmask.data.readers import iter_texts

    return iter_texts(sys.stdin.buffer if source == "-" else source, column or trained_on)


def chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in short lists. The texts before an unreadable row are yielded before its error is raised."""
    chunk: list[str] = []
    characters = 0
    try:
        for text in texts:
            chunk.append(text)
            characters += len(text)
            if len(chunk) == CHUNK or characters >= CHUNK_CHARACTERS:
                yield chunk
                chunk, characters = [], 0
    except VmaskError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
