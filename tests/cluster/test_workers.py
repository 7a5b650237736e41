"""Workers share jobs and survive each other, here by a Ray that only pretends to start processes."""

from __future__ import annotations

import pickle

import pytest

from vmask import errors
from vmask.cluster import workers as module
from vmask.cluster.workers import IN_FLIGHT, TRIES, Workers
from vmask.config import WorkersConfig
from vmask.errors import ConfigError, DataError, ModelFolderError, UnknownName, WorkFailed


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__("a traceback")
        self.cause = cause


class Actor:
    """Does what it is asked when its result is fetched; a job that is a function is called, and may kill the actor."""

    def __init__(self, ray):
        self.ray, self.alive = ray, True
        ray.actors.append(self)

    @property
    def load(self):
        return Method(self, lambda *given: self.ray.loading(self))

    @property
    def do(self):
        return Method(self, lambda number, work, job: job(self) if callable(job) else work[0](job))


class Method:
    def __init__(self, actor, do):
        self.actor, self.call = actor, do

    def remote(self, *given):
        return Reference(self.actor, lambda: self.call(*given))


class Reference:
    def __init__(self, actor, do):
        self.actor, self.do = actor, do


class Exceptions:
    RayError, RayTaskError = RayError, RayTaskError


class Ray:
    """What `Workers` uses of Ray."""

    exceptions = Exceptions

    def __init__(self, resources=None, order=0, loading=lambda actor: None):
        self.resources = {"CPU": 2.0} if resources is None else resources
        self.order, self.loading, self.actors, self.asked_for = order, loading, [], {}

    def cluster_resources(self):
        return self.resources

    def put(self, value):
        return value

    def remote(self, cls):
        return self

    def options(self, **options):
        self.asked_for = options
        return Factory(self)

    def wait(self, references, num_returns, timeout):
        return [references[self.order]], []

    def get(self, reference):
        if not reference.actor.alive:
            raise RayError("The actor is dead.")
        return reference.do()

    def kill(self, actor):
        actor.alive = False


class Factory:
    def __init__(self, ray):
        self.ray = ray

    def remote(self):
        return Actor(self.ray)


def dies(actor):
    actor.alive = False
    raise RayError("The actor died unexpectedly.\nMore about it.")


def faulty(actor):
    raise RayTaskError(ZeroDivisionError("division by zero"))


@pytest.fixture(autouse=True)
def no_parcels(monkeypatch):
    monkeypatch.setattr(module, "pack_model", lambda path: path)


def pool(ray, **options):
    return Workers(ray, [], WorkersConfig(engine="ray", **options))


@pytest.mark.parametrize("order", [0, -1])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_jobs(count, order):
    # With order -1 the last thing that was begun is always done first.
    shared = pool(Ray(order=order), workers=count)
    assert list(shared.map(lambda job: 2 * job, range(30))) == [2 * job for job in range(30)]


def test_jobs_in_flight_are_bounded():
    taken = []
    results = pool(Ray(), workers=2).map(str, (taken.append(job) or job for job in range(100)))
    for number, _ in enumerate(results):
        assert len(taken) <= number + IN_FLIGHT * 2


def test_several_maps_share_the_workers():
    shared = pool(Ray(), workers=2)
    one = shared.map(lambda job: -job, range(50))
    other = shared.map(lambda job: job + 1, one)
    assert list(other) == [1 - job for job in range(50)]


def test_a_worker_that_dies_costs_only_its_jobs_which_another_does():
    deaths = []

    def dies_twice(actor):
        if len(deaths) < TRIES - 1:
            deaths.append(actor)
            dies(actor)
        return "alive"

    ray = Ray()
    shared = pool(ray, workers=2)
    assert list(shared.map(str, [1, 2, dies_twice, 4, 5])) == ["1", "2", "alive", "4", "5"]
    assert len(set(deaths)) == TRIES - 1
    assert len(ray.actors) == 2 + TRIES - 1


def test_a_job_at_which_workers_die_is_named_after_some_tries_and_those_before_it_are_done():
    class Bad:
        def __call__(self, actor):
            dies(actor)

        def __str__(self):
            return "texts 3 to 4"

    ray = Ray()
    results = pool(ray, workers=2).map(str, [1, 2, Bad(), 4])
    assert [next(results), next(results)] == ["1", "2"]
    with pytest.raises(WorkFailed, match=r"has died 3 times at texts 3 to 4: The actor died unexpectedly\. "):
        next(results)


def test_the_next_job_of_a_worker_that_dies_is_not_blamed():
    # All jobs are given to one worker, the bad one first.
    ray = Ray()
    shared = pool(ray, workers=1)
    results = shared.map(str, [dies, 2])
    with pytest.raises(WorkFailed):
        next(results)
    assert list(shared.map(str, [2])) == ["2"]


def test_an_error_of_the_user_is_raised_as_it_is_and_a_fault_too():
    results = pool(Ray(), workers=1).map(str, [1, lambda actor: DataError("It cannot be read.")])
    assert next(results) == "1"
    with pytest.raises(DataError, match="It cannot be read"):
        next(results)
    with pytest.raises(ZeroDivisionError):
        list(pool(Ray(), workers=1).map(str, [faulty]))


def test_workers_that_cannot_load_say_why():
    damaged = Ray(loading=lambda actor: ModelFolderError("The folder is damaged."))
    with pytest.raises(ModelFolderError, match="is damaged"):
        list(pool(damaged, workers=2).map(str, [1]))
    with pytest.raises(ZeroDivisionError):
        list(pool(Ray(loading=faulty), workers=2).map(str, [1]))


def test_workers_that_die_while_they_start_are_not_started_for_ever():
    ray = Ray(loading=dies)
    with pytest.raises(WorkFailed, match="do not start: The actor died unexpectedly"):
        list(pool(ray, workers=2).map(str, [1]))
    assert len(ray.actors) <= 2 + 2 * TRIES


def test_the_others_go_on_without_a_worker_that_does_not_start():
    def bad_machine(actor):
        if actor is not ray.actors[0]:
            dies(actor)

    ray = Ray(loading=bad_machine)
    assert list(pool(ray, workers=2).map(str, range(5))) == list("01234")
    assert len(ray.actors) <= 1 + 2 * TRIES


def test_all_workers_are_ended():
    ray = Ray()
    shared = pool(ray, workers=3)
    assert next(shared.map(str, range(10))) == "0"
    shared.close()
    assert not any(actor.alive for actor in ray.actors)


@pytest.mark.parametrize(
    ("resources", "device", "options", "count", "gpus"),
    [
        ({"CPU": 4.0}, "auto", {}, 4, 0),
        ({"CPU": 4.0}, "auto", {"workers": 9}, 9, 0),
        ({}, "cpu", {}, 1, 0),
        ({"CPU": 8.0, "GPU": 2.0}, "auto", {}, 2, 1),
        ({"CPU": 8.0, "GPU": 2.0}, "cuda", {"gpus": 0.5}, 4, 0.5),
        ({"CPU": 8.0, "GPU": 2.0}, "cpu", {}, 8, 0),
    ],
)
def test_there_are_as_many_workers_as_the_cluster_has_room_for(resources, device, options, count, gpus):
    ray = Ray(resources)
    assert Workers(ray, [], WorkersConfig(engine="ray", **options), device).count == count == len(ray.actors)
    assert ray.asked_for["num_gpus"] == gpus


@pytest.mark.parametrize(
    ("device", "gpus", "message"),
    [
        ("cuda", None, "needs 1 GPU, and the cluster has none"),
        ("cuda", 2.0, "needs 2 GPU"),
        ("cpu", 1.0, "--gpus is for --device cuda"),
        ("auto", 1.0, "--gpus is for --device cuda"),
    ],
)
def test_a_gpu_that_is_not_there_is_said(device, gpus, message):
    with pytest.raises(ConfigError, match=message):
        Workers(Ray(), [], WorkersConfig(engine="ray", gpus=gpus), device)


@pytest.mark.parametrize(
    "error",
    [
        errors.NoWordScores(),
        UnknownName("mask", "vmsk", ["vmask"]),
        errors.MissingExtra("a", "b"),
        errors.FileMissing("There is no file."),
        ConfigError("It is wrong."),
    ],
)
def test_errors_travel_between_processes(error):
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert str(other) == str(error)
