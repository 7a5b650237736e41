"""The section about how good the model is: beside rivals, class by class, what it takes for what."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vmask.evaluation.score_tables import p_value
from vmask.evaluation.statistics import Estimate
from vmask.explain.highlight import css
from vmask.report.model.content import ClassScore, Confused, Content, Rival

WIDTH, HEIGHT = 240, 22
"""Of the picture of an interval."""
MOST_CLASSES = 20
"""Classes up to which a confusion matrix can be read."""
MOST_ROWS = 40
"""Classes that are listed, at most."""
MOST_PAIRS = 15
"""Confused pairs that are listed, at most."""
SHORT_LABEL = 8
"""Letters of a label up to which the heads of a matrix stand upright."""


def percent(value: float, digits: int = 1) -> str:
    """A share; a dash where there is none."""
    return f"{100 * value:.{digits}f}%" if value == value else "–"


def interval(estimate: Estimate) -> str:
    """The interval of a share; empty where there is none."""
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}%" if estimate.low == estimate.low else ""


def accuracy_section(content: Content) -> str:
    """Accuracy with intervals, and what they say."""
    scores, measured = content.scores, content.measured
    rows = "".join(_rival(rival, first=at == 0) for at, rival in enumerate(scores.rivals))
    notes = "".join(f"<p>{escape(note)}</p>" for note in scores.notes)
    return (
        f'<section id="accuracy"><h2>How good it is</h2><p>Share of the {measured.texts:,} {measured.split} texts '
        "whose class is right, with 95% intervals: how far the number might move with other texts of this kind.</p>"
        f'<table class="rivals"><thead><tr><th>model</th><th class="num">accuracy</th><th class="picture">'
        f"<span>0%</span><span>100%</span></th></tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="verdict-line">{escape(scores.verdict)}{_difference(content)}</p>{notes}{_f1(scores.macro_f1)}'
        f"{_classes(content.classes)}{_confusions(content)}</section>"
    )


def _rival(rival: Rival, first: bool) -> str:
    one = rival.accuracy
    return (
        f"<tr{' class=ours' if first else ''}><th>{escape(rival.name)}<small>{escape(rival.what)}</small></th>"
        f'<td class="num"><b>{percent(one.value)}</b><small>{interval(one)}</small></td>'
        f'<td class="picture">{_range(one)}</td></tr>'
    )


def _range(one: Estimate) -> str:
    """A number as a stroke on its interval, from 0 to 100%."""
    room, middle = 2, HEIGHT / 2

    def x(share: float) -> str:
        return f"{room + (WIDTH - 2 * room) * share:.1f}"

    band = ""
    if one.low == one.low:
        band = f'<line x1="{x(one.low)}" x2="{x(one.high)}" y1="{middle}" y2="{middle}" class="reach"/>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="plot range" aria-hidden="true">'
        f'<line x1="{x(0)}" x2="{x(1)}" y1="{middle}" y2="{middle}" class="grid"/>{band}'
        f'<line x1="{x(one.value)}" x2="{x(one.value)}" y1="3" y2="{HEIGHT - 3}" class="stroke"/></svg>'
    )


def _difference(content: Content) -> str:
    one = content.scores.difference
    if one is None or one.low != one.low:
        return ""
    return (
        f' <span class="soft">Difference, text by text: {100 * one.value:+.1f} points, 95% interval '
        f"{100 * one.low:+.1f} to {100 * one.high:+.1f}, p {_equals(p_value(one.p))}.</span>"
    )


def _equals(p: str) -> str:
    return escape(p) if p.startswith("<") else f"= {p}"


def _f1(one: Estimate) -> str:
    inside = f" (95% interval {one.low:.3f} to {one.high:.3f})" if one.low == one.low else ""
    return f"<p>Macro F1, in which every class counts the same: {one.value:.3f}{inside}.</p>"


def _classes(classes: Sequence[ClassScore]) -> str:
    listed = sorted(range(len(classes)), key=lambda at: (-classes[at].support, at))[:MOST_ROWS]
    shown = [classes[at] for at in sorted(listed)]
    rows = "".join(
        f'<tr><th dir="auto">{escape(one.label)}</th><td class="num">{one.support:,}</td>'
        f'<td class="num">{percent(one.precision)}</td><td class="num">{percent(one.recall)}</td>'
        f'<td class="num">{percent(one.f1)}</td><td class="bar"><i style="width:{_width(one.f1)}"></i></td></tr>'
        for one in shown
    )
    more = "" if len(shown) == len(classes) else f"<p>The {len(shown)} largest of {len(classes):,} classes.</p>"
    return (
        "<h3>Every class</h3><p>Precision: of the texts that it was predicted for, those that are of it. Recall: of "
        "its texts, those that were found. F1 is between the two.</p>"
        '<div class="wide"><table class="classes"><thead><tr><th>class</th><th class="num">texts</th>'
        '<th class="num">precision</th><th class="num">recall</th><th class="num">F1</th><th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _width(share: float) -> str:
    return f"{100 * share:.0f}%" if share == share else "0"


def _confusions(content: Content) -> str:
    if len(content.labels) <= MOST_CLASSES:
        return _matrix(content.labels, content.confusion)
    if not content.confused:
        return "<h3>What it takes for what</h3><p>It made no mistake.</p>"
    return (
        f"<h3>What it takes for what</h3><p>The pairs of {len(content.labels):,} classes that it confuses most.</p>"
        f'<ol class="pairs-list">{"".join(_pair(pair) for pair in content.confused[:MOST_PAIRS])}</ol>'
    )


def _pair(pair: Confused) -> str:
    return (
        f"<li><b>{escape(pair.label)}</b> taken for <b>{escape(pair.predicted)}</b>: {pair.texts:,} "
        f"text{'s' * (pair.texts != 1)}, {percent(pair.share, 0)} of that class</li>"
    )


def _matrix(labels: Sequence[str], table: Sequence[Sequence[int]]) -> str:
    tall = len(labels) > SHORT_LABEL or max(map(len, labels)) > SHORT_LABEL
    heads = "".join(f'<th scope="col"><span dir="auto">{escape(label)}</span></th>' for label in labels)
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(label)}</th>{_cells(labels, at, row)}</tr>'
        for at, (label, row) in enumerate(zip(labels, table, strict=True))
    )
    return (
        "<h3>What it takes for what</h3><p>A row for each true class, a column for each predicted one. "
        f'<mark style="{css(0.3)}">Blue</mark> is right, <mark style="{css(-0.3)}">orange</mark> a mistake; the '
        "deeper, the more texts of the row.</p>"
        f'<div class="wide" tabindex="0" role="region" aria-label="Confusion matrix"><table class="matrix'
        f'{" tall" * tall}"><thead><tr><th class="corner">true \\ predicted</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(labels: Sequence[str], true: int, row: Sequence[int]) -> str:
    total = sum(row)
    cells = []
    for other, count in enumerate(row):
        if not count:
            cells.append('<td class="none">0</td>')
            continue
        share = count / total
        strength = share if other == true else -share
        said = f"{count:,} of {total:,} texts of {labels[true]} ({share:.0%}) as {labels[other]}"
        cells.append(f'<td style="{css(strength)}" title="{escape(said)}">{count:,}</td>')
    return "".join(cells)
