"""Texts with their words coloured by importance, for a terminal, a page or a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

if TYPE_CHECKING:
    from rich.text import Text

    from vmask.explain.contract import Explanation

PAPER = (255, 255, 255)
FOR, AGAINST = (17, 94, 163), (176, 78, 0)
"""Backgrounds of the strongest words for and against a class: blue and orange, distinct to the colour-blind."""
STRONG = 0.7
"""Strength above which letters are white. The background skips the tones there on which no letters are readable."""
HIDDEN = "background:none;color:inherit;opacity:.4;text-decoration:line-through"
"""CSS of a word of which the model sees nothing."""
NOT_SEEN = "hidden from the model"
FAINT = 0.1
"""Strength below which a terminal shows a word plain."""


def opacity(strength: float) -> float:
    """Opacity of the background of a word of this strength, from -1 to 1."""
    strength = abs(strength)
    return strength if strength <= STRONG else 0.9 + 0.1 * (strength - STRONG) / (1 - STRONG)


def shade(strength: float) -> tuple[int, int, int]:
    """Background of a word of this strength, from -1 to 1, on white paper."""
    ink, share = AGAINST if strength < 0 else FOR, opacity(strength)
    red, green, blue = (round(low + (high - low) * share) for low, high in zip(PAPER, ink, strict=True))
    return red, green, blue


def letters(strength: float) -> str:
    """Colour of letters that is readable on `shade(strength)`."""
    return "#ffffff" if abs(strength) > STRONG else "#1a1a1a"


def css(strength: float) -> str:
    """CSS of a word of this strength; weak colours are transparent, so the page may be light or dark."""
    red, green, blue = AGAINST if strength < 0 else FOR
    colour = "#fff" if abs(strength) > STRONG else "inherit"
    return f"background:rgba({red},{green},{blue},{opacity(strength):.2f});color:{colour}"


def printable(text: str) -> str:
    """The text with control characters replaced by spaces: a terminal obeys some, and `rich` drops others."""
    return "".join(" " if category(char) == "Cc" else char for char in text)


def rich_text(explanation: Explanation) -> Text:
    """The text for a terminal, important words on colours; others stay plain, because a terminal may be dark."""
    from rich.style import Style
    from rich.text import Text

    out = Text(printable(explanation.text))
    hidden = {span[0] for span, is_hidden in zip(explanation.spans, explanation.hidden, strict=False) if is_hidden}
    for (start, end), strength in zip(explanation.spans, explanation.strengths(), strict=True):
        if start in hidden:
            out.stylize(Style(dim=True, strike=True), start, end)
        elif abs(strength) >= FAINT:
            tone = strength if abs(strength) > STRONG else 0.35 * (1 if strength > 0 else -1) + 0.5 * strength
            red, green, blue = shade(tone)  # never near white
            style = Style(color=letters(tone), bgcolor=f"rgb({red},{green},{blue})", bold=abs(strength) > 0.75)
            out.stylize(style, start, end)
    return out


class TextPiece(NamedTuple):
    """A word of a text, or what stands between words.

    Attributes:
        text: as it is written.
        strength: of the colour of a word; 0 between words.
        score: of a word; None between words.
        hidden: whether it is a word of which the model sees nothing.
    """

    text: str
    strength: float = 0.0
    score: float | None = None
    hidden: bool = False


def text_pieces(explanation: Explanation, shown: int | None = None) -> Iterator[TextPiece]:
    """The parts of a text in order: words, and the text between them.

    Args:
        explanation: the text with its scores.
        shown: number of characters after which the text is cut, before the word that ends beyond; by default the whole
            text is shown. Strengths are those in the whole text.
    """
    end_of_text = len(explanation.text) if shown is None else shown
    at = 0
    hidden = explanation.hidden or (False,) * len(explanation.words)
    words = zip(explanation.spans, explanation.strengths(), explanation.scores, hidden, strict=True)
    for (start, end), strength, score, is_hidden in words:
        if end > end_of_text:
            end_of_text = start
            break
        if start > at:
            yield TextPiece(explanation.text[at:start])
        yield TextPiece(explanation.text[start:end], strength, score, is_hidden)
        at = end
    if rest := explanation.text[at:end_of_text]:
        yield TextPiece(rest)


def html_text(explanation: Explanation) -> str:
    """The text as HTML that needs no style sheet; a word's score shows when the pointer rests on it."""
    parts = []
    for text, strength, score, hidden in text_pieces(explanation):
        if score is None:
            parts.append(escape(text))
        else:
            style, title = (HIDDEN, NOT_SEEN) if hidden else (css(strength), shown_score(explanation, score))
            parts.append(f'<mark style="{style}" title="{title}">{escape(text)}</mark>')
    return f'<span class="vmask">{"".join(parts)}</span>'


def shown_score(explanation: Explanation, score: float, digits: int = 3) -> str:
    """A score with this many significant digits, and with its sign if the explanation is signed."""
    return f"{score:+#.{digits}g}" if explanation.signed else f"{score:#.{digits}g}"


def strongest(explanation: Explanation, k: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Up to k words with the highest scores, and up to k with the strongest evidence against the class."""
    if not explanation.signed:
        return explanation.top(k), []
    ranked = explanation.top(len(explanation.words))
    speak_for = [(word, score) for word, score in ranked if score > 0]
    against = [(word, score) for word, score in reversed(ranked) if score < 0]
    return speak_for[:k], against[:k]


def summary(explanation: Explanation) -> str:
    """A line below a text in a terminal: class, probability, strongest words and remarks."""

    def listed(words: list[tuple[str, float]]) -> str:
        return ", ".join(f"{word} {shown_score(explanation, score, 2)}" for word, score in words) or "none"

    speak_for, against = strongest(explanation, 5)
    line = f"{explanation.target} {explanation.probability:.2f}  top words: {listed(speak_for)}"
    if against:
        line += f"  against: {listed(against)}"
    if notes := remarks(explanation):
        line += f"  ({', '.join(notes)})"
    return printable(line)


def remarks(explanation: Explanation) -> list[str]:
    """Remarks on an explanation, such as the quality of the fit."""
    notes = []
    if "fit" in explanation.details:
        notes.append(f"fit R² {explanation.details['fit']:.2f}")
    if errors := explanation.details.get("standard_errors"):
        notes.append(f"standard errors up to {max(errors):.2g}")
    if explanation.unseen:
        notes.append(f"{explanation.unseen:,} words past the length limit")
    return notes
