"""Word masks: how much of each word the classifier sees. One file a method; `contract.py` is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmask.registry import Registry

if TYPE_CHECKING:
    from vmask.masks.contract import WordMask

MASKS: Registry[WordMask] = Registry("mask", "vmask.masks", "WordMask")
