"""The trained models of a grid, in folders that may be deleted at any time: a missing model is trained again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmask._core.files import remove_folder, sweep
from vmask._core.locks import taking_turns
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.errors import ModelFolderError
from vmask.evaluation.dataset_training import describe_training, fit_dataset
from vmask.grid.provenance import peak_memory
from vmask.persistence.model_folder import CHECKPOINT
from vmask.training.progress import ProgressCallback


@dataclass(frozen=True)
class Model:
    """A trained model.

    Attributes:
        classifier: the model.
        folder: its model folder.
        trained: a description of the training, if it was trained just now.
    """

    classifier: TextClassifier
    folder: Path
    trained: dict[str, Any] | None = None


def find_model(folder: Path, dataset: Dataset) -> Model | None:
    """The model of a folder; None if it is missing, damaged or was trained on other data."""
    with suppress(ModelFolderError):
        classifier = TextClassifier.load(folder, "cpu")
        if classifier.about_.get("dataset_fingerprint") == dataset.fingerprint:
            return Model(classifier, folder)
    return None


def find_or_train(
    folder: Path,
    dataset: Dataset,
    classifier: Callable[[], TextClassifier],
    callbacks: Sequence[ProgressCallback] = (),
) -> Model:
    """The model of a folder, trained if it is missing; one process at a time.

    Args:
        folder: the model folder. An interrupted training resumes from its checkpoint there.
        dataset: the training data.
        classifier: makes an untrained classifier.
        callbacks: callbacks of the training.
    """
    with taking_turns(folder):
        model = find_model(folder, dataset) or _train(folder, dataset, classifier(), callbacks)
        remove_folder(folder / CHECKPOINT)
        sweep(folder)
        return model


def _train(folder: Path, dataset: Dataset, classifier: TextClassifier, callbacks: Sequence[ProgressCallback]) -> Model:
    checkpoint = folder / CHECKPOINT
    for path in folder.iterdir():  # of an unusable or partly saved model
        if path.is_dir() and path != checkpoint:
            shutil.rmtree(path)
        elif path != checkpoint:
            path.unlink()
    started, resumed = time.perf_counter(), checkpoint.is_dir()
    with peak_memory() as memory:
        try:
            fit_dataset(classifier, dataset, checkpoint, resume=True, callbacks=callbacks)
        except ModelFolderError:  # a checkpoint of other data or vectors, or one that cannot be read
            if not resumed:
                raise
            shutil.rmtree(checkpoint)
            resumed = False
            fit_dataset(classifier, dataset, checkpoint, callbacks=callbacks)
    result = describe_training(classifier, dataset, time.perf_counter() - started, callbacks)
    classifier.save(folder)
    return Model(classifier, folder, {**result, **memory, "resumed": resumed})
