"""What every metric is: a file that says what it measures, and a class that gives one value an example.

Means, intervals and tests are added in one place, `vmask.evaluation.statistics`. The docstring of a metric's file says
its range, direction, definition, citation and limits; `Facts` reads them, so they are declared there and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from vmask.config import NoOptions
from vmask.data.rationales import Spans
from vmask.errors import PluginError
from vmask.metrics import METRICS
from vmask.text.words import chunks

if TYPE_CHECKING:
    from vmask.metrics._case import Case

FAMILIES = ("prediction", "faithfulness", "global", "plausibility", "stability")
"""What metrics are about, in the order in which they are shown."""
FLOORS = ("random", "frequency", "tfidf", "majority")
"""Rankings that are no model's: yardsticks beside which others are read."""
_FIELDS = ("Family", "Range", "Direction", "Definition", "Citation", "Limits")


@dataclass(frozen=True)
class Facts:
    """What the docstring of a metric's file says of it.

    Attributes:
        summary: its first line.
        family: what it is about, one of `FAMILIES`.
        low: the least value that it can have.
        high: the greatest.
        better: whether `higher` or `lower` values are better, or `neither`.
        definition: how it is computed.
        citation: where it comes from.
        limits: what it does not say.
    """

    summary: str
    family: str
    low: float
    high: float
    better: Literal["higher", "lower", "neither"]
    definition: str
    citation: str
    limits: str

    @classmethod
    def read(cls, name: str) -> Facts:
        """The facts about a registered metric, without importing it where it is one of our own files."""
        text = METRICS.document(name)
        found = {
            key: " ".join(value.split())
            for key, value in re.findall(
                rf"^({'|'.join(_FIELDS)}): (.*?)(?=^(?:{'|'.join(_FIELDS)}): |\Z)", text, re.M | re.S
            )
        }
        if missing := [field for field in _FIELDS if field not in found]:
            raise PluginError(f"The docstring of the metric {name} lacks a line '{missing[0]}: …'. Add it.")
        try:
            low, high = (float(part) for part in found["Range"].split(" to "))
        except ValueError:
            raise PluginError(f"The range of the metric {name} is '{found['Range']}'. Write '0 to 1'.") from None
        better = found["Direction"].partition(" ")[0]
        if found["Family"] not in FAMILIES:
            raise PluginError(f"The family of the metric {name} is none of {', '.join(FAMILIES)}. Choose one.")
        if better not in ("higher", "lower", "neither"):
            raise PluginError(
                f"The direction of the metric {name} is neither 'higher', 'lower' nor 'neither'. Say one."
            )
        return cls(
            summary=text.partition("\n")[0],
            family=found["Family"],
            low=low,
            high=high,
            better=cast("Literal['higher', 'lower', 'neither']", better),
            definition=found["Definition"],
            citation=found["Citation"],
            limits=found["Limits"],
        )


def check_plugin(name: str) -> None:
    """See that another package's metric says what it measures.

    Raises:
        PluginError: for what its docstring lacks.
    """
    Facts.read(name)


@dataclass(frozen=True)
class Series:
    """What a metric found, example by example.

    Attributes:
        values: (N,) a value an example, NaN where it has none; or (N, ...) a record an example, where the metric has a
            `statistic` that makes one number of them all.
        part: which of the metric's numbers, e.g. `k=3` or `20%`.
        by: whose explanations or ranking of words: `lime`, `mask`, `random`, ….
        hide: how words were hidden; empty where none were.
        over: what the examples are: all `texts`, the `sample` of them that is explained, or `words`.
    """

    values: NDArray[np.float64]
    part: str = ""
    by: str = ""
    hide: str = ""
    over: Literal["texts", "sample", "words"] = "texts"


@dataclass(frozen=True)
class Frequencies:
    """How often words stand in some texts; a word is written in small letters.

    Attributes:
        counts: number of places of each word.
        documents: number of texts that it stands in.
        texts: number of texts.
    """

    counts: Mapping[str, int]
    documents: Mapping[str, int]
    texts: int

    @classmethod
    def of(cls, predictor: Any, texts: Sequence[str]) -> Frequencies:
        """Counted over texts as a model cuts them into words."""
        counts: dict[str, int] = {}
        documents: dict[str, int] = {}
        for chunk in chunks(texts, 1000):
            for doc in predictor.prepare(chunk):
                words = [word.lower() for word in doc.words]
                for word in words:
                    counts[word] = counts.get(word, 0) + 1
                for word in set(words):
                    documents[word] = documents.get(word, 0) + 1
        return cls(counts, documents, len(texts))


@dataclass(frozen=True)
class Subject:
    """A model and the texts that it is measured on.

    Attributes:
        predictor: the model, as explainers know it.
        texts: all N texts.
        labels: (N,) number of the true class of each; None where that is not known.
        probabilities: (N, C) what the model says.
        sample: numbers of the texts that are explained, ascending.
        hides: ways of hiding words, each measured.
        seed: of everything random.
        rationales: for each of all texts the spans that people marked; None where they did not.
        planted: whether the rationales are words that were planted, and decide the label.
        counted: the texts that word frequencies are counted in.
        counted_name: what those are called.
        ranking: importance of words, of another model than this; None for this model's own.
        others: the same model trained with other seeds.
    """

    predictor: Any
    texts: Sequence[str]
    labels: NDArray[np.int64] | None
    probabilities: NDArray[np.float32]
    sample: NDArray[np.int64]
    hides: tuple[str, ...] = ("remove",)
    seed: int = 0
    rationales: Sequence[Spans] | None = None
    planted: bool = False
    counted: Sequence[str] = ()
    counted_name: str = "the texts themselves"
    ranking: Mapping[str, float] | None = None
    others: tuple[Any, ...] = ()

    @property
    def predicted(self) -> NDArray[np.int64]:
        """(N,) number of the predicted class of each text."""
        numbers: NDArray[np.int64] = self.probabilities.argmax(1).astype(np.int64)
        return numbers

    @cached_property
    def frequencies(self) -> Frequencies:
        """How often words stand in the `counted` texts; counted when first asked for."""
        return Frequencies.of(self.predictor, self.counted or self.texts)

    @property
    def ranks(self) -> bool:
        """Whether the model itself gives words an importance."""
        return bool(self.predictor.ranks_words)


class Metric:
    """A metric.

    Args:
        options: an instance of the metric's `Options`; None for its defaults.

    Attributes:
        Options: dataclass of the metric's own options (`--aopc.k 10`).
        headline: the part that short tables show and comparisons test.
        averaged: whether its number is the mean of the values (N,); else `statistic` makes it of records (N, ...).
        properties: parts that are properties of a model: neither direction of them is better.
        across_models: whether the values of two models compare. Where not, `limits` says why.
        version: of its numbers; raised when they change on purpose, so that older results can be told apart.
        name: by default the name of its file.
    """

    Options: ClassVar[type[Any]] = NoOptions
    headline: ClassVar[str] = ""
    averaged: ClassVar[bool] = True
    properties: ClassVar[tuple[str, ...]] = ()
    across_models: ClassVar[bool] = True
    version: ClassVar[int] = 1

    def __init__(self, options: Any = None) -> None:
        self.options = self.Options() if options is None else options
        self.name = type(self).__module__.rpartition(".")[2]

    @property
    def shown(self) -> str:
        """The headline, which may hang on the options."""
        return self.headline

    def statistic(self, records: NDArray[Any]) -> float:
        """One number of the values or records of all examples, the first axis; NaN where there is none."""
        return float(np.nanmean(records)) if np.isfinite(records).any() else float("nan")

    def unfit(self, subject: Subject) -> str:
        """Why it cannot be measured here, in words that go on after "because"; empty where it can."""
        return ""

    def cost(self, subject: Subject) -> str:
        """What a user should know before a long measurement starts; empty where there is nothing."""
        return ""


class ModelMetric(Metric):
    """A metric of a model: of its predictions, or of its ranking of words."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """All that it finds."""
        raise NotImplementedError


class PredictionMetric(ModelMetric):
    """A metric of predictions, which needs the true labels."""

    def unfit(self, subject: Subject) -> str:
        """It needs the true labels."""
        return "" if subject.labels is not None else "the texts have no labels"


class ExplanationMetric(Metric):
    """A metric of explanations, measured of every method.

    Attributes:
        hides: whether it asks the model about texts with words hidden, so that it is measured for every way of hiding.
    """

    hides: ClassVar[bool] = False

    def measure(self, case: Case) -> Mapping[str, Sequence[float] | NDArray[Any]]:
        """For every part a value for each of a few explained texts; NaN where a text has none."""
        raise NotImplementedError
