"""Figures of one model for a paper."""

from __future__ import annotations

import sys

import pytest

from vmask.errors import MissingExtra
from vmask.evaluation.measure import evaluate
from vmask.report.figures.style import GREY, save
from vmask.report.model import figures
from vmask.report.model.collect import collect

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def pictures(model, toys, content):
    return {one.name: one for one in figures.draw(model, toys, content)}


def test_all_figures_are_drawn_and_say_what_they_are(pictures):
    assert list(pictures) == ["word_cloud", "frequency_importance", "post_hoc_accuracy", "highlighted_texts"]
    for one in pictures.values():
        assert one.title
        assert one.caption.endswith(".")
        assert "CNN-vmask on toys" in one.caption
        assert one.number is None


def test_they_are_written_as_png_and_svg_the_same_bytes_twice(pictures, model, toys, content, tmp_path):
    first = {path.name: path.read_bytes() for one in pictures.values() for path in save(one, tmp_path / "a")}
    again = [path for one in figures.draw(model, toys, content) for path in save(one, tmp_path / "b")]
    assert {path.name: path.read_bytes() for path in again} == first
    assert len(first) == 8
    assert all(content.startswith(b"\x89PNG") or content.startswith(b"<?xml") for content in first.values())


def test_the_cloud_has_the_colours_of_classes_and_says_which(pictures, content):
    figure = pictures["word_cloud"].figure
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["neg", "pos", "no clear class"]
    colours = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert colours["lovely"] == figures.PALETTE[1]
    assert colours["awful"] == figures.PALETTE[0]
    assert GREY in colours.values()
    assert f"The {len(colours)} most important words" in pictures["word_cloud"].caption


def test_the_curve_is_post_hoc_accuracy(pictures, model, toys):
    found = evaluate(model, toys, ["post_hoc_accuracy"], hide="remove")
    (panel,) = pictures["post_hoc_accuracy"].figure.axes
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    assert set(lines) == {"its own ranking", "words at random", "words by tf-idf", "most common class"}
    for label, by in (("its own ranking", "mask"), ("words by tf-idf", "tfidf"), ("words at random", "random")):
        expected = [100 * found.score("post_hoc_accuracy", by=by, part=f"k={k}").value for k in range(1, 11)]
        assert list(lines[label]) == pytest.approx(expected)
    assert len(panel.collections) == 1  # the interval of its own


def test_texts_have_every_view_and_a_legend_for_either_kind_of_colour(pictures, content):
    (panel,) = pictures["highlighted_texts"].figure.axes
    written = [text.get_text() for text in panel.texts]
    count = written.count("Mask")
    assert count == written.count("LIME") == written.count("Shapley") > 0
    for said in ("matters less", "matters most", "against the class", "for the class"):
        assert written.count(said) == 1
    assert panel.patches


def test_words_of_the_figure_stay_inside_and_on_their_lines(pictures):
    figure = pictures["highlighted_texts"].figure
    (panel,) = figure.axes
    frame = figure.bbox
    for text in panel.texts:
        box = text.get_window_extent()
        assert box.x0 >= frame.x0 - 1
        assert box.x1 <= frame.x1 + 1
        assert box.y0 >= frame.y0 - 1
        assert box.y1 <= frame.y1 + 1


def test_a_model_without_a_ranking_has_texts_alone(base, toys):
    assert [one.name for one in figures.draw(base, toys, collect(base, toys, "quick"))] == ["highlighted_texts"]


def test_an_encoder_that_was_not_explained_has_no_figure(tiny_encoder, toys):
    assert list(figures.draw(tiny_encoder("base"), toys, collect(tiny_encoder("base"), toys))) == []


def test_markup_and_formulas_are_letters(evil, tmp_path):
    save(figures.cloud(evil), tmp_path)
    save(figures.scatter(evil), tmp_path)
    save(figures.texts(evil), tmp_path)


def test_without_the_extra_it_says_what_to_install(model, toys, content, monkeypatch):
    for missing in ("matplotlib", "wordcloud"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(MissingExtra, match=r"pip install 'vmask\[report\]'"):
                next(figures.draw(model, toys, content))
