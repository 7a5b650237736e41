"""Texts with their words coloured by importance, for a terminal, a page or a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from rich.text import Text

    from vmask.explain.contract import Explanation

PAPER = (255, 255, 255)
INK = (17, 94, 163)
"""Colours of the least and the most important word of a text."""


def shade(strength: float) -> tuple[int, int, int]:
    """Background colour of a word of this strength, from 0 to 1."""
    red, green, blue = (round(low + (high - low) * strength) for low, high in zip(PAPER, INK, strict=True))
    return red, green, blue


def letters(strength: float) -> str:
    """Colour of the letters that can be read on `shade(strength)`."""
    return "#ffffff" if strength > 0.5 else "#1a1a1a"


def rich_text(explanation: Explanation) -> Text:
    """The text for a terminal, words that stand out on a blue ground; a terminal may be dark, so others stay plain."""
    from rich.style import Style
    from rich.text import Text

    # Text drops some control characters, which would move the spans, and a terminal obeys others.
    out = Text("".join(" " if category(char) == "Cc" else char for char in explanation.text))
    for (start, end), strength in zip(explanation.spans, explanation.strengths(), strict=True):
        if strength > 0:
            tone = 0.35 + 0.65 * strength  # never near white
            red, green, blue = shade(tone)
            style = Style(color=letters(tone), bgcolor=f"rgb({red},{green},{blue})", bold=strength > 0.75)
            out.stylize(style, start, end)
    return out


def html_text(explanation: Explanation) -> str:
    """The text as HTML; a word's score shows when the pointer rests on it."""
    parts, at = [], 0
    for (start, end), strength, score in zip(
        explanation.spans, explanation.strengths(), explanation.scores, strict=True
    ):
        parts.append(escape(explanation.text[at:start]))
        red, green, blue = shade(strength)
        parts.append(
            f'<mark style="background:rgb({red},{green},{blue});color:{letters(strength)}" title="{score:.3f}">'
            f"{escape(explanation.text[start:end])}</mark>"
        )
        at = end
    parts.append(escape(explanation.text[at:]))
    return f'<span class="vmask">{"".join(parts)}</span>'
