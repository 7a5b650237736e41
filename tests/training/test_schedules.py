"""Beta and the learning rate over the training."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import TrainConfig
from vmask.errors import ConfigError
from vmask.training.schedules import beta_at, rate_at


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"beta": 1.0, "beta_end": 0.0}, [1.0, 0.75, 0.5, 0.0]),
        ({"beta": 0.0, "beta_end": 1.0}, [0.0, 0.25, 0.5, 1.0]),
        ({"beta": 0.3, "beta_schedule": "constant", "beta_end": 0.9}, [0.3, 0.3, 0.3, 0.3]),
        ({"beta": 0.3}, [0.3, 0.3, 0.3, 0.3]),
        ({"beta": 1.0, "beta_end": 0.0, "beta_schedule": "cyclic", "beta_cycles": 2}, [1.0, 0.5, 1.0, 1.0]),
    ],
)
def test_known_schedules(options, expected):
    assert [beta_at(TrainConfig(**options), at) for at in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(expected)


def test_the_released_code_goes_down_by_0099_every_tenth():
    config = TrainConfig(beta=1.0, beta_end=0.109, beta_schedule="steps")
    values = [beta_at(config, epoch / 100) for epoch in range(100)]
    assert values == pytest.approx([1.0 - 0.099 * (epoch // 10) for epoch in range(100)])


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
