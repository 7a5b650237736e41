"""The data of a training, whether the model reads words or word pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vmask.errors import ConfigError
from vmask.inference.edits import Finder
from vmask.inference.predictor import TextPredictor
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.text.words import PAD
from vmask.training.inputs import Labelled
from vmask.training.loop import Examples
from vmask.training.run_config import Plan


@dataclass(frozen=True)
class Prepared:
    """The data of a training.

    Attributes:
        labelled: the checked texts.
        examples: encoded training texts.
        dev: encoded texts that select the best epoch.
        tuned: whether the word vectors are trained; None: in the first stage only.
    """

    labelled: Labelled
    examples: Examples
    dev: Examples
    tuned: bool | None

    @property
    def labels(self) -> list[Any]:
        """The classes, as they were given."""
        return self.labelled.classes

    @property
    def task(self) -> str:
        """How many labels a text has."""
        return self.labelled.task

    @property
    def pad_length(self) -> int:
        """Maximum length of a text."""
        raise NotImplementedError

    @property
    def mask_token(self) -> int | None:
        """Id of the tokenizer's mask token, if it has one."""
        return None

    def finder(self) -> Finder:
        """Finds words in the vocabulary."""
        raise NotImplementedError

    def encoder(self, plan: Plan) -> Encoder:
        """A fresh encoder; its weights come from torch's global generator."""
        raise NotImplementedError

    def predictor(self, model: MaskedClassifier, device: torch.device, pad_length: int) -> TextPredictor:
        """The trained model with its words."""
        raise NotImplementedError

    def start_from(self, predictor: TextPredictor, plan: Plan) -> Encoder:
        """The encoder of a trained model as a start.

        Raises:
            ConfigError: if the model has another kind, tokenizer or set of labels.
        """
        raise ConfigError("Only an encoder can start from another model; train CNN and LSTM anew.")

    def source_digest(self) -> bytes:
        """Bytes that identify the vectors or the pretrained encoder that training starts from."""
        raise NotImplementedError

    def digest(self) -> str:
        """Digest of all that training reads: ids and classes of both sets, and where it starts."""
        digest = hashlib.sha256(self.source_digest())
        for examples in (self.examples, self.dev):
            digest.update(examples.labels.tobytes())
            if examples.weights is not None:
                digest.update(examples.weights.tobytes())
            for ids in examples.ids:
                digest.update(np.append(ids, -1).tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """The facts about the data for a model folder."""
        return {
            "train": len(self.examples.labels),
            "dev": len(self.dev.labels),
            "fingerprint": self.labelled.fingerprint,
        }


def examples_of(
    ids: Mapping[int, NDArray[np.int32]],
    codes: NDArray[Any],
    pad: int = PAD,
    weights: Sequence[float] | None = None,
) -> Examples:
    """The texts in the rows that have ids, with their classes; `codes` and `weights` are those of all rows."""
    return Examples(
        list(ids.values()),
        codes[list(ids)],
        pad,
        None if weights is None else np.array([weights[row] for row in ids], dtype=np.float32),
    )
