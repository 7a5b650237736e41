"""The tasks of an experiment, in the order in which they are started, and which of them a task needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vmask.grid.cell import Cell, Combination
from vmask.grid.experiment import Experiment, Where
from vmask.grid.task import Task
from vmask.grid.warm_start import start_of


def tasks_of(experiment: Experiment, where: Where) -> Iterator[Task]:
    """All tasks: dataset by dataset the searches, then the trainings, then the stages, low seeds first.

    So the cells of an early block of the grid are complete before a later block begins.
    """
    chosen = [cell for cell in experiment.cells if where.fits(cell)]
    stages = {
        cell: [
            Task(cell, stage, experiment.ranker_of(cell, stage), experiment.confident_of(cell, stage))
            for stage in experiment.stages_of(cell)
        ]
        for cell in chosen
    }
    needed = {*chosen, *(other for tasks in stages.values() for task in tasks for other in task.others)}
    needed |= {start for cell in needed if (start := start_of(experiment, cell)) is not None}
    for block in _blocks([cell for cell in experiment.cells if cell in needed]):
        for of in dict.fromkeys(cell.combination for cell in block):
            yield from (Task(searched) for searched in experiment.searches_for(of))
        ordered = sorted(block, key=lambda cell: cell.seed)
        yield from (Task(cell) for cell in ordered)
        for name in dict.fromkeys(stage.name for stage in experiment.stages):
            for cell in ordered:
                yield from (task for task in stages.get(cell, ()) if task.kind == name)


def _blocks(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Consecutive cells of one dataset."""
    block: list[Cell] = []
    for cell in cells:
        if block and cell.combination.dataset != block[-1].combination.dataset:
            yield block
            block = []
        block.append(cell)
    if block:
        yield block


def needs_of(task: Task, experiment: Experiment) -> list[Task]:
    """The tasks that must be done before a task."""
    if isinstance(task.of, Combination):
        return []
    if task.stage is None:
        needs = [Task(searched) for searched in experiment.searches_for(task.of.combination)]
        if (start := start_of(experiment, task.of)) is not None:
            needs.append(Task(start))
        return needs
    return [Task(cell) for cell in dict.fromkeys((task.of, *task.others))]
