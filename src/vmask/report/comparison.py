"""A self-contained HTML page of two models: differences with intervals, their words, the same texts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from vmask.evaluation.score_tables import ARROWS, called, comparison_words, number, p_value
from vmask.explain.highlight import html_text, remarks
from vmask.report.explanations import legend
from vmask.report.page import CLOSING, how_section, opening
from vmask.report.pairs import Pair, Seen

if TYPE_CHECKING:
    from vmask.evaluation.compare import Compared, Comparison
    from vmask.inference.predictor import WordImportance

WIDTH, HEIGHT, ROOM = 180, 22, 8
"""Of the picture of an interval, and what is left free at its ends."""
UNMASKED = "This model was trained by a method that gives words no importance."
RULE = (
    "Not picked by how they look: of the texts of every kind, those on which the probabilities of the two lie furthest "
    "apart. Each model's explanation is of the class that it predicts itself."
)


@dataclass(frozen=True)
class Side:
    """One of the two models.

    Attributes:
        name: what it is called, such as its folder.
        words: the words that it sees most of; None where it ranks none.
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
    a, b = (side.name for side in page.sides)
    sections = (_differences(page.comparison), _words(page.sides), _texts(page.pairs), how_section(page.how))
    return opening(page.title, f"A is {a}, B is {b}. Differences are B minus A.") + "\n".join(sections) + CLOSING


def _differences(comparison: Comparison) -> str:
    reach = max(
        (
            abs(end)
            for row in comparison.rows
            if (one := row.difference) is not None
            for end in (one.value, one.low, one.high)
            if end == end
        ),
        default=0.0,
    )
    rows = "".join(_row(row, reach or 1.0) for row in comparison.rows)
    said = "".join(f"<li>{escape(line)}</li>" for line in comparison_words(comparison))
    return (
        "<section><h2>What differs</h2>"
        f"<ul class=verdicts>{said}</ul>"
        "<div class=wide><table class=differences><thead><tr><th>metric</th><th>A</th><th>B</th><th>B minus A</th>"
        f"<th>its 95% interval</th><th>p (Holm)</th></tr></thead><tbody>{rows}</tbody></table></div>"
        "<p>The line is the interval, the dot the difference; left of the middle A is higher. "
        f"{escape(comparison.how())}</p></section>"
    )


def _row(row: Compared, reach: float) -> str:
    one = row.difference
    known = one is not None and one.low == one.low
    between = "not tested" if one is None else f"{one.value:+.3f}"
    interval = f" [{one.low:+.3f}, {one.high:+.3f}]" if one is not None and known else ""
    picture = _picture(one.value, one.low, one.high, reach) if one is not None and known else ""
    return (
        f"<tr><th>{escape(called(row))}{ARROWS[row.better]}</th><td class=num>{number(row.a)}</td>"
        f"<td class=num>{number(row.b)}</td><td class=num>{between}</td>"
        f"<td>{picture}<small class=num>{interval}</small></td><td class=num>{p_value(row.p_holm)}</td></tr>"
    )


def _picture(value: float, low: float, high: float, reach: float) -> str:
    def x(number: float) -> float:
        return ROOM + (WIDTH - 2 * ROOM) * (number / reach + 1) / 2

    kind = "above" if low > 0 else "below" if high < 0 else "neither"
    middle = HEIGHT / 2
    return (
        f'<svg class="interval {kind}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{value:+.3f}, from {low:+.3f} to {high:+.3f}">'
        f'<line class=zero x1="{x(0):.1f}" x2="{x(0):.1f}" y1="1" y2="{HEIGHT - 1}"/>'
        f'<line class=reach x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{x(value):.1f}" cy="{middle}" r="4"/></svg>'
    )


def _words(sides: tuple[Side, Side]) -> str:
    if all(side.words is None for side in sides):
        return ""
    shared = set.intersection(*({word.word for word in side.words or ()} for side in sides))
    columns = "".join(_word_list(letter, side, shared) for letter, side in zip("AB", sides, strict=True))
    both = all(side.words for side in sides)
    said = f"{len(shared)} are among the first of both and stand in bold. " if both else ""
    return (
        "<section><h2>Words they use most</h2><p>A word's importance is the chance that its mask keeps it. "
        f"{said}Behind each, how often it stands in the training texts.</p><div class=sides>{columns}</div></section>"
    )


def _word_list(letter: str, side: Side, shared: set[str]) -> str:
    head = f"<h3>{letter} <span>{escape(side.name)}</span></h3>"
    if side.words is None:
        return f"<div>{head}<p class=verdict>{UNMASKED}</p></div>"
    rows = "".join(
        f"<li>{f'<b>{escape(w.word)}</b>' if w.word in shared else f'<span>{escape(w.word)}</span>'}"
        f"<span class=num>{w.score:.3f}</span><small>{w.count:,}×</small></li>"
        for w in side.words
    )
    return f"<div>{head}<ol class=words>{rows}</ol></div>"


def _texts(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    methods = list(dict.fromkeys(method for pair in pairs for side in (pair.a, pair.b) for method in side.explanations))
    signed = {
        method: any(side.explanations[method].signed for pair in pairs for side in (pair.a, pair.b)
                    if method in side.explanations)
        for method in methods
    }  # fmt: skip
    # Which explanations are seen is a matter of style alone: the page needs no script.
    switches = "".join(
        f'<label><input type=radio name=by value="{number}"{" checked" * (number == 0)}> {escape(method)}</label>'
        for number, method in enumerate(methods)
    )
    hidden = "".join(
        f'.pairs:has(input[value="{n}"]:not(:checked)) .by-{n}{{display:none}}' for n in range(len(methods))
    )
    chooser = f"<style>{hidden}</style><fieldset class=by><legend>explained by</legend>{switches}</fieldset>"
    keys = "".join(f"<div class=by-{n}>{legend(signed[method])}</div>" for n, method in enumerate(methods))
    groups = "".join(
        f"<h3>{escape(group[0].upper() + group[1:])}</h3><ol class=explained>"
        + "".join(_pair(pair, methods) for pair in some)
        + "</ol>"
        for group, some in groupby(pairs, key=lambda pair: pair.group)
    )
    return f"<section class=pairs><h2>The same texts, side by side</h2><p>{RULE}</p>{chooser}{keys}{groups}</section>"


def _pair(pair: Pair, methods: Sequence[str]) -> str:
    sides = "".join(
        f"<div><p class=verdict><b class=tag>{letter}</b> <b>{escape(seen.label)}</b> {seen.probability:.0%}"
        f"{_right(seen, pair)}</p>{_views(seen, methods)}</div>"
        for letter, seen in (("A", pair.a), ("B", pair.b))
    )
    true = f"<p class=verdict>in truth <b>{escape(pair.true)}</b></p>" if pair.true else ""
    return f"<li>{true}<div class=sides>{sides}</div></li>\n"


def _right(seen: Seen, pair: Pair) -> str:
    return "" if not pair.true else ", right" if seen.label == pair.true else ", wrong"


def _views(seen: Seen, methods: Sequence[str]) -> str:
    """The text by every method, of which the page shows one."""
    views = []
    for n, method in enumerate(methods):
        explanation = seen.explanations.get(method)
        if explanation is None:
            views.append(f"<p class='verdict by-{n}'>no {escape(method)}: {UNMASKED[0].lower()}{UNMASKED[1:]}</p>")
            continue
        notes = "".join(f"<p class=verdict>{escape(note)}</p>" for note in remarks(explanation))
        text = html_text(explanation) if explanation.text.strip() else "<em>(an empty text)</em>"
        views.append(f'<div class=by-{n}><p class=said dir="auto">{text}</p>{notes}</div>')
    return "".join(views)
