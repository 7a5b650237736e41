"""Fit the calibration of a trained model on its dev texts, and say what it changes.

A temperature minimises the negative log-likelihood of the dev labels (Guo et al., 2017). After a training with balanced
class weights, which makes rare classes too probable, each class has a bias too, fitted together with it: the mean
probability of every class is then its share of the dev texts (bias-corrected temperature scaling, Alexandari et al.,
2020).
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from vmask.errors import ConfigError
from vmask.inference.abstention import CONFIDENCE, DevAnswers
from vmask.inference.calibration import COLDEST, HOTTEST, LARGEST_BIAS, Calibration
from vmask.inference.contract import SINGLE_LABEL
from vmask.inference.output import to_probabilities
from vmask.inference.predictor import TextPredictor
from vmask.inference.probability_config import ProbabilityConfig
from vmask.metrics.accuracy import accuracy
from vmask.metrics.calibration_error import CalibrationError, calibration_records
from vmask.metrics.macro_f1 import macro_f1
from vmask.metrics.nll import negative_log_likelihoods
from vmask.training.inputs import Labelled
from vmask.training.run_config import Plan

FEWEST_TEXTS = 50
"""Dev texts that a calibration is fitted on, at least."""
TEMPERATURE, BIAS, NONE = "temperature", "temperature_bias", "none"
"""Kinds of calibration."""
NAMES = {"nll": "NLL", "calibration_error": "calibration error", "accuracy": "accuracy", "macro_f1": "macro F1"}
"""The scores of an effect, with their names in sentences."""
_EFFECT = ("n", *(f"{score}_{when}" for score in NAMES for when in ("before", "after")))
BEFORE_EDIT = "before its words were edited"
"""The note on the calibration of an edited model."""
P = TypeVar("P", bound=TextPredictor)


def calibrate(
    predictor: P, plan: Plan, options: ProbabilityConfig, data: Labelled
) -> tuple[P, dict[str, dict[str, Any]]]:
    """A trained model with its calibration, its answers to the dev texts and, if asked for, a threshold to answer from.

    Args:
        predictor: the trained model.
        plan: how it was trained.
        options: what to fit.
        data: the texts that it was trained with.

    Returns:
        The model, and facts about it: `calibration`, what was fitted and what it changes on dev; `abstention`, what is
        answered from the threshold on.
    """
    if options.calibration == NONE and options.abstain_accuracy is None:
        return predictor, {}
    if predictor.task != SINGLE_LABEL:
        return predictor, {"calibration": {"skipped": "a text may have several labels"}}
    classes = np.array(data.codes(data.dev_labels), np.int64)
    logits = predictor.logits(predictor.ids_of(data.dev_texts))
    kind = options.calibration or (BIAS if plan.train.class_weight == "balanced" else TEMPERATURE)
    calibration, fitted = (None, {}) if kind == NONE else _fit(kind, logits, classes, len(data.classes))
    predictor = predictor.calibrated(calibration)
    probabilities = predictor.output(torch.from_numpy(logits)).numpy()
    predictor.dev_answers = DevAnswers(probabilities.max(1), probabilities.argmax(1) == classes)
    facts = {"calibration": fitted} if fitted else {}
    if options.abstain_accuracy is None:
        return predictor, facts
    wanted = {"wanted": options.abstain_accuracy}
    try:
        predictor.abstain_below = predictor.dev_answers.threshold_for(options.abstain_accuracy)
    except ConfigError as error:  # it would be a pity about the training
        return predictor, {**facts, "abstention": {**wanted, "skipped": str(error)}}
    on_dev = predictor.dev_answers.at(predictor.abstain_below)
    return predictor, {**facts, "abstention": {**wanted, "threshold": predictor.abstain_below, "on_dev": on_dev}}


def _fit(
    asked: str, logits: NDArray[np.float32], classes: NDArray[np.int64], size: int
) -> tuple[Calibration | None, dict[str, Any]]:
    """The calibration for dev texts, or None, with the facts about it; `size` is the number of classes."""
    if len(classes) < FEWEST_TEXTS:
        return None, {"skipped": f"there are {len(classes):,} dev texts, fewer than {FEWEST_TEXTS}"}
    present = np.count_nonzero(np.bincount(classes))
    if present < 2:
        return None, {"skipped": "all dev texts have the same label"}
    facts: dict[str, Any] = {}
    if asked == BIAS and present < size:
        asked, facts["note"] = TEMPERATURE, "by a temperature alone, as some class has no dev text"
    if not np.isfinite(logits).all():
        return None, {"skipped": "some of the model's answers are no numbers"}
    calibration = fit_calibration(logits, classes, asked == BIAS)
    facts |= {**calibration.to_dict(), "on_dev": calibration_effect(calibration, logits, classes)}
    return calibration, facts


def fit_calibration(logits: NDArray[np.float32], classes: NDArray[np.int64], with_bias: bool = False) -> Calibration:
    """The calibration that minimises the negative log-likelihood, which is convex in 1 / temperature and biases.

    One more text is taken to be there, shared evenly by all classes (Platt, 1999): without it a model that makes no
    mistake on dev would be made quite sure of everything.

    Args:
        logits: (N, C).
        classes: (N,) the true classes.
        with_bias: fit a bias of each class too; their mean is 0.
    """
    from scipy.optimize import minimize

    z = logits.astype(np.float64)
    count, size = z.shape
    truth = np.full(z.shape, 1 / (size * (count + 1)))
    truth[np.arange(count), classes] += count / (count + 1)

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = x[0] * z + (x[1:] if with_bias else 0.0)
        scores -= scores.max(1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        excess = (np.exp(logs) - truth) / count
        slopes = [[(excess * z).sum()], excess.sum(0) if with_bias else []]
        return float(-(truth * logs).sum() / count), np.concatenate(slopes)

    start = np.concatenate([[1.0], np.zeros(size if with_bias else 0)])
    bounds = [(1 / HOTTEST, 1 / COLDEST), *[(-LARGEST_BIAS / 2, LARGEST_BIAS / 2)] * (len(start) - 1)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12, "gtol": 1e-8}).x
    bias = found[1:] - found[1:].mean() if with_bias else found[1:]
    return Calibration(float(np.clip(1 / found[0], COLDEST, HOTTEST)), tuple(bias.tolist()))


def calibration_effect(
    calibration: Calibration, logits: NDArray[np.float32], classes: NDArray[np.int64]
) -> dict[str, float]:
    """What a calibration changes on some texts: number of texts, and each score before and after.

    Args:
        calibration: the calibration.
        logits: (N, C) before it.
        classes: (N,) the true classes.
    """
    effect: dict[str, float] = {"n": len(classes)}
    for when, used in (("before", None), ("after", calibration)):
        probabilities = to_probabilities(torch.from_numpy(logits), used).numpy()
        predicted = probabilities.argmax(1)
        effect |= {
            f"nll_{when}": float(negative_log_likelihoods(probabilities, classes).mean()),
            f"calibration_error_{when}": CalibrationError().statistic(
                calibration_records(probabilities, predicted == classes)
            ),
            f"accuracy_{when}": accuracy(classes, predicted),
            f"macro_f1_{when}": macro_f1(classes, predicted),
        }
    return effect


def how_calibrated(about: Any) -> str:
    """What was fitted for a model, by the facts about its calibration; empty if nothing is known of it."""
    if not isinstance(about, dict):
        return ""
    if about.get("skipped"):
        return f"probabilities are not calibrated: {about['skipped']}"
    if not isinstance(about.get("temperature"), (int, float)):
        return ""
    note = f" {about['note']}" if about.get("note") else ""
    bias = ", and a bias of each class" if about.get("bias") else ""
    return f"probabilities calibrated on dev{note}: temperature {about['temperature']:.3f}{bias}"


def effects_of(about: Any) -> dict[str, dict[str, float]]:
    """What a calibration changes, see `calibration_effect`, for `dev` and `test` as far as the facts have it."""
    found = {name: about.get(f"on_{name}") for name in ("dev", "test")} if isinstance(about, dict) else {}
    return {
        name: effect
        for name, effect in found.items()
        if isinstance(effect, dict) and all(isinstance(effect.get(key), (int, float)) for key in _EFFECT)
    }


def describe_calibration(about: Any) -> list[str]:
    """What was fitted for a model and what it changes, as lines."""
    if not (how := how_calibrated(about)):
        return []
    scores = ("nll", "calibration_error", *(("accuracy", "macro_f1") if about.get("bias") else ()))
    return [how] + [
        f"  {split}: "
        + "; ".join(
            f"{NAMES[score]} {effect[f'{score}_before']:.4f} before, {effect[f'{score}_after']:.4f} after"
            for score in scores
        )
        for split, effect in effects_of(about).items()
    ]


def describe_abstention(about: Any) -> list[str]:
    """From which probability on a model answers, and what comes of it, as lines."""
    if not isinstance(about, dict):
        return []
    if about.get("skipped"):
        return [f"it answers always: {about['skipped']}"]
    if not isinstance(about.get("threshold"), (int, float)) or not isinstance(about.get("wanted"), (int, float)):
        return []
    note = f" {about['note']}" if about.get("note") else ""
    lines = [
        f"not sure below a probability of {about['threshold']:.4f}, found on dev{note}: with {CONFIDENCE:.0%} "
        f"confidence at least {about['wanted']:.1%} of its other answers are right"
    ]
    for split in ("dev", "test"):
        found = about.get(f"on_{split}")
        if isinstance(found, dict) and all(
            isinstance(found.get(key), (int, float)) for key in ("answered", "accuracy")
        ):
            lines.append(
                f"  {split}: {found['answered']:.1%} of the texts answered, {found['accuracy']:.1%} of them right"
            )
    return lines
