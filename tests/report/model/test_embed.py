"""Nothing of the data gets out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from vmask.report.model.embed import embedded_json, policy


@pytest.mark.parametrize("text", ["</script><script>", "<!--", "]]>", "a\u2028b\u2029c", "&lt;", 'quote "', "\\u003c"])
def test_json_in_a_page_is_the_same_value_and_has_no_markup(text):
    shown = embedded_json({text: [text, 1.5, None]})
    assert not re.search("[<>&\u2028\u2029]", shown)
    assert json.loads(shown) == {text: [text, 1.5, None]}


def test_numbers_that_json_has_not_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json([float("nan")])


def test_the_policy_lets_this_script_run_and_nothing_else():
    script = "let é = 1;\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = policy(script).split("; ")
    assert parts[0] == "default-src 'none'"
    assert f"script-src 'sha256-{digest}'" in parts
    assert not any("http" in part or "*" in part or "unsafe-eval" in part for part in parts)
