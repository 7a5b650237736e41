"""The tables of explained texts as pictures: every text, the marks of either model, nothing outside of the figure."""

from dataclasses import replace

import pytest

from explained_results import Grid, explained
from reproduction import figures
from reproduction.examples import INTRODUCTION, TABLE
from reproduction.write import draw, read_document, write_report
from vmask.explain.highlight import shade
from vmask.report.grid.examples import FAINTEST

pytest.importorskip("matplotlib")

LONG = " ".join(["a day that does not end"] * 12)


@pytest.fixture
def grid(tmp_path):
    made = Grid(tmp_path / "results")
    base = explained("a fine day", "good", lime=[0.8, 0.4, 0.01], shapley=[1, 0, 0])
    vmask = explained("a fine day", "good", lime=[-0.1, 0.9, 0], shapley=[0, 1, 0])
    made.local("sst2", "cnn", "base", 0, [base], seconds=1.0)
    made.local("sst2", "cnn", "vmask", 0, [vmask], seconds=1.0)
    return made


def panel(picture):
    (found,) = picture.figure.axes
    return found


def grounds(panel, steps):
    """Colours of the words' grounds from top to bottom, as strengths; the last three are the legend's."""
    colours = {tuple(part / 255 for part in shade(step)): step for step in steps}
    places = sorted(panel.patches, key=lambda patch: (patch.get_y(), patch.get_x()))
    return [colours[patch.get_facecolor()[:3]] for patch in places[:-3]]


def test_each_model_has_its_own_marks_with_their_ranks(grid):
    found = panel(figures.texts(grid.results, TABLE))
    written = [text.get_text() for text in found.texts if text.get_text().strip()]
    assert written[:9] == [
        "good  ·  SST-2, LIME, seed 0",
        "CNN-base", "a¹", "fine²", "day³",
        "CNN-VMASK", "a", "fine¹", "day",
    ]  # fmt: skip
    assert grounds(found, (1, 0.5, FAINTEST)) == [1, 0.5, FAINTEST, 1]  # the weakest is seen too


def test_the_introduction_has_a_picture_of_its_own(grid):
    picture = figures.texts(grid.results, INTRODUCTION)
    heads = [text.get_text() for text in panel(picture).texts if "seed" in text.get_text()]
    assert heads == ["good  ·  SST-2, LIME, seed 0", "good  ·  SST-2, SampleShapley, seed 0"]
    assert picture.name != figures.texts(grid.results, TABLE).name


def test_a_long_text_stays_inside(grid):
    grid.both("imdb", "cnn", [explained(LONG)])
    picture = figures.texts(grid.results, TABLE)
    frame = picture.figure.bbox
    for text in panel(picture).texts:
        box = text.get_window_extent()
        assert frame.x0 - 1 <= box.x0
        assert box.x1 <= frame.x1 + 1
        assert frame.y0 - 1 <= box.y0
        assert box.y1 <= frame.y1 + 1
    lines = {text.get_position()[1] for text in panel(picture).texts}
    assert len(lines) > 6


def test_without_texts_there_is_no_picture(tmp_path):
    made = Grid(tmp_path)
    made.local("sst2", "cnn", "base", 0, [explained("of base alone")])
    assert figures.texts(made.results, TABLE) is None


def test_a_report_has_the_pictures_as_files_and_in_markdown_but_its_page_has_the_texts_once(grid, tmp_path):
    document = read_document(grid.store.folder, None)
    pictures = [one for one in draw(document, tmp_path / "figures") if one.name.startswith("examples")]
    for one in pictures:
        assert {path.suffix for path in (tmp_path / "figures").glob(f"{one.name}.*")} == {".png", ".svg"}
    assert [one.name for one in pictures] == ["examples_introduction", "examples_lime"]
    write_report(replace(document, pictures=pictures), tmp_path)
    assert "](figures/examples_lime.png)" in (tmp_path / "report.md").read_text()
    page = (tmp_path / "report.html").read_text()
    assert "<mark" in page
    assert "<img" not in page
