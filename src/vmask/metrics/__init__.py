"""Measures of predictions and explanations. One file a metric; `contract.py` is what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vmask.registry import Registry

if TYPE_CHECKING:
    from vmask.metrics.contract import Metric

METRICS: Registry[Metric] = Registry("metric", "vmask.metrics", "Metric")
