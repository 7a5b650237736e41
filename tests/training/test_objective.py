"""The error that training lowers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vmask.config import TrainConfig
from vmask.training.objective import objective_of

LABELS = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]], np.float32)


def test_several_labels_are_questions_of_their_own():
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    probabilities = torch.sigmoid(logits).double().numpy()
    likelihood = np.where(LABELS > 0, probabilities, 1 - probabilities).prod(1)
    objective = objective_of(LABELS, LABELS, TrainConfig())
    assert float(objective.error(logits, torch.from_numpy(LABELS))) == pytest.approx(-np.log(likelihood).mean(), 1e-5)
    assert objective.total_weight(LABELS[:3]) == 3


def test_balanced_gives_texts_with_and_without_a_label_the_same_weight():
    objective = objective_of(LABELS, LABELS, TrainConfig(class_weight="balanced"))
    weights = objective.weight.numpy()
    assert weights[0] * 3 == pytest.approx(1)
    assert weights[1] * 1 == pytest.approx(3)
    assert np.isfinite(weights).all()  # no text has the last label


def test_one_label_is_cross_entropy_with_weights():
    labels = np.array([0, 1, 1, 2])
    objective = objective_of(labels, labels, TrainConfig(class_weight="balanced"))
    logits, weight = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([4 / 3, 2 / 3, 4 / 3])
    wanted = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels), weight)
    assert float(objective.error(logits, torch.from_numpy(labels))) == pytest.approx(float(wanted))
    assert objective.total_weight(labels) == pytest.approx(4)
