"""Trackers: where the course of a training is written to. One file a tracker; `contract.py` is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmask.registry import Registry

if TYPE_CHECKING:
    from vmask.trackers.contract import Tracker

TRACKERS: Registry[Tracker] = Registry("tracker", "vmask.trackers", "Tracker")
