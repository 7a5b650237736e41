"""All that stands on the report of a model, before any of it is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vmask.evaluation.result import without_nan
from vmask.evaluation.statistics import Difference, Estimate
from vmask.explain.contract import Explanation
from vmask.inference.visible_words import VisibleWord

Level = Literal["full", "quick"]
LEVELS: tuple[Level, ...] = ("full", "quick")
"""How much a report explains: by LIME and Shapley too, or by the mask alone."""
LINEAR_MODEL = "linear model"
"""What the linear model is called among the rivals."""
MOST_ROWS = 20
"""Rows with suspect labels that the page lists, at most."""


@dataclass(frozen=True)
class Measured:
    """The texts that everything was measured on.

    Attributes:
        split: `test`, or `dev` where there is no test split.
        texts: how many.
        instead: why these and not the test texts; empty where they are those.
    """

    split: str
    texts: int
    instead: str = ""


@dataclass(frozen=True)
class Rival:
    """The accuracy of the model, or of something simple beside it: a name, what it is, the share of right texts."""

    name: str
    what: str
    accuracy: Estimate


@dataclass(frozen=True)
class Scores:
    """How good the model is, beside what one would try first.

    Attributes:
        rivals: the model, a linear model where one could be trained, the most common class.
        difference: accuracy of the model less that of the linear one, text by text; None without one.
        verdict: what the difference says, in words.
        macro_f1: mean over classes of F1.
        notes: what a reader should know of the comparison.
    """

    rivals: tuple[Rival, ...]
    difference: Difference | None
    verdict: str
    macro_f1: Estimate
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassScore:
    """One class: precision, recall and F1 (NaN where it was never predicted, or has no text), and numbers of texts."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    threshold: float | None = None
    """Probability from which it is predicted, where a text may have several labels."""


@dataclass(frozen=True)
class Confused:
    """Texts of one class that were taken for another: how many, and their share of the true class."""

    label: str
    predicted: str
    texts: int
    share: float


@dataclass(frozen=True)
class Training:
    """How the training went: `history_` of the classifier, the epoch that was kept, the dev score that chose it."""

    epochs: tuple[Mapping[str, Any], ...]
    best_epoch: int
    select: str


@dataclass(frozen=True)
class Word:
    """A word of the model.

    Attributes:
        word: the word.
        importance: the chance that its mask keeps it.
        count: how often it stands in the training texts.
        known: whether the word vectors know it.
        label: the class that it speaks for most clearly; empty where no text that was looked at has it.
        log_odds: how much likelier it is in texts of that class than in others.
        z: the same in standard errors.
        here: texts of that class with the word.
        texts: all texts with the word.
    """

    word: str
    importance: float
    count: int
    known: bool
    label: str
    log_odds: float
    z: float
    here: int
    texts: int


@dataclass(frozen=True)
class Words:
    """The words of the model.

    Attributes:
        total: how many there are.
        rows: those that the table has, the most important first.
        complete_from: all words seen so often or more are among them.
        drawn: word, importance and count of words for the scatter plot: all, or a random draw of all.
        leaning_texts: training texts that the lean of words was counted in.
        pearson: correlation of importance with count.
        log: correlation of importance with the logarithm of the count.
    """

    total: int
    rows: tuple[Word, ...]
    complete_from: int
    drawn: tuple[tuple[str, float, int], ...]
    leaning_texts: int
    pearson: Estimate
    log: Estimate


@dataclass(frozen=True)
class Visible:
    """What a model that hides words reads.

    Attributes:
        types: number of word types of the training texts, hidden ones included.
        share: share of the running words of the training texts that is visible.
        by_class: class -> the visible words that speak for it, those with the largest effect first.
        edited: what a person decided: `only`, `hidden` or `shown` -> the words.
    """

    types: int
    share: float
    by_class: Mapping[str, tuple[VisibleWord, ...]]
    edited: Mapping[str, tuple[str, ...]]

    @property
    def count(self) -> int:
        """Number of visible words."""
        return sum(map(len, self.by_class.values()))


@dataclass(frozen=True)
class Example:
    """A text as the model sees it, explained by every method of the report; `kind` is `right`, `wrong` or `unsure`."""

    kind: str
    text: str
    label: str
    predicted: str
    probability: float
    explanations: tuple[Explanation, ...]


@dataclass(frozen=True)
class Texts:
    """Some texts as the model sees them.

    Attributes:
        rule: how they were chosen.
        methods: what explains them, in the order of the views.
        missing: which methods are missing, and how to get them; empty where none are.
        examples: the texts.
    """

    rule: str
    methods: tuple[str, ...]
    missing: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Bin:
    """Predictions with a probability between `low` and `high`: their mean probability, and the share that is right."""

    low: float
    high: float
    sure: float
    right: Estimate


@dataclass(frozen=True)
class Coverage:
    """What comes of answering from a probability on.

    Attributes:
        threshold: the probability of the predicted class.
        answered: share of the texts.
        right: share of these that are answered correctly, with its interval.
    """

    threshold: float
    answered: float
    right: Estimate


@dataclass(frozen=True)
class Calibration:
    """Whether the model is as sure as it is right.

    Attributes:
        error: expected calibration error.
        bins: those that have texts, from unsure to sure.
        too_sure: mean probability less accuracy; below 0 the model is surer than it says.
        how: what was fitted on dev; empty if nothing is known of it.
        effects: split -> its number of texts, and scores before and after.
        coverages: how accurate it is if it answers only what it is surest of, from all texts to half of them.
        abstention: from which probability on it answers, if it was trained with such a threshold, as sentences.
    """

    error: Estimate
    bins: tuple[Bin, ...]
    too_sure: float
    how: str = ""
    effects: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    coverages: tuple[Coverage, ...] = ()
    abstention: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suspect:
    """A row whose label the model contradicts: its id, split, text, label, the model's label and its probability."""

    id: str
    split: str
    text: str
    label: str
    predicted: str
    confidence: float


@dataclass(frozen=True)
class LabelledRow:
    """A row of a text that has more than one label; `number` is that of the text."""

    number: int
    id: str
    split: str
    text: str
    label: str


@dataclass(frozen=True)
class Use:
    """A way to use the model: pieces of code, each behind the words that say where to type it."""

    title: str
    code: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Content:
    """The report of a model.

    Attributes:
        name: of the dataset and the model, for the title of the window.
        headline: what the model is and how good, in a sentence.
        lead: what it was trained on, in another.
        warnings: what a reader must know before all else.
        labels: the classes, in the order of tables.
        measured: the texts that everything was measured on.
        confusion: (C, C) texts by true class (rows) and predicted class; empty where a text may have several labels.
        confused: pairs of classes that are taken for each other, the most frequent first.
        words: the words of the model; None where its method ranks none.
        visible: what it reads; None where it sees something of every word.
        ranking: how much of the texts its mask shows; empty where nobody measured it.
        facts: where it comes from: heading -> name -> value.
        options: every option of the training.
        private: whether texts are left out, of this page and of all that is written beside it.
        suspects: dev and test rows whose label the model contradicts, those where it is surest first.
        conflicting: rows of texts that have more than one label.
        several: whether a text may have several labels.
    """

    name: str
    headline: str
    lead: str
    level: Level
    warnings: tuple[str, ...]
    labels: tuple[str, ...]
    measured: Measured
    scores: Scores
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    confused: tuple[Confused, ...]
    training: Training
    words: Words | None
    visible: Visible | None
    ranking: str
    texts: Texts
    calibration: Calibration
    uses: tuple[Use, ...]
    facts: Mapping[str, Mapping[str, str]]
    options: Mapping[str, str]
    private: bool = False
    suspects: tuple[Suspect, ...] = ()
    conflicting: tuple[LabelledRow, ...] = ()
    several: bool = False

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; a number that is none becomes null. Of long lists of rows the first are given."""
        short = dataclasses.replace(self, suspects=self.suspects[:MOST_ROWS], conflicting=self.conflicting[:MOST_ROWS])
        return {name: without_nan(value) for name, value in _plain(short).items()}


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries, however deep."""
    if isinstance(value, Explanation):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, (list, tuple)) else value
