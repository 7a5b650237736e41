"""Every JSON answer can be written and read."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.errors import DataError
from vmask.serve.app import validation_message
from vmask.serve.http_errors import (
    InvalidRequest,
    NotFound,
    SafeJsonResponse,
    TooManyRequests,
    error_response,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def strict(content):
    return json.loads(content.decode("utf-8"), parse_constant=lambda constant: pytest.fail(constant))


def without_odd_numbers(value):
    if isinstance(value, dict):
        return {key: without_odd_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_odd_numbers(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@settings(max_examples=examples(200), derandomize=True)
@given(VALUES)
def test_any_value_is_strict_json(value):
    assert strict(SafeJsonResponse(value).body) == without_odd_numbers(value)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udfff\ud800", "ö🎬"])
def test_half_a_character_is_written_as_its_escape(text):
    assert strict(SafeJsonResponse({"detail": text, text: 1}).body) == {"detail": text, text: 1}


def test_numbers_of_numpy_and_other_things_are_written():
    value = {"a": np.float32(0.5), "b": np.array([1, 2]), "c": np.nan, "d": {1}, 3: object, "e": np.array([np.inf])}
    found = strict(SafeJsonResponse(value).body)
    assert {name: found[name] for name in "abcde"} == {"a": 0.5, "b": [1, 2], "c": None, "d": [1], "e": [None]}
    assert found["3"].startswith("<class")


def test_a_refusal_is_its_status_and_one_sentence():
    answer = error_response(TooManyRequests("Busy.", 7))
    assert (answer.status_code, answer.headers["retry-after"], strict(answer.body)) == (429, "7", {"detail": "Busy."})
    assert error_response(NotFound("No.")).status_code == 404
    assert error_response(DataError("No.")).status_code == InvalidRequest.status == 422


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"loc": ("body", "a", 1, "b"), "msg": "Field required", "type": "missing"}, "a[1].b: field required."),
        ({"loc": ("query", "limit"), "msg": "Too large", "type": "x"}, "limit: too large."),
        ({"loc": ("body", 3), "msg": "x", "type": "json_invalid", "ctx": {"error": "Oops"}}, "Oops, at character 3."),
        ({"loc": ("body",), "msg": "x", "type": "missing"}, "must be a JSON object"),
        ({"loc": ("body", "text"), "msg": "x", "type": "extra_forbidden"}, "Did you mean 'texts'?"),
        (
            {"loc": ("query", "limits"), "msg": "x", "type": "extra_forbidden"},
            "Did you mean 'limit'? There are: limit.",
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(error, said):
    assert said in validation_message(error, ["limit"])
