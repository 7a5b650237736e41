"""Training speed as ratios: vmask against a bare PyTorch loop, in one run, interleaved.

    python benchmarks/bench_training.py --data-dir DATA --embeddings a.npy,b.npy

Every contender trains one epoch on the same texts in each repeat, one after the other, so that a slow moment of the
machine falls on all of them. A ratio is computed within each repeat; the median over the repeats is reported with the
smallest and the largest. Exits 1 where a median misses its bar.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from _facts import facts
from bare_loop import BareCNN, BareLSTM, NaiveMask, train_epoch
from vmask import TextClassifier, load_dataset
from vmask._core.random_streams import numpy_stream
from vmask.text.batches import shuffled_buckets
from vmask.training.device import make_accelerator
from vmask.training.fit import prepare_data
from vmask.training.loop import Examples, train

RESULT = Path(__file__).parent / "results" / "training.json"
BATCH = 50
# what is measured: (name, numerator, denominator, bar, whether the bar is a ceiling)
RATIOS = [
    ("our loop / bare loop, cnn-base", "cnn-base", "bare cnn-base", 1.10, True),
    ("our loop / bare loop, lstm-base", "lstm-base", "bare lstm-base", 1.10, True),
    ("our vmask / bare base, cnn", "cnn-vmask", "bare cnn-base", 1.40, True),
    ("our vmask / bare base, lstm", "lstm-vmask", "bare lstm-base", 1.40, True),
    ("our vmask / our base, cnn", "cnn-vmask", "cnn-base", None, True),
    ("our vmask / our base, lstm", "lstm-vmask", "lstm-base", None, True),
    ("naive padded vmask / our vmask, cnn", "naive cnn-vmask", "cnn-vmask", 3.5, False),
]
BAR_ONLY_ON = {"naive padded vmask / our vmask, cnn": "sst2"}


def contenders(dataset_name: str, data_dir: str | None, embeddings: str) -> dict:
    dataset = load_dataset(dataset_name, data_dir=data_dir)
    train_split, dev = dataset.splits["train"], dataset.splits["dev"]
    plans = {
        f"{model}-{mask}": TextClassifier(
            model, mask, embeddings=embeddings, epochs=1, patience=0, batch_size=BATCH, **dataset.defaults
        ).plan()
        for model in ("cnn", "lstm")
        for mask in ("base", "vmask")
    }
    data = prepare_data(
        plans["cnn-base"], train_split.texts, train_split.labels, (dev.texts, dev.labels), dev_fraction=0.1
    )
    vectors, classes, full = torch.from_numpy(data.matrix), len(data.labels), data.tokenizer.max_words
    few = Examples(data.dev.ids[:BATCH], data.dev.labels[:BATCH])  # the bare loop scores no dev set
    tensors = [torch.from_numpy(ids.astype(np.int64)) for ids in data.examples.ids]

    def batches():
        stream = numpy_stream(0, "batches", 0)
        for rows in shuffled_buckets(data.examples.lengths, BATCH, stream):
            yield [tensors[i] for i in rows], torch.from_numpy(data.examples.labels[rows])

    def ours(plan):
        return lambda: train(
            plan.build(vectors, False, classes), data.examples, few, plan.train, make_accelerator("cpu")
        )

    dim = vectors.shape[1]
    return {
        "bare cnn-base": lambda: train_epoch(BareCNN(dim, classes), None, vectors, batches()),
        "bare lstm-base": lambda: train_epoch(BareLSTM(dim, classes), None, vectors, batches()),
        "naive cnn-vmask": lambda: train_epoch(BareCNN(dim, classes), NaiveMask(dim), vectors, batches(), full),
        **{name: ours(plan) for name, plan in plans.items()},
    }


def measure(jobs: dict, repeats: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for repeat in range(repeats + 1):  # the first round warms up
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            if repeat:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["trec", "sst2"])
    parser.add_argument("--data-dir")
    parser.add_argument("--embeddings", default="word2vec-26k")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    result: dict = {**facts(), "threads": torch.get_num_threads(), "repeats": args.repeats, "ratios": [], "seconds": {}}
    missed = False
    for dataset in args.datasets:
        seconds = measure(contenders(dataset, args.data_dir, args.embeddings), args.repeats)
        result["seconds"][dataset] = {name: round(statistics.median(s), 4) for name, s in seconds.items()}
        for name, above, below, bar, ceiling in RATIOS:
            values = [a / b for a, b in zip(seconds[above], seconds[below], strict=True)]
            median = statistics.median(values)
            if BAR_ONLY_ON.get(name, dataset) != dataset:
                bar = None
            held = bar is None or (median <= bar if ceiling else median >= bar)
            missed |= not held
            row = {"dataset": dataset, "what": name, "median": round(median, 3), "min": round(min(values), 3)}
            row |= {"max": round(max(values), 3), "bar": bar, "held": held}
            result["ratios"].append(row)
            limit = "" if bar is None else f"  bar {'<=' if ceiling else '>='} {bar}{'' if held else '  MISSED'}"
            print(f"{dataset:5} {name:37} {median:5.2f}  ({min(values):.2f} to {max(values):.2f}){limit}", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
