"""Pictures: everything in its place."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from vmask.evaluation.statistics import Estimate, mean_interval
from vmask.report.model.charts import (
    GAP,
    TALL,
    cloud,
    curve,
    last_of_first_stage,
    reliability,
    scatter,
    text_width,
)
from vmask.report.model.content import Bin, Calibration, Word, Words
from vmask.report.model.word_table import NAMED, named_words
from vmask.report.templating import environment

EVIL = "<script>&\"'"


def drawn(macro, *arguments):
    """A picture as the templates draw it; raises where it is no XML."""
    return ElementTree.fromstring(str(getattr(environment().get_template("charts.html").module, macro)(*arguments)))


def word(name, importance=0.9, count=10):
    return Word(name, importance, count, True, "a", 1.0, 3.0, 5, 8)


def boxes(placed):
    return [
        (
            one.x - one.width / 2,
            one.y - 0.34 * one.size - one.size * TALL / 2,
            one.x + one.width / 2,
            one.y + one.size * (TALL / 2 - 0.34),
        )
        for one in placed
    ]


@pytest.mark.parametrize("size", [(760, 330, 46.0, 15.0), (340, 400, 33.0, 13.0)])
def test_words_of_a_cloud_lie_inside_and_apart(size):
    words = [(f"important{at}"[: 4 + at % 9], "k0", "") for at in range(40)]
    placed = cloud("c", words, *size).words
    assert len(placed) >= 25
    assert [one.size for one in placed] == sorted((one.size for one in placed), reverse=True)
    for at, (left, top, right, bottom) in enumerate(boxes(placed)):
        assert left >= 0
        assert top >= 0
        assert right <= size[0]
        assert bottom <= size[1]
        for other in boxes(placed)[:at]:
            assert left >= other[2] + GAP or other[0] >= right + GAP or top >= other[3] or other[1] >= bottom


def test_a_cloud_is_the_same_every_time_and_its_words_are_held_to_their_width():
    words = [("why", "k1", "why: 1"), (EVIL, "kx", EVIL), ("電影", "k0", "")]
    assert cloud("c", words, 400, 200, 30, 12) == cloud("c", words, 400, 200, 30, 12)
    picture = drawn("word_cloud", cloud("c", words, 400, 200, 30, 12))
    texts = [one for one in picture if one.tag == "text"]
    assert [one.findtext("title") for one in texts] == ["why: 1", EVIL, ""]
    assert texts[1].find("title").tail == EVIL
    assert all(float(one.get("textLength")) > 0 for one in texts)
    assert picture.get("aria-label") == f"A cloud of words, the largest: why, {EVIL}, 電影"


def test_a_word_too_long_for_the_cloud_is_made_smaller():
    (one,) = cloud("c", [("x" * 100, "k0", "")], 300, 100, 40, 10).words
    assert one.width <= 300
    assert text_width("x" * 100, 40) > 300


def test_no_words_make_an_empty_cloud():
    assert not list(drawn("word_cloud", cloud("c", [], 300, 100, 40, 10)))


def words_of(rows):
    none = Estimate(0.0, 0.0, 0.0, 0, "")
    return Words(len(rows), tuple(rows), 1, tuple((one.word, one.importance, one.count) for one in rows), 8, none, none)


def test_a_scatter_plot_has_every_point_and_names_that_can_be_reached_by_keyboard():
    words = words_of([word(f"w{at}", 0.3 + at / 100, 1 + at**2) for at in range(60)])
    picture = drawn("scatter_plot", *scatter(words))
    (path,) = [one for one in picture.iter("path") if one.get("class") == "points"]
    points = [tuple(map(float, pair)) for pair in re.findall(r"M([\d.]+) ([\d.]+)h0", path.get("d"))]
    assert len(points) == 60
    assert all(0 <= x <= 760 and 0 <= y <= 430 for x, y in points)
    assert [x for x, _ in points] == sorted(x for x, _ in points)  # a higher count lies further right
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    marks = [one for one in picture if "named" in one.get("class", "")]
    assert {words.rows[int(one.get("data-row"))].word for one in marks} == {f"w{at}" for at in range(50, 60)}
    assert all(one.get("aria-label").startswith(words.rows[int(one.get("data-row"))].word) for one in marks)
    assert all(one.get("tabindex") == "0" and one.findtext("title") for one in marks)
    assert any("half" in one.get("class", "") for one in picture.iter("line"))


def test_the_script_finds_points_where_they_are_drawn():
    words = words_of([word(f"w{at}", 0.3 + at / 100, 1 + at**2) for at in range(20)])
    plot, _, names = scatter(words)
    assert [plot.x(1), plot.x(plot.x.high)] == [plot.x.start, plot.x.end]  # `data-left` and `data-right`
    assert [plot.y(plot.y.low), plot.y(plot.y.high)] == [plot.y.start, plot.y.end]  # `data-bottom` and `data-top`
    assert all((one.x, one.y) == (plot.x(one.word.count), plot.y(one.word.importance)) for one in names)


def test_named_are_the_most_important_of_words_seen_three_times_and_the_most_frequent():
    rare = [word(f"rare{at}", 0.99, 1) for at in range(5)]
    words = [*rare, *(word(f"w{at:02}", 0.5 + at / 100, 30 - at) for at in range(20))]
    top, frequent = named_words(words)
    assert [one.word for one in top] == [f"w{at:02}" for at in range(19, 9, -1)]
    assert [one.word for one in frequent] == [f"w{at:02}" for at in range(10)]
    assert len(named_words(rare)[0]) == 5 <= NAMED


def test_names_are_escaped():
    picture = drawn("scatter_plot", *scatter(words_of([word(EVIL)])))
    (mark,) = [one for one in picture if "named" in one.get("class", "")]
    assert mark.get("aria-label") == mark.findtext("title") == f"{EVIL}: importance 0.900, 10 times"
    assert mark.findtext("text") == EVIL


def test_a_reliability_diagram_has_a_dot_a_whisker_and_a_bar_for_each_bin():
    bins = (
        Bin(0.4, 0.5, 0.45, mean_interval([0.0, 1.0, 1.0, 0.0])),
        Bin(0.9, 1.0, 0.95, mean_interval([1.0] * 12)),
        Bin(0.5, 0.6, 0.55, Estimate(1.0, float("nan"), float("nan"), 1, "")),
    )
    found = Calibration(Estimate(0.1, 0.0, 0.2, 17, ""), bins, 0.05)
    picture = drawn("reliability_diagram", *reliability(found))
    dots = list(picture.iter("circle"))
    assert len(dots) == 3
    whiskers = [one for one in picture.iter("line") if one.get("class") == "whisker"]
    assert len(whiskers) == 2  # one text has no interval
    heights = [float(one.get("height")) for one in picture.iter("rect")]
    assert heights[1] > heights[0] > heights[2]
    assert float(dots[1].get("r")) > float(dots[0].get("r"))
    assert float(dots[1].get("cx")) > float(dots[0].get("cx"))
    assert float(dots[1].get("cy")) < float(dots[0].get("cy"))


def small(title, values, best_epoch, **options):
    """The picture of a curve, inside of its figure."""
    return drawn("curve", curve(title, "a note", values, best_epoch, **options)).find("svg")


def points_of(line):
    return [tuple(map(float, point.split(","))) for point in line.get("points").split()]


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [0.0, 0.0, 0.0], [1.2, 0.3, 0.9], [-1.0, 5.0], [1e-6, 2e-6]])
def test_a_curve_has_every_point_inside_and_its_mark_on_the_line(values):
    picture = small("Loss", values, len(values))
    _, _, width, height = map(int, picture.get("viewBox").split())
    (line,) = picture.iter("polyline")
    assert len(points_of(line)) == len(values)
    for x, y in points_of(line):
        assert 0 <= x <= width
        assert 0 <= y <= height
    (dot,) = picture.iter("circle")
    assert (float(dot.get("cx")), float(dot.get("cy"))) == points_of(line)[-1]


def test_a_higher_value_stands_higher():
    (line,) = small("Loss", [0.2, 0.8], 1).iter("polyline")
    (_, low), (_, high) = points_of(line)
    assert high < low


def test_a_spread_is_a_band_around_the_line():
    picture = small("Mask", [0.4, 0.6], 2, spread=[0.1, 0.2])
    (line,), (band,) = picture.iter("polyline"), picture.iter("polygon")
    first, second, third, fourth = (y for _, y in points_of(band))
    assert first < points_of(line)[0][1] < fourth
    assert second < points_of(line)[1][1] < third


def test_an_epoch_without_a_value_has_no_point_and_stages_have_a_border():
    picture = small("Mask", [float("nan"), float("nan"), 0.4, 0.6], 4, spread=[float("nan")] * 2 + [0.1] * 2, border=2)
    (line,), (band,) = picture.iter("polyline"), picture.iter("polygon")
    assert len(points_of(line)) == 2
    assert len(points_of(band)) == 4
    (border,) = [one for one in picture.iter("line") if one.get("class") == "border"]
    assert float(border.get("x1")) < points_of(line)[0][0]
    assert last_of_first_stage([{"stage": 1}, {"stage": 1}, {"stage": 2}]) == 2
    assert last_of_first_stage([{}, {}]) == 0


def test_what_a_curve_shows_is_said_and_escaped():
    assert small("a <b>", [0.25, 0.5], 2).get("aria-label") == "a <b> after each epoch: 0.25 at first, 0.5 at epoch 2"
