"""Options: declared once, read strictly, the same after a round trip."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import DataConfig, TrainConfig, choices_of, help_of, make, scalar_type, to_dict
from vmask.errors import ConfigError, UnknownName
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.plan import Plan, make_plan

CLASSES = [DataConfig, TrainConfig, *(r.get(n).Options for r in (MASKS, MODELS) for n in r.names())]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_option_has_help_a_type_and_a_working_default(cls):
    for f in dataclasses.fields(cls):
        assert len(help_of(f)) > 10, f.name
        assert scalar_type(cls, f.name) in (int, float, str, bool, tuple)
    assert make(cls, to_dict(cls())) == cls()


def test_choices_are_read_from_the_type():
    assert choices_of(TrainConfig, "select") == ("accuracy", "macro_f1")
    assert choices_of(DataConfig, "cleaning") == ("paper", "gentle")
    assert choices_of(TrainConfig, "epochs") == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epoch": 3}, "Did you mean 'epochs'"),
        ({"epochs": 0}, "above 0"),
        ({"epochs": 2.5}, "type int"),
        ({"epochs": True}, "type int"),
        ({"beta": -1.0}, "at least 0"),
        ({"beta": float("nan")}, "at least 0"),
        ({"learning_rate": float("nan")}, "above 0"),
        ({"learning_rate": float("inf")}, "above 0"),
        ({"select": "acuracy"}, "Did you mean 'accuracy'"),
        ({"pad_to_max": "yes"}, "type bool"),
        ({"epochs": None}, "type int"),
    ],
)
def test_wrong_options_say_what_is_wrong(values, message):
    with pytest.raises(ConfigError, match=message):
        make(TrainConfig, values)


def test_whole_numbers_and_lists_are_taken_where_they_fit():
    import numpy as np

    assert make(TrainConfig, {"beta": 1}).beta == 1.0
    assert make(TrainConfig, {"epochs": np.int64(3)}).epochs == 3
    assert make(MODELS.get("cnn").Options, {"widths": [2, 3]}).widths == (2, 3)


def test_the_users_options_beat_the_recipe_and_the_recipe_beats_the_default():
    assert TrainConfig().beta == 0.0
    assert make_plan("cnn", "vmask").train.beta == 1.0
    assert make_plan("cnn", "vmask", beta=0.2).train.beta == 0.2
    assert make_plan("cnn", "l2").train.weight_decay > 0
    assert make_plan("cnn", "base").train.weight_decay == 0


def test_the_preset_lies_between_recipe_and_user():
    plan = make_plan("lstm", "vmask", "paper_code", mask__hidden=7)
    assert plan.model_options.double_softmax
    assert plan.train.beta_schedule == "steps"
    assert plan.mask_options.penalty_over == "all"
    assert plan.mask_options.hidden == 7
    assert make_plan("cnn", "vmask", "paper_code").mask_options.hidden == 500
    assert make_plan("cnn", "base", "paper_code").train.learning_rate == 0.01  # no mask, so no option of one
    with pytest.raises(UnknownName, match="Did you mean 'paper_code'"):
        make_plan("cnn", "base", "paper_cod")


@given(
    model=st.sampled_from(MODELS.names()),
    mask=st.sampled_from(MASKS.names()),
    preset=st.sampled_from([None, "paper_code"]),
    epochs=st.integers(1, 99),
)
def test_a_plan_survives_json(model, mask, preset, epochs):
    plan = make_plan(model, mask, preset, epochs=epochs)
    assert Plan.from_dict(plan.to_dict()) == plan


def test_an_unknown_nested_option_names_the_nearest():
    with pytest.raises(ConfigError, match=r"Unknown option 'mask__hiden'\. Did you mean 'hidden'"):
        make_plan("cnn", "vmask", mask__hiden=3)
