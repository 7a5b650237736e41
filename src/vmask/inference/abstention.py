"""Abstention: no answer where the model is not sure, from a threshold that promises an accuracy of the others.

The lowest threshold whose accuracy on dev *looks* high enough promises too much: it is the luckiest of many. So a
threshold must show its accuracy by a one-sided bound (Clopper and Pearson, 1934), and the search is a fixed sequence
of tests from several starts, which share the risk of a mistake (Angelopoulos et al., Learn then Test, 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask._core.wording import plural
from vmask.config import MULTI_LABEL
from vmask.errors import ConfigError, ModelFolderError, short

DEV_CONFIDENCE, DEV_RIGHT = "dev.confidence", "dev.right"
"""Names of the answers to the dev texts among the weights of a model."""
CONFIDENCE = 0.95
"""How often a threshold keeps its promise, at least, over samples of dev texts."""
STARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of the dev texts, the surest first, from which the search begins."""


@dataclass(frozen=True)
class DevAnswers:
    """How sure a model was of its answers to the dev texts, and whether they were right.

    Attributes:
        confidence: (N,) probability of each predicted class.
        right: (N,) whether it is the true one.
    """

    confidence: NDArray[np.float32]
    right: NDArray[np.bool_]

    def threshold_for(self, accuracy: float) -> float:
        """The lowest threshold from which answers are right as often as wanted, with a confidence of 95%.

        Raises:
            ConfigError: if no threshold shows it on these texts, or the accuracy is none.
        """
        check_share(accuracy, "abstain_accuracy")
        order = np.argsort(-self.confidence, kind="stable")
        sure, right = self.confidence[order], np.cumsum(self.right[order])
        count = len(sure)
        numbers = np.arange(1, count + 1)
        bounds = lower_bounds(right, numbers, (1 - CONFIDENCE) / len(STARTS))
        ends = np.flatnonzero(np.append(sure[1:] < sure[:-1], True))  # equally sure answers are given together
        best = -1
        for share in STARTS:
            for end in ends[ends >= min(round(share * count), count) - 1]:
                if bounds[end] < accuracy:
                    break
                best = max(best, int(end))
        if best < 0:
            reached = max((float(bounds[end]) for end in ends), default=0.0)
            raise ConfigError(
                f"No threshold shows an accuracy of {accuracy:g} on the {count:,} dev texts; at most {reached:.3f} can "
                "be promised. Ask for less, or train with more dev texts."
            )
        return 0.0 if best == count - 1 else float(sure[best])

    def tensors(self) -> dict[str, Tensor]:
        """The answers as they are stored with the weights of a model."""
        return {
            DEV_CONFIDENCE: torch.from_numpy(self.confidence.astype(np.float32)),
            DEV_RIGHT: torch.from_numpy(self.right.astype(np.uint8)),
        }

    @classmethod
    def read(cls, tensors: Mapping[str, Tensor]) -> DevAnswers | None:
        """The answers among the tensors of a model; None if there are none, as in older folders.

        Raises:
            ModelFolderError: if they are no such answers.
        """
        if DEV_CONFIDENCE not in tensors and DEV_RIGHT not in tensors:
            return None
        confidence, right = tensors.get(DEV_CONFIDENCE), tensors.get(DEV_RIGHT)
        if confidence is None or right is None or confidence.ndim != 1 or confidence.shape != right.shape:
            raise ModelFolderError("its answers to the dev texts are no two lists of the same length")
        if confidence.dtype != torch.float32 or not bool(((confidence >= 0) & (confidence <= 1)).all()):
            raise ModelFolderError(f"{DEV_CONFIDENCE} has values that are no probabilities")
        if right.dtype != torch.uint8 or not bool((right <= 1).all()):
            raise ModelFolderError(f"{DEV_RIGHT} has values that are neither 0 nor 1")
        return cls(confidence.numpy(), right.numpy() > 0)

    def at(self, threshold: float) -> dict[str, float]:
        """Share of texts answered and accuracy from a threshold on, see `selective`."""
        return selective(self.confidence, self.right, threshold)


@dataclass(frozen=True)
class Abstention:
    """From which probability of the predicted class on a model answers.

    Attributes:
        threshold: the probability; None if it answers always.
        on_dev: what came of it on the dev texts, see `selective`; empty if that is not known.
    """

    threshold: float | None = None
    on_dev: Mapping[str, float] = field(default_factory=dict)

    def note(self, answers: int, texts: int) -> str:
        """How many of some texts were answered, in a sentence; empty if nothing could be left out."""
        if self.threshold is None or not texts:
            return ""
        on_dev = ""
        if self.on_dev:
            on_dev = f"; of the dev texts {self.on_dev['answered']:.1%}, {self.on_dev['accuracy']:.1%} of them right"
        return (
            f"{answers:,} of {plural(texts, 'text')} answered ({answers / texts:.1%}), those with a probability of "
            f"{self.threshold:.4f} or more{on_dev}."
        )


def threshold_of(answers: DevAnswers | None, accuracy: float) -> float:
    """The threshold for an accuracy, see `DevAnswers.threshold_for`.

    Raises:
        ConfigError: also if there are no answers.
    """
    if answers is None:
        raise ConfigError(
            "The model has no answers to dev texts, by which a threshold for an accuracy is found: it is of an earlier "
            "version, was trained with --calibration none, or may give several labels. Train it anew or set --abstain."
        )
    return answers.threshold_for(accuracy)


def lower_bounds(right: NDArray[Any], numbers: NDArray[Any], risk: float) -> NDArray[np.float64]:
    """(N,) one-sided Clopper-Pearson bounds of shares, each too high with a probability of at most `risk`."""
    from scipy.stats import beta

    bounds: NDArray[np.float64] = np.where(right > 0, beta.ppf(risk, np.maximum(right, 1), numbers - right + 1), 0.0)
    return bounds


def selective(confidence: NDArray[Any], right: NDArray[Any], threshold: float) -> dict[str, float]:
    """Number of texts, share of them answered from a threshold on, and accuracy of these answers; 0 without any."""
    answered = confidence >= np.float32(threshold)
    accuracy = float(right[answered].mean()) if answered.any() else 0.0
    return {"n": len(right), "answered": float(answered.mean()) if len(right) else 0.0, "accuracy": accuracy}


def answered(row: Sequence[float], threshold: float | None) -> int | None:
    """The number of the predicted class of a row of probabilities; None below the threshold."""
    best = max(range(len(row)), key=row.__getitem__)
    return best if threshold is None or np.float32(row[best]) >= np.float32(threshold) else None


def check_abstains(task: str, *wanted: float | None) -> None:
    """Raise ConfigError if a model that may give a text no label at all is to leave out answers too."""
    if task == MULTI_LABEL and any(one is not None for one in wanted):
        raise ConfigError(
            "abstain is for one label a text. Where a text may have several, each has a threshold of its own already. "
            "Leave it out."
        )


def without_unsure(labels: NDArray[Any], probabilities: NDArray[np.float32], abstain: float | None) -> NDArray[Any]:
    """Labels (N,), with None in place of those whose probability (N, C) is below `abstain`, if that is given."""
    if abstain is None:
        return labels
    check_share(abstain, "abstain")
    answers: NDArray[Any] = labels.astype(object)
    answers[probabilities.max(1) < np.float32(abstain)] = None
    return answers


def check_share(value: Any, name: str) -> None:
    """Raise ConfigError for anything but a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ConfigError(f"{name} is {short(value)}; it must be a number from 0 to 1.")


def read_threshold(value: Any) -> float | None:
    """The threshold in the `config.json` of a model folder; None if there is none.

    Raises:
        ModelFolderError: for anything but a number from 0 to 1.
    """
    try:
        if value is not None:
            check_share(value, "abstain_below")
    except ConfigError as error:
        raise ModelFolderError(str(error)) from None
    return None if value is None else float(value)
