"""Templates: nothing of the data becomes markup, whatever place it stands in, and nothing but our script runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from jinja2 import UndefinedError

from vmask.report.templating import asset, environment, policy, render


def test_everything_is_escaped_unless_it_is_marked_safe():
    page = render("base.html", title="</title><script>", lead="<b>\" & 'x'")
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in page
    assert "&lt;b&gt;&#34; &amp; &#39;x&#39;" in page
    assert "<script" not in page
    for name in environment().list_templates():  # safe are our styles, our script, and items that are made before
        safe = re.findall(r"[^{]*\|\s*safe", (environment().loader.get_source(environment(), name))[0])
        assert len(safe) == {"base.html": 3, "explanations.html": 1, "grid_base.html": 1}.get(name, 0), name


def test_a_name_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError, match="'lead' is undefined"):
        render("base.html", title="a title")


def test_half_a_character_can_be_written():
    assert "a\ufffd!" in render("base.html", title="a\ud83d!", lead="").encode("utf-8").decode("utf-8")


def test_the_same_variables_are_the_same_page():
    assert render("base.html", title="a", lead="b") == render("base.html", title="a", lead="b")


def test_a_page_without_a_script_may_run_none():
    page = render("base.html", title="a", lead="b")
    assert "script-src &#39;none&#39;" in page
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert page.endswith("</html>\n")


@pytest.mark.parametrize(
    "text", ["</script><script>", "<!--", "]]>", "a\u2028b\u2029c", "&lt;", "quote \" '", "\\u003c", "\ud83d", "\0"]
)
def test_json_in_a_page_is_the_same_value_and_has_no_markup(text):
    shown = environment().from_string("{{ value|tojson }}").render(value={text: [text, 1.5, None]})
    assert not re.search("[<>&\u2028\u2029\ud83d]", shown)
    assert json.loads(shown) == {text: [text, 1.5, None]}


def test_numbers_that_json_has_not_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        environment().from_string("{{ value|tojson }}").render(value=[float("nan")])


def test_the_policy_lets_this_script_run_and_nothing_else():
    script = "let é = 1;\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = policy(script).split("; ")
    assert parts[0] == "default-src 'none'"
    assert f"script-src 'sha256-{digest}'" in parts
    assert not any("http" in part or "*" in part or "unsafe-eval" in part for part in parts)


def test_the_style_loads_nothing_and_no_asset_ends_its_element():
    for name in ("report.css", "model.js"):
        assert not re.search(r"url\(|@import|</s", asset(name))
