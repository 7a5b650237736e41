"""Drop in probability as words are hidden, between the worst and the best that any order of the words can do.

Family: faithfulness
Range: -1 to 1
Direction: higher is better
Definition: A(order) is the mean over i = 1 … W of p(whole text) - p(text without the first i words of the order), for
    all W words of a text, p being the probability of the explained class. The value is (A - lower) / (upper - lower)
    with the most important words first; 0 is the worst order and 1 the best. `ascending` is 1 less the same with the
    least important words first, so 1 is the best there too. Both lie in 0 to 1, and are 0 where upper and lower are the
    same (to 1e-6). The parts `upper` and `lower` are the limits themselves, the greatest and the least A of all orders,
    in -1 to 1: exact for texts of up to `exact_up_to` words, by beam search of width `beam` for longer ones. They are
    the model's, whatever the explanations. A text without words has no value.
Citation: Edin et al., Normalized AOPC: Fixing Misleading Faithfulness Metrics for Feature Attribution Explainability,
    ACL 2025. They use a beam of 5, and more on one dataset.
Limits: beam search may miss the limits of longer texts; an order beyond them counts as 1 (or 0). A text whose order
    makes no difference, as any of one word, counts as 0 whatever the explanation. Where upper and lower lie close
    together small differences are blown up. It compares models, but still hides words, in texts that are none the model
    was trained on, and all of them in the end. Methods that hide words themselves do well by construction (Ju et al.,
    Logic Traps, 2021). Questions grow with the square of a text's length.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.wording import plural
from vmask.config import check_positive, option
from vmask.errors import ConfigError
from vmask.metrics import METRICS
from vmask.metrics._orders import Search, extremes, groups, questions
from vmask.metrics.contract import ExplanationMetric, Subject
from vmask.text.words import chunks

if TYPE_CHECKING:
    from vmask.metrics._case import Case

SAME = 1e-6
"""Limits this close together count as equal, because of the noise of float32."""
MOST_SOLVED = 16
"""Words of the longest text that can be solved exactly: 65,536 questions."""
TRY_SECONDS, TRY_ROWS = 0.5, 256
"""Duration of the trial that estimates the time of the search, and its number of queries at the first step."""


@dataclass(frozen=True)
class NaopcOptions:
    """Options of `naopc`."""

    beam: int = option(5, "sets of words that the search for the limits goes on with", most=10_000)
    exact_up_to: int = option(8, "texts of up to so many words have exact limits, of 2^words questions")

    def __post_init__(self) -> None:
        check_positive(self, "beam", minimum=1)
        check_positive(self, "exact_up_to", minimum=0)
        if self.exact_up_to > MOST_SOLVED:
            raise ConfigError(f"exact_up_to is {self.exact_up_to}; it must be at most {MOST_SOLVED}.")


@METRICS.register("naopc")
class Naopc(ExplanationMetric):
    """AOPC over all words, normalised by its limits."""

    Options = NaopcOptions
    hides = True
    properties = ("upper", "lower")

    def measure(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """The normalised values and the limits, of each text."""
        whole = case.whole()
        upper, lower = whole - self._extremes(case).T  # the lower the probability, the greater the drop
        first, last = whole - _own_means(case).T
        same = upper - lower < SAME
        width = np.where(same, 1, upper - lower)  # NaN of a text without words stays
        descending = np.clip((first - lower) / width, 0, 1)
        ascending = 1 - np.clip((last - lower) / width, 0, 1)
        return {
            "": np.where(same, 0, descending),
            "ascending": np.where(same, 0, ascending),
            "upper": upper,
            "lower": lower,
        }

    def _extremes(self, case: Case) -> NDArray[np.float64]:
        """(N, 2) lowest and highest mean probability of any order; computed once for all methods."""
        beam, exact_up_to = self.options.beam, self.options.exact_up_to
        key = ("naopc", beam, exact_up_to, tuple(case.targets))
        memo = case.questions.memo
        if key not in memo:
            query = case.questions
            memo[key] = extremes(query.predictor, query.docs, case.targets, query.hide, beam, exact_up_to)
        limits: NDArray[np.float64] = memo[key]
        return limits

    def cost(self, subject: Subject) -> str:
        """How many predictions the search for the limits takes, and how long."""
        beam, exact_up_to = self.options.beam, self.options.exact_up_to
        texts = [subject.texts[i] for i in subject.sample]
        sizes = [len(doc.spans) for chunk in chunks(texts, 1000) for doc in subject.predictor.prepare(chunk)]
        total = sum(questions(size, beam, exact_up_to) * count for size, count in Counter(sizes).items())
        if not total:
            return ""
        tried = [texts[i] for i in _middle(sizes)]
        seconds = total * sum(_seconds_each(subject.predictor, tried, hide, beam) for hide in subject.hides)
        ways = f"; {len(subject.hides)} ways of hiding" if len(subject.hides) > 1 else ""
        return (
            f"{self.name}: {plural(len(texts), 'text')}, about {_rounded(total * len(subject.hides))} "
            f"predictions (beam {beam}{ways}); about {_duration(seconds)} on this machine, from a try on {len(tried)}"
        )


def _own_means(case: Case) -> NDArray[np.float64]:
    """(N, 2) mean probability as words are hidden in the order of the explanation, and in the reverse order.

    Without `case.questions`, which would cache rows that no other metric needs.
    """
    means = np.full((len(case.docs), 2), np.nan)
    sizes = [len(order) for order in case.orders]
    worded = np.flatnonzero(sizes)
    for some in groups(worded, [2 * sizes[i] ** 2 for i in worded]):
        keep = [_prefixes(case.orders[i]) for i in some]
        answers = case.questions.predictor.predict_kept([case.docs[i] for i in some], keep, case.questions.hide)
        for i, rows in zip(some, answers, strict=True):
            means[i] = rows[:, case.targets[i]].astype(np.float64).reshape(2, -1).mean(1)
    return means


def _prefixes(order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(2 W, W) kept words as they are hidden one by one in the order, then in the reverse order."""
    words = len(order)
    place = np.argsort(order)
    hidden = np.arange(1, words + 1)[:, None]
    return np.concatenate([place >= hidden, place < words - hidden])


def _middle(sizes: Sequence[int]) -> list[int]:
    """Numbers of some texts of about median length: enough to fill batches, and few enough for a slow model."""
    worded = sorted((size, i) for i, size in enumerate(sizes) if size)
    median = len(worded) // 2
    count = max(TRY_ROWS // (2 * worded[median][0]), 1)
    return [i for _, i in worded[max(median + 1 - count, 0) : median + 1]]


def _seconds_each(predictor: Any, texts: Sequence[str], hide: str, beam: int) -> float:
    """Seconds per query of the search."""
    docs = predictor.prepare(texts)
    seconds = 0.0
    for _ in range(2):  # the first run is slower, because of lazy loading
        search, queries, start = Search(predictor, docs, [0] * len(docs), hide, beam), 0, time.perf_counter()
        while (new := search.step()) and time.perf_counter() - start < TRY_SECONDS:
            queries += new
        seconds = (time.perf_counter() - start) / (queries + new)
    return seconds


def _rounded(number: int) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
