"""The sections about calibration, use, and where the model comes from."""

from __future__ import annotations

from html import escape

from vmask.report.model.content import Calibration, Content, Use
from vmask.report.model.svg_calibration import reliability_svg
from vmask.report.page import how_table

SMALL = 0.02
"""How much surer than right a model may be on average and still be called about right."""


def calibration_section(content: Content) -> str:
    """A reliability diagram, and what it says."""
    found = content.calibration
    one = found.error
    inside = f" (95% interval {one.low:.3f} to {one.high:.3f})" if one.low == one.low else ""
    return (
        '<section id="calibration"><h2>Can its probabilities be believed?</h2>'
        f'<div class="beside"><figure>{reliability_svg(found)}</figure><div><p>{escape(_too_sure(found))}</p>'
        f"<p>Calibration error: {one.value:.3f}{inside}. It is how far, on average, the share of right predictions is "
        "from the probability. Found on few texts it comes out too high; the interval corrects for that.</p>"
        "<p>Each dot is predictions of which the model was about equally sure, with its 95% interval, larger where "
        "there are more. On the dashed line it is as often right as it says; below it, it is too sure.</p>"
        "</div></div></section>"
    )


def _too_sure(found: Calibration) -> str:
    points = f"{100 * abs(found.too_sure):.1f} points"
    if abs(found.too_sure) < SMALL:
        return f"About as sure as it is right: on average {points} {'too' if found.too_sure > 0 else 'less'} sure."
    if found.too_sure > 0:
        return f"Too sure: its probabilities are {points} above the share of predictions that are right."
    return f"Surer than it says: its probabilities are {points} below the share of predictions that are right."


def use_section(content: Content) -> str:
    """Lines to copy."""
    return f'<section id="use"><h2>How to use it</h2>{"".join(map(_use, content.uses))}</section>'


def _use(one: Use) -> str:
    blocks = "".join(
        f'<div class="code"><p class="fine">{escape(what)}<button type="button" class="copy" hidden>Copy</button></p>'
        f'<pre tabindex="0"><code>{escape(code)}</code></pre></div>'
        for what, code in one.code
    )
    return f"<h3>{escape(one.title)}</h3>{blocks}"


def facts_section(content: Content) -> str:
    """Data, model, versions; all options, folded."""
    tables = "".join(f"<h3>{escape(heading)}</h3>{how_table(rows)}" for heading, rows in content.facts.items())
    return (
        f'<section id="facts"><h2>Where it comes from</h2>{tables}<details><summary>All {len(content.options)} options '
        f"of the training</summary>{how_table(content.options)}</details></section>"
    )
