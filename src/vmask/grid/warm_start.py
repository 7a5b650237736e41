"""Trainings in two stages: the first, without a mask, is a cell of its own, and need not be trained for every mask."""

from __future__ import annotations

import dataclasses
import json
from functools import lru_cache

from vmask.classifier import TextClassifier
from vmask.grid.cell import Cell
from vmask.grid.spec import Experiment
from vmask.training.fit import FIRST


def start_of(experiment: Experiment, cell: Cell) -> Cell | None:
    """The cell whose model is what the first of two stages would make, where the experiment has it.

    The result is the same to the last bit: the second stage draws from streams of its own.
    """
    of = cell.combination
    if of.mask == FIRST or not _two_stages(of.model, of.mask, json.dumps(dict(of.options))):
        return None
    wanted = dataclasses.replace(of, mask=FIRST)
    there = (one for one in experiment.cells if one.seed == cell.seed and one.combination == wanted)
    return next((one for one in there if not _searched(experiment, cell, one)), None)


@lru_cache(maxsize=1000)  # a grid asks again and again
def _two_stages(model: str, mask: str, options: str) -> bool:
    """Whether both stages are trained, by options as JSON."""
    train = TextClassifier(model, mask, device="cpu", **json.loads(options)).plan().train
    return train.stages == 2 and train.init_from is None


def _searched(experiment: Experiment, *cells: Cell) -> bool:
    """Whether options of any of them are searched for: then the two stages may differ in theirs."""
    search = experiment.search
    return search is not None and any(len(search.trials(cell.combination)) > 1 for cell in cells)
