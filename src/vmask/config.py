"""Options, declared once: the constructor, the CLI, saved JSON and the docs all read these dataclasses."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

from vmask._core.parsing import has_lone_surrogate
from vmask.errors import ConfigError, did_you_mean, short

MOST, MOST_TIMES_DEFAULT = 1_000_000, 1_000
"""Limit of a number without a declared one: the first, or the second times its default if that is more."""
LONGEST_LIST, LARGEST_SEED = 1_000, 2**63 - 1

O = TypeVar("O")  # noqa: E741 - an options dataclass


def option(default: Any, help: str, most: float | None = None, *, flag: str = "", entries: int = LONGEST_LIST) -> Any:
    """A dataclass field with a default and its line of help.

    Args:
        default: its default.
        help: its line of help.
        most: largest value of a number, or of the numbers of a list; far above anything sensible, it keeps a typo from
            filling the memory. By default see `most_of`.
        flag: its name on the command line, without dashes, where that is another one.
        entries: largest number of entries of a list.
    """
    return field(default=default, metadata={"help": help, "most": most, "flag": flag, "entries": entries})


@dataclass(frozen=True)
class DataConfig:
    """How texts become words, and words become vectors."""

    embeddings: str = option(
        "word2vec-26k",
        "word vectors: `word2vec-26k` (fetched once), `random`, files (.bin .txt .vec .npy), or `distil:ENCODER`, made "
        "from an encoder such as `minilm`; a comma joins several",
    )
    train_embeddings: bool | None = option(None, "tune the word vectors too; by default only random ones are tuned")
    vocabulary: Literal["vectors", "train", "paper"] = option(
        "vectors",
        "which words are known: those of training and of the vectors, of training alone, or as the paper counts them",
    )
    vector_words: int = option(50_000, "at most this many words that only the vectors know", most=10_000_000)
    min_count: int | None = option(
        None, "drop words seen fewer times in training; by default the dataset card's rule, else 1"
    )
    unknown_width: float = option(0.01, "the vector of unknown words is drawn within this of 0", most=100)
    max_words: int | None = option(
        None,
        "cut texts after this many words (an encoder: word pieces); by default the dataset card's length, else 256 "
        "(an encoder: 512 tokens)",
        most=100_000,
    )
    cleaning: Literal["paper", "gentle"] | None = option(
        None, "`paper` (ASCII, as the paper's) or `gentle` (every script); by default the dataset card's, else gentle"
    )
    segmenter: Literal["auto", "none", "jieba", "sudachi", "pythainlp", "icu"] = option(
        "auto", "what cuts scripts without spaces into words; `auto` decides by the language of the training texts"
    )
    hide_words: tuple[str, ...] = option(
        (),
        "words that the model must not see, in training and after, in any case: he,she,@FILE with a word a line",
        flag="hide",
        entries=1_000_000,
    )
    only_words: tuple[str, ...] | None = option(
        None,
        "the only words that the model may see, in training and after, in any case: good,bad,@FILE with a word a line; "
        "of these, words to hide are hidden",
        flag="only",
        entries=1_000_000,
    )

    def __post_init__(self) -> None:
        check_positive(self, "vector_words", "unknown_width", minimum=0)
        check_positive(self, "min_count", "max_words")
        if self.only_words is not None:
            hidden = {word.casefold() for word in self.hide_words}
            if all(word.casefold() in hidden for word in self.only_words):
                why = "has no word that is not in hide_words" if self.only_words else "is empty"
                raise ConfigError(f"only_words {why}, so the model could see nothing. Name words, or leave it out.")


@dataclass(frozen=True)
class TrainConfig:
    """How a classifier and its mask are trained. Masks and models override the defaults by their `recipe`."""

    epochs: int = option(20, "passes over the training set, at most", most=100_000)
    batch_size: int = option(50, "texts in a step, over all processes")
    batches: Literal["similar", "random"] = option(
        "similar", "texts of a step: of similar length, which is faster, or of any length as released"
    )
    stages: int = option(
        1, "2: train without a mask first, then freeze the word vectors and train on with it (the default of encoders)"
    )
    init_from: str | None = option(None, "model folder to start from instead of the first of two stages")
    learning_rate: float = option(1e-3, "step size of Adam")
    mask_learning_rate: float | None = option(None, "step size for the mask's own network; by default the same")
    learning_rate_schedule: Literal["constant", "linear"] = option(
        "constant", "`linear`: the step size falls to 0 in a straight line"
    )
    warmup: float = option(0.0, "share of the training in which the step size rises from 0")
    optimizer: Literal["adam", "adamw"] = option("adam", "`adamw`: weight decay beside the gradient, not in it")
    weight_decay: float = option(0.0, "L2 penalty in the gradient (the `l2` method); decoupled with adamw")
    accumulate: int = option(1, "compute every step's batch in this many parts, to save memory", most=10_000)
    precision: Literal["auto", "no", "bf16", "fp16"] = option(
        "no", "mixed precision of an encoder; `auto`: bf16 or fp16 on a GPU that has it, none on a CPU"
    )
    clip: float = option(5.0, "largest norm of the gradient")
    clip_scope: Literal["all", "head"] = option("all", "what is clipped; `head`: the last layer alone, as released")
    beta: float = option(0.0, "weight of the mask penalty at the start (beta, eq. 9 of the paper)")
    beta_end: float | None = option(None, "weight of the mask penalty at the end; by default as at the start")
    beta_schedule: Literal["linear", "constant", "cyclic", "steps"] = option(
        "linear",
        "how beta moves from start to end: straight, not at all, in sawteeth, in ten steps as released",
    )
    beta_cycles: int = option(4, "number of sawteeth of the cyclic schedule", most=100_000)
    anneal_until: float = option(
        0.75, "share of the training in which beta, and the mask's temperature, move; then they stay at their ends"
    )
    min_steps: int = option(
        500,
        "steps that a training has at least where beta moves: small data is passed over more often; where you name "
        "the epochs, they hold",
        most=100_000,
    )
    patience: int = option(10, "stop after this many epochs without a better dev score; 0 never stops")
    select: Literal["accuracy", "macro_f1"] = option("accuracy", "dev score that picks the best epoch")
    select_from: float | None = option(
        None,
        "share of the training after which epochs compete for the best dev score and patience counts; by default when "
        "beta has stopped moving, 0: the whole training",
    )
    class_weight: Literal["balanced"] | None = option(None, "`balanced` weighs rare classes up in the loss")
    pad_to_max: bool = option(False, "pad every text to the full length, in training and after, as released (slow)")
    seed: int = option(0, "seed of everything random", most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_positive(self, "epochs", "batch_size", "learning_rate", "mask_learning_rate", "clip", "beta_cycles")
        check_positive(self, "accumulate")
        if self.stages not in (1, 2):
            raise ConfigError(f"stages is {self.stages}; it must be 1 or 2.")
        for name in ("warmup", "select_from"):
            if not 0 <= (getattr(self, name) or 0.0) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1.")
        if not 0 < self.anneal_until <= 1:
            raise ConfigError(f"anneal_until is {self.anneal_until}; it must be above 0 and at most 1.")
        check_positive(self, "weight_decay", "beta", "patience", "beta_end", "min_steps", "seed", minimum=0)


@dataclass(frozen=True)
class EstimatorConfig:
    """Options of `TextClassifier` besides those of data, training, mask and model."""

    preset: Literal["paper_code"] | None = option(
        None, "`paper_code` sets what the paper's released code does, quirks included"
    )
    dev_fraction: float = option(0.1, "share of the texts held out to pick the best epoch, where there is no dev set")
    device: str = option("auto", "`auto`, `cpu`, `cuda` or `mps`")
    verbose: bool = option(False, "show a progress bar")


@dataclass(frozen=True)
class TrackConfig:
    """Where the course of a training is written to, besides its own folder."""

    track: str | None = option(
        None, "write the course of a training to trackers too, commas between: see `vmask ls trackers`"
    )
    track_dir: str | None = option(
        None, "folder of the tracker's files; by default `tracking` beside the output folder"
    )


@dataclass(frozen=True)
class NoOptions:
    """A method without options of its own."""


Hide: TypeAlias = Literal["remove", "zero", "unk", "mask"]
HIDES: tuple[str, ...] = typing.get_args(Hide)
"""Ways of hiding a word: close the gap, a vector of zeros, the token for unknown words, the mask token."""


@dataclass(frozen=True)
class ExplainConfig:
    """How texts are explained."""

    method: str = option("mask", "how, see `vmask ls explainers`")
    target: Any = option(None, "label to explain; by default the predicted one")
    seed: int = option(0, "seed of random methods", most=LARGEST_SEED)
    hide: Hide | None = option(None, "how words are hidden; by default remove")
    batch_size: int | None = option(None, "perturbed texts that the model is given at a time, at most")

    def __post_init__(self) -> None:
        check_positive(self, "seed", minimum=0)
        check_positive(self, "batch_size", minimum=1)


@dataclass(frozen=True)
class EvaluateConfig:
    """How a model and its explanations are measured."""

    metrics: str = option(
        "accuracy,macro_f1,calibration_error",
        "what to measure, see `vmask ls metrics`; `all`: all that apply, `all,-naopc`: all but one",
    )
    explainers: str = option("lime,shapley,mask", "whose explanations; `random` is always measured with them")
    n: int = option(
        1000, "texts that are explained, at most, drawn at random; predictions are measured on all", most=10**9
    )
    seed: int = option(0, "seed of everything random", most=LARGEST_SEED)
    hide: str | None = option(
        None, "ways of hiding words to measure by, commas between; by default remove and mask, zero or unk"
    )
    explain_hide: Hide | None = option(None, "how the explainers hide words; by default remove")
    rank: Literal["signed", "absolute"] = option("signed", "order words by their scores or by the size of them")
    batch_size: int | None = option(None, "perturbed texts that the model is given at a time, at most")

    def __post_init__(self) -> None:
        check_positive(self, "seed", minimum=0)
        check_positive(self, "n", "batch_size", minimum=1)


@dataclass(frozen=True)
class ClusterConfig:
    """Where work is done: on this machine, or on several of them."""

    engine: Literal["local", "ray"] = option(
        "local", "`ray`: the work is done by processes of Ray, on this machine or on several"
    )
    address: str | None = option(
        None,
        "with --engine ray: `auto` for the cluster that this machine belongs to, or HOST:PORT; by default that of the "
        "variable RAY_ADDRESS, else one of this machine alone",
    )

    def __post_init__(self) -> None:
        if self.engine == "local" and self.address is not None:
            raise ConfigError("--address is for --engine ray. Add --engine ray, or leave --address out.")


@dataclass(frozen=True)
class WorkersConfig(ClusterConfig):
    """How many workers share the texts, and where."""

    workers: int | None = option(
        None,
        "workers that share the texts, of one core each: threads, with --engine ray processes; the results are the "
        "same; by default one of all cores, with --engine ray one for each CPU (or GPU) of the cluster",
        most=1_000,
    )
    gpus: float | None = option(
        None, "with --engine ray --device cuda: GPUs of each worker, 0.5 if two share one; by default 1", most=1_000
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "workers", minimum=1)
        check_positive(self, "gpus")
        if self.engine == "local" and self.gpus is not None:
            raise ConfigError("--gpus is for --engine ray. Add --engine ray, or leave --gpus out.")


def check_positive(options: Any, *names: str, minimum: float | None = None) -> None:
    """Raise ConfigError if a number is too small: below `minimum`, or not above 0 if that is None."""
    for name in names:
        value = getattr(options, name)
        enough = value is None or (value > 0 if minimum is None else value >= minimum)  # False for NaN
        if not enough or value == math.inf:
            wanted = "above 0" if minimum is None else f"at least {minimum:g}"
            raise ConfigError(f"{name} is {short(value)}; it must be {wanted}.")


def check_choices(options: Any) -> None:
    """Raise ConfigError if the value of a `Literal` field is not one of its choices."""
    for f in dataclasses.fields(options):
        choices = choices_of(type(options), f.name)
        value = getattr(options, f.name)
        if choices and value is not None and value not in choices:
            near = did_you_mean(str(value), [str(c) for c in choices])
            raise ConfigError(f"{f.name} is {value!r}.{near} Choose one of: {', '.join(str(c) for c in choices)}.")


def choices_of(cls: type, name: str) -> tuple[Any, ...]:
    """The values of a `Literal` field, or () for other fields."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is Literal:
            return typing.get_args(part)
    return ()


def scalar_type(cls: type, name: str) -> type:
    """The plain type behind a field (`float | None` is float, a Literal is str, a tuple stays a tuple)."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is Literal:
            return str
        if typing.get_origin(part) is tuple:
            return tuple
        if isinstance(part, type) and part is not type(None):
            return part
    return str


def item_type(cls: type, name: str) -> type:
    """The type of the entries of a tuple field."""
    for part in _parts(cls, name):
        if typing.get_origin(part) is tuple:
            return typing.cast("type", typing.get_args(part)[0])
    return object


@cache  # resolving the hints of a class takes about as long as all the rest of making its options
def _parts(cls: type, name: str) -> tuple[Any, ...]:
    hint = typing.get_type_hints(cls)[name]
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def help_of(f: dataclasses.Field[Any]) -> str:
    """The line of help of a field, with its default."""
    default = "" if f.default in (None, MISSING, ()) else f" [{f.default}]"
    return f"{f.metadata.get('help', '')}{default}"


def make(cls: type[O], values: Mapping[str, Any], prefix: str = "") -> O:
    """Build an options dataclass from a mapping, strictly.

    Args:
        cls: the dataclass.
        values: its fields; lists become tuples if the field is a tuple.
        prefix: the prefix that the user wrote before them (`mask__`), for error messages.

    Raises:
        ConfigError: for an unknown key, with the nearest field, or a value that cannot work.
    """
    known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"Unknown option '{prefix}{key}'.{did_you_mean(key, known)} "
                f"Available: {', '.join(sorted(known)) or 'none'}."
            )
    try:
        built = cls(**{k: _coerce(cls, known[k], v, prefix) for k, v in values.items()})
    except TypeError as error:
        raise ConfigError(f"Options of {cls.__qualname__} cannot be used: {error}.") from None
    check_choices(built)
    return built


def most_of(f: dataclasses.Field[Any]) -> float:
    """The largest number that a field accepts."""
    declared = f.metadata.get("most")
    if declared is not None:
        return float(declared) if isinstance(declared, float) else int(declared)
    default = f.default if isinstance(f.default, (int, float)) else 0
    return max(MOST, abs(default) * MOST_TIMES_DEFAULT)


def _coerce(cls: type, f: dataclasses.Field[Any], value: Any, prefix: str) -> Any:
    """Turn JSON lists into tuples and integers into floats; refuse other types and numbers that are too large."""
    wanted, name = scalar_type(cls, f.name), f"{prefix}{f.name}"
    if hasattr(value, "item"):  # a numpy scalar, as from a parameter grid
        value = value.item()
    if wanted is Any:  # a value of the user's own, such as a label
        return value
    if value is None:
        if any(part is type(None) for part in _parts(cls, f.name)):
            return None
    elif wanted is tuple and isinstance(value, (list, tuple)):
        if len(value) > (entries := f.metadata.get("entries", LONGEST_LIST)):
            raise ConfigError(f"{name} has {len(value):,} entries; it must have at most {entries:,}.")
        for item in value:
            if (kind := item_type(cls, f.name)) is str and not isinstance(item, str):
                raise ConfigError(f"{name} has {short(item)} in it; it must have entries of type {kind.__name__}.")
            _check_size(f, item, name)
        return tuple(value)
    elif wanted is float and isinstance(value, int) and not isinstance(value, bool):
        _check_size(f, value, name)
        return float(value)
    elif isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        _check_size(f, value, name)
        return value
    raise ConfigError(f"{name} is {short(value)}; it must be of type {wanted.__name__}.")


def _check_size(f: dataclasses.Field[Any], value: Any, name: str) -> None:
    """Raise ConfigError for a number beyond the limit of its field, for NaN, and for a lone surrogate."""
    if isinstance(value, str):
        if has_lone_surrogate(value):
            raise ConfigError(f"{name} is {short(value)}, with half a character in it. Write it in UTF-8.")
    elif isinstance(value, (int, float)) and not abs(value) <= (most := most_of(f)):  # True for NaN
        raise ConfigError(f"{name} is {short(value)}; it must be a number of at most {most:,}.")


def to_dict(options: Any) -> dict[str, Any]:
    """The fields of an options dataclass as JSON values; `make` reads them back."""
    return typing.cast("dict[str, Any]", json.loads(json.dumps(dataclasses.asdict(options))))
