"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import warnings
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vmask"
MODULES = [
    ".".join(("vmask", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


LONG = {"vmask.classifier"}
"""Modules whose examples train a model as users do."""
CASES = [pytest.param(name, marks=[pytest.mark.full] if name in LONG else []) for name in MODULES]


@pytest.mark.parametrize("name", CASES)
def test_examples(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tiny training may leave its masks alike
        result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
