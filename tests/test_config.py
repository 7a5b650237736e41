"""Options: declared once, read strictly, the same after a round trip."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import (
    ClusterConfig,
    DataConfig,
    EvaluateConfig,
    ExplainConfig,
    TrainConfig,
    WorkersConfig,
    choices_of,
    help_of,
    item_type,
    make,
    most_of,
    option,
    scalar_type,
    to_dict,
)
from vmask.errors import ConfigError, UnknownName
from vmask.evaluation.planted import PlantOptions
from vmask.explain import EXPLAINERS
from vmask.masks import MASKS
from vmask.metrics import METRICS
from vmask.models import MODELS
from vmask.training.run_config import Plan, make_plan

CLASSES = [DataConfig, TrainConfig, *(r.get(n).Options for r in (MASKS, MODELS) for n in r.names())]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_option_has_help_a_type_and_a_working_default(cls):
    for f in dataclasses.fields(cls):
        assert len(help_of(f)) > 10, f.name
        assert scalar_type(cls, f.name) in (int, float, str, bool, tuple)
    assert make(cls, to_dict(cls())) == cls()


def test_choices_are_read_from_the_type():
    assert choices_of(TrainConfig, "select") == ("accuracy", "macro_f1", "micro_f1")
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
        ({"beta": float("nan")}, "a number of at most 1,000,000"),
        ({"learning_rate": float("nan")}, "a number of at most"),
        ({"learning_rate": float("inf")}, "a number of at most"),
        ({"learning_rate": 10**400}, "a number of at most"),
        ({"epochs": 10**12}, "at most 100,000"),
        ({"epochs": 10**5000}, "is a number of more than 1,500 digits; it must be"),
        ({"init_from": "\udfff"}, "half a character"),
        ({"select": "acuracy"}, "Did you mean 'accuracy'"),
        ({"pad_to_max": "yes"}, "type bool"),
        ({"epochs": None}, "type int"),
    ],
)
def test_wrong_options_say_what_is_wrong(values, message):
    with pytest.raises(ConfigError, match=message):
        make(TrainConfig, values)


ALL = [
    *CLASSES,
    *(ExplainConfig, EvaluateConfig, ClusterConfig, WorkersConfig, PlantOptions),
    *(r.get(n).Options for r in (EXPLAINERS, METRICS) for n in r.names()),
]


def numbers(cls):
    """The fields of a class that are numbers or lists of numbers."""
    return [
        f
        for f in dataclasses.fields(cls)
        if scalar_type(cls, f.name) in (int, float, tuple) and item_type(cls, f.name) is not str
    ]


@pytest.mark.parametrize(
    ("cls", "name"), [(cls, f.name) for cls in ALL for f in numbers(cls)], ids=lambda v: getattr(v, "__name__", v)
)
def test_every_number_has_a_limit_and_the_message_says_it(cls, name):
    (f,) = (f for f in numbers(cls) if f.name == name)
    kind = scalar_type(cls, name)
    too_large = [most_of(f) + 1, -most_of(f) - 1, 10**30, 10**5000]
    if kind is float:
        too_large += [float("nan"), float("inf"), -float("inf")]
    for value in too_large:
        with pytest.raises(ConfigError, match=f"{name} is .*at most {most_of(f):,}"):
            make(cls, {name: (1, value) if kind is tuple else value})
    if kind is tuple:
        with pytest.raises(ConfigError, match="at most 1,000"):
            make(cls, {name: [1] * 1_000_000})


def test_a_list_of_words_has_a_limit_too():
    with pytest.raises(ConfigError, match="hide_words has 1,000,001 entries; it must have at most 1,000,000"):
        make(DataConfig, {"hide_words": ["a"] * 1_000_001})
    with pytest.raises(ConfigError, match="hide_words has 1 in it; it must have entries of type str"):
        make(DataConfig, {"hide_words": [1]})


def test_an_option_that_declares_no_limit_has_one():
    @dataclasses.dataclass(frozen=True)
    class Plugin:
        size: int = option(10, "of a plug-in")
        bytes: int = option(4 << 20, "of a plug-in")
        plain: int = 3

    globals()["Plugin"] = Plugin  # where its annotations are looked up
    assert make(Plugin, {"size": 1_000_000}).size == 1_000_000
    assert make(Plugin, {"bytes": 1 << 30}).bytes == 1 << 30
    for name in ("size", "bytes", "plain"):
        with pytest.raises(ConfigError, match="at most"):
            make(Plugin, {name: 10**12})


def test_sizes_that_are_too_large_together_are_refused_before_they_take_memory():
    plan = make_plan("cnn", "base", model__filters=100_000, model__widths=[500, 500])
    with pytest.raises(ConfigError, match="weights; at most 1,000,000,000"):
        plan.build(torch.zeros(5, 300), False, 2)
    with pytest.raises(ConfigError, match="pad_to_max"):
        make_plan("cnn", "base", batch_size=1_000_000, max_words=100_000, pad_to_max=True)


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"workers": 0}, "workers is 0; it must be at least 1"),
        ({"workers": -3, "engine": "ray"}, "workers is -3; it must be at least 1"),
        ({"address": "auto"}, "--address is for --engine ray"),
        ({"gpus": 0.5}, "--gpus is for --engine ray"),
        ({"gpus": 0.0, "engine": "ray"}, "gpus is 0.0; it must be above 0"),
        ({"engine": "rya"}, "Did you mean 'ray'"),
    ],
)
def test_options_of_a_cluster_that_cannot_work_say_why(values, message):
    with pytest.raises(ConfigError, match=message):
        make(WorkersConfig, values)
