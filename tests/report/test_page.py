"""The page: nothing from outside, nothing of the data let through as HTML."""

from __future__ import annotations

import re

import pytest

from vmask.explain.contract import Explanation
from vmask.inference.predictor import WordImportance
from vmask.report.page import CLOSING, Page, document_head, render

EVIL = "<script>alert('x')</script>"
ROW = {"epoch": 1, "dev_accuracy": 0.8}


def page(text=EVIL, **changes):
    explanation = Explanation(text, (text[:4],), ((0, 4),), (0.7,), text, 0.9, "mask")
    values = {
        "title": text,
        "summary": text,
        "accuracy": {text: (0.9, text)},
        "histories": {text: [ROW]},
        "best_epochs": {text: 1},
        "words": [WordImportance(text, 0.7, 3, True)],
        "explanations": [(explanation, text)],
        "how": {text: text},
    }
    return render(Page(**{**values, **changes}))


def test_the_page_is_self_contained(read_html):
    html = page("plain text")
    reader = read_html(html)
    assert not reader.tags & {"script", "link", "img", "iframe", "object"}
    assert reader.loads == []
    assert not re.search(r"url\(|@import|https?://", html)


def test_nothing_of_the_data_becomes_html():
    html = page()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6


@pytest.mark.parametrize("text", [EVIL, "plain text", 'a "quoted" & <b>text</b>'])
def test_every_tag_is_closed(text, read_html):
    assert read_html(page(text)).open == []


def test_the_page_has_its_sections():
    html = page("plain text")
    for heading in ("Accuracy on the test texts", "Training", "Words the model uses", "Texts as the model", "How this"):
        assert f"<h2>{heading}" in html
    assert "90.0%" in html
    assert "<svg" in html


def test_sections_without_content_are_left_out():
    html = page("plain text", words=[], explanations=[], how={})
    assert "Words the model uses" not in html
    assert "Texts as the model" not in html
    assert "How this was made" not in html


def test_a_wrong_answer_is_called_so():
    explanation = Explanation("text", ("text",), ((0, 4),), (0.7,), "pos", 0.9, "mask")
    assert "in truth neg" in page("x" * 5, explanations=[(explanation, "neg")])
    assert "90%, right" in page("x" * 5, explanations=[(explanation, "pos")])


def test_a_page_may_have_more_style_and_more_in_its_head(read_html):
    head = document_head("a <b>", "p { color: red }", '<meta name="x" content="y">')
    assert head.index('name="x"') < head.index("<style>")
    assert "p { color: red }</style>" in head
    assert "<title>a &lt;b&gt;</title>" in head
    assert read_html(head + CLOSING).open == []
