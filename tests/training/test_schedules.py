"""Beta and the learning rate over the training."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import TrainConfig
from vmask.errors import ConfigError
from vmask.training.run_config import make_plan
from vmask.training.schedules import beta_at, beta_moves_until, rate_at


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"beta": 1.0, "beta_end": 0.0}, [1.0, 0.75, 0.5, 0.0]),
        ({"beta": 0.0, "beta_end": 1.0}, [0.0, 0.25, 0.5, 1.0]),
        ({"beta": 0.3, "beta_schedule": "constant", "beta_end": 0.9}, [0.3, 0.3, 0.3, 0.3]),
        ({"beta": 0.3}, [0.3, 0.3, 0.3, 0.3]),
        ({"beta": 1.0, "beta_end": 0.0, "beta_schedule": "cyclic", "beta_cycles": 2}, [1.0, 0.5, 1.0, 0.0]),
        ({"beta": 1.0, "beta_end": 0.0, "anneal_until": 0.5}, [1.0, 0.5, 0.0, 0.0]),
    ],
)
def test_known_schedules(options, expected):
    config = TrainConfig(**{"anneal_until": 1.0, **options})
    assert [beta_at(config, at) for at in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(expected)


def test_the_released_code_goes_down_by_0099_every_tenth():
    config = make_plan("cnn", "vmask", preset="paper_code").train
    values = [beta_at(config, epoch / 100) for epoch in range(100)]
    assert values == pytest.approx([1.0 - 0.099 * (epoch // 10) for epoch in range(100)])


@pytest.mark.parametrize("schedule", ["linear", "constant", "cyclic", "steps"])
@pytest.mark.parametrize("anneal_until", [0.1, 0.75, 1.0])
def test_beta_does_not_move_where_the_schedule_says_that_it_is_over(schedule, anneal_until):
    config = TrainConfig(beta=1.0, beta_end=0.01, beta_schedule=schedule, anneal_until=anneal_until)
    over = beta_moves_until(config)
    assert {beta_at(config, over + (1 - over) * at) for at in (0.001, 0.3, 1.0)} == {beta_at(config, 1.0)}
    assert beta_at(config, 1.0) == pytest.approx(1.0 if schedule == "constant" else 0.01)
    assert schedule == "constant" or beta_at(config, over * 0.5) > 0.01


@given(st.floats(0, 10), st.floats(0, 10), st.sampled_from(["linear", "constant", "cyclic", "steps"]), st.floats(0, 1))
def test_beta_stays_between_its_ends(start, end, schedule, progress):
    value = beta_at(TrainConfig(beta=start, beta_end=end, beta_schedule=schedule), progress)
    assert min(start, end) - 1e-9 <= value <= max(start, end) + 1e-9


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 1, 1, 1, 1, 1]),
        ({"warmup": 0.2}, [0, 0.5, 1, 1, 1, 1]),
        ({"learning_rate_schedule": "linear"}, [1, 0.9, 0.8, 0.6, 0.2, 0]),
        ({"learning_rate_schedule": "linear", "warmup": 0.2}, [0, 0.5, 1, 0.75, 0.25, 0]),
        ({"learning_rate_schedule": "linear", "warmup": 0.1}, [0, 1, 8 / 9, 6 / 9, 2 / 9, 0]),
    ],
)
def test_known_learning_rates(options, expected):
    config = TrainConfig(**options)
    assert [rate_at(config, at) for at in (0.0, 0.1, 0.2, 0.4, 0.8, 1.0)] == pytest.approx(expected)


@given(st.floats(0, 0.99), st.sampled_from(["constant", "linear"]), st.floats(0, 1))
def test_the_learning_rate_is_never_above_its_own_nor_below_zero(warmup, schedule, progress):
    assert 0 <= rate_at(TrainConfig(warmup=warmup, learning_rate_schedule=schedule), progress) <= 1


@pytest.mark.parametrize("warmup", [-0.1, 1.0, float("nan")])
def test_a_warmup_that_never_ends_is_refused(warmup):
    with pytest.raises(ConfigError, match="warmup is"):
        TrainConfig(warmup=warmup)
