"""Coloured texts: the right spans, nothing of the text lost, no markup let through."""

from __future__ import annotations

import re
from html import unescape

import pytest

from vmask.explain.contract import Explanation
from vmask.report.highlight import html_text, letters, rich_text, shade


def explain(text, *words):
    """An explanation of the given words, in order, the last one the strongest."""
    spans, at = [], 0
    for word in words:
        start = text.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    scores = tuple(0.5 + 0.1 * i for i in range(len(words)))
    return Explanation(text, words, tuple(spans), scores, "x", 0.9, "mask")


def marked(html):
    return [unescape(word) for word in re.findall(r"<mark [^>]*>(.*?)</mark>", html, re.DOTALL)]


TEXTS = [
    ("so <b>good</b> & fine", ("so", "b", "good", "fine")),
    ('"quoted" <script>alert(1)</script>', ("quoted", "script", "alert")),
    ("Grüße 👍🏽 cafe\u0301 电影", ("Grüße", "👍🏽", "cafe\u0301", "影")),
    ("", ()),
    ("no words marked", ()),
]


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_html_keeps_the_text_and_marks_its_words(text, words):
    html = html_text(explain(text, *words))
    assert marked(html) == list(words)
    assert unescape(re.sub(r"</?(?:mark|span)[^>]*>", "", html)) == text
    assert "<script" not in html
    assert "<b>" not in html


@pytest.mark.parametrize(("text", "words"), [*TEXTS, ("line\r\none\x07\x1b[2J two", ("line", "one", "two"))])
def test_a_terminal_shows_the_words_that_stand_out_on_their_colours(text, words):
    explanation = explain(text, *words)
    shown = rich_text(explanation)
    assert len(shown.plain) == len(text)
    strong = [word for word, strength in zip(words, explanation.strengths(), strict=True) if strength > 0]
    assert [shown.plain[span.start : span.end] for span in shown.spans] == strong
    assert strong[-1:] == list(words[-1:])  # the last is the strongest
    assert not re.search(r"[\x00-\x1f\x7f]", shown.plain)


def test_brackets_in_a_text_are_not_markup():
    assert rich_text(explain("[bold]so[/bold] :smile:", "so")).plain == "[bold]so[/bold] :smile:"


def test_a_stronger_word_stands_on_a_darker_ground_with_readable_letters():
    grounds = [sum(shade(strength)) for strength in (0, 0.3, 0.6, 1)]
    assert grounds == sorted(grounds, reverse=True)
    assert shade(0) == (255, 255, 255)
    assert letters(0) != letters(1)


def test_a_notebook_shows_the_same_html():
    explanation = explain("so good", "good")
    assert explanation._repr_html_() == html_text(explanation)
    assert explanation.to_rich() == rich_text(explanation)
