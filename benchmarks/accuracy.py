"""Accuracy of CNN and LSTM, base and VMASK, beside a linear baseline and the paper.

    python benchmarks/accuracy.py --data-dir DATA --embeddings a.npy,b.npy     # resumable; one file a run
    python benchmarks/accuracy.py --table                                      # the table from the files

A run's options are the defaults of the tool. The best epoch is chosen on dev; test is scored once, at the end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results" / "accuracy"
DATASETS, MODELS, MASKS = ("trec", "sst2", "subj"), ("cnn", "lstm"), ("base", "vmask")
NAMES = {"trec": "TREC", "sst2": "SST-2", "subj": "Subj"}
PAPER = {  # table 2 of the paper, in percent
    ("cnn", "base"): {"sst2": 85.50, "trec": 92.40, "subj": 92.80},
    ("cnn", "vmask"): {"sst2": 85.78, "trec": 93.02, "subj": 93.50},
    ("lstm", "base"): {"sst2": 83.74, "trec": 90.40, "subj": 90.20},
    ("lstm", "vmask"): {"sst2": 84.35, "trec": 90.80, "subj": 91.20},
}


def run(dataset_name: str, model: str, mask: str, seed: int, data_dir: str, embeddings: str) -> dict:
    from vmask import TextClassifier, load_dataset
    from vmask.demo import linear_baseline
    from vmask.metrics.global_words import frequency_correlation

    dataset = load_dataset(dataset_name, data_dir=data_dir)
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    result = {"dataset": dataset_name, "model": model, "mask": mask, "seed": seed, **facts()}
    result |= {"fingerprint": dataset.fingerprint, "test_n": len(test)}
    if model == "linear":
        return result | {"test_accuracy": linear_baseline(train, test)}
    classifier = TextClassifier(model, mask, embeddings=embeddings, seed=seed, device="cpu", **dataset.defaults)
    classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
    best = classifier.history_[classifier.best_epoch_ - 1]
    result |= {
        "test_accuracy": float(classifier.score(test.texts, test.labels)),
        "dev_accuracy": best["dev_accuracy"],
        "best_epoch": classifier.best_epoch_,
        "epochs": len(classifier.history_),
        "embeddings": [Path(part).name for part in embeddings.split(",")],
        "coverage": classifier.data_["coverage"],
        "train": classifier.plan_.to_dict()["train"],
        "history": classifier.history_,
    }
    if mask == "vmask":
        everything = classifier.word_importance(min_count=1)
        result["frequency_correlation"] = frequency_correlation(everything)
        result["words"] = [[w.word, round(w.score, 4), w.count] for w in classifier.word_importance(20, 3)]
    return result


def read() -> dict[tuple, list[dict]]:
    """The runs of every (model, mask, dataset), by seed."""
    cells: dict[tuple, list[dict]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        cell = json.loads(path.read_text())
        cells.setdefault((cell["model"], cell["mask"], cell["dataset"]), []).append(cell)
    return cells


def gains() -> str:
    """VMASK minus base in points: mean over seeds, 95% t interval of the differences seed by seed, the paper's gain."""
    from scipy.stats import t

    cells = read()
    lines = ["| VMASK minus base, points | " + " | ".join(f"{NAMES[d]} | paper" for d in DATASETS) + " |"]
    lines.append("|---" * (1 + 2 * len(DATASETS)) + "|")
    for model in MODELS:
        row = [model]
        for dataset in DATASETS:
            base, masked = ({r["seed"]: r for r in cells[model, mask, dataset]} for mask in MASKS)
            seeds = sorted(base.keys() & masked.keys())
            steps = [100 * (masked[s]["test_accuracy"] - base[s]["test_accuracy"]) for s in seeds]
            half = t.ppf(0.975, len(steps) - 1) * statistics.stdev(steps) / len(steps) ** 0.5
            mean = statistics.mean(steps)
            row.append(f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})")
            row.append(f"{PAPER[model, 'vmask'][dataset] - PAPER[model, 'base'][dataset]:+.1f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def table() -> str:
    cells = read()
    lines = ["| model | " + " | ".join(f"{NAMES[d]} | paper" for d in DATASETS) + " |"]
    lines.append("|---" * (1 + 2 * len(DATASETS)) + "|")
    for model, mask in [("linear", "none"), *((m, k) for m in MODELS for k in MASKS)]:
        row = [model if model == "linear" else f"{model}-{mask}"]
        for dataset in DATASETS:
            runs = cells.get((model, mask, dataset), [])
            scores = [100 * r["test_accuracy"] for r in runs]
            spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
            row.append(f"{statistics.mean(scores):.1f}{spread}" if scores else "")
            paper = PAPER.get((model, mask), {}).get(dataset)
            row.append("" if paper is None else f"{paper:.1f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--embeddings", default="word2vec-26k")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(), gains(), sep="\n\n")
        return
    warnings.simplefilter("ignore")
    RESULTS.mkdir(parents=True, exist_ok=True)
    cells = [(d, "linear", "none", 0) for d in DATASETS]
    cells += [(d, m, k, s) for s in args.seeds for d in DATASETS for m in MODELS for k in MASKS]
    for dataset, model, mask, seed in cells:
        path = RESULTS / f"{dataset}--{model}--{mask}--s{seed}.json"
        if path.exists():
            continue
        result = run(dataset, model, mask, seed, args.data_dir, args.embeddings)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(result, indent=1) + "\n")
        temporary.replace(path)
        print(f"{path.stem}: test {result['test_accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
