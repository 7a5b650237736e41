"""Where a model comes from: its data, how it was trained, versions, seconds."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vmask import __version__
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.pretrained.encoders import public_name
from vmask.report.model.content import Level
from vmask.training.prepare_words import DEFAULT_MAX_WORDS

DIGITS = 16
"""Hex digits of a digest: enough to tell two apart."""
PATHS = ("encoder", "embeddings", "init_from")
"""Options that may be a path: where on a disk something lay is nobody's business."""


def facts(
    classifier: TextClassifier, dataset: Dataset, level: Level, seconds: float, weights: str
) -> dict[str, dict[str, str]]:
    """Heading -> name -> value; `weights` is the sha256 of the model's weights, empty where it was not saved."""
    about = classifier.about_
    training = f"{about['seconds']:,.1f} seconds" if "seconds" in about else ""
    headings = {
        "Data": _of_data(classifier, dataset),
        "Model": _of_model(classifier, weights),
        "Made by": {
            "Versions": f"vmask {__version__}, torch {version('torch')}, Python {platform.python_version()}",
            "Training": training,
            "This page": f"{level}, made in {seconds:,.1f} seconds",
        },
    }
    return {heading: {name: fact for name, fact in rows.items() if fact} for heading, rows in headings.items()}


def _of_data(classifier: TextClassifier, dataset: Dataset) -> dict[str, str]:
    about, card = classifier.about_, dataset.card
    trained_on = about.get("dataset_fingerprint")
    fingerprint = dataset.fingerprint[:DIGITS]
    if trained_on and trained_on != dataset.fingerprint:
        fingerprint += f"; in training it was {trained_on[:DIGITS]}"
    return {
        "Dataset": dataset.name,
        "Title": card.title if card else "",
        "Source": card.source if card else "",
        "Texts": ", ".join(f"{name} {len(split):,}" for name, split in dataset.splits.items()),
        "Classes": ", ".join(dataset.labels),
        "Columns": f"texts from “{dataset.text}”, labels from “{dataset.label}”",
        "Fingerprint": fingerprint,
        "Notes": " ".join(dataset.notes),
    }


def _of_model(classifier: TextClassifier, weights: str) -> dict[str, str]:
    plan, data = classifier.plan_, classifier.data_
    best, epochs = classifier.best_epoch_, len(classifier.history_)
    return {
        "Name": plan.title,
        "Model": f"{plan.model}. {MODELS.describe(plan.model)}",
        "Word mask": f"{plan.mask}. {MASKS.describe(plan.mask)}",
        **_reads(classifier, data),
        "Epoch": f"{best} of {epochs} was kept, by dev {plan.train.select}",
        "Stages": "without a mask first, then with it and with frozen word vectors" if plan.train.stages == 2 else "",
        "Seed": str(plan.train.seed),
        "Weights": f"sha256 {weights[:DIGITS]}" if weights else "",
    }


def _reads(classifier: TextClassifier, data: Mapping[str, Any]) -> dict[str, str]:
    """Word vectors, or the encoder."""
    if "encoder" in data:
        return {
            "Encoder": f"{data['encoder']}, {data['vocabulary']:,} word pieces; texts are cut after "
            f"{data['max_tokens']:,} tokens ({data['cut']:,} training texts were longer)"
        }
    found = {"Word vectors": f"{', '.join(data['vectors'])}; {data['vocabulary']:,} words, {data['dim']:,} dimensions"}
    if coverage := data.get("coverage"):
        found["They know"] = f"{coverage['types']:.1%} of the words, {coverage['tokens']:.1%} of the running text"
    return {**found, "Length": f"texts are cut after {classifier.plan_.data.max_words or DEFAULT_MAX_WORDS:,} words"}


def options(classifier: TextClassifier) -> dict[str, str]:
    """Every option of the training, as it was after all defaults were filled in."""
    plan = classifier.plan_.to_dict()
    parts = {"model_options": "model.", "mask_options": "mask.", "data": "", "train": ""}
    return {
        f"{prefix}{name}": _shown(name, value) for part, prefix in parts.items() for name, value in plan[part].items()
    }


def _shown(name: str, value: Any) -> str:
    if name == "encoder":
        return public_name(str(value))
    if name in PATHS and isinstance(value, str):
        return ",".join(Path(part).name if Path(part).is_absolute() else part for part in value.split(","))
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return "–" if value is None else str(value)
