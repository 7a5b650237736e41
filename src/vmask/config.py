"""Options, declared once: the constructor, the CLI, saved JSON and the docs all read these dataclasses."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vmask._core.options import LARGEST_SEED as LARGEST_SEED
from vmask._core.options import LONGEST_LIST as LONGEST_LIST
from vmask._core.options import MOST as MOST
from vmask._core.options import MOST_TIMES_DEFAULT as MOST_TIMES_DEFAULT
from vmask._core.options import check_choices as check_choices
from vmask._core.options import check_positive as check_positive
from vmask._core.options import choices_of as choices_of
from vmask._core.options import help_of as help_of
from vmask._core.options import item_type as item_type
from vmask._core.options import make as make
from vmask._core.options import most_of as most_of
from vmask._core.options import option as option
from vmask._core.options import scalar_type as scalar_type
from vmask._core.options import to_dict as to_dict
from vmask.errors import ConfigError

SINGLE_LABEL, MULTI_LABEL = "single_label", "multi_label"
"""Tasks: each text has exactly one label; each text has any number of labels, or none."""


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
    select: Literal["accuracy", "macro_f1", "micro_f1"] = option("accuracy", "dev score that picks the best epoch")
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


Duplicates: TypeAlias = Literal["exact", "near", "ignore"]
_DUPLICATES = (
    "texts that must not be cut apart where a split is held out: `exact`, the same but for case, white space and the "
    "form of characters; `near`, nearly the same too; `ignore`, none"
)


@dataclass(frozen=True)
class SplitConfig:
    """How dev and test are held out of data that has no such splits."""

    duplicates: Duplicates | None = option(
        None, f"{_DUPLICATES}; by default exact, and ignore for a dataset with a card, whose splits are fixed"
    )
    group: str | None = option(None, "column whose rows of the same value, such as a customer, stay in one split")
    time: str | None = option(None, "column of dates or numbers: train is the earliest, then comes dev, then test")

    def __post_init__(self) -> None:
        if self.group is not None and self.time is not None:
            raise ConfigError(
                "Rows are held out by group or by time, not by both. Leave --group or --time out, or give a folder "
                "with train.csv, dev.csv and test.csv."
            )


@dataclass(frozen=True)
class LabelConfig:
    """How the label column of a table becomes classes, and how much each row counts in training."""

    label_bins: int | None = option(
        None,
        "make this many classes of a column of numbers, ranges with about as many training texts each; 0: its values "
        "are classes, however many there are",
        most=100,
    )
    weight: str | None = option(None, "column with the weight of each row in the training loss, 0 or more")

    def __post_init__(self) -> None:
        check_positive(self, "label_bins", minimum=0)
        if self.label_bins == 1:
            raise ConfigError("label_bins is 1; a classifier needs at least two classes.")


@dataclass(frozen=True)
class EstimatorConfig:
    """Options of `TextClassifier` besides those of data, training, mask and model."""

    preset: Literal["paper_code"] | None = option(
        None, "`paper_code` sets what the paper's released code does, quirks included"
    )
    dev_fraction: float = option(0.1, "share of the texts held out to pick the best epoch, where there is no dev set")
    duplicates: Duplicates = option("exact", f"where a dev set is held out, {_DUPLICATES}")
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
