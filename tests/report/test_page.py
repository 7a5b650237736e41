"""The start and the end of a page: nothing from outside, nothing of the data let through as HTML."""

from __future__ import annotations

import re

import pytest

from vmask.report.page import CLOSING, opening

EVIL = "</main><script>alert('x')</script>"


@pytest.mark.parametrize("text", [EVIL, "plain text", 'a "quoted" & <b>text</b>'])
def test_every_tag_is_closed_and_nothing_comes_from_outside(text, read_html):
    html = opening(text, text) + CLOSING
    reader = read_html(html)
    assert reader.open == []
    assert reader.loads == ["data:,"]
    assert not reader.tags & {"script", "img", "iframe", "object", "b"}
    assert not re.search(r"url\(|@import|https?://", html)
    assert html.count("</main>") == 1
