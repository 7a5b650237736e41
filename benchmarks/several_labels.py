"""Several labels a text, from table to scores: one to three TREC questions joined, with the classes of all as labels.

    python benchmarks/several_labels.py --data-dir FOLDER [--model cnn] [--mask vmask] [--seeds 0 1]

The questions of a split of TREC are shuffled and taken one, two or three at a time, by chance; each stands in one text,
so texts of train, dev and test share no question. The labels of a text are the classes of its questions, one to three
of six. The tables are written as CSV with `;` between labels and read back as a user's own would be. Besides the scores
of each label it measures where explanations point: of texts with at least two labels, and each label that is predicted
rightly, how often the word with the highest score stands in a question of that class; by chance that is the share of
the words that do.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmask import TextClassifier, evaluate, load_dataset
from vmask._core.random_streams import numpy_stream
from vmask.data.splits import Split

EXPLAINED = 200
"""Texts whose explanations are looked at."""
Row = tuple[str, tuple[str, ...], list[tuple[int, int, str]]]
"""A text, its labels, and (start, end, class) of each of its questions."""


def joined(split: Split, name: str, seed: int) -> list[Row]:
    """The questions of a split, one to three to a text."""
    stream = numpy_stream(seed, "several labels", name)
    order = stream.permutation(len(split)).tolist()
    rows: list[Row] = []
    while order:
        count = int(stream.integers(1, 4))
        taken, order = order[:count], order[count:]
        text, parts = "", []
        for row in taken:
            text += " " if text else ""
            parts.append((len(text), len(text) + len(split.texts[row]), split.labels[row]))
            text += split.texts[row]
        rows.append((text, tuple(sorted({label for _, _, label in parts})), parts))
    return rows


def write(folder: Path, tables: dict[str, list[Row]]) -> Path:
    """A folder of splits, as a user has one."""
    folder.mkdir()
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["text", "label"])
            writer.writerows((text, ";".join(labels)) for text, labels, _ in rows)
    return folder


def pointing(classifier: TextClassifier, rows: Sequence[Row], method: str) -> dict[str, float]:
    """How often the top word of a label stands in a question of that class, and how often it would by chance."""
    hits: list[bool] = []
    chance: list[float] = []
    several = [row for row in rows if len(row[1]) > 1][:EXPLAINED]
    found = classifier.predict([text for text, _, _ in several])
    for (text, labels, parts), predicted in zip(several, found, strict=True):
        for label in set(labels) & set(predicted):
            (one,) = classifier.explain(text, method, target=label)
            inside = [any(a <= start < b for a, b, name in parts if name == label) for start, _ in one.spans]
            hits.append(inside[int(np.argmax(one.scores))])
            chance.append(float(np.mean(inside)))
    return {
        "top word in a question of the label": float(np.mean(hits)),
        "by chance": float(np.mean(chance)),
        "n": len(hits),
    }


def main() -> None:
    """Make the tables, train, measure, print a line of JSON for each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="a folder with trec")
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--mask", default="vmask")
    parser.add_argument("--embeddings", default="random")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    args = parser.parse_args()
    source = load_dataset("trec", data_dir=args.data_dir)
    tables = {name: joined(source.splits[name], name, 0) for name in ("train", "dev", "test")}
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_dataset(write(Path(folder) / "joined", tables))
    print(json.dumps({"texts": {name: len(split) for name, split in dataset.splits.items()}, "notes": dataset.notes}))
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    words = {} if args.model not in ("cnn", "lstm") else {"embeddings": args.embeddings}
    for seed in args.seeds:
        started = time.perf_counter()
        classifier = TextClassifier(args.model, args.mask, seed=seed, device="cpu", **words)
        classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
        seconds = time.perf_counter() - started
        scores = evaluate(classifier, test, "accuracy,micro_f1,macro_f1,nll,calibration_error", [])
        result: dict[str, Any] = {
            "seed": seed,
            "model": args.model,
            "mask": args.mask,
            "train seconds": round(seconds, 1),
            **{score.metric: [round(x, 4) for x in (score.value, score.low, score.high)] for score in scores.scores},
            "labels": scores.by_label[0],
            "points": {method: pointing(classifier, tables["test"], method) for method in ("mask", "occlusion")},
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
