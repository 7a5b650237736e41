"""One Ray for all tests of a session, and a model that its workers load."""

from __future__ import annotations

import logging

import pytest

from processes import below_here, title, wait_until_gone
from toy import toy_texts, write_csv


@pytest.fixture(scope="session")
def ray_here(tmp_path_factory):
    """A cluster of this machine alone, to which everything in this process connects."""
    from vmask.cluster.connection import import_ray

    patch = pytest.MonkeyPatch()
    patch.setenv("VMASK_CACHE", str(tmp_path_factory.mktemp("cache")))  # of the workers
    patch.delenv("RAY_ADDRESS", raising=False)
    before = set(below_here())
    ray = import_ray()
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=200 << 20,
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    yield ray
    started = {pid for pid in set(below_here()) - before if "resource_tracker" not in title(pid)}  # of other tests
    ray.shutdown()
    patch.undo()
    assert wait_until_gone(started) == []


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """A CSV with texts of several lengths and their labels."""
    texts, labels = toy_texts(90)
    texts = [" ".join(texts[number : number + 1 + number % 3]) for number in range(len(texts))]
    return write_csv(tmp_path_factory.mktemp("many") / "many.csv", texts, labels)
