r"""Accuracy of CNN and LSTM, base and VMASK, beside a linear baseline and the paper.

    python benchmarks/accuracy.py --data-dir DATA --embeddings a.npy,b.npy     # resumable; one file a run
    python benchmarks/accuracy.py --table                                      # the tables from the files

The same runs with other vectors go to a folder of their own; here, vectors distilled from an encoder stand beside the
others:

    python benchmarks/accuracy.py --out-name distil --datasets trec sst2 --data-dir DATA \
        --embeddings a.npy,b.npy,distil:minilm

A run's options are the defaults of the tool. The best epoch is chosen on dev; test is scored once, at the end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results"
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
    from vmask.metrics.frequency_correlation import frequency_correlation
    from vmask.report.model.test_scores import linear_predictions

    dataset = load_dataset(dataset_name, data_dir=data_dir)
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    result = {"dataset": dataset_name, "model": model, "mask": mask, "seed": seed, **facts()}
    result |= {"fingerprint": dataset.fingerprint, "test_n": len(test)}
    if model == "linear":
        predicted = linear_predictions(train, test)
        right = sum(label == true for label, true in zip(predicted, test.labels, strict=True))
        return result | {"test_accuracy": right / len(test)}
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


def read(name: str = "accuracy") -> dict[tuple, list[dict]]:
    """The runs of every (model, mask, dataset), by seed."""
    cells: dict[tuple, list[dict]] = {}
    for path in sorted((RESULTS / name).glob("*.json")):
        cell = json.loads(path.read_text())
        cells.setdefault((cell["model"], cell["mask"], cell["dataset"]), []).append(cell)
    return cells


def difference(before: list[dict], after: list[dict]) -> str:
    """Points of test accuracy gained: mean over seeds, 95% t interval of the differences seed by seed."""
    from scipy.stats import t

    scores = [{r["seed"]: r["test_accuracy"] for r in runs} for runs in (before, after)]
    steps = [100 * (scores[1][seed] - scores[0][seed]) for seed in sorted(scores[0].keys() & scores[1].keys())]
    if len(steps) < 2:
        return ""
    half = t.ppf(0.975, len(steps) - 1) * statistics.stdev(steps) / len(steps) ** 0.5
    mean = statistics.mean(steps)
    return f"{mean:+.1f} ({mean - half:+.1f} to {mean + half:+.1f})"


def spread(runs: list[dict]) -> str:
    """Mean and standard deviation of the test accuracy over seeds, in percent."""
    scores = [100 * r["test_accuracy"] for r in runs]
    deviation = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.1f}{deviation}" if scores else ""


def beside(name: str) -> str:
    """The runs of another folder beside the same runs of `accuracy`, and what they gain."""
    plain, other = read(), read(name)
    lines = [f"| dataset | model | without | {name} | {name} minus without, points |", "|---" * 5 + "|"]
    for dataset in DATASETS:
        for model, mask in [(m, k) for m in MODELS for k in MASKS]:
            runs = other.get((model, mask, dataset), [])
            if runs:
                before = [r for r in plain[model, mask, dataset] if r["seed"] in {r["seed"] for r in runs}]
                row = [NAMES[dataset], f"{model}-{mask}", spread(before), spread(runs), difference(before, runs)]
                lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def gains() -> str:
    """VMASK minus base in points: mean over seeds, 95% t interval of the differences seed by seed, the paper's gain."""
    cells = read()
    lines = ["| VMASK minus base, points | " + " | ".join(f"{NAMES[d]} | paper" for d in DATASETS) + " |"]
    lines.append("|---" * (1 + 2 * len(DATASETS)) + "|")
    for model in MODELS:
        row = [model]
        for dataset in DATASETS:
            row.append(difference(*(cells[model, mask, dataset] for mask in MASKS)))
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
            row.append(spread(cells.get((model, mask, dataset), [])))
            paper = PAPER.get((model, mask), {}).get(dataset)
            row.append("" if paper is None else f"{paper:.1f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--embeddings", default="word2vec-26k")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--out-name", default="accuracy", help="folder of the results [accuracy]")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        others = [beside(name) for name in ("distil",) if (RESULTS / name).is_dir()]
        print(table(), gains(), *others, sep="\n\n")
        return
    warnings.simplefilter("ignore")
    results = RESULTS / args.out_name
    results.mkdir(parents=True, exist_ok=True)
    # The linear baseline has no word vectors, so it is run once.
    cells = [(d, "linear", "none", 0) for d in args.datasets if args.out_name == "accuracy"]
    cells += [(d, m, k, s) for s in args.seeds for d in args.datasets for m in MODELS for k in MASKS]
    for dataset, model, mask, seed in cells:
        path = results / f"{dataset}--{model}--{mask}--s{seed}.json"
        if path.exists():
            continue
        result = run(dataset, model, mask, seed, args.data_dir, args.embeddings)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(result, indent=1) + "\n")
        temporary.replace(path)
        print(f"{path.stem}: test {result['test_accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
