"""A self-contained HTML page of two models: differences with intervals, their words, the same texts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from vmask.evaluation.score_tables import ARROWS, called, comparison_words
from vmask.report import templating
from vmask.report.formatting import has_interval
from vmask.report.pairs import Pair
from vmask.report.svg import Scale

if TYPE_CHECKING:
    from vmask.evaluation.compare import Comparison
    from vmask.inference.predictor import WordImportance


@dataclass(frozen=True)
class Side:
    """One of the two models.

    Attributes:
        name: what it is called, such as its folder.
        words: its most important words; None if it ranks none.
    """

    name: str
    words: Sequence[WordImportance] | None


@dataclass(frozen=True)
class ComparisonPage:
    """What stands on the page.

    Attributes:
        title: heading.
        comparison: the numbers.
        sides: the two models.
        pairs: texts as both see them.
        how: facts about how it was made, name -> value.
    """

    title: str
    comparison: Comparison
    sides: tuple[Side, Side]
    pairs: Sequence[Pair]
    how: Mapping[str, str] = field(default_factory=dict)


def render_comparison(page: ComparisonPage) -> str:
    """The page as one HTML document without anything from outside, not even a script."""
    a, b = page.sides
    return templating.render(
        "comparison.html",
        title=page.title,
        lead=f"A is {a.name}, B is {b.name}. Differences are B minus A.",
        verdicts=comparison_words(page.comparison),
        rows=[(called(row) + ARROWS[row.better], row) for row in page.comparison.rows],
        scale=_scale(page.comparison),
        how_tested=page.comparison.how(),
        sides=page.sides,
        shared={word.word for word in a.words or ()} & {word.word for word in b.words or ()},
        signed=_signed(page.pairs),
        pairs=[
            (group[0].upper() + group[1:], list(members))
            for group, members in groupby(page.pairs, key=lambda pair: pair.group)
        ],
        how=page.how,
    )


def _scale(comparison: Comparison) -> Scale:
    """A scale on which every interval has room, with 0 in its middle."""
    differences = [row.difference for row in comparison.rows if row.difference is not None]
    ends = [abs(end) for one in differences if has_interval(one) for end in (one.value, one.low, one.high)]
    reach = max(ends, default=0.0) or 1.0
    return Scale(-reach, reach, 8, 172)


def _signed(pairs: Sequence[Pair]) -> dict[str, bool]:
    """Method -> whether its scores have a sign, for all methods that explain a text."""
    seen = [side for pair in pairs for side in (pair.a, pair.b)]
    return {method: explanation.signed for side in seen for method, explanation in side.explanations.items()}
