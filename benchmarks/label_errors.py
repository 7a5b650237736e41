r"""How many of the labels that a report calls suspect are wrong: labels of SST-2 that were exchanged on purpose.

    python benchmarks/label_errors.py --data-dir DATA     # resumable; one file a run
    python benchmarks/label_errors.py --table             # the table from the files

5% of the labels of every split of DATA/sst2 are exchanged, then a CNN is trained with random vectors. Of the dev and
test rows whose label it contradicts, the surest first, some are those that were exchanged.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results" / "label_errors"
SEEDS = (0, 1, 2)
WRONG = 0.05
FIRST = (20, 50, 100)


def run(seed: int, data_dir: str) -> dict:
    """Train on exchanged labels, and look for them."""
    from vmask import TextClassifier, load_dataset
    from vmask.report.model.suspects import suspects
    from vmask.report.model.test_scores import predict

    dataset = load_dataset("sst2", data_dir=data_dir)
    stream = random.Random(seed)
    exchanged, splits = set(), {}
    for name, split in dataset.splits.items():
        labels = list(split.labels)
        for row in stream.sample(range(len(split)), round(WRONG * len(split))):
            (labels[row],) = (label for label in dataset.labels if label != labels[row])
            exchanged.add((name, split.ids[row]))
        splits[name] = dataclasses.replace(split, labels=labels)
    data = dataclasses.replace(dataset, splits=splits)
    train, dev = splits["train"], splits["dev"]
    classifier = TextClassifier(embeddings="random", mask="base", epochs=8, seed=seed, device="cpu", **data.defaults)
    classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
    found = suspects(classifier.predictor_, data, predict(classifier.predictor_, data), private=True)
    hits = [(one.split, one.id) in exchanged for one in found]
    in_question = sum(name != "train" for name, _ in exchanged)
    return {
        **{"data": "sst2", "seed": seed, "wrong": WRONG, "fingerprint": dataset.fingerprint, **facts()},
        **{"rows": len(splits["dev"]) + len(splits["test"]), "exchanged": in_question, "suspects": len(found)},
        **{f"first_{count}": sum(hits[:count]) for count in FIRST},
        "all": sum(hits),
        "test_accuracy_on_true_labels": float(
            classifier.score(dataset.splits["test"].texts, dataset.splits["test"].labels)
        ),
    }


def table() -> str:
    """Counts of each seed."""
    lines = [
        "| seed | rows | exchanged | suspect | of these exchanged | of the first 20 | 50 | 100 |",
        "|--:" * 8 + "|",
    ]
    for path in sorted(RESULTS.glob("*.json")):
        made = json.loads(path.read_text())
        names = ("seed", "rows", "exchanged", "suspects", "all", "first_20", "first_50", "first_100")
        lines.append(f"| {' | '.join(f'{made[name]:,}' for name in names)} |")
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
    for seed in SEEDS:
        path = RESULTS / f"s{seed}.json"
        if not path.is_file():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(seed, args.data_dir)
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            print(path.name, made["first_20"], made["all"], flush=True)


if __name__ == "__main__":
    main()
