"""Trainings as several processes do them: `torchrun … trained_together.py OUT CASE…` writes what each process got."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional

from toy import toy_texts
from trackers.recorder import Recorder
from vmask import TextClassifier
from vmask.errors import VmaskError
from vmask.masks import MASKS
from vmask.masks.contract import Embedded

TEXTS, LABELS = toy_texts(61)
SHORT = {"embeddings": "random", "device": "cpu", "epochs": 2, "learning_rate": 0.01}
STILL = {"model__dropout": 0.0}
"""Without draws: every number of processes gives the same weights, but for rounding."""
EXACT = {
    "cnn": {"mask": "base", **STILL},
    "lstm": {"model": "lstm", "mask": "base", **STILL},
    "uneven": {"mask": "base", "batch_size": 7, **STILL},
    "no_text": {"mask": "base", "batch_size": 2, "epochs": 1, **STILL},
    "parts": {"mask": "base", "batch_size": 8, "accumulate": 4, **STILL},
    "balanced": {"mask": "base", "batch_size": 9, "class_weight": "balanced", **STILL},
    "mask": {"mask": "l2x", "mask__mode": "soft", "mask__baseline": "learnt", **STILL},
    "hidden": {"mask": "l2x", "mask__mode": "soft", "hide_words": ("film", "music"), **STILL},
    "encoder": {"model": "ENCODER", "mask": "l2x", "mask__mode": "soft", "batch_size": 14, "accumulate": 2},
}
"""Cases that must give the weights of one process; the encoder is trained in two stages."""
LEARNS = {
    f"{model}-{mask}": {"model": model, "mask": mask, "epochs": 15, "learning_rate": 0.006}
    for model in ("cnn", "lstm")
    for mask in ("base", "vmask", "select", "iba", "l2x")
}
"""Cases that must learn as well as one process does."""
LEARNS["patience"] = {"mask": "base", "epochs": 50, "patience": 2, "learning_rate": 0.02}


def fit(options, encoder, callbacks=()):
    """Train as a case says; `ENCODER` stands for the folder of an encoder."""
    chosen = {**SHORT, **options}
    if chosen.get("model") == "ENCODER":
        chosen |= {"model": str(encoder), "embeddings": None}
    long = chosen["epochs"] > 2
    texts, labels = toy_texts(160) if long else (TEXTS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TextClassifier(**chosen, dev_fraction=0.3 if long else 0.1).fit(texts, labels, callbacks=callbacks)


def weights(classifier):
    return {name: t.contiguous() for name, t in classifier.predictor_.model.state_dict().items()}


def digest(tensors):
    together = hashlib.sha256()
    for name in sorted(tensors):
        together.update(name.encode() + tensors[name].numpy().tobytes())
    return together.hexdigest()


def trained(name, rank, out, encoder):
    """Train a case; the main process keeps the weights."""
    tracker = Recorder()
    classifier = fit({**EXACT, **LEARNS}[name], encoder, [tracker])
    if rank == 0:
        save_file(weights(classifier), out / f"{name}.safetensors")
    return {
        "weights": digest(weights(classifier)),
        "history": [{**row, "seconds": 0} for row in classifier.history_],
        "score": classifier.score(*toy_texts(60, seed=9)),
        "tracked": len(tracker.calls),
    }


def multiplier(rows):
    """The multiplier of `select` after a batch of these rows of ids."""
    torch.manual_seed(0)
    mask = MASKS.get("select")(4, MASKS.get("select").Options()).train()
    table = torch.randn(12, 4)
    mask.offset.data.copy_(mask.evidence_of(table).norm(dim=1).median())  # some words are visible
    ids = torch.arange(40).remainder(11).view(8, 5)[rows]
    mask(Embedded(table, ids, ids > 2))
    return float(mask.multiplier)


def failed(make):
    try:
        make()
    except VmaskError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def other_data(rank):
    texts, labels = toy_texts(40, seed=rank)
    return failed(lambda: TextClassifier("cnn", "base", **SHORT).fit(texts, labels))


def diverged(rank):
    """One process alone gets a loss that is no number."""
    calls, plain = [], functional.cross_entropy

    def broken(*args):
        calls.append(0)
        return plain(*args) * (float("nan") if rank == 1 and len(calls) == 2 else 1.0)

    functional.cross_entropy = broken
    try:
        return failed(lambda: fit({"mask": "base", "batch_size": 10}, None))
    finally:
        functional.cross_entropy = plain


def main(out, encoder, names):
    from vmask.training.device import make_accelerator

    accelerator = make_accelerator("cpu")
    rank, world = accelerator.process_index, accelerator.num_processes
    found = {name: trained(name, rank, out, encoder) for name in names}
    found["multiplier"] = multiplier(slice(rank, None, world))
    found["other data"] = other_data(rank)
    found["diverged"] = diverged(rank)
    (out / f"process-{rank}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
