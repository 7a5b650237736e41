"""Coloured texts: the right spans, nothing of the text lost, no markup let through."""

from __future__ import annotations

import re
from html import unescape

import pytest

from vmask.explain.contract import Explanation
from vmask.explain.highlight import css, html_text, letters, rich_text, shade, strongest, summary, text_pieces


def explain(text, *words, scores=None, **changes):
    """An explanation of the given words, in order, the last one the strongest."""
    spans, at = [], 0
    for word in words:
        start = text.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    scores = scores or tuple(0.5 + 0.1 * i for i in range(len(words)))
    return Explanation(text, words, tuple(spans), scores, "x", 0.9, "mask", **changes)


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


@pytest.mark.parametrize("sign", [1, -1])
def test_a_stronger_word_stands_on_a_darker_ground(sign):
    grounds = [sum(shade(sign * strength / 20)) for strength in range(21)]
    assert grounds == sorted(grounds, reverse=True)
    assert shade(0) == (255, 255, 255)


def luminance(colour):
    """As the web's accessibility guidelines define it."""
    parts = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("strength", [i / 20 for i in range(-20, 21)])
def test_letters_can_be_read_on_every_ground_light_and_dark(strength):
    red, green, blue, share, colour = re.fullmatch(
        r"background:rgba\((\d+),(\d+),(\d+),([\d.]+)\);color:(.*)", css(strength)
    ).groups()
    for paper, ink in (((255, 255, 255), (0x1A,) * 3), ((0x1B, 0x1E, 0x23), (0xE8, 0xEA, 0xED))):
        ground = [p + (int(c) - p) * float(share) for p, c in zip(paper, (red, green, blue), strict=True)]
        assert contrast(ground, (255, 255, 255) if colour == "#fff" else ink) >= 4.4
    assert contrast(shade(strength), tuple(bytes.fromhex(letters(strength)[1:]))) >= 4.4


def test_words_for_a_class_are_blue_and_those_against_it_orange():
    explanation = explain("good but bad", "good", "but", "bad", scores=(0.4, 0.01, -0.2), signed=True)
    styles = re.findall(r'<mark style="([^"]*)" title="([^"]*)"', html_text(explanation))
    assert [title for _, title in styles] == ["+0.400", "+0.0100", "-0.200"]
    colours = [tuple(map(int, re.findall(r"\d+", style)[:3])) for style, _ in styles]
    assert colours[0][2] > colours[0][0]  # blue
    assert colours[2][0] > colours[2][2]  # orange
    spans = rich_text(explanation).spans
    assert [explanation.text[span.start : span.end] for span in spans] == ["good", "bad"]  # the faint one stays plain
    grounds = [span.style.bgcolor.triplet for span in spans]
    assert grounds[0].blue > grounds[0].red
    assert grounds[1].red > grounds[1].blue
    assert 'title="0.500"' in html_text(explain("good", "good"))  # a score without a sign shows none


def test_the_strongest_words_are_ranked_on_either_side():
    explanation = explain("a b c d", *"abcd", scores=(-0.1, 0.3, -0.2, 0.0), signed=True)
    assert strongest(explanation, 5) == ([("b", 0.3)], [("c", -0.2), ("a", -0.1)])
    assert strongest(explanation, 1) == ([("b", 0.3)], [("c", -0.2)])
    assert strongest(explain("a b", "a", "b"), 5) == ([("b", 0.6), ("a", 0.5)], [])


def test_the_line_under_a_text_has_what_a_reader_should_know():
    explanation = explain("a b", "a", "b", scores=(0.25, -0.5), signed=True, details={"fit": 0.791}, unseen=3)
    assert summary(explanation) == (
        "x 0.90  top words: a +0.25  against: b -0.50  (fit R² 0.79, 3 words past the length limit)"
    )
    assert summary(explain("a", "a")) == "x 0.90  top words: a 0.50"
    assert summary(explain("")) == "x 0.90  top words: none"


def test_a_notebook_shows_the_same_html():
    explanation = explain("so good", "good")
    assert explanation._repr_html_().startswith(html_text(explanation))
    assert explanation.to_rich() == rich_text(explanation)


def test_a_text_can_be_cut_before_the_word_that_ends_beyond():
    explanation = explain("so very good indeed", "so", "very", "good", "indeed", scores=(0.5, 0.6, 0.7, 0.9))
    whole, cut = list(text_pieces(explanation)), list(text_pieces(explanation, 12))
    assert "".join(piece.text for piece in whole) == explanation.text
    assert [piece.text for piece in cut if piece.score is not None] == ["so", "very", "good"]
    assert "".join(piece.text for piece in text_pieces(explanation, 11)) == "so very "
    assert list(text_pieces(explanation, 100)) == whole
    assert cut == whole[: len(cut)]  # as strong as in the whole text


def test_pieces_have_the_scores_of_words_and_none_between_them():
    pieces = list(text_pieces(explain("(so good)", "so", "good")))
    expected = [("(", 0.0, None), ("so", 0.0, 0.5), (" ", 0.0, None), ("good", 1.0, 0.6), (")", 0.0, None)]
    assert pieces == [(*piece, False) for piece in expected]


def test_hidden_words_are_drawn_as_hidden(hard):
    (explanation,) = hard().explain("the plot is superb and the cast tries hard", "lime")
    pieces = [piece for piece in text_pieces(explanation) if piece.score is not None]
    assert [piece.hidden for piece in pieces] == list(explanation.hidden)
    html = html_text(explanation)
    assert html.count('title="hidden from the model"') == sum(explanation.hidden) > 0
    crossed = {explanation.text[span.start : span.end] for span in rich_text(explanation).spans if span.style.strike}
    assert crossed == {word for word, hidden in zip(explanation.words, explanation.hidden, strict=True) if hidden}
