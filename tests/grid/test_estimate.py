"""How long work may take: by pieces of the same dataset, else by others in the proportion of the words."""

from __future__ import annotations

import pytest

from toy import toy_texts, write_csv
from vmask.data.datasets import load_dataset
from vmask.grid.cell import Cell, Combination
from vmask.grid.estimate import Estimator, Factors, Size, size_of_dataset, size_of_record
from vmask.grid.experiment import Stage
from vmask.grid.store import Store
from vmask.grid.task import Task

SIZES = {
    "short": Size({"train": 100, "dev": 10, "test": 50}, 10.0),
    "long": Size({"train": 200, "dev": 10, "test": 20}, 30.0),
}
LOCAL = Stage("local", n=40)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def note(store, dataset, seconds, stage="train", mask="base", seed=0, **asked):
    cell = {"dataset": dataset, "model": "cnn", "mask": mask, "variant": "", "seed": seed}
    record = {"cell": cell, "stage": stage, "status": "done", "asked": asked, "seconds": seconds}
    store.write(store.cell(f"{dataset}--cnn--{mask}--s{seed}", stage), record)


def task(dataset, stage=None, mask="base", seed=9):
    return Task(Cell(Combination(dataset, "cnn", mask), seed), stage)


def left(store, *tasks, sizes=SIZES):
    """The estimates of tasks together, and the number of tasks without one."""
    estimator = Estimator(store, sizes.get)
    seconds = [estimator.seconds(task) for task in tasks]
    return sum(filter(None, seconds)), seconds.count(None)


def test_pieces_of_the_same_method_count_before_those_of_others(store):
    for seed, seconds in enumerate((10.0, 20.0)):
        note(store, "short", seconds, seed=seed)
        note(store, "short", 40.0, mask="vmask", seed=seed)
    assert left(store, task("short")) == (15.0, 0)
    assert left(store, task("short", mask="vmask")) == (40.0, 0)
    assert left(store, task("short", mask="l2")) == (pytest.approx((10 * 20 * 40 * 40) ** 0.25), 0), "by the others"
    assert left(store, task("short"), task("short", mask="vmask")) == (55.0, 0)


def test_what_a_method_costs_on_one_dataset_is_expected_on_another(store):
    """Words alone would say that both methods take the same."""
    for seed in range(20):
        note(store, "short", 10.0, seed=seed)
        note(store, "short", 40.0, mask="vmask", seed=seed)
        note(store, "long", 100.0, seed=seed)
    assert left(store, task("long", mask="vmask")) == (pytest.approx(400.0, rel=0.05), 0)


def test_what_was_just_done_is_learnt_from(store):
    note(store, "short", 10.0)
    estimator = Estimator(store, SIZES.get)
    assert estimator.seconds(task("long", mask="vmask")) == pytest.approx(60.0)
    estimator.add(task("short", mask="vmask"), 40.0)
    assert estimator.seconds(task("short", mask="vmask")) == 40.0
    assert estimator.seconds(task("long", mask="vmask")) > 70.0
    estimator.add(task("short", LOCAL), 3.0)
    assert estimator.seconds(task("short", LOCAL)) == 3.0


def test_factors_add_up_and_an_unseen_level_has_none():
    rows = [((a, b), x + y) for a, x in (("a", 0.0), ("b", 2.0)) for b, y in (("c", 0.0), ("d", 1.0))] * 50
    factors = Factors(rows)
    for levels, number in rows[:4]:
        assert factors.predict(levels) == pytest.approx(number, abs=0.01)
    assert factors.predict(("new", "new")) == pytest.approx(1.5)


def test_a_training_on_other_data_takes_as_long_as_its_words(store):
    note(store, "short", 10.0)
    note(store, "short", 14.0, seed=1)
    assert left(store, task("long")) == (pytest.approx(140**0.5 * 6), 0)  # 200 texts of 30 words for 100 of 10


def test_a_stage_on_other_data_goes_by_the_texts_that_it_explains(store):
    note(store, "short", 8.0, stage="local", n=40)
    assert left(store, task("long", LOCAL)) == (pytest.approx(8.0 * 20 * 30 / (40 * 10)), 0)  # it has 20 texts


def test_where_a_size_is_not_known_nothing_is_scaled(store):
    note(store, "short", 10.0)
    assert left(store, task("else")) == (pytest.approx(10.0), 0)
    assert left(store, task("long"), sizes={"long": SIZES["long"]}) == (pytest.approx(10.0), 0)


def test_what_has_nothing_to_go_by_is_counted(store):
    note(store, "short", 10.0)
    assert left(store, task("short"), task("short", LOCAL)) == (10.0, 1)


def test_trials_tell_how_long_a_training_takes_until_one_is_done(store):
    search = {"dataset": "short", "model": "cnn", "mask": "base"}
    trials = [{"seconds": 4.0}, {"seconds": 6.0}]
    store.write(store.search("short--cnn--base"), {"status": "done", "combination": search, "trials": trials})
    assert left(store, task("short")) == (5.0, 0)
    assert left(store, Task(Combination("short", "cnn", "base"))) == (10.0, 0)
    note(store, "short", 7.0)
    assert left(store, task("short")) == (7.0, 0)


def test_what_failed_says_nothing_about_time(store):
    store.write(store.cell("short--cnn--base--s0"), {"status": "failed", "seconds": 1.0})
    assert left(store, task("short")) == (0.0, 1)


def test_the_size_of_a_dataset_is_read_or_counted(tmp_path):
    described = {"rows": {"train": 5, "test": 2}, "average_length": 268.4, "max_words": 250}
    assert size_of_record(described) == Size({"train": 5, "test": 2}, 250.0)
    assert size_of_record({**described, "max_words": None}).length == 268.4
    texts, labels = toy_texts(60)
    write_csv(tmp_path / "reviews.csv", texts, labels)
    size = size_of_dataset(load_dataset(tmp_path / "reviews.csv"))
    assert sum(size.rows.values()) == 60
    assert min(len(text.split()) for text in texts) <= size.length <= max(len(text.split()) for text in texts)
