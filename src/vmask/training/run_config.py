"""The configuration of a training: every option, with the defaults of model, mask and preset filled in."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from vmask.config import SINGLE_LABEL, DataConfig, TrainConfig, make, to_dict
from vmask.errors import ConfigError, UnknownName
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.pretrained.encoders import ENCODERS, is_encoder_name
from vmask.training.torch_random import own_randomness

PRESETS = ("paper_code",)
RELEASED = {"batches": "random", "anneal_until": 1.0, "select_from": 0.0, "min_steps": 0}
"""What the paper's released code does in the training of all its models: batches of any lengths, the best dev epoch of
the whole training at whatever beta."""
TRANSFORMER = "transformer"
_OF_WORDS = ("embeddings", "vocabulary", "vector_words")
"""Data options of models over words only. The others may come from a dataset's card."""
MOST_WEIGHTS = 1_000_000_000
"""Maximum number of weights of a model over words, without its vectors."""
MOST_PADDED = 10_000_000
"""Maximum number of words of a batch in which every text is padded to the full length."""


@dataclass(frozen=True)
class Plan:
    """Everything that determines a training besides the data.

    Attributes:
        model: name of the model.
        mask: name of the mask.
        model_options: an instance of the model's `Options`.
        mask_options: an instance of the mask's `Options`.
        data: how texts become vectors.
        train: how the model is trained.
    """

    model: str
    mask: str
    model_options: Any
    mask_options: Any
    data: DataConfig
    train: TrainConfig

    def to_dict(self) -> dict[str, Any]:
        """All options as JSON values."""
        return {
            "model": self.model,
            "mask": self.mask,
            **{name: to_dict(getattr(self, name)) for name in ("model_options", "mask_options", "data", "train")},
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Plan:
        """The plan that `to_dict` was called on.

        Raises:
            UnknownName: for a model or mask of a package that is not installed here.
        """
        try:
            model, mask = MODELS.get(value["model"]), MASKS.get(value["mask"])
        except UnknownName as unknown:
            unknown.args = (f"{unknown} It is of another package: install that package.",)
            raise
        return cls(
            model=value["model"],
            mask=value["mask"],
            model_options=make(model.Options, value["model_options"]),
            mask_options=make(mask.Options, value["mask_options"]),
            data=make(DataConfig, value["data"]),
            train=make(TrainConfig, value["train"]),
        )

    def holder_of(self, name: str) -> tuple[Any, str] | None:
        """The dataclass that has an option, and the option's name there; None if it is no option of a training.

        Args:
            name: name of the option in `TextClassifier`, such as `learning_rate` or `model__filters`.
        """
        part, nested, option = name.partition("__")
        nested_options = {"model": self.model_options, "mask": self.mask_options}
        holders = (nested_options.get(part),) if nested else (self.train, self.data)
        return next(((holder, option or part) for holder in holders if hasattr(holder, option or part)), None)

    def build(self, vectors: Tensor, tuned: bool, classes: int, task: str = SINGLE_LABEL) -> MaskedClassifier:
        """A fresh classifier over word vectors; its weights come from torch's global generator.

        Args:
            vectors: (V, D) word vectors; row 0 is padding.
            tuned: whether the vectors are trained too.
            classes: number of classes C.
            task: how many labels a text has.
        """
        return self.with_mask(self.word_encoder(vectors, tuned, classes), classes, task)

    def word_encoder(self, vectors: Tensor, tuned: bool, classes: int) -> Encoder:
        """A fresh encoder over word vectors, see `build`."""
        embedding: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
            vectors, freeze=not tuned, padding_idx=0
        )
        self._check_weights(embedding, classes)
        return MODELS.get(self.model)(embedding, classes, self.model_options)

    def _check_weights(self, embedding: nn.Embedding, classes: int) -> None:
        """Check the size of a model before any memory is allocated: sizes multiply.

        Raises:
            ConfigError: if it has too many weights.
        """
        # A model of another package may not support the meta device.
        with suppress(NotImplementedError, RuntimeError), own_randomness(), torch.device("meta"):
            encoder = MODELS.get(self.model)(embedding, classes, self.model_options)
            weights = sum(p.numel() for p in encoder.parameters()) - embedding.weight.numel()
            if weights > MOST_WEIGHTS:
                raise ConfigError(
                    f"A {self.model} of these options has {weights:,} weights; at most {MOST_WEIGHTS:,} are made. "
                    "Choose smaller sizes."
                )

    def with_mask(self, encoder: Encoder, classes: int, task: str = SINGLE_LABEL) -> MaskedClassifier:
        """A fresh mask at the seam of an encoder; its weights come from torch's global generator.

        Args:
            encoder: the encoder.
            classes: number of classes C.
            task: how many labels a text has.
        """
        mask = MASKS.get(self.mask)(encoder.dim, self.mask_options)
        mask.task = task
        mask.set_classes(classes)
        return MaskedClassifier(encoder, mask, task)

    def for_task(self, task: str) -> Plan:
        """The plan of a training on data of this task.

        With several labels a text the accuracy is the share of texts without a single mistake, too rough to choose an
        epoch by, so micro F1 takes its place. With one label a text both are the same number.

        Raises:
            ConfigError: for options that have no meaning for this task.
        """
        select = self.train.select
        if task == SINGLE_LABEL:
            select = "accuracy" if select == "micro_f1" else select
        else:
            select = "micro_f1" if select == "accuracy" else select
            if getattr(self.model_options, "double_softmax", False):
                raise ConfigError(
                    "double_softmax needs one label a text: a softmax makes labels exclude each other. Leave it out, "
                    "or set it to false with --preset paper_code."
                )
        return self if select == self.train.select else replace(self, train=replace(self.train, select=select))

    @property
    def title(self) -> str:
        """The title, such as `CNN-vmask`, or the encoder's name with the mask."""
        return f"{MODELS.get(self.model).title_for(self.model, self.model_options)}-{self.mask}"

    @property
    def reads_pieces(self) -> bool:
        """Whether the model reads word pieces of its own tokenizer rather than words."""
        return MODELS.get(self.model).reads == "pieces"


def make_plan(model: str, mask: str, preset: str | None = None, **given: Any) -> Plan:
    """Fill in defaults, from weak to strong: the dataclass, the model's and the mask's recipe, the preset, the user.

    Args:
        model: name of the model.
        mask: name of the mask.
        preset: None or `paper_code`.
        **given: options; None means the default. Nested ones are written `model__…` and `mask__…`, options of
            neither dataclass are ignored.

    Raises:
        UnknownName, ConfigError: with the fix.
    """
    model, named = resolve_model(model)
    model_class, mask_class = MODELS.get(model), MASKS.get(mask)
    values: dict[str, dict[str, Any]] = {"model": dict(named), "mask": {}, "train": {}, "data": {}}
    if preset is not None:
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        mask_fields = _fields(mask_class.Options)
        for source in (model_class.paper_code, mask_class.paper_code):
            for part, quirks in source.items():
                # A model's quirks for the mask apply only if the mask has such an option.
                values[part].update({k: v for k, v in quirks.items() if part != "mask" or k in mask_fields})
        values["train"].update(RELEASED)
    for name, value in given.items():
        part, nested, option = name.partition("__")
        if nested and part in ("model", "mask") and value is not None:
            values[part][option] = value
    model_options = make(model_class.Options, values["model"], "model__")
    values["train"] = {**model_class.recipe_for(model_options), **mask_class.recipe, **values["train"]}
    values["train"].update({k: given[k] for k in _fields(TrainConfig) if given.get(k) is not None})
    if given.get("epochs") is not None and given.get("min_steps") is None:
        values["train"]["min_steps"] = 0
    data = {**values["data"], **{k: given[k] for k in _fields(DataConfig) if given.get(k) is not None}}
    if model_class.reads == "pieces" and (unused := [name for name in _OF_WORDS if name in data]):
        raise ConfigError(f"{unused[0]} is no option of an encoder, which brings its own vectors. Leave it out.")
    if model_class.reads == "words" and values["train"].get("precision", "no") != "no":
        raise ConfigError(f"precision is for encoders; a {model} is small and computes in float32. Leave it out.")
    plan = Plan(
        model=model,
        mask=mask,
        model_options=model_options,
        mask_options=make(mask_class.Options, values["mask"], "mask__"),
        data=make(DataConfig, data),
        train=make(TrainConfig, values["train"]),
    )
    if plan.train.pad_to_max and plan.train.batch_size * (plan.data.max_words or 1) > MOST_PADDED:
        raise ConfigError(
            f"With pad_to_max a batch has batch_size times max_words words; make that at most {MOST_PADDED:,}, or "
            "leave pad_to_max out."
        )
    return plan


def resolve_model(name: str) -> tuple[str, dict[str, Any]]:
    """The registered name of a model and the options that the name stands for: a folder or a hub name is an encoder.

    Raises:
        UnknownName: with the nearest known name.
    """
    if name in MODELS.names():
        return name, {}
    if is_encoder_name(name):
        return TRANSFORMER, {"encoder": name}
    raise UnknownName("model", name, [*MODELS.names(), *ENCODERS])


def _fields(cls: type) -> list[str]:
    return [f.name for f in dataclasses.fields(cls)]
