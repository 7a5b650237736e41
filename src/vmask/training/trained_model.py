"""All that is known of a trained model: what a model folder stores and an export is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.inference.predictor import TextPredictor
from vmask.training.run_config import Plan


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with its options and how it was trained.

    Attributes:
        params: the arguments of the `TextClassifier`, as they were given.
        plan: every option with its defaults filled in.
        predictor: the model with its words.
        labels: the classes, as they were given.
        data: facts of the training texts.
        history: a row for every epoch.
        best_epoch: the epoch whose weights were kept.
        about: what the model card says besides, such as the name of the dataset.
    """

    params: Mapping[str, Any]
    plan: Plan
    predictor: TextPredictor
    labels: Sequence[Any]
    data: dict[str, Any]
    history: list[dict[str, Any]]
    best_epoch: int
    about: dict[str, Any]
