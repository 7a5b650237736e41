r"""Calibration and abstention on six files: a CNN with VMASK by the defaults of the tool, before and after, on test.

    python benchmarks/calibration.py --data-dir DATA --vectors glove100.npy     # resumable, results/calibration.json
    python scripts/update_readme.py                                             # the tables in docs/probabilities.md

Every file is cut to 2,000 training, 600 dev and 2,000 test texts, drawn at random (seed 0). Calibration and thresholds
are fitted on dev; test is scored once, at the end. Two rows more are trained with balanced class weights.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from pathlib import Path

from _facts import facts

RESULTS = Path(__file__).parent / "results" / "calibration.json"
FILES = {
    "TREC": ("trec", {}),
    "Subj": ("subj", {}),
    "SST-2": ("sst2", {}),
    "SST-1": ("sst1", {}),
    "AG News": ("agnews", {}),
    "IMDB": ("imdb", {}),
    "TREC, balanced weights": ("trec", {"class_weight": "balanced"}),
    "SST-1, balanced weights": ("sst1", {"class_weight": "balanced"}),
}
SIZES = {"train": 2_000, "dev": 600, "test": 2_000}
WANTED = (0.8, 0.9, 0.95)
"""Accuracies that abstention is asked for."""


def cut(dataset, name):
    """A split, cut to its size."""
    split = dataset.splits[name]
    return split.take(sorted(random.Random(0).sample(range(len(split)), min(len(split), SIZES[name]))))


def run(name: str, data_dir: str, vectors: str) -> dict:
    import numpy as np
    import torch

    from vmask import TextClassifier, load_dataset
    from vmask.errors import ConfigError
    from vmask.inference.abstention import selective
    from vmask.training.calibrate import calibration_effect

    source, options = FILES[name]
    dataset = load_dataset(source, data_dir=data_dir)
    train, dev, test = (cut(dataset, split) for split in SIZES)
    given = {**dataset.defaults, "embeddings": vectors, "seed": 0, "device": "cpu", **options}
    started = time.perf_counter()
    classifier = TextClassifier(**given).fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
    predictor, about = classifier.predictor_, classifier.about_["calibration"]
    logits = predictor.logits(predictor.ids_of(test.texts))
    classes = np.array([classifier.classes_.tolist().index(label) for label in test.labels])
    probabilities = predictor.output(torch.from_numpy(logits)).numpy()
    right = probabilities.argmax(1) == classes
    abstention = {}
    for wanted in WANTED:
        try:
            threshold = classifier.threshold_for(wanted)
        except ConfigError as error:
            abstention[str(wanted)] = {"none": str(error)}
            continue
        on_dev = predictor.dev_answers.at(threshold)
        on_test = selective(probabilities.max(1), right, threshold)
        abstention[str(wanted)] = {"threshold": threshold, "dev": on_dev, "test": on_test}
    return {
        "fingerprint": dataset.fingerprint,
        "rows": {"train": len(train), "dev": len(dev), "test": len(test)},
        "temperature": about["temperature"],
        "bias": about["bias"],
        "dev": about["on_dev"],
        "test": calibration_effect(predictor.calibration, logits, classes),
        "abstention": abstention,
        "seconds": round(time.perf_counter() - started, 1),
    }


def calibration_table() -> str:
    """NLL and calibration error on test, before and after."""
    lines = [
        "| file | temperature | NLL before | after | calibration error before | after | accuracy before | after | "
        "macro F1 before | after |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, made in json.loads(RESULTS.read_text())["files"].items():
        test = made["test"]
        cells = [f"{made['temperature']:.2f}"]
        for score, digits in (("nll", 3), ("calibration_error", 3), ("accuracy", 3), ("macro_f1", 3)):
            cells += [f"{test[f'{score}_{when}']:.{digits}f}" for when in ("before", "after")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def abstention_table() -> str:
    """Wanted and reached accuracy, and how many texts are answered, on test."""
    lines = [
        "| file | accuracy of all | wanted | dev: answered | right of these | test: answered | right of these |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, made in json.loads(RESULTS.read_text())["files"].items():
        if made["bias"]:
            continue
        for wanted, found in made["abstention"].items():
            cells = ["no threshold shows it on dev", "", "", ""]
            if "threshold" in found:
                cells = [
                    f"{100 * found[split][key]:.1f}%" for split in ("dev", "test") for key in ("answered", "accuracy")
                ]
            accuracy = f"{100 * made['test']['accuracy_after']:.1f}%"
            lines.append(f"| {name} | {accuracy} | {100 * float(wanted):.0f}% | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--vectors", default="word2vec-26k")
    args = parser.parse_args()
    done = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"files": {}}
    for name in FILES:
        if name not in done["files"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = run(name, args.data_dir, args.vectors)
            done = {**facts(), "vectors": Path(args.vectors).name, "files": {**done["files"], name: made}}
            RESULTS.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
            print(name, f"{made['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
