"""Predict the label of every text of a file or of standard input, one line out for every line in."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from vmask.cli.console import print_json, say, say_result
from vmask.cli.options import add_device, add_fields, add_json, add_model, given
from vmask.errors import VmaskError

CHUNK, CHUNK_CHARACTERS = 512, 1 << 20
"""Texts in memory at a time: a maximum number, or fewer if they are long."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    from vmask.config import WorkersConfig

    add_model(parser)
    parser.add_argument(
        "input",
        metavar="FILE",
        help="a text a line, a CSV/TSV/JSONL/Parquet column, a folder of such files, or - for stdin",
    )
    parser.add_argument("--text", metavar="COLUMN", help="column with the texts [as in training]")
    add_device(parser)
    add_json(parser)
    add_fields(parser, "where to compute", WorkersConfig)


def run(args: argparse.Namespace) -> int:
    """Read, predict and print in chunks."""
    from vmask._core.wording import plural
    from vmask.cli.workers import sharing
    from vmask.config import WorkersConfig, make
    from vmask.inference.work import Here, PredictWork, numbered, with_jobs
    from vmask.persistence.model_folder import load_model, read_config  # no TextClassifier: scikit-learn takes seconds

    where, folder = make(WorkersConfig, given(args, WorkersConfig)), Path(args.model)
    config = read_config(folder)
    labels = config["labels"]
    names = [str(label) for label in labels]
    lines = [" ".join(name.split()) for name in names]  # a label may have a line feed
    shards = numbered(chunks(read_texts(args.input, args.text, config["about"].get("text"))))
    empty = 0
    with sharing(where, [folder], args.device) as share:
        share = share or Here([load_model(folder, args.device).predictor], where.workers or 1)
        for shard, rows in with_jobs(share, PredictWork(), shards):
            empty += sum(not text.strip() for text in shard.texts)
            for text, row in zip(shard.texts, rows.tolist(), strict=True):
                best = max(range(len(row)), key=row.__getitem__)
                if args.json:
                    print_json({"label": labels[best], "probabilities": dict(zip(names, row, strict=True))})
                else:
                    say_result(f"{lines[best]}\t{row[best]:.4f}\t{' '.join(text.split())}")
    if empty:
        say(args, f"{plural(empty, 'text is', 'texts are')} empty: the prediction is the model's answer to no words.")
    return 0


def read_texts(source: str, column: str | None, trained_on: str | None) -> Iterator[str]:
    """The texts of a file, of all files of a folder, or of standard input if `source` is `-`.

    Tables are read by the column of the training.
    """
    import sys

    from vmask.data.readers import iter_texts, text_files

    if source == "-":
        return iter_texts(sys.stdin.buffer)
    return chain.from_iterable(iter_texts(file, column or trained_on) for file in text_files(source))


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
