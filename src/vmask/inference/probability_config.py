"""Options of calibration and abstention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from vmask.config import check_positive, make, option
from vmask.errors import ConfigError


@dataclass(frozen=True)
class ProbabilityConfig:
    """What is done to the probabilities of a trained model. It changes nothing of the training."""

    calibration: Literal["temperature", "temperature_bias", "none"] | None = option(
        None,
        "what is fitted on dev to make probabilities reliable: `temperature`; `temperature_bias`, with a bias of each "
        "class, which may change predictions; `none`; by default a temperature, and a bias if class_weight=balanced",
    )
    abstain_accuracy: float | None = option(
        None,
        "give no answer where the model is not sure, so that the others are right at least this often: 0.95; the "
        "threshold is found on dev and kept with the model",
        most=1,
    )

    def __post_init__(self) -> None:
        check_positive(self, "abstain_accuracy")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ProbabilityConfig:
        """The options among those of a `TextClassifier`."""
        return make(cls, {f.name: values[f.name] for f in fields(cls)})


@dataclass(frozen=True)
class AbstainConfig:
    """When a prediction is left out because the model is not sure."""

    abstain: float | None = option(
        None,
        "no answer below this probability of the predicted class; 0 answers always; by default the threshold that the "
        "model was trained with, if it was",
        most=1,
    )
    abstain_accuracy: float | None = option(
        None, "the lowest threshold from which answers are right at least this often, by the dev texts", most=1
    )

    def __post_init__(self) -> None:
        check_positive(self, "abstain", minimum=0)
        check_positive(self, "abstain_accuracy")
        if self.abstain is not None and self.abstain_accuracy is not None:
            raise ConfigError("--abstain and --abstain-accuracy are two ways to set one threshold. Leave one out.")
