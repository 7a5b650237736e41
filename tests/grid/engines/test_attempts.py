"""Which deaths count against a job on a cluster, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grid.tiny import write_tiny
from vmask.errors import WorkFailed
from vmask.grid.engines.contract import Finished
from vmask.grid.engines.ray import MOST_FAULTS, MOST_LOST, TRIES, Attempt, RayEngine
from vmask.grid.job import Job
from vmask.grid.run import Grid
from vmask.grid.spec import read_experiment
from vmask.grid.worker import Places


class NodeGone(Exception):
    """In place of Ray's."""


class Failed(Exception):
    """A job that a machine could not begin with, as Ray raises it."""

    def __init__(self):
        super().__init__()
        self.cause = ValueError("no vmask there")


@pytest.fixture
def tried(tmp_path):
    """A function that lets a job fail so many times: gives how often it was given again, and how it ended."""
    experiment, places = read_experiment(write_tiny(tmp_path)), Places(tmp_path / "results", tmp_path / "models")
    engine = RayEngine(experiment, places)
    engine.ray = SimpleNamespace(exceptions=SimpleNamespace(NodeDiedError=NodeGone))
    given = []
    engine._submit = given.append

    def fail(times, error, begun):
        attempt = Attempt(Job(Grid(experiment, places).tasks[0], {}))
        for _ in range(times):
            given.clear()
            ended = list(engine._try_again(Attempt(attempt.job, begun, attempt.died, attempt.lost), error))
            if ended:
                return ended
            (attempt,) = given
            assert not attempt.begun
        return []

    return fail


@pytest.mark.parametrize(
    ("error", "begun", "most", "said"),
    [
        (RuntimeError("killed"), True, TRIES, f"The worker died {TRIES} times. Was there enough memory? "),
        (RuntimeError("killed"), False, MOST_LOST, f"The machine was lost {MOST_LOST} times. killed"),
        (NodeGone("gone"), True, MOST_LOST, f"The machine was lost {MOST_LOST} times. gone"),
        (Failed(), False, TRIES, f"The job failed {TRIES} times before it began. no vmask there"),
    ],
)
def test_a_job_is_given_up_by_what_may_be_its_fault(tried, error, begun, most, said):
    assert tried(most - 1, error, begun) == []
    (event,) = tried(most, error, begun)
    assert isinstance(event, Finished)
    assert event.product.error.startswith(said)


def test_machines_that_can_do_no_job_end_the_grid(tried):
    for _ in range(MOST_FAULTS // TRIES - 1):
        tried(TRIES, Failed(), begun=False)
    with pytest.raises(WorkFailed, match="can do no job: no vmask there"):
        tried(TRIES, Failed(), begun=False)
