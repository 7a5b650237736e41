"""What a page is made of."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest


class Reader(HTMLParser):
    """Collects tags, and attributes that could load something."""

    VOID = {"meta", "link", "img", "br", "input"}

    def __init__(self, html):
        super().__init__()
        self.tags, self.loads, self.open = set(), [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def read_html():
    """The tags of a page, as `Reader` finds them."""
    return Reader
