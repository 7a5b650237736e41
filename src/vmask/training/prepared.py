"""What training needs of the data, whatever the model reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vmask.errors import ConfigError
from vmask.inference.predictor import TextPredictor
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.text.words import PAD
from vmask.training.inputs import Labelled
from vmask.training.loop import Examples
from vmask.training.run_config import Plan


@dataclass(frozen=True)
class Prepared:
    """Everything that training needs of the data.

    Attributes:
        labelled: the checked texts.
        examples: training texts as numbers.
        dev: texts that pick the best epoch.
        tuned: whether the word vectors are trained in a training of one stage; None: as the stage has it.
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
    def pad_length(self) -> int:
        """Length of the longest text that the model may see."""
        raise NotImplementedError

    def encoder(self, plan: Plan) -> Encoder:
        """A fresh encoder; its weights come from torch's global generator."""
        raise NotImplementedError

    def predictor(self, model: MaskedClassifier, device: torch.device, pad_length: int) -> TextPredictor:
        """The trained model with its words."""
        raise NotImplementedError

    def start_from(self, predictor: TextPredictor, plan: Plan) -> Encoder:
        """The encoder of a trained model, to start from.

        Raises:
            ConfigError: where that is a model of another kind, tokenizer or set of labels.
        """
        raise ConfigError("Only an encoder can start from another model; train CNN and LSTM anew.")

    def source_digest(self) -> bytes:
        """Of the vectors or the pretrained encoder that training starts from."""
        raise NotImplementedError

    def digest(self) -> str:
        """Of all that training sees: ids and classes of both sets, and where it starts. Another is another run."""
        digest = hashlib.sha256(self.source_digest())
        for examples in (self.examples, self.dev):
            digest.update(examples.labels.tobytes())
            for ids in examples.ids:
                digest.update(np.append(ids, -1).tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """What a model folder says about its data."""
        return {
            "train": len(self.examples.labels),
            "dev": len(self.dev.labels),
            "fingerprint": self.labelled.fingerprint,
        }


def examples_of(ids: Mapping[int, NDArray[np.int32]], codes: Sequence[int], pad: int = PAD) -> Examples:
    """The texts in the rows that have ids, with their classes."""
    return Examples(list(ids.values()), np.array([codes[row] for row in ids], dtype=np.int64), pad)
