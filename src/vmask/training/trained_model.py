"""A trained model with all facts that a model folder stores and an export needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmask.inference.predictor import TextPredictor
from vmask.training.run_config import Plan

NO_TEXTS = "no_texts"
"""Key of `about`: whether texts of the data must be left out of all that is made of the model."""


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with its options and how it was trained.

    Attributes:
        params: the arguments of the `TextClassifier`, as given.
        plan: every option with its defaults filled in.
        predictor: the model with its words.
        labels: the classes, as given.
        data: facts about the training texts.
        history: a row for every epoch.
        best_epoch: number of the epoch whose weights are kept, from 1.
        about: further facts for the model card, such as the name of the dataset.
    """

    params: Mapping[str, Any]
    plan: Plan
    predictor: TextPredictor
    labels: Sequence[Any]
    data: dict[str, Any]
    history: list[dict[str, Any]]
    best_epoch: int
    about: dict[str, Any]
