"""Accuracy of an encoder trained as base, VMASK, IBA and L2X, beside the paper's BERT, and the two placements.

    python benchmarks/encoders.py --data-dir DATA --encoder minilm --runs FOLDER    # resumable; one file a run
    python benchmarks/encoders.py --table                                          # the tables from the files

Options are the defaults of the tool. The first stage of every method is the base run of the same seed (`init_from`).
The best epoch is chosen on dev; test is scored once, at the end. Model folders stay in `--runs`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from _facts import facts
from accuracy import difference, spread

RESULTS = Path(__file__).parent / "results" / "encoders"
NAMES = {"trec": "TREC", "sst2": "SST-2"}
PAPER = {  # table 2 of the paper, BERT-base, in percent
    "base": {"trec": 96.40, "sst2": 92.25},
    "vmask": {"trec": 97.00, "sst2": 92.26},
    "iba": {"trec": 96.80, "sst2": 92.24},
    "l2x": {"trec": 93.20, "sst2": 74.03},
}
CELLS = {
    "trec": [
        ("base", 0, "word"),
        ("vmask", 0, "word"),
        *((mask, seed, "word") for seed in (1, 2) for mask in ("base", "vmask")),
        ("vmask", 0, "block"),
        ("vmask", 1, "block"),
        ("iba", 0, "word"),
        ("l2x", 0, "word"),
    ],
    "sst2": [(mask, 0, "word") for mask in ("base", "vmask", "iba", "l2x")],
}


def key(dataset: str, mask: str, seed: int, placement: str) -> str:
    return f"{dataset}--{mask}{'-block' if placement == 'block' else ''}--s{seed}"


def run(dataset_name: str, mask: str, seed: int, placement: str, args: argparse.Namespace) -> dict:
    from vmask import TextClassifier, load_dataset

    dataset = load_dataset(dataset_name, data_dir=args.data_dir)
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    runs = Path(args.runs)
    classifier = TextClassifier(
        args.encoder,
        mask,
        seed=seed,
        device="cpu",
        verbose=True,
        model__placement=placement,
        init_from=None if mask == "base" else str(runs / key(dataset_name, "base", seed, "word")),
        **dataset.defaults,
    )
    name = key(dataset_name, mask, seed, placement)
    classifier.fit(
        train.texts,
        train.labels,
        dev=(dev.texts, dev.labels),
        checkpoint=runs / f"{name}.checkpoint",
        resume=True,
    )
    probabilities = classifier.predict_proba(test.texts)
    right = classifier.classes_[probabilities.argmax(1)] == test.labels
    classifier.about_ = {"dataset": dataset_name, "test_accuracy": float(right.mean()), "test_n": len(test)}
    classifier.save(runs / name, overwrite=True)
    result = {"dataset": dataset_name, "mask": mask, "placement": placement, "seed": seed, **facts()}
    result |= {
        "fingerprint": dataset.fingerprint,
        "test_n": len(test),
        "test_accuracy": float(right.mean()),
        "dev_accuracy": classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"],
        "best_epoch": classifier.best_epoch_,
        "data": classifier.data_,
        "train": {**classifier.plan_.to_dict()["train"], "init_from": None if mask == "base" else "base of this seed"},
        "history": classifier.history_,
        "test_probabilities": [[round(float(p), 4) for p in row] for row in probabilities],
    }
    if mask in ("vmask", "iba", "l2x"):
        result["words"] = [[w.word, round(w.score, 4), w.count] for w in classifier.word_importance(50, 3)]
    return result


def read() -> dict[tuple, list[dict]]:
    """The runs of every (mask, placement, dataset), by seed."""
    cells: dict[tuple, list[dict]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        cell = json.loads(path.read_text())
        cells.setdefault((cell["mask"], cell["placement"], cell["dataset"]), []).append(cell)
    return cells


def shown(runs: list[dict]) -> str:
    """Mean and deviation of the test accuracy, and the number of seeds."""
    return f"{spread(runs)} ({len(runs)})" if runs else ""


def table() -> str:
    """Test accuracy in percent: mean ± deviation (number of seeds), beside the paper's BERT-base."""
    cells = read()
    lines = ["| MiniLM | " + " | ".join(f"{NAMES[d]} | paper's BERT" for d in NAMES) + " |"]
    lines.append("|---" * (1 + 2 * len(NAMES)) + "|")
    for mask, paper in PAPER.items():
        row = [mask]
        for dataset in NAMES:
            row += [shown(cells.get((mask, "word", dataset), [])), f"{paper[dataset]:.1f}"]
        lines.append("| " + " | ".join(row) + " |")
    row = ["vmask minus base, points"]
    for dataset in NAMES:
        row.append(difference(*(cells.get((mask, "word", dataset), []) for mask in ("base", "vmask"))))
        row.append(f"{PAPER['vmask'][dataset] - PAPER['base'][dataset]:+.1f}")
    lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def placements(top: int = 20) -> str:
    """The mask on the word vectors against the mask behind the embedding block, on TREC."""
    cells = read()
    lines = [
        "| placement | TREC | the words with the highest importance (seed 0, seen 3 times or more) |",
        "|---|---|---|",
    ]
    for placement in ("word", "block"):
        runs = [r for r in cells.get(("vmask", placement, "trec"), []) if r["seed"] in (0, 1)]
        words = next((", ".join(w for w, _, _ in r["words"][:top]) for r in runs if r["seed"] == 0), "")
        lines.append(f"| {placement} | {shown(runs)} | {words} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--runs", default="runs/encoders")
    parser.add_argument("--datasets", nargs="+", default=list(NAMES))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(), placements(), sep="\n\n")
        return
    warnings.simplefilter("ignore")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for dataset in args.datasets:
        for mask, seed, placement in CELLS[dataset]:
            path = RESULTS / f"{key(dataset, mask, seed, placement)}.json"
            if path.exists():
                continue
            result = run(dataset, mask, seed, placement, args)
            temporary = path.with_suffix(".tmp")
            temporary.write_text(json.dumps(result) + "\n")
            temporary.replace(path)
            print(f"{path.stem}: dev {result['dev_accuracy']:.4f} test {result['test_accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
