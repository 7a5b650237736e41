"""The page of explanations: everything of the texts on it, nothing of them let through as HTML, whole or not there."""

from __future__ import annotations

import re
from html import escape, unescape

import pytest

from vmask.explain.contract import Explanation
from vmask.report.explanations import paged

EVIL = "<script>alert('x')</script>"
HOW = {"Model": "my-model", "Options": "samples 1000"}


def explanation(text="good but bad", scores=(0.4, 0.1, -0.2), **changes):
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    words = tuple(text[start:end] for start, end in spans)
    values = {"signed": True, "details": {"fit": 0.8}, **changes}
    target = values.pop("target", "pos")
    return Explanation(text, words, tuple(spans), scores[: len(words)], target, 0.9, "lime", **values)


def write(path, explanations, title="A title", how=HOW):
    """The page of the explanations, which are also given on."""
    assert list(paged(path, iter(explanations), title, how)) == explanations
    return path.read_text(encoding="utf-8")


def test_the_page_has_every_text_and_how_it_was_made(tmp_path):
    html = write(tmp_path / "new" / "a.html", [explanation(), explanation("bad", (-0.3,), target="neg", unseen=4)])
    for part in ("A title", "2 texts", "my-model", "samples 1000", "pos 1, neg 1", "R² 0.80 on average"):
        assert part in html
    assert html.count("<mark ") >= 4
    assert "4 words past the length limit" in html
    assert "<b>pos</b> 90%, fit R² 0.80" in html
    first, second = re.findall(r'<div class="bars">(.*?)</div>', html, re.DOTALL)
    assert re.findall(r"<b[^>]*>(.*?)</b>", first) == ["good", "but", "bad"]
    assert re.findall(r"<small>(.*?)</small>", first) == ["+0.400", "+0.100", "-0.200"]
    assert re.findall(r"width:(\d+%)", first) == ["100%", "25%", "50%"]
    assert 'class="for"' not in second


def test_the_legend_says_what_the_colours_mean(tmp_path):
    assert "against" in write(tmp_path / "a.html", [explanation()])
    html = write(tmp_path / "b.html", [explanation(signed=False)])
    assert "matters most" in html
    assert "against" not in html.partition("</style>")[2]


@pytest.mark.parametrize("text", [EVIL, "plain text", "", 'a "quoted" & <b>text</b>'])
def test_the_page_is_self_contained_and_escapes_everything(tmp_path, text, read_html):
    one = explanation(text, (0.4, -0.1, 0.2, 0.1), target=text)
    html = write(tmp_path / "a.html", [one], title=text, how={text: text})
    reader = read_html(html)
    assert reader.open == []
    assert reader.loads == ["data:,"]
    assert not reader.tags & {"script", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import|https?://", html)


def test_what_a_text_says_is_shown_as_it_is(tmp_path):
    one = explanation(f"{EVIL} line\none\r\n\ttwo", (0.4, -0.1, 0.2, 0.1), target=EVIL)
    html = write(tmp_path / "a.html", [one])
    said = re.search(r'<p class="said" dir="auto">(.*?)</p>', html, re.DOTALL)[1]
    assert unescape(re.sub("</?mark[^>]*>", "", said)) == one.text.replace("\r\n", "\n")  # as files are read
    assert f"<b>{escape(EVIL, quote=False)}</b>".replace("'", "&#39;") in html


def test_half_a_character_is_no_reason_to_fail(tmp_path):
    assert "good \ufffd film" in re.sub(
        "</?mark[^>]*>", "", write(tmp_path / "a.html", [explanation("good \ud83d film")])
    )


def test_no_text_at_all_makes_a_page(tmp_path):
    assert "0 texts" in write(tmp_path / "a.html", [])


def test_a_page_that_fails_leaves_nothing_and_replaces_nothing(tmp_path):
    def broken():
        yield explanation()
        raise ZeroDivisionError

    (tmp_path / "a.html").write_text("before", encoding="utf-8")
    with pytest.raises(ZeroDivisionError):
        list(paged(tmp_path / "a.html", broken(), "A title", HOW))
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "before"
