"""Warm starts of trainings in two stages: the first stage, without a mask, is a cell of its own, trained only once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vmask.classifier import TextClassifier
from vmask.grid.cell import Cell, Combination
from vmask.grid.experiment import Experiment
from vmask.grid.word_lists import WORD_LISTS
from vmask.training.fit import FIRST


def start_of(experiment: Experiment, cell: Cell) -> Cell | None:
    """The cell whose model equals the result of the first of two stages, if the experiment has it.

    The result is the same to the last bit: the second stage draws from streams of its own.
    """
    of = cell.combination
    plain = {name: value for name, value in of.options.items() if name not in WORD_LISTS}  # these change no stage
    if of.mask == FIRST or not _two_stages(of.model, of.mask, json.dumps(plain)):
        return None
    for start in experiment.cells:
        if start.seed == cell.seed and _is_first_stage(start.combination, of):
            return None if _searched(experiment, cell, start) else start
    return None


def _is_first_stage(start: Combination, of: Combination) -> bool:
    """Whether a combination is the first of another's two stages: the same but for the mask and its options."""
    if start.mask != FIRST or (start.dataset, start.model) != (of.dataset, of.model):
        return False
    own: Mapping[str, Any] = {name: value for name, value in of.options.items() if not name.startswith("mask__")}
    return start.options == own


@lru_cache(maxsize=1000)  # called many times by a grid
def _two_stages(model: str, mask: str, options: str) -> bool:
    """Whether both stages are trained with these options, given as JSON."""
    train = TextClassifier(model, mask, device="cpu", **json.loads(options)).plan().train
    return train.stages == 2 and train.init_from is None


def _searched(experiment: Experiment, *cells: Cell) -> bool:
    """Whether the options of any of the cells are searched for: then the two stages may have different ones."""
    return any(experiment.searches_for(cell.combination) for cell in cells)
