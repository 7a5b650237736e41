"""The report as one HTML file: nothing from outside, and complete without its script."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from vmask import __version__
from vmask.persistence.model_folder import GENERATOR
from vmask.report.model.content import Content
from vmask.report.model.embed import policy
from vmask.report.model.page_accuracy import accuracy_section, interval, percent
from vmask.report.model.page_more import calibration_section, facts_section, use_section
from vmask.report.model.page_texts import shades, texts_section
from vmask.report.model.page_training import training_section
from vmask.report.model.page_words import cloud_words, words_section
from vmask.report.page import document_head
from vmask.text.words import whole_characters

PARTS = {
    "accuracy": "How good",
    "training": "Training",
    "words": "Words",
    "texts": "Texts",
    "calibration": "Calibration",
    "use": "Use it",
    "facts": "Data and versions",
}
TILE_WORDS = 6


def render(content: Content) -> str:
    """The page; the same bytes whenever the content is the same."""
    style, script = (_asset(name) for name in ("report.css", "report.js"))
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">'
        f'<meta name="generator" content="{GENERATOR}, {__version__}"><link rel="icon" href="data:,">'
    )
    page = "\n".join(
        [
            document_head(content.name, style + shades(), head),
            f'<header><p class="eyebrow">vmask · {escape(content.name)}</p><h1>{escape(content.headline)}.</h1>'
            f'<p class="lead">{escape(content.lead)}</p></header>',
            _contents(),
            "".join(f'<p class="notice">{escape(warning)}</p>' for warning in content.warnings),
            _tiles(content),
            accuracy_section(content),
            training_section(content.training),
            words_section(content),
            texts_section(content),
            calibration_section(content),
            use_section(content),
            facts_section(content),
            f"</main><script>{script}</script></body></html>\n",
        ]
    )
    return whole_characters([page])[0]


def _asset(name: str) -> str:
    return files("vmask.report.model").joinpath(name).read_text(encoding="utf-8")


def _contents() -> str:
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in PARTS.items())
    return f'<nav aria-label="On this page">{links}</nav>'


def _tiles(content: Content) -> str:
    """The numbers that matter most, at a glance."""
    ours, difference, measured = content.scores.rivals[0].accuracy, content.scores.difference, content.measured
    texts = f"{measured.texts:,} {measured.split} text{'s' * (measured.texts != 1)}"
    tiles = [("Accuracy", percent(ours.value), ", ".join(filter(None, (interval(ours), texts))))]
    if difference is not None:
        inside = f"95% interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
        tiles.append(
            (
                "Beside a linear model",
                f"{100 * difference.value:+.1f} points",
                inside if difference.low == difference.low else "too few texts for an interval",
            )
        )
    tiles.append(("Calibration error", f"{content.calibration.error.value:.3f}", "0 is as sure as right"))
    if content.words is not None:
        words = ", ".join(word.word for word in cloud_words(content.words.rows, TILE_WORDS))
        tiles.append(("Words ranked", f"{content.words.total:,}", f"first: {words}"))
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd><b>{escape(value)}</b><small>{escape(note)}</small></dd></div>"
        for name, value, note in tiles
    )
    return f'<dl class="tiles">{items}</dl>'
