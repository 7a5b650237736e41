"""The picture of a training."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from vmask.report.curve import (
    HEIGHT,
    SMALL_HEIGHT,
    SMALL_WIDTH,
    WIDTH,
    _apart,
    curve_svg,
    nice_steps,
    small_curve_svg,
)


def drawn(*args):
    return ElementTree.fromstring(curve_svg(*args))  # raises where it is no XML


@pytest.mark.parametrize("lines", [{"cnn": [0.5]}, {"cnn": [0.5], "lstm": [0.5]}, {"a": [0.1, 0.9, 0.4], "b": [0.3]}])
def test_every_line_has_its_points_inside_the_picture(lines):
    picture = drawn(lines, "Dev accuracy", dict.fromkeys(lines, 1))
    curves = [line.get("points").split() for line in picture.iter("polyline")]
    assert [len(points) for points in curves] == [len(line) for line in lines.values()]
    for x, y in (map(float, point.split(",")) for points in curves for point in points):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    assert len(list(picture.iter("circle"))) == len(lines)


def test_a_higher_value_stands_higher():
    (line,) = drawn({"cnn": [0.2, 0.8]}, "y").iter("polyline")
    low, high = (float(point.split(",")[1]) for point in line.get("points").split())
    assert high < low


def test_names_are_escaped():
    picture = drawn({"<script>": [0.5, 0.6]}, 'a "label" & more')
    assert "<script>" in [text.text for text in picture.iter("text")]
    assert picture.get("aria-label") == 'a "label" & more, every epoch'


def test_labels_do_not_overlap():
    placed = _apart([50.0, 50.0, 10.0])
    assert placed == [50.0, 65.0, 10.0]


def small(*args, **named):
    return ElementTree.fromstring(small_curve_svg(*args, **named))


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.get("points").split()]


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [0.0, 0.0, 0.0], [1.2, 0.3, 0.9], [-1.0, 5.0], [1e-6, 2e-6]])
def test_a_small_curve_has_every_point_inside_and_its_mark_on_the_line(values):
    picture = small("Loss", values, mark=len(values))
    (line,) = picture.iter("polyline")
    assert len(points(line)) == len(values)
    for x, y in points(line):
        assert 0 <= x <= SMALL_WIDTH
        assert 0 <= y <= SMALL_HEIGHT
    (dot,) = picture.iter("circle")
    assert (float(dot.get("cx")), float(dot.get("cy"))) == points(line)[-1]


def test_a_spread_is_a_band_around_the_line():
    picture = small("Mask", [0.4, 0.6], 2, spread=[0.1, 0.2])
    (line,), (band,) = picture.iter("polyline"), picture.iter("polygon")
    first, second, third, fourth = (y for _, y in points(band))
    assert first < points(line)[0][1] < fourth
    assert second < points(line)[1][1] < third


def test_an_epoch_without_a_value_has_no_point_and_stages_have_a_border():
    picture = small("Mask", [float("nan"), float("nan"), 0.4, 0.6], 4, border=2)
    (line,) = picture.iter("polyline")
    assert len(points(line)) == 2
    (border,) = [one for one in picture.iter("line") if one.get("class") == "border"]
    assert float(border.get("x1")) < points(line)[0][0]


def test_what_a_small_curve_shows_is_said_and_escaped():
    assert small("a <b>", [0.25, 0.5], 2).get("aria-label") == "a <b>, every epoch: 0.25 at first, 0.5 at epoch 2"


def test_nice_steps_are_round_and_inside():
    assert nice_steps(0.76, 0.92) == [0.8, 0.85, 0.9]
    assert nice_steps(0.0, 1000.0) == [0.0, 500.0, 1000.0]
    assert nice_steps(-0.3, 0.3) == [-0.2, 0.0, 0.2]
    assert nice_steps(2, 2) == [2.0]
