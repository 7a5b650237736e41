"""Thresholds: they keep what they promise, and answers below them are left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vmask.errors import ConfigError, ModelFolderError
from vmask.inference.abstention import (
    CONFIDENCE,
    DEV_CONFIDENCE,
    DEV_RIGHT,
    DevAnswers,
    answered,
    lower_bounds,
    read_threshold,
    selective,
)

MODELS = {
    "as good as wanted": lambda sure: np.full_like(sure, 0.9),
    "hardly too bad": lambda sure: np.full_like(sure, 0.895),
    "calibrated": lambda sure: 0.6 + 0.4 * np.sqrt(sure),
    "a step": lambda sure: np.where(sure > 0.5, 0.98, 0.7),
    "too sure at the top": lambda sure: np.where(sure > 0.9, 0.8, 0.95),
}
"""By name, how often a model is right that is so sure."""


@pytest.mark.parametrize("name", MODELS)
def test_a_threshold_keeps_its_promise_as_often_as_it_says(name):
    stream, wanted, broken = np.random.default_rng(len(name)), 0.9, 0
    many = np.linspace(0, 1, 20_001).astype(np.float32)
    for _ in range(200):
        sure = stream.random(300).astype(np.float32)
        try:
            threshold = DevAnswers(sure, stream.random(300) < MODELS[name](sure)).threshold_for(wanted)
        except ConfigError:
            continue
        broken += MODELS[name](many[many >= threshold]).mean() < wanted
    # At most 5% of 200 break it; more than 19 would be a chance of 1 in 1,000.
    assert broken <= 19 * (1 - CONFIDENCE) / 0.05


def test_the_raw_share_would_not_keep_it():
    """What the bound is for: the lowest threshold that merely looks good is mostly too low."""
    stream, broken = np.random.default_rng(0), 0
    for _ in range(200):
        sure = np.sort(stream.random(300))[::-1]
        shares = np.cumsum(stream.random(300) < 0.6 + 0.4 * np.sqrt(sure)) / np.arange(1, 301)
        threshold = sure[np.flatnonzero(shares >= 0.9)[-1]] if (shares >= 0.9).any() else 1.0
        many = np.linspace(threshold, 1, 2_001)
        broken += (0.6 + 0.4 * np.sqrt(many)).mean() < 0.9
    assert broken > 50


def test_bounds_are_those_of_clopper_and_pearson():
    assert lower_bounds(np.array([10]), np.array([10]), 0.05)[0] == pytest.approx(0.05 ** (1 / 10))
    assert lower_bounds(np.array([0]), np.array([10]), 0.05)[0] == 0
    (bound,) = lower_bounds(np.array([90]), np.array([100]), 0.01)
    above = sum(math.comb(100, k) * bound**k * (1 - bound) ** (100 - k) for k in range(90, 101))
    assert above == pytest.approx(0.01, abs=1e-6)


def test_a_model_that_is_good_enough_answers_everything():
    assert DevAnswers(np.linspace(0.5, 1, 500, dtype=np.float32), np.ones(500, bool)).threshold_for(0.95) == 0


def test_the_threshold_separates_what_is_right_from_what_is_not():
    sure = np.linspace(0, 1, 1_000).astype(np.float32)
    threshold = DevAnswers(sure, sure > 0.5).threshold_for(0.95)
    assert 0.45 < threshold < 0.51


def test_texts_of_one_probability_are_answered_together():
    sure = np.repeat(np.array([0.9, 0.8], np.float32), 300)
    right = np.r_[np.ones(300, bool), np.ones(150, bool), np.zeros(150, bool)]
    assert DevAnswers(sure, right).threshold_for(0.95) == pytest.approx(0.9)


@pytest.mark.parametrize("count", [1, 20, 50])
def test_few_texts_show_nothing(count):
    with pytest.raises(ConfigError, match=r"No threshold shows an accuracy of 0.99 .* at most 0\.\d+ can be promised"):
        DevAnswers(np.full(count, 0.9, np.float32), np.ones(count, bool)).threshold_for(0.99)


@pytest.mark.parametrize("wanted", [-0.1, 1.5, math.nan, "0.9", True])
def test_an_accuracy_that_is_none_is_refused(wanted):
    with pytest.raises(ConfigError, match="a number from 0 to 1"):
        DevAnswers(np.ones(9, np.float32), np.ones(9, bool)).threshold_for(wanted)


def test_coverage_and_accuracy_of_answers():
    sure, right = np.array([0.9, 0.8, 0.7, 0.6], np.float32), np.array([True, False, True, True])
    assert selective(sure, right, 0.8) == {"n": 4, "answered": 0.5, "accuracy": 0.5}
    assert selective(sure, right, 1.0) == {"n": 4, "answered": 0.0, "accuracy": 0.0}


def test_a_row_is_answered_from_the_threshold_on():
    row = np.array([0.2, 0.8], np.float32).tolist()
    assert [answered(row, threshold) for threshold in (None, 0.0, 0.8, 0.81)] == [1, 1, 1, None]


def test_answers_are_stored_and_read_back():
    answers = DevAnswers(np.array([0.5, 1.0], np.float32), np.array([True, False]))
    read = DevAnswers.read(answers.tensors())
    assert read.confidence.tolist() == [0.5, 1.0]
    assert read.right.tolist() == [True, False]
    assert DevAnswers.read({}) is None


@pytest.mark.parametrize(
    ("confidence", "right"),
    [
        (torch.tensor([0.5]), None),
        (torch.tensor([0.5]), torch.tensor([1, 0], dtype=torch.uint8)),
        (torch.tensor([[0.5]]), torch.tensor([[1]], dtype=torch.uint8)),
        (torch.tensor([1.5]), torch.tensor([1], dtype=torch.uint8)),
        (torch.tensor([math.nan]), torch.tensor([1], dtype=torch.uint8)),
        (torch.tensor([0.5]), torch.tensor([2], dtype=torch.uint8)),
        (torch.tensor([0.5]), torch.tensor([1.0])),
        (torch.tensor([0.5], dtype=torch.float64), torch.tensor([1], dtype=torch.uint8)),
    ],
    ids=str,
)
def test_forged_answers_are_refused(confidence, right):
    found = {DEV_CONFIDENCE: confidence, DEV_RIGHT: right}
    with pytest.raises(ModelFolderError):
        DevAnswers.read({name: tensor for name, tensor in found.items() if tensor is not None})


@pytest.mark.parametrize("forged", [-1, 2, "0.5", math.nan, True, [0.5]], ids=repr)
def test_a_forged_threshold_is_refused(forged):
    with pytest.raises(ModelFolderError, match="abstain_below"):
        read_threshold(forged)
