"""Search spaces: lists of values and ranges, how many combinations they have, their ends."""

from __future__ import annotations

import json
import math

import pytest

from vmask.errors import ConfigError
from vmask.grid.search_space import Range, count_of, samples_of, space_from_json, space_to_json

RATE = Range(1e-4, 1e-2, log=True)


def test_a_range_is_of_whole_numbers_if_all_of_it_are():
    assert Range.read({"low": 1, "high": 9, "step": 2}) == Range(1, 9, step=2)
    assert Range.read({"low": 1, "high": 9}).whole
    mixed = Range.read({"low": 0, "high": 1, "step": 0.5})
    assert not mixed.whole
    assert [type(number) for number in (mixed.low, mixed.high, mixed.step)] == [float] * 3


def test_numbers_that_yaml_reads_as_texts_are_numbers():
    assert Range.read({"low": "1e-4", "high": "1e-2", "log": True}) == RATE


@pytest.mark.parametrize(
    ("loaded", "said"),
    [
        ({"low": 2, "high": 1}, "low is 2, above high, which is 1"),
        ({"low": 0, "high": 1, "log": True}, "with log it must be above 0"),
        ({"low": -1.0, "high": 1, "log": True}, "with log it must be above 0"),
        ({"low": 1, "high": 2, "log": True, "step": 1}, "both log and step"),
        ({"low": 1, "high": 2, "step": 0}, "step is 0; it must be above 0"),
        ({"low": 0.0, "high": 1.0, "step": 0.3}, "steps of 0.3 from 0 miss 1"),
        ({"low": 1}, "high is None; it must be a number"),
        ({"low": True, "high": 2}, "low is True; it must be a number"),
        ({"low": "one", "high": 2}, "low is 'one'; it must be a number"),
        ({"low": math.nan, "high": 2}, "low is nan; it must be a number"),
        ({"low": 1, "high": "inf"}, "high is inf; it must be a number"),
        ({"low": 1, "high": 2, "log": "yes"}, "log is 'yes'; it must be true or false"),
        ({"low": 1, "hihg": 2}, "it has no key 'hihg'. Did you mean 'high'?"),
    ],
)
def test_what_is_no_range_is_refused(loaded, said):
    with pytest.raises(ConfigError) as refused:
        Range.read(loaded)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (RATE, math.inf),
        (Range(1, 9), 9),
        (Range(1, 9, step=2), 5),
        (Range(0.0, 1.0, step=0.1), 11),
        (Range(0.5, 0.5), 1),
        ([1, 2, 3], 3),
    ],
)
def test_combinations_are_counted(values, count):
    assert count_of({"a": values}) == count
    assert count_of({"a": values, "b": ["x", "y"]}) == 2 * count


@pytest.mark.parametrize(
    ("values", "default", "nearest"),
    [
        (RATE, 0.003, 0.003),
        (RATE, 1, 1e-2),
        (RATE, 0.0, 1e-4),
        (RATE, None, 1e-4),
        (RATE, True, 1e-4),
        (Range(1, 9, step=2), 4.2, 5),
        (Range(1, 9), 100, 9),
        (Range(0.0, 1.0, step=0.1), 0.33, 0.3),
    ],
)
def test_the_nearest_number_of_a_range(values, default, nearest):
    found = values.nearest(default)
    assert found == pytest.approx(nearest)
    assert isinstance(found, int if values.whole else float)


def test_samples_have_every_value_and_both_ends():
    samples = samples_of({"a": ["x", "y", "z"], "b": RATE})
    assert samples == [
        {"a": "x", "b": 1e-4},
        {"a": "y", "b": 1e-4},
        {"a": "z", "b": 1e-4},
        {"a": "x", "b": 1e-2},
    ]


def test_a_space_survives_a_file_and_the_order_of_its_options_does_not_matter():
    space = {"b": RATE, "a": [[3, 4], [2]], "c": Range(1, 9, step=2)}
    written = json.dumps(space_to_json(space))
    assert space_from_json(json.loads(written)) == space
    assert json.dumps(space_to_json(dict(reversed(space.items())))) == written
