"""A self-contained HTML page: accuracy, training curve, the words the model uses, highlighted texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from vmask.explain.contract import Explanation
from vmask.explain.highlight import html_text
from vmask.inference.predictor import WordImportance
from vmask.report.curve import curve_svg
from vmask.report.templating import asset


@dataclass(frozen=True)
class Page:
    """What stands on the page.

    Attributes:
        title: heading.
        summary: a sentence under it.
        accuracy: name of a model -> (accuracy, what it is).
        histories: name of a model -> its training history.
        best_epochs: name of a model -> its best epoch.
        words: the most important words.
        explanations: texts with the right class beside each.
        how: facts about how it was made, name -> value.
    """

    title: str
    summary: str
    accuracy: Mapping[str, tuple[float, str]]
    histories: Mapping[str, Sequence[Mapping[str, Any]]]
    best_epochs: Mapping[str, int]
    words: Sequence[WordImportance]
    explanations: Sequence[tuple[Explanation, str]]
    how: Mapping[str, str] = field(default_factory=dict)


CLOSING = "\n</main></body></html>\n"


def opening(title: str, summary: str) -> str:
    """The start of an HTML document that needs nothing from outside, up to its first section; `CLOSING` ends it."""
    return f"{document_head(title)}<h1>{escape(title)}</h1><p class=lead>{escape(summary)}</p>\n"


def document_head(title: str, style: str = "", more: str = "") -> str:
    """The start of an HTML document up to where its heading comes.

    Args:
        title: of the window.
        style: CSS behind that of all pages.
        more: HTML for its head.
    """
    common = asset("report.css")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{more}<title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{common}{style}</style></head>\n'
        "<body><main>"
    )


def how_section(facts: Mapping[str, str]) -> str:
    """How something was made, name -> value."""
    return f"<section><h2>How this was made</h2>{how_table(facts)}</section>" if facts else ""


def how_table(facts: Mapping[str, str]) -> str:
    """Facts as a table, name -> value."""
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f"<table class=how>{rows}</table>"


def render(page: Page) -> str:
    """The page as one HTML document without anything from outside."""
    sections = [_accuracy(page), _curve(page), _words(page), _texts(page), how_section(page.how)]
    return opening(page.title, page.summary) + "\n".join(sections) + CLOSING


def _accuracy(page: Page) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td class=num>{value:.1%}</td>"
        f'<td class=bar><i style="width:{value:.1%}"></i></td><td>{escape(what)}</td></tr>'
        for name, (value, what) in page.accuracy.items()
    )
    return f"<section><h2>Accuracy on the test texts</h2><table>{rows}</table></section>"


def _curve(page: Page) -> str:
    lines = {name: [row["dev_accuracy"] for row in history] for name, history in page.histories.items()}
    picture = curve_svg(lines, "Dev accuracy", page.best_epochs)
    return (
        f"<section><h2>Training</h2><p>Accuracy on held-out texts after every epoch; "
        f"the dot is the epoch that was kept.</p>{picture}</section>"
    )


def _words(page: Page) -> str:
    if not page.words:
        return ""
    rows = "".join(
        f"<li><b>{escape(word.word)}</b> <span class=num>{word.score:.3f}</span><small>{word.count}×</small></li>"
        for word in page.words
    )
    return (
        f"<section><h2>Words the model uses most</h2><p>A word's importance is the chance that its mask keeps it; "
        f"0.5 is indifferent. Behind it, how often the word stands in the training texts.</p>"
        f"<ol class=words>{rows}</ol></section>"
    )


def _texts(page: Page) -> str:
    if not page.explanations:
        return ""
    items = "".join(
        f"<li><p>{html_text(explanation)}</p><p class=verdict>{escape(str(explanation.target))} "
        f"{explanation.probability:.0%}, "
        f"{'right' if str(explanation.target) == true else f'in truth {escape(true)}'}</p></li>"
        for explanation, true in page.explanations
    )
    return (
        "<section><h2>Texts as the model sees them</h2><p>The deeper a word's colour, the more of it the classifier "
        "sees; words below the middle of their text stay plain. Rest the pointer on a word for its importance.</p>"
        f"<ul class=texts>{items}</ul></section>"
    )
