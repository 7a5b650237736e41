"""A reliability diagram as SVG: how often the model is right, over how sure it is."""

from __future__ import annotations

from math import sqrt

from vmask.report.model.content import Calibration

SIZE, LEFT, RIGHT, TOP, BOTTOM = 420, 46, 12, 12, 96
BARS = 38
"""Height of the bars below that say where the texts are."""
LARGEST, SMALLEST = 6.5, 3.0
"""Radius of the dot of most texts, and of one of hardly any."""


def reliability_svg(calibration: Calibration) -> str:
    """Dots with intervals for every bin, the diagonal of a model that is as sure as it is right, bars of texts."""
    wide, tall = SIZE - LEFT - RIGHT, SIZE - TOP - BOTTOM
    most = max(one.right.n for one in calibration.bins)
    floor = SIZE - BOTTOM + 30 + BARS

    def x(share: float) -> float:
        return LEFT + wide * share

    def y(share: float) -> float:
        return TOP + tall * (1 - share)

    parts = [
        f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" class="plot reliability" '
        'aria-label="Share of right predictions over the probability of the predicted class">'
    ]
    for step in (0.0, 0.25, 0.5, 0.75, 1.0):
        anchor = "end" if step == 1 else "middle"
        parts.append(
            f'<line x1="{LEFT}" x2="{SIZE - RIGHT}" y1="{y(step):.1f}" y2="{y(step):.1f}" class="grid"/>'
            f'<text x="{LEFT - 7}" y="{y(step) + 4:.1f}" text-anchor="end">{step:.0%}</text>'
            f'<text x="{x(step):.1f}" y="{y(0) + 17:.1f}" text-anchor="{anchor}">{step:.0%}</text>'
        )
    parts.append(f'<line x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(1):.1f}" y2="{y(1):.1f}" class="diagonal"/>')
    for one in calibration.bins:
        height = BARS * one.right.n / most
        radius = max(LARGEST * sqrt(one.right.n / most), SMALLEST)
        said = (
            f"{one.low:.0%} to {one.high:.0%} sure, {one.sure:.1%} on average: "
            f"{one.right.value:.1%} of {one.right.n:,} are right"
        )
        whisker = ""
        if one.right.low == one.right.low:
            whisker = (
                f'<line x1="{x(one.sure):.1f}" x2="{x(one.sure):.1f}" y1="{y(one.right.low):.1f}" '
                f'y2="{y(one.right.high):.1f}" class="whisker"/>'
            )
        parts.append(
            f'<g><title>{said}</title><rect x="{x(one.low) + 1:.1f}" y="{floor - height:.1f}" '
            f'width="{wide * (one.high - one.low) - 2:.1f}" height="{max(height, 1):.1f}" class="heap"/>{whisker}'
            f'<circle cx="{x(one.sure):.1f}" cy="{y(one.right.value):.1f}" r="{radius:.1f}" class="dot"/></g>'
        )
    parts.append(
        f'<text x="{(LEFT + SIZE - RIGHT) / 2:.0f}" y="{SIZE - 8}" text-anchor="middle" class="axis">'
        "how sure the model is; bars: how many texts</text></svg>"
    )
    return "".join(parts)
