"""Beta over the training."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.config import TrainConfig
from vmask.training.schedules import beta_at


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
