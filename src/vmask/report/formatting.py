"""Numbers, intervals, names and colours as pages show them; the templates know these as filters and tests."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, isnan
from typing import Any

from vmask._core.wording import plural
from vmask.evaluation.score_tables import number, p_value
from vmask.evaluation.statistics import Difference, Estimate
from vmask.explain.contract import Explanation
from vmask.explain.highlight import css, remarks, shown_score, strongest, text_pieces

MISSING = "–"
"""What stands for a number that could not be computed."""
STEPS = 20
"""Shades of either colour: a word needs the name of a shade alone, which keeps pages small."""
GREATEST_RATIO = 999
"""Odds ratios above this are not written out."""
METHOD_NAMES = {"lime": "LIME"}
"""Methods whose names are not simply capitalised."""


def has_interval(estimate: Estimate | Difference | None) -> bool:
    """Whether there were enough texts for an interval."""
    return estimate is not None and not isnan(estimate.low)


def thousands(count: int) -> str:
    """A whole number.

    >>> thousands(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def percent(share: float, digits: int = 1) -> str:
    """A share.

    >>> percent(0.9234), percent(0.5, 0), percent(float("nan"))
    ('92.3%', '50%', '–')
    """
    return MISSING if isnan(share) else f"{100 * share:.{digits}f}%"


def percent_interval(estimate: Estimate) -> str:
    """The interval of a share; empty if there is none.

    >>> percent_interval(Estimate(0.9, 0.85, 0.934, 100, ""))
    '85.0 to 93.4%'
    """
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}%" if has_interval(estimate) else ""


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign.

    >>> signed(0.25), signed(-0.1, 1)
    ('+0.250', '-0.1')
    """
    return f"{value:+.{digits}f}"


def points(share: float) -> str:
    """A difference of two shares in percentage points, with its sign.

    >>> points(0.005), points(-0.02)
    ('+0.5', '-2.0')
    """
    return signed(100 * share, 1)


def odds_ratio(log_odds: float) -> str:
    """An odds ratio in two digits, from its logarithm.

    >>> odds_ratio(0.0), odds_ratio(2.5), odds_ratio(9.0)
    ('×1.0', '×12', '> ×999')
    """
    ratio = exp(log_odds)
    if ratio > GREATEST_RATIO:
        return f"> ×{GREATEST_RATIO}"
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:.0f}"


def method_name(method: str) -> str:
    """A method of explanation as a reader knows it.

    >>> method_name("lime"), method_name("integrated_gradients")
    ('LIME', 'Integrated gradients')
    """
    return METHOD_NAMES.get(method, method.replace("_", " ").capitalize())


def shade(strength: float) -> str:
    """The CSS class of a word of this strength, from -1 to 1; empty if the word stays plain.

    >>> shade(-1.0), shade(0.5), shade(0.01)
    ('a20', 'f10', '')
    """
    step = round(abs(strength) * STEPS)
    return f"{'a' if strength < 0 else 'f'}{step}" if step else ""


def shades() -> str:
    """The style sheet of all shades."""
    steps = [step / STEPS for step in range(-STEPS, STEPS + 1) if step]
    return "".join(f".{shade(step)}{{{css(step)}}}" for step in steps)


def distinct_words(words: list[tuple[str, float]], most: int) -> list[tuple[str, float]]:
    """The first words of a ranking with their scores; one that occurs several times is taken once, where it is first.

    >>> distinct_words([("Good", 0.9), ("film", 0.5), ("good", 0.4)], 5)
    [('Good', 0.9), ('film', 0.5)]
    """
    first: dict[str, tuple[str, float]] = {}
    for word, score in words:
        first.setdefault(word.lower(), (word, score))
    return list(first.values())[:most]


def score(value: float, explanation: Explanation, digits: int = 3) -> str:
    """A score of an explanation, with its sign if the method has signs."""
    return shown_score(explanation, value, digits)


FILTERS: dict[str, Callable[..., Any]] = {
    "distinct_words": distinct_words,
    "method_name": method_name,
    "number": number,
    "odds_ratio": odds_ratio,
    "p_value": p_value,
    "percent": percent,
    "percent_interval": percent_interval,
    "plural": plural,
    "points": points,
    "remarks": remarks,
    "score": score,
    "shade": shade,
    "signed": signed,
    "strongest": strongest,
    "text_pieces": text_pieces,
    "thousands": thousands,
}
"""What templates may write behind a `|`."""
TESTS: dict[str, Callable[..., bool]] = {"nan": isnan, "with_interval": has_interval}
"""What templates may write behind `is`."""
