"""Classifiers that a word mask can be put into. One file a model; `contract.py` is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmask.registry import Registry

if TYPE_CHECKING:
    from vmask.models.contract import Encoder

MODELS: Registry[Encoder] = Registry("model", "vmask.models", "Encoder")
