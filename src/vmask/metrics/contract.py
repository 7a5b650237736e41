"""The contract of metrics: a file that documents the metric, and a class that gives one value per example.

Means, intervals and tests are in `vmask.evaluation.statistics`. The docstring of a metric's file has its range,
direction, definition, citation and limits; `Facts` reads them from there, so they are declared only once.
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
from vmask.inference.decisions import predictions, thresholds_of
from vmask.metrics import METRICS
from vmask.text.words import chunks

if TYPE_CHECKING:
    from vmask.metrics._case import Case

FAMILIES = ("prediction", "faithfulness", "global", "plausibility", "stability", "sanity")
"""Families of metrics, in the order in which they are shown."""
FLOORS = ("random", "frequency", "tfidf", "majority")
"""Baseline rankings that do not depend on a model."""
_FIELDS = ("Family", "Range", "Direction", "Definition", "Citation", "Limits")


@dataclass(frozen=True)
class Facts:
    """Facts about a metric, from the docstring of its file.

    Attributes:
        summary: its first line.
        family: one of `FAMILIES`.
        low: the lowest possible value.
        high: the highest possible value.
        better: whether `higher` or `lower` values are better, or `neither`.
        definition: how it is computed.
        citation: where it comes from.
        limits: what to keep in mind when reading it.
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
        """The facts about a registered metric, without importing it if it belongs to this package."""
        text = METRICS.document(name)
        fields = {
            key: " ".join(value.split())
            for key, value in re.findall(
                rf"^({'|'.join(_FIELDS)}): (.*?)(?=^(?:{'|'.join(_FIELDS)}): |\Z)", text, re.M | re.S
            )
        }
        if missing := [field for field in _FIELDS if field not in fields]:
            raise PluginError(f"The docstring of the metric {name} lacks a line '{missing[0]}: …'. Add it.")
        try:
            low, high = (float(part) for part in fields["Range"].split(" to "))
        except ValueError:
            raise PluginError(f"The range of the metric {name} is '{fields['Range']}'. Write '0 to 1'.") from None
        better = fields["Direction"].partition(" ")[0]
        if fields["Family"] not in FAMILIES:
            raise PluginError(f"The family of the metric {name} is none of {', '.join(FAMILIES)}. Choose one.")
        if better not in ("higher", "lower", "neither"):
            raise PluginError(
                f"The direction of the metric {name} is neither 'higher', 'lower' nor 'neither'. Say one."
            )
        return cls(
            summary=text.partition("\n")[0],
            family=fields["Family"],
            low=low,
            high=high,
            better=cast("Literal['higher', 'lower', 'neither']", better),
            definition=fields["Definition"],
            citation=fields["Citation"],
            limits=fields["Limits"],
        )


def check_plugin(name: str) -> None:
    """Check the docstring of another package's metric.

    Raises:
        PluginError: if the docstring lacks a field or has an invalid one.
    """
    Facts.read(name)


@dataclass(frozen=True)
class Series:
    """The values of a metric, example by example.

    Attributes:
        values: (N,) one value per example, NaN if it has none; or (N, ...) one record per example, from which the
            metric's `statistic` computes the score.
        part: which of the metric's scores, e.g. `k=3` or `20%`.
        by: explanation method or source of the word ranking: `lime`, `mask`, `random`, ….
        hide: how words were hidden; empty if none were.
        over: the kind of examples: all `texts`, the explained `sample` of them, or `words`.
    """

    values: NDArray[np.float64]
    part: str = ""
    by: str = ""
    hide: str = ""
    over: Literal["texts", "sample", "words"] = "texts"


@dataclass(frozen=True)
class Frequencies:
    """Frequencies of words, in lower case, in some texts.

    Attributes:
        counts: number of occurrences of each word.
        documents: number of texts with each word.
        texts: number of texts.
    """

    counts: Mapping[str, int]
    documents: Mapping[str, int]
    texts: int

    @classmethod
    def of(cls, predictor: Any, texts: Sequence[str]) -> Frequencies:
        """Count the words of texts as a model tokenizes them."""
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
    """A model and the texts that it is evaluated on.

    Attributes:
        predictor: the model.
        texts: all N texts.
        labels: (N,) number of the true class of each; with several labels a text (N, C) whether it has each; None
            without labels.
        probabilities: (N, C) predictions of the model.
        sample: numbers of the explained texts, ascending.
        hides: ways of hiding words to measure.
        seed: random seed.
        rationales: for each of all texts the spans that people marked; None without rationales.
        planted: whether the rationales are planted words, which decide the label.
        counted: the texts for word frequencies.
        counted_name: description of those texts.
        ranking: word importance of another model; None for this model's own.
        others: the same model trained with other seeds.
    """

    predictor: Any
    texts: Sequence[str]
    labels: NDArray[Any] | None
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
    def several(self) -> bool:
        """Whether a text may have several labels."""
        return thresholds_of(self.predictor) is not None

    @property
    def predicted(self) -> NDArray[Any]:
        """(N,) number of the predicted class of each text; with several labels a text (N, C) whether each is."""
        return predictions(self.predictor, self.probabilities)

    @cached_property
    def frequencies(self) -> Frequencies:
        """Word frequencies in the `counted` texts, computed at first use."""
        return Frequencies.of(self.predictor, self.counted or self.texts)

    @cached_property
    def randomized(self) -> Mapping[str, Any]:
        """The model with ever more of its weights drawn anew, by depth; computed at first use."""
        models: Mapping[str, Any] = self.predictor.randomized(self.seed)
        return models

    @property
    def ranks(self) -> bool:
        """Whether the model has its own ranking of words."""
        return bool(self.predictor.ranks_words)


class Metric:
    """A metric.

    Args:
        options: an instance of the metric's `Options`; None for its defaults.

    Attributes:
        Options: dataclass of the metric's own options (`--aopc.k 10`).
        headline: the part that short tables show and comparisons test.
        averaged: whether the score is the mean of the values (N,); else `statistic` computes it from records (N, ...).
        properties: parts that are properties of a model, for which neither direction is better.
        across_models: whether values are comparable between models. If not, `limits` says why.
        version: version of its numbers; raised when they change on purpose, to distinguish older results.
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
        """The headline, which may depend on the options."""
        return self.headline

    def statistic(self, records: NDArray[Any]) -> float:
        """The score from the values or records of all examples, the first axis; NaN if it is undefined."""
        return float(np.nanmean(records)) if np.isfinite(records).any() else float("nan")

    def unfit(self, subject: Subject) -> str:
        """Why it cannot be measured here, as a clause after "because"; empty if it can."""
        return ""

    def cost(self, subject: Subject) -> str:
        """A message for the user before a long computation starts; empty if it is short."""
        return ""


class ModelMetric(Metric):
    """A metric of a model: of its predictions, or of its ranking of words."""

    def measure(self, subject: Subject) -> Iterator[Series]:
        """All series of the metric."""
        raise NotImplementedError


class PredictionMetric(ModelMetric):
    """A metric of predictions, which needs the true labels."""

    def unfit(self, subject: Subject) -> str:
        """It needs the true labels."""
        return "" if subject.labels is not None else "the texts have no labels"


class ExplanationMetric(Metric):
    """A metric of explanations, measured for every method.

    Attributes:
        hides: whether it queries the model with words hidden, so that it is measured for every way of hiding.
    """

    hides: ClassVar[bool] = False

    def measure(self, case: Case) -> Mapping[str, Sequence[float] | NDArray[Any]]:
        """For every part one value or record per text of a batch; NaN if a text has none."""
        raise NotImplementedError

    def combine(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of a part for all texts (N, ...), from what `measure` gave for them; by default the same."""
        return values
