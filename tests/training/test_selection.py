"""Which epochs compete, and which of them is chosen."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vmask.config import TrainConfig
from vmask.errors import ConfigError
from vmask.masks import MASKS
from vmask.training.run_config import make_plan
from vmask.training.selection import Selection, objective_moves_until, with_enough_epochs

FALLS = {"beta": 1.0, "beta_end": 0.01, "anneal_until": 0.75}
PENALISED = SimpleNamespace(penalised=True, anneals=False)
PLAIN = SimpleNamespace(penalised=False, anneals=False)
WITH_TEMPERATURE = SimpleNamespace(penalised=False, anneals=True)


def rows(*scores):
    return [{"dev_accuracy": score} for score in scores]


@pytest.mark.parametrize(
    ("options", "mask", "first"),
    [
        (FALLS, PENALISED, 16),
        (FALLS, PLAIN, 1),  # a first stage without a mask has the options of the second
        ({**FALLS, "beta_schedule": "constant"}, PENALISED, 1),
        ({**FALLS, "beta_end": 1.0}, PENALISED, 1),
        ({**FALLS, "beta_schedule": "steps", "anneal_until": 1.0}, PENALISED, 19),  # the last of ten steps
        ({**FALLS, "beta_schedule": "cyclic"}, PENALISED, 16),
        ({**FALLS, "anneal_until": 1.0}, PENALISED, 20),  # only the last epoch ends with the schedule
        ({}, WITH_TEMPERATURE, 16),
        ({**FALLS, "select_from": 0.0}, PENALISED, 1),
        ({**FALLS, "select_from": 0.5}, PENALISED, 11),
        ({"select_from": 0.5}, PLAIN, 11),
        ({"select_from": 0.999}, PLAIN, 20),
    ],
)
def test_the_first_epoch_that_competes(options, mask, first):
    selection = Selection.of(TrainConfig(epochs=20, **options), mask)
    assert selection.first == first
    assert [selection.competes(epoch) for epoch in (first - 1, first)] == [False, True]


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 20, 100])
def test_an_epoch_competes_whatever_their_number_and_none_before_beta_is_at_its_end(epochs):
    selection = Selection.of(TrainConfig(epochs=epochs, **FALLS), PENALISED)
    assert 1 <= selection.first <= epochs
    assert selection.first == epochs or (selection.first - 1) / epochs >= 0.75


def test_a_better_score_before_the_annealing_ended_is_not_chosen():
    selection = Selection("dev_accuracy", first=3)
    assert selection.best(rows(0.9, 0.9, 0.5, 0.6, 0.5)) == 4


def test_the_last_one_is_kept_while_none_competes():
    selection = Selection("dev_accuracy", first=3)
    assert [selection.best(rows(*[0.5] * n)) for n in range(4)] == [0, 1, 2, 3]


def test_ties_go_to_the_later_epoch_where_the_objective_moves_and_else_to_the_first():
    history = rows(0.1, 0.7, 0.7, 0.2)
    assert Selection("dev_accuracy").best(history) == 2
    assert Selection("dev_accuracy", last_of_equals=True).best(history) == 3
    assert Selection.of(TrainConfig(**FALLS), PENALISED).last_of_equals
    assert not Selection.of(TrainConfig(**FALLS), PLAIN).last_of_equals
    assert not Selection.of(TrainConfig(**FALLS, select_from=0.0), PENALISED).last_of_equals


def test_an_epoch_that_keeps_to_the_constraint_of_the_mask_goes_before_a_better_one_that_does_not():
    selection = Selection("dev_accuracy", first=2)
    history = [
        {"dev_accuracy": score, "excess": excess}
        for score, excess in ((0.9, 0.0), (0.8, 0.1), (0.5, 0.0), (0.6, 0.0), (0.55, 0.0))
    ]
    assert selection.best(history) == 4
    missed = [{"dev_accuracy": score, "excess": excess} for score, excess in ((0.1, 0.2), (0.9, 0.2), (0.5, 0.1))]
    assert selection.best(missed) == 3


def test_patience_counts_from_the_first_epoch_that_competes():
    selection = Selection("dev_accuracy", first=4, patience=2)
    worse = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    assert [selection.is_over(rows(*worse[:n])) for n in range(7)] == [False] * 6 + [True]
    assert not Selection("dev_accuracy", patience=0).is_over(rows(*worse))


def test_the_score_is_the_one_that_was_asked_for():
    assert Selection.of(TrainConfig(select="macro_f1"), PLAIN).score == "dev_macro_f1"


def test_small_data_is_passed_over_more_often():
    config = TrainConfig(epochs=20, batch_size=50, min_steps=1000, **FALLS)
    assert with_enough_epochs(config, PENALISED, 160).epochs == 250  # four steps each
    assert with_enough_epochs(config, PENALISED, 100_000).epochs == 20
    assert with_enough_epochs(config, PLAIN, 160).epochs == 20


def test_epochs_that_are_named_hold():
    assert make_plan("cnn", "vmask").train.min_steps > 0
    assert make_plan("cnn", "vmask", epochs=3).train.min_steps == 0
    assert make_plan("cnn", "vmask", epochs=3, min_steps=50).train.min_steps == 50
    assert make_plan("cnn", "vmask", preset="paper_code").train.min_steps == 0


def test_which_methods_have_an_objective_that_moves():
    moving = {
        name
        for name in MASKS.names()
        if objective_moves_until(make_plan("cnn", name).train, MASKS.get(name)(4, make_plan("cnn", name).mask_options))
    }
    assert moving == {"vmask", "select"}


@pytest.mark.parametrize(
    "options", [{"select_from": 1.0}, {"select_from": -0.1}, {"anneal_until": 0.0}, {"anneal_until": 1.1}]
)
def test_shares_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        TrainConfig(**options)
