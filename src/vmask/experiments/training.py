"""Train a classifier on a dataset's splits, and find them again: what commands and the cells of a grid share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import DataError, VmaskError
from vmask.training.progress import Silence


def fit_dataset(
    classifier: TextClassifier,
    dataset: Dataset,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Silence | None = None,
) -> TextClassifier:
    """Train on the train split; the dev split picks the best epoch."""
    train, dev = dataset.splits["train"], dataset.splits["dev"]
    others = (text for name, split in dataset.splits.items() if name != "train" for text in split.texts)
    whole = dataset.card is not None and dataset.card.vocabulary_over == "all"
    return classifier.fit(
        train.texts,
        train.labels,
        dev=(dev.texts, dev.labels),
        vocabulary_texts=others if whole and classifier.plan().data.vocabulary == "paper" else None,
        checkpoint=checkpoint,
        resume=resume,
        progress=progress,
    )


def describe_training(classifier: TextClassifier, dataset: Dataset, seconds: float) -> dict[str, Any]:
    """Score the test split, and note on the model where its data came from.

    Returns:
        The scores and what a person wants to know of the training.
    """
    test = dataset.splits.get("test")
    result: dict[str, Any] = {
        "dataset": dataset.name,
        "dev_accuracy": classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"],
        "best_epoch": classifier.best_epoch_,
        "epochs": len(classifier.history_),
        "seconds": round(seconds, 1),
        "coverage": classifier.data_["coverage"],
    }
    if test is not None and len(test):
        result |= {"test_accuracy": float(classifier.score(test.texts, test.labels)), "test_n": len(test)}
    classifier.about_ = {
        **result,
        "text": dataset.text,
        "label": dataset.label,
        "dataset_fingerprint": dataset.fingerprint,
        "notes": list(dataset.notes),
    }
    return result


def dataset_of(about: Mapping[str, Any], data: str | None = None, data_dir: str | None = None) -> Dataset:
    """The dataset that a model was trained on, read again.

    Args:
        about: what the model folder says of its data (`TextClassifier.about_`).
        data: a dataset, file or folder, where the one that is noted cannot be found or another is wanted.
        data_dir: folder with local datasets.

    Raises:
        VmaskError: where it cannot be read, with the ways out.
    """
    source = data or about.get("source") or about.get("dataset")
    if source is None:
        raise DataError("The model does not say which data it was trained on. Name the data: a file or a dataset.")
    try:
        known = about if data is None or Path(data).exists() else {}  # a dataset with a card names its columns itself
        return load_dataset(source, data_dir=data_dir, text=known.get("text"), label=known.get("label") or None)
    except VmaskError as error:
        if data is not None:
            raise
        raise DataError(
            f"The data that the model was trained on, '{source}', cannot be read here: {error} "
            "Name the data as it is called here."
        ) from None
