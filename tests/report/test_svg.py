"""Scales, ticks and points."""

from __future__ import annotations

from vmask.report.svg import Scale, nice_steps


def test_a_scale_meets_its_ends_and_grows_upwards_if_asked():
    scale = Scale(2.0, 4.0, 10, 110)
    assert [scale(2.0), scale(3.0), scale(4.0)] == [10.0, 60.0, 110.0]
    upwards = Scale(0.0, 1.0, 100, 0)
    assert upwards(0.9) < upwards(0.1)
    assert Scale(1, 1, 40, 80)(1) == 40  # a single epoch


def test_a_logarithmic_scale_has_equal_ratios_at_equal_distances():
    scale = Scale(1, 1000, 0, 300, logarithmic=True)
    assert [scale(1), scale(10), scale(100), scale(1000)] == [0.0, 100.0, 200.0, 300.0]


def test_nice_steps_are_round_and_inside():
    assert nice_steps(0.76, 0.92) == [0.8, 0.85, 0.9]
    assert nice_steps(0.0, 1000.0) == [0.0, 500.0, 1000.0]
    assert nice_steps(-0.3, 0.3) == [-0.2, 0.0, 0.2]
    assert nice_steps(2, 2) == [2.0]
