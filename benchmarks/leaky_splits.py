r"""Files in which a split row by row lies: copies of reviews, customers who sign, and products that come and go.

    python benchmarks/leaky_splits.py --data-dir DATA     # resumable; one file a run
    python benchmarks/leaky_splits.py --table             # the table from the files

Each file is made from reviews of DATA/yelp. A CNN is trained on it twice, with dev and test held out row by row
(`--duplicates ignore`), and as the file asks for. What is true is the accuracy on 2,000 other reviews that are made in
the same way: of texts, customers or products that the file does not have.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import tempfile
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results" / "leaky_splits"
SEEDS = (0, 1, 2, 3, 4)
REVIEWS, FRESH, WORDS, OWN = 1000, 2000, 25, 20
SPLITS = {"copies": {"duplicates": "exact"}, "customers": {"group": "customer"}, "products": {"time": "day"}}
LOYAL = 0.95
"""Share of the reviews of a customer, or of a product, that have the same label; each has `OWN` reviews."""
OPTIONS = {"embeddings": "random", "mask": "base", "epochs": 12, "model__filters": 50}


def name_of(number: int) -> str:
    """A made-up name."""
    syllables = ("ba", "do", "ki", "lu", "me", "no", "pa", "ri", "su", "te")
    return "".join(syllables[int(digit)] for digit in f"{number:04}") + "x"


def with_names(rows: list[tuple[str, str]], first: int, size: int, stream: random.Random) -> list[tuple[str, str, int]]:
    """Texts with the three words of one of many owners behind them, each of whom has mostly one label."""
    left = {"0": [], "1": []}
    for text, label in rows:
        left[label].append(text)
    made, owner = [], first
    while min(map(len, left.values())) >= size:
        mostly, sign = stream.choice("01"), " ".join(name_of(part * 1000 + owner) for part in range(3))
        for _ in range(size):
            label = mostly if stream.random() < LOYAL else "10"[int(mostly)]
            made.append((f"{left[label].pop()} {sign}", label, owner))
        owner += 1
    return made


def make(kind: str, seed: int, data_dir: str, path: Path) -> tuple[list[str], list[str]]:
    """Write a file. Returns the texts and labels of reviews that are new to it."""
    from vmask import load_dataset

    dataset = load_dataset("yelp", data_dir=data_dir)
    stream = random.Random(f"{kind} {seed}")
    by_text = {}
    for split in dataset.splits.values():
        for text, label in zip(split.texts, split.labels, strict=True):
            by_text.setdefault(" ".join(text.split()[:WORDS]), str(dataset.labels.index(label)))
    classes = {label: [text for text in by_text if by_text[text] == label] for label in "01"}
    size = min(map(len, classes.values()))
    rows = [(text, label) for label in "01" for text in stream.sample(classes[label], size)]
    stream.shuffle(rows)
    ours, others = rows[:REVIEWS], rows[REVIEWS : REVIEWS + FRESH]
    header = ["text", "label"]
    if kind == "copies":  # as on a site that is crawled again and again
        table = [
            (text.upper() if copy % 3 == 2 else f" {text}" if copy % 3 else text, label)
            for text, label in ours
            for copy in range(stream.choice((1, 1, 2, 4)))
        ]
    elif kind == "customers":
        header.append("customer")
        table = with_names(ours, 0, OWN, stream)
        others = [row[:2] for row in with_names(others, 5000, OWN, stream)]
    else:
        header.append("day")
        table = [
            (text, label, f"2026-{1 + owner // 28:02}-{1 + owner % 28:02}")
            for text, label, owner in with_names(ours, 0, OWN, stream)
        ]
        others = [row[:2] for row in with_names(others, 5000, OWN, stream)]
    stream.shuffle(table)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *table])
    return [text for text, _ in others], [label for _, label in others]


def run(kind: str, by: str, seed: int, data_dir: str) -> dict:
    """Train on a file whose splits are held out row by row, or as it asks for."""
    from vmask import TextClassifier, load_dataset
    from vmask.config import SplitConfig

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.csv"
        fresh = make(kind, seed, data_dir, path)
        how = SplitConfig(duplicates="ignore") if by == "rows" else SplitConfig(**SPLITS[kind])
        dataset = load_dataset(path, text="text", label="label", split=how)
    train, dev, test = (dataset.splits[split] for split in ("train", "dev", "test"))
    classifier = TextClassifier(seed=seed, device="cpu", **OPTIONS)
    classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
    return {
        **{"file": kind, "by": by, "seed": seed, "options": OPTIONS, "fingerprint": dataset.fingerprint, **facts()},
        **{"train": len(train), "dev": len(dev), "test": len(test), "new": len(fresh[0])},
        "test_accuracy": float(classifier.score(test.texts, test.labels)),
        "new_accuracy": float(classifier.score(*fresh)),
    }


def table() -> str:
    """Means over seeds with 95% t-intervals."""
    from vmask.evaluation.statistics import seeds_interval

    runs: dict[tuple[str, str], list[dict]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        made = json.loads(path.read_text())
        runs.setdefault((made["file"], made["by"]), []).append(made)
    lines = [
        "| file | held out by | test accuracy | accuracy on new reviews | test less new |",
        "|---|---|--:|--:|--:|",
    ]
    for kind, by in itertools.product(SPLITS, ("rows", "file")):
        made = runs.get((kind, by), [])
        if not made:
            continue
        columns = [[100 * one[name] for one in made] for name in ("test_accuracy", "new_accuracy")]
        columns.append([a - b for a, b in zip(*columns, strict=True)])
        cells = []
        for values in columns:
            found = seeds_interval(values)
            cells.append(f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f})")
        asked = " ".join(f"`--{name} {value}`" for name, value in SPLITS[kind].items())
        lines.append(f"| {kind} | {'`--duplicates ignore`' if by == 'rows' else asked} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table())
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    for seed, kind, by in itertools.product(SEEDS, SPLITS, ("rows", "file")):
        path = RESULTS / f"{kind}--{by}--s{seed}.json"
        if not path.is_file():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(kind, by, seed, args.data_dir)
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            print(path.name, f"{made['test_accuracy']:.3f} {made['new_accuracy']:.3f}", flush=True)


if __name__ == "__main__":
    main()
