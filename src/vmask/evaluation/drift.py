"""Whether new texts still look like those that a model was trained on, and what is different about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import binomtest, norm

from vmask._core.wording import plural
from vmask.evaluation.statistics import holm
from vmask.inference.predictor import TextPredictor
from vmask.inference.text_profile import DEV_PROFILE, Mean, ProfiledTexts, TextProfile, profile_of

ALPHA = 0.05
LEAST = 0.02
"""Smallest difference of a share that is worth a sentence."""
FEWEST = 30
"""Texts below which nothing can be said."""
MOST_EXCEPTIONS = 2
"""Differences up to which texts still look like the training data."""
LABEL = "label "
"""What the name of a change of a label begins with."""
IMPORTANT, SHOWN = 200, 10
"""Words whose frequency is compared, and words that are shown."""


@dataclass(frozen=True)
class Change:
    """A number of the new texts beside that of the dev texts.

    Attributes:
        what: what is compared.
        before: its value on dev.
        now: its value on the new texts.
        low: lower end of the 95% interval of the difference.
        high: upper end.
        p: p-value of no difference, corrected for all comparisons by Holm's method.
        share: whether it is a share.
    """

    what: str
    before: float
    now: float
    low: float
    high: float
    p: float
    share: bool = True

    @property
    def real(self) -> bool:
        """Whether it is more than chance, and enough to matter."""
        return self.p < ALPHA and (not self.share or abs(self.now - self.before) >= LEAST)


@dataclass(frozen=True)
class WordChange:
    """An important word that is more or less frequent than in training: per 1,000 words, and the corrected p-value."""

    word: str
    before: float
    now: float
    p: float


@dataclass(frozen=True)
class Drift:
    """How new texts differ from those that a model was trained on.

    Attributes:
        new: profile of the new texts.
        dev: profile of the dev texts; None if the model keeps none.
        changes: numbers of both; empty without `dev`.
        unknown_words: the most frequent unknown words, with their number.
        words: important words whose frequency changed, the largest change first.
        encoder: whether unknown words are those unseen in training, since an encoder can read any word.
        accuracy: accuracy on the new texts with its 95% interval, if they have labels of the model.
        other_labels: number of texts whose label is none of the model's; they count as wrong.
        test_accuracy: that of the test texts of the training with its interval, if it is known.
    """

    new: TextProfile
    dev: TextProfile | None
    changes: tuple[Change, ...]
    unknown_words: tuple[tuple[str, int], ...]
    words: tuple[WordChange, ...]
    encoder: bool
    accuracy: tuple[float, float, float] | None = None
    test_accuracy: tuple[float, float, float] | None = None
    labels: Sequence[Any] = ()
    other_labels: int = 0

    @property
    def summary(self) -> str:
        """What is different, in a sentence."""
        texts = plural(self.new.texts, "text")
        if self.new.texts < FEWEST:
            return f"{texts} are too few to tell whether they look like the training data; give {FEWEST} or more."
        unknown = "new since the training" if self.encoder else "unknown to the model"
        named = ", ".join(word for word, _ in self.unknown_words[:5])
        frequent = f"; the most frequent new words: {named}" if named else ""
        if self.dev is None:
            return (
                f"{self.new.unknown.value:.1%} of the words of these {texts} are {unknown}{frequent}. The model keeps "
                "no record of its dev texts, so shares and confidence cannot be compared: train it again to have one."
            )
        real = [change for change in self.changes if change.real]
        if not real:
            return f"These {texts} look like the training data: no difference is more than chance and worth a word."
        more = [change for change in real if change.what.startswith(LABEL) and change.now > change.before]
        said = [change for change in real if not more or change in more or not change.what.startswith(LABEL)]
        parts = "; ".join(self._in_words(change, unknown, frequent) for change in said)
        if len(said) > MOST_EXCEPTIONS:
            return f"These {texts} do not look like the training data: {parts}."
        return f"These {texts} look like the training data, except that {parts}."

    def _in_words(self, change: Change, unknown: str, frequent: str) -> str:
        if change.what == "unknown words":
            return f"{change.now:.1%} of their words are {unknown} ({change.before:.1%} on dev){frequent}"
        if change.what == "words of a text":
            longer = "longer" if change.now > change.before else "shorter"
            return f"they are {longer} ({change.now:.1f} words against {change.before:.1f})"
        if change.what == "confidence":
            surer = "surer" if change.now > change.before else "less sure"
            return f"the model is {surer} (a probability of {change.now:.2f} on average against {change.before:.2f})"
        often = "more" if change.now > change.before else "less"
        shares = f"({change.now:.0%} against {change.before:.0%})"
        return f"it answers '{change.what.removeprefix(LABEL)}' {often} often {shares}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        changes = [{**asdict(change), "real": change.real} for change in self.changes]
        found = {
            "summary": self.summary,
            "new": self.new.to_dict(),
            "dev": None if self.dev is None else self.dev.to_dict(),
            "labels": list(self.labels),
            "other_labels": self.other_labels,
            "changes": changes,
            "unknown_words": [{"word": word, "count": count} for word, count in self.unknown_words],
            "words": [asdict(change) for change in self.words],
            "unknown_means": "unseen in training" if self.encoder else "without a vector",
        }
        for name in ("accuracy", "test_accuracy"):
            value = getattr(self, name)
            found[name] = None if value is None else dict(zip(("value", "low", "high"), value, strict=True))
        return found


def drift_of(
    predictor: TextPredictor, about: Any, texts: Iterable[str], labels: Sequence[Any] | None = None
) -> Drift | None:
    """How texts differ from those that a model was trained on; None without texts.

    Args:
        predictor: the model.
        about: the facts about it, as its folder keeps them.
        texts: the new texts.
        labels: their labels, if they are known.
    """
    found = profile_of(predictor, texts)
    if found is None:
        return None
    names = [str(label) for label in predictor.labels]
    dev = _recorded(about, len(names))
    changes = [] if dev is None else _changes(dev, found.profile, names)
    corrected = holm([change.p for change in changes]) if changes else []
    true = None if labels is None else [str(label) for label in labels]
    accuracy, others = None, 0
    if true is not None and (others := sum(label not in names for label in true)) < len(true):
        right = sum(names[best] == label for best, label in zip(found.best.tolist(), true, strict=True))
        accuracy = _accuracy(right, len(true))
    n, share = about.get("test_n"), about.get("test_accuracy")
    return Drift(
        new=found.profile,
        dev=dev,
        changes=tuple(
            Change(c.what, c.before, c.now, c.low, c.high, p, c.share) for c, p in zip(changes, corrected, strict=True)
        ),
        unknown_words=tuple(sorted(found.unknown.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]),
        words=tuple(_word_changes(predictor, found)),
        encoder=predictor.model.encoder.reads != "words",
        accuracy=accuracy,
        test_accuracy=_accuracy(round(share * n), n) if n and share is not None else None,
        labels=predictor.labels,
        other_labels=others,
    )


def _recorded(about: Any, classes: int) -> TextProfile | None:
    """The profile of the dev texts that a model keeps; None if it keeps none that can be used."""
    try:
        profile = TextProfile.from_dict(about.get(DEV_PROFILE))
    except ValueError:
        return None
    return profile if len(profile.predicted) == classes else None


def _changes(dev: TextProfile, new: TextProfile, labels: Sequence[str]) -> list[Change]:
    changes = [
        _change("unknown words", dev.unknown, new.unknown),
        _change("words of a text", dev.length, new.length, share=False),
        _change("confidence", dev.confidence, new.confidence),
    ]
    for label, before, now in zip(labels, dev.predicted, new.predicted, strict=True):
        changes.append(_change(f"{LABEL}{label}", _share(before, dev.texts), _share(now, new.texts)))
    return changes


def _change(what: str, before: Mean, now: Mean, share: bool = True) -> Change:
    """The difference of two means by the normal distribution, which holds for the numbers of texts asked for."""
    difference, error = now.value - before.value, math.hypot(before.error, now.error)
    p = float(2 * norm.sf(abs(difference) / error)) if error else float(difference == 0)
    width = float(norm.ppf(1 - ALPHA / 2)) * error
    return Change(what, before.value, now.value, difference - width, difference + width, p, share)


def _share(count: int, of: int) -> Mean:
    """A share whose error is not 0 where none or all have it (Agresti and Coull)."""
    smoothed = (count + 2) / (of + 4)
    return Mean(count / of, math.sqrt(smoothed * (1 - smoothed) / (of + 4)))


def _word_changes(predictor: TextPredictor, found: ProfiledTexts) -> list[WordChange]:
    """The important words that are more or less frequent than in training, by more than chance."""
    ranked = predictor.word_importance(3) if predictor.ranks_words else predictor.words_by_count()
    trained = sum(predictor.word_counts().values())
    running = found.profile.words
    if not trained or not running or not ranked:
        return []
    changes = []
    for word in ranked[:IMPORTANT]:
        now = found.known.get(word.word, 0)
        together = (word.count + now) / (trained + running)
        error = math.sqrt(together * (1 - together) * (1 / trained + 1 / running))
        difference = now / running - word.count / trained
        p = float(2 * norm.sf(abs(difference) / error)) if error else 1.0
        changes.append(WordChange(word.word, 1000 * word.count / trained, 1000 * now / running, p))
    corrected = holm([change.p for change in changes])
    real = [
        WordChange(change.word, change.before, change.now, p)
        for change, p in zip(changes, corrected, strict=True)
        if p < ALPHA
    ]
    return sorted(real, key=lambda change: (-abs(change.now - change.before), change.word))[:SHOWN]


def _accuracy(right: int, of: int) -> tuple[float, float, float]:
    """Accuracy with its 95% interval by Wilson."""
    interval = binomtest(right, of).proportion_ci(method="wilson")
    return right / of, float(interval.low), float(interval.high)
