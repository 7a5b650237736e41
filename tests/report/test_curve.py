"""The picture of a training."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from vmask.report.curve import HEIGHT, WIDTH, _apart, curve_svg


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
