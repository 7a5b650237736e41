r"""A user's default: VMASK on files of different sizes, by the old rule and by the new one.

    python benchmarks/annealing.py --data-dir DATA      # resumable; one file a run
    python benchmarks/annealing.py --table              # the table from the files

By the old rule beta fell until the last epoch, all epochs competed for the best dev score, and small data was passed
over no more often than large data. All other options are the defaults of the tool. Test is scored once, at the end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results" / "annealing"
FILES = {"200 reviews": ("sst2", 200), "1,000 reviews": ("sst2", 1000), "TREC": ("trec", None), "SST-2": ("sst2", None)}
FILES |= {"Subj": ("subj", None)}
RULES = {"old": {"anneal_until": 1.0, "select_from": 0.0, "min_steps": 0}, "new": {}}
SEEDS = (0, 1, 2)


def run(name: str, rule: str, seed: int, data_dir: str) -> dict:
    from vmask import TextClassifier, load_dataset

    dataset_name, rows = FILES[name]
    dataset = load_dataset(dataset_name, data_dir=data_dir)
    train, dev, test = (dataset.splits[split] for split in ("train", "dev", "test"))
    if rows is not None:  # a small file has a small dev split too
        chosen = random.Random(0).sample(range(len(train)), rows)
        train, dev = train.take(chosen[: rows * 9 // 10]), train.take(chosen[rows * 9 // 10 :])
    classifier = TextClassifier(seed=seed, device="cpu", **RULES[rule], **dataset.defaults)
    classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
    best = classifier.history_[classifier.best_epoch_ - 1]
    words = [word for word in classifier.word_importance(min_count=3) if word.known]
    return {
        **{"file": name, "rule": rule, "seed": seed, "rows": len(train), "fingerprint": dataset.fingerprint, **facts()},
        "test_accuracy": float(classifier.score(test.texts, test.labels)),
        "best_epoch": classifier.best_epoch_,
        "epochs": len(classifier.history_),
        "beta": best["beta"],
        "mask_std": best["mask_std"],
        "seconds": round(sum(row["seconds"] for row in classifier.history_), 1),
        "words": {word.word: round(word.score, 4) for word in words},
    }


def read() -> dict[tuple[str, str], list[dict]]:
    """The runs of every file and rule, by seed."""
    runs: dict[tuple[str, str], list[dict]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        made = json.loads(path.read_text())
        runs.setdefault((made["file"], made["rule"]), []).append(made)
    return runs


def agreement(runs: list[dict]) -> float:
    """Mean Spearman correlation of the scores of words between seeds."""
    from scipy.stats import spearmanr

    values = []
    for first, second in itertools.combinations(runs, 2):
        both = sorted(first["words"].keys() & second["words"].keys())
        values.append(spearmanr([first["words"][w] for w in both], [second["words"][w] for w in both]).statistic)
    return statistics.fmean(values)


def table() -> str:
    """Mean over seeds of what both rules give on every file."""
    lines = [
        "| file | training texts | rule | test accuracy | beta at the epoch kept | spread of the mask | "
        "agreement of two seeds (Spearman) | epochs | s |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (name, rule), runs in sorted(
        read().items(), key=lambda item: (list(FILES).index(item[0][0]), item[0][1] == "new")
    ):
        accuracy = [100 * made["test_accuracy"] for made in runs]
        keys = ("beta", "mask_std", "epochs", "seconds")
        mean = {key: statistics.fmean(made[key] for made in runs) for key in keys}
        spread = f" ± {statistics.stdev(accuracy):.1f}" if len(runs) > 1 else ""
        agree = f"{agreement(runs):.2f}" if len(runs) > 1 else ""
        lines.append(
            f"| {name} | {runs[0]['rows']:,} | {rule} | {statistics.fmean(accuracy):.1f}{spread} | "
            f"{mean['beta']:.2f} | "
            f"{mean['mask_std']:.2f} | {agree} | {mean['epochs']:.0f} | {mean['seconds']:.0f} |"
        )
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
    for name, rule, seed in itertools.product(FILES, RULES, SEEDS):
        path = RESULTS / f"{name.replace(' ', '-').replace(',', '').lower()}--{rule}--s{seed}.json"
        if not path.is_file():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(name, rule, seed, args.data_dir)
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            print(path.name, f"{made['test_accuracy']:.3f}", flush=True)


if __name__ == "__main__":
    main()
