"""Explanations: which words of a text matter. One file a method; `contract.py` is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmask.registry import Registry

if TYPE_CHECKING:
    from vmask.explain.contract import Explainer

EXPLAINERS: Registry[Explainer] = Registry("explanation method", "vmask.explain", "Explainer")
