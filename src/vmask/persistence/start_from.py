"""The encoder of a trained model as the start of another training."""

from __future__ import annotations

from pathlib import Path

from vmask.errors import ConfigError
from vmask.models.contract import Encoder
from vmask.persistence.model_folder import load_model
from vmask.training.prepared import Prepared
from vmask.training.run_config import Plan


def start_from(plan: Plan, data: Prepared) -> Encoder | None:
    """The encoder that the user wants to start from, fitted out for this plan.

    Raises:
        ConfigError: where that is a model of another kind, tokenizer or set of labels.
    """
    folder = plan.train.init_from
    if folder is None:
        return None
    try:
        return data.start_from(load_model(Path(folder), "cpu").predictor, plan)
    except ConfigError as error:
        raise ConfigError(f"init_from is {folder}. {error}") from None
