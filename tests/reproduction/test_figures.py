"""Figures from made-up result files: what is drawn, for which results, and the same bytes every time."""

import sys
from math import log

import numpy as np
import pytest

from reproduction import figure_clouds, figures
from reproduction.available import curve, datasets, models
from reproduction.figure_levels import aopc_levels, fit
from reproduction.published import load_published
from reproduction.results import Results
from reproduction.write import PUBLISHED
from vmask.errors import MissingExtra
from vmask.evaluation.statistics import seeds_interval
from vmask.grid.store import Store
from vmask.report.figures.labels import nearest_point, place_labels, printed_word
from vmask.report.grid.results import GridResults

pytest.importorskip("matplotlib")
pytest.importorskip("wordcloud")

pytestmark = pytest.mark.full

FLOORS = {"random": 0.4, "tfidf": 0.5, "majority": 0.3}


def score(metric, value, by="mask", part="", hide="remove"):
    numbers = {"value": value, "low": value - 0.03, "high": value + 0.02, "n": 100, "headline": True}
    return {"metric": metric, "by": by, "hide": hide, "part": part, **numbers}


def importance(*first):
    """Three hundred words: those given at the top, and the lower a word's number the more often it is seen."""
    rows = [[word, 0.99 - 0.01 * rank, 4 + rank] for rank, word in enumerate(first)]
    rows += [[f"word{number}", 0.5 - 0.001 * number, 3000 // (number + 1)] for number in range(300 - len(first))]
    frequent = sorted(rows, key=lambda row: -row[2])
    return {
        "words": 300,
        "top": rows[:50],
        "top_seen_5": [row for row in rows if row[2] >= 5][:50],
        "frequent": frequent[:50],
        "drawn": [[count, value] for _, value, count in rows],
    }


class Grid:
    """Writes result files, and reads them back as results."""

    def __init__(self, folder):
        self.store = Store(folder)

    def write(self, dataset, model, mask, seed, stage, scores, words=None):
        cell = {"dataset": dataset, "model": model, "mask": mask, "variant": "", "seed": seed}
        record = {"cell": cell, "stage": stage, "status": "done", "scores": scores, "importance": words}
        key = f"{dataset}--{model.replace('/', '-')}--{mask}--s{seed}"
        self.store.write(self.store.cell(key, stage), {**record, "examples": [], "splime": {}})

    def curve(self, dataset, model, mask, seed, first=0.6, by="mask", words=("superb", "awful")):
        """Post-hoc accuracy that begins at `first` and grows by 0.02 a word."""
        kept = [score("post_hoc_accuracy", first + 0.02 * (k - 1), by, f"k={k}") for k in range(1, 11)]
        for floor, value in FLOORS.items():
            hide = "" if floor == "majority" else "remove"
            kept += [score("post_hoc_accuracy", value, floor, f"k={k}", hide) for k in range(1, 11)]
        kept.append(score("frequency_correlation", -0.125, part="pearson", hide=""))
        self.write(dataset, model, mask, seed, "words", kept, importance(*words) if by == "mask" else None)

    def local(self, dataset, model, mask, seed, **values):
        """Scores of explanations, such as `lime_aopc`."""
        scores = [score(metric, value, by) for name, value in values.items() for by, metric in [name.split("_")]]
        self.write(dataset, model, mask, seed, "local", scores)

    @property
    def results(self):
        return Results.read(self.store.folder)


@pytest.fixture
def grid(tmp_path):
    return Grid(tmp_path / "results")


def panels(picture):
    return {panel.get_title(): panel for panel in picture.figure.axes}


def lines(panel):
    return {line.get_label(): line for line in panel.lines}


def names(results):
    return [picture.name for picture in figures.all_figures(results)]


def test_curves_are_means_over_seeds(grid):
    for seed, first in enumerate((0.5, 0.6, 0.76)):
        grid.curve("trec", "cnn", "vmask", seed, first)
        grid.curve("trec", "cnn", "iba", seed, first - 0.1)
    (panel,) = figures.post_hoc(grid.results).figure.axes
    vmask, iba = lines(panel)["VMASK"], lines(panel)["IBA"]
    assert list(vmask.get_xdata()) == list(range(1, 11))
    np.testing.assert_allclose(vmask.get_ydata(), [62 + 2 * k for k in range(10)])
    np.testing.assert_allclose(iba.get_ydata(), [52 + 2 * k for k in range(10)])
    assert vmask.get_linestyle() == "-"
    assert iba.get_linestyle() != "-"
    assert vmask.get_color() == iba.get_color()  # of the model


def test_a_band_is_the_t_interval_of_three_seeds(grid):
    values = (0.5, 0.6, 0.76)
    for seed, first in enumerate(values):
        grid.curve("trec", "cnn", "vmask", seed, first)
    (panel,) = figures.post_hoc(grid.results).figure.axes
    (band,) = panel.collections
    found = seeds_interval(values)
    ends = [y for x, y in band.get_paths()[0].vertices if x == 1]
    assert min(ends) == pytest.approx(100 * found.low)
    assert max(ends) == pytest.approx(100 * found.high)


def test_two_seeds_have_no_band(grid):
    for seed in (0, 1):
        grid.curve("trec", "cnn", "vmask", seed, 0.5 + 0.1 * seed)
    (panel,) = figures.post_hoc(grid.results).figure.axes
    assert not panel.collections
    assert lines(panel)["VMASK"].get_ydata()[0] == pytest.approx(55)


def test_a_panel_for_every_dataset_with_results_in_the_order_of_the_paper(grid):
    for dataset in ("hotels", "subj", "sst2", "imdb"):
        grid.curve(dataset, "lstm", "vmask", 0)
    grid.curve("yelp", "lstm", "base", 0, by="ranking")  # a control alone is none of the paper's curves
    assert list(panels(figures.post_hoc(grid.results))) == ["IMDB", "SST-2", "Subj", "hotels"]
    assert datasets(grid.results, "words") == ["imdb", "sst2", "subj", "hotels"]
    assert "Yelp, LSTM" in panels(figures.controls(grid.results))


def test_floors_are_the_mean_of_the_models_with_vmask(grid):
    grid.curve("trec", "cnn", "vmask", 0)
    grid.curve("trec", "lstm", "vmask", 0)
    (panel,) = figures.post_hoc(grid.results).figure.axes
    np.testing.assert_allclose(lines(panel)["words at random"].get_ydata(), 40)
    np.testing.assert_allclose(lines(panel)["most common class"].get_ydata(), 30)


def test_controls_show_whose_ranking_it_is(grid):
    grid.curve("trec", "cnn", "vmask", 0, 0.7)
    grid.curve("trec", "cnn", "random_mask", 0, 0.2)
    grid.curve("trec", "cnn", "base", 0, 0.6, by="ranking")
    grid.curve("trec", "cnn", "word_dropout", 0, 0.65, by="ranking")
    (panel,) = figures.controls(grid.results).figure.axes
    first = {name: line.get_ydata()[0] for name, line in lines(panel).items()}
    assert first == pytest.approx({
        "VMASK, its own ranking": 70, "random mask, its own ranking": 20, "base, VMASK's ranking": 60,
        "word dropout, VMASK's ranking": 65, "words at random": 40, "words by tf-idf": 50, "most common class": 30,
    })  # fmt: skip
    (legend,) = figures.controls(grid.results).figure.legends
    assert {text.get_text() for text in legend.get_texts()} == set(first)  # no IBA, since there is none


def test_nothing_is_drawn_where_there_are_no_results(grid):
    grid.write("trec", "cnn", "base", 0, "train", [])
    assert names(grid.results) == []


def test_every_figure_has_its_results(grid):
    grid.local("trec", "cnn", "vmask", 0, lime_aopc=0.3)
    assert names(grid.results) == ["aopc_naopc"]
    grid.curve("trec", "cnn", "vmask", 0)
    grid.curve("yelp", "cnn", "vmask", 0)
    grid.curve("yelp", "lstm", "vmask", 0)
    expected = ["post_hoc_accuracy", "post_hoc_controls", "aopc_naopc", "frequency_yelp_lstm", "frequency_trec_cnn"]
    assert names(grid.results) == expected
    grid.curve("trec", "cnn", "iba", 0)
    assert names(grid.results) == [*expected, "word_clouds", "word_clouds_seen_5"]


def test_a_figure_says_what_it_is(grid):
    grid.curve("trec", "cnn", "vmask", 0)
    for picture in figures.all_figures(grid.results):
        assert picture.title
        assert picture.caption.endswith(".")
        assert picture.figure.axes


def test_the_same_bytes_twice(grid, tmp_path):
    for mask in ("vmask", "iba"):
        grid.curve("trec", "lstm", mask, 0)
    grid.local("trec", "lstm", "vmask", 0, lime_aopc=0.3, lime_naopc=0.9)
    found = []
    for folder in ("a", "b"):
        written = [figures.save(one, tmp_path / folder) for one in figures.all_figures(grid.results)]
        found.append({path.name: path.read_bytes() for paths in written for path in paths})
    assert found[0] == found[1]
    assert {name.rpartition(".")[2] for name in found[0]} == {"png", "svg"}
    assert len(found[0]) == 2 * 6
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(found[0])  # nothing is left beside
    assert max(map(len, found[0].values())) < 150_000
    assert not any(b"<dc:date>" in content for content in found[0].values())


def test_a_figure_is_written_whole_or_not_at_all(grid, tmp_path, monkeypatch):
    grid.curve("trec", "cnn", "vmask", 0)
    picture = figures.post_hoc(grid.results)
    (png,) = figures.save(picture, tmp_path / "out", ["png"])
    before = png.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(picture.figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        figures.save(picture, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["post_hoc_accuracy.png"]
    assert png.read_bytes() == before


def test_the_users_style_changes_nothing_and_is_left_alone(grid, tmp_path):
    import matplotlib

    grid.curve("trec", "cnn", "vmask", 0)
    (plain,) = figures.save(figures.scatter(grid.results, "trec", "cnn"), tmp_path / "plain", ["svg"])
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "svg.hashsalt": "theirs"}):
        (styled,) = figures.save(figures.scatter(grid.results, "trec", "cnn"), tmp_path / "styled", ["svg"])
        assert matplotlib.rcParams["font.size"] == 20
    assert plain.read_bytes() == styled.read_bytes()


def test_scatter_marks_the_top_and_the_most_frequent_words(grid):
    grid.curve("yelp", "lstm", "vmask", 1, words=("later",))
    grid.curve("yelp", "lstm", "vmask", 0, words=[f"top{rank}" for rank in range(12)])
    picture = figures.scatter(grid.results, "yelp", "lstm")
    (panel,) = picture.figure.axes
    top, frequent = lines(panel)["most important words"], lines(panel)["most frequent words"]
    np.testing.assert_allclose(top.get_ydata(), [0.99 - 0.01 * rank for rank in range(10)])
    np.testing.assert_allclose(top.get_xdata(), [4 + rank for rank in range(10)])
    np.testing.assert_allclose(frequent.get_xdata(), [3000 // (number + 1) for number in range(10)])
    written = [text.get_text() for text in panel.texts]
    assert written == [f"top{rank}" for rank in range(10)] + [f"word{number}" for number in range(10)]
    assert panel.get_xscale() == "log"
    assert any(list(line.get_ydata()) == [0.5, 0.5] and line.get_linestyle() == "--" for line in panel.lines)
    assert "seed 0" in picture.caption
    assert "-0.125 (mean of 2 seeds)" in picture.caption


def test_labels_do_not_lie_on_each_other(grid):
    grid.curve("yelp", "lstm", "vmask", 0, words=[f"sentiment{rank}" for rank in range(10)])
    (panel,) = figures.scatter(grid.results, "yelp", "lstm").figure.axes
    boxes = [text.get_window_extent().padded(-2) for text in panel.texts]
    assert not any(a.overlaps(b) for number, a in enumerate(boxes) for b in boxes[:number])


def test_a_word_is_named_once_and_signs_are_no_formulas(grid):
    grid.curve("agnews", "cnn", "vmask", 0, words=("$", "a$b$", "x" * 60))
    words = importance("$", "a$b$", "x" * 60)
    words["frequent"] = [["$", 0.99, 4], *words["frequent"]]
    grid.write("agnews", "cnn", "vmask", 0, "words", [], words)
    picture = figures.scatter(grid.results, "agnews", "cnn")
    written = [text.get_text() for text in picture.figure.axes[0].texts]
    assert written.count("“$”") == 1
    assert "a$b$" in written
    assert max(map(len, written)) <= 18
    assert not any(text.get_parse_math() for text in picture.figure.axes[0].texts)


def test_a_model_with_a_slash_in_its_name_has_a_file(grid, tmp_path):
    grid.curve("trec", "google/tiny", "vmask", 0)
    picture = figures.scatter(grid.results, "trec", "google/tiny")
    (path,) = figures.save(picture, tmp_path, ["svg"])
    assert path.name == "frequency_trec_google-tiny.svg"


def test_printed_words():
    words = [printed_word("fine"), printed_word("..."), printed_word("a\nb"), printed_word("wonderful", 5)]
    assert words == ["fine", "“...”", "a b", "wond…"]


def test_clouds_hold_the_ten_words_of_either_side(grid):
    grid.curve("agnews", "cnn", "vmask", 0, words=["rare"] + [f"good{rank}" for rank in range(11)])
    grid.curve("agnews", "cnn", "iba", 0, words=[f"odd{rank}" for rank in range(11)])
    for which, vmask in (("top", ["rare", *[f"good{rank}" for rank in range(9)]]), ("top_seen_5", None)):
        vmask = vmask or [f"good{rank}" for rank in range(10)]  # `rare` is seen four times
        found = panels(figures.clouds(grid.results, which))
        assert list(found) == ["CNN-VMASK, AG News", "CNN-IBA, AG News"]
        texts = found["CNN-VMASK, AG News"].texts
        assert [text.get_text() for text in texts] == vmask
        sizes = [text.get_fontsize() for text in texts]
        assert sizes == sorted(sizes, reverse=True)
        assert len(found["CNN-IBA, AG News"].texts) == 10


def test_words_of_a_cloud_do_not_touch(grid):
    for mask in ("vmask", "iba"):
        grid.curve("trec", "cnn", mask, 0, words=[f"important{rank}" for rank in range(10)])
    for panel in figures.clouds(grid.results).figure.axes:
        boxes = [text.get_window_extent().padded(-1) for text in panel.texts]
        assert len(boxes) == 10
        assert not any(a.overlaps(b) for number, a in enumerate(boxes) for b in boxes[:number])


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ([("agnews", "cnn"), ("yelp", "lstm"), ("subj", "minilm")],) * 2,
        ([("agnews", "lstm"), ("trec", "cnn")], [("agnews", "lstm")]),  # the same dataset before the same model
        ([("trec", "cnn"), ("trec", "lstm")], [("trec", "cnn"), ("trec", "lstm")]),
        ([("yelp", "lstm"), ("trec", "lstm")], [("yelp", "lstm")]),
        ([("trec", "other")], []),
    ],
)
def test_clouds_are_of_the_papers_models_or_the_nearest(grid, there, chosen):
    for dataset, model in there:
        for mask in ("vmask", "iba"):
            grid.curve(dataset, model, mask, 0)
    assert figure_clouds.nearest(grid.results) == chosen


def test_clouds_need_both_sides(grid):
    grid.curve("agnews", "cnn", "vmask", 0)
    grid.curve("agnews", "cnn", "iba", 1)  # another seed
    assert figures.clouds(grid.results) is None


def test_dots_stand_at_the_means(grid):
    for seed in range(3):
        grid.local("sst2", "cnn", "base", seed, lime_aopc=0.2 + 0.01 * seed, lime_naopc=0.8)
        grid.local("sst2", "cnn", "vmask", seed, lime_aopc=0.4, shapley_aopc=0.5)
    grid.local("sst2", "lstm", "vmask", 0, lime_aopc=0.25)
    picture = figures.faithfulness(grid.results)
    found = panels(picture)
    aopc = found["LIME\nAOPC (%)"]
    marks = [line for line in aopc.lines if line.get_marker() in "soD"]
    assert [float(line.get_xdata()[0]) for line in marks] == pytest.approx([21, 40, 25])
    assert [line.get_markerfacecolor() == "white" for line in marks] == [False, False, True]  # one seed is hollow
    assert [tick.get_text() for tick in aopc.get_yticklabels()] == ["SST-2 CNN", "SST-2 LSTM"]
    shapley = found["SampleShapley\nNAOPC (%)"]
    assert [text.get_text() for text in shapley.texts] == ["not run", "not run"]
    interval = seeds_interval([0.2, 0.21, 0.22])
    (ends,) = [line.get_xdata() for line in aopc.lines if len(line.get_xdata()) == 2 and line.get_color() == "#000000"]
    assert list(ends) == pytest.approx([100 * interval.low, 100 * interval.high])


def test_points_know_their_seeds(grid):
    grid.curve("trec", "minilm", "vmask", 3, 0.5)
    points = curve(grid.results, "trec", "bert", "vmask", "mask")  # it stands for the paper's model
    assert [point.k for point in points] == list(range(1, 11))
    assert points[0].value == 0.5
    assert points[0].seeds == 1
    assert np.isnan(points[0].low)
    assert models(grid.results, "trec", "words") == ["minilm"]


def test_labels_are_placed_beside_their_points():
    points = [(50.0, 50.0), (52.0, 50.0), (54.0, 50.0)]
    boxes = place_labels(points, [(30.0, 8.0)] * 3, (0.0, 0.0, 100.0, 100.0), [(46, 46, 58, 54)])
    for number, (left, bottom, right, top) in enumerate(boxes):
        assert 0 <= left < right <= 100
        assert 0 <= bottom < top <= 100
        for other in boxes[:number]:
            assert left >= other[2] or other[0] >= right or bottom >= other[3] or other[1] >= top
        assert right <= 46 or left >= 58 or top <= 46 or bottom >= 54
        assert nearest_point((left, bottom, right, top), points[number]) != points[number]


def test_without_the_extra_it_says_what_to_install(grid, monkeypatch, tmp_path):
    grid.curve("trec", "cnn", "vmask", 0)
    picture = figures.post_hoc(grid.results)
    for missing in ("matplotlib", "wordcloud"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(MissingExtra, match=r"pip install 'vmask\[report\]'"):
                next(figures.all_figures(grid.results))
            with pytest.raises(MissingExtra):
                figures.save(picture, tmp_path)


def test_levels_through_a_second_softmax_stand_beside_the_papers(grid):
    published = load_published(PUBLISHED)
    assert figures.second_softmax(Results(GridResults({}, {}, {}, [])), published) is None
    for model, plain in (("cnn", 0.472), ("lstm", 0.5), ("minilm", 0.6)):
        scores = [score("aopc", plain, "lime"), score("aopc", 0.165, "lime", part="second softmax")]
        grid.write("sst2", model, "base", 0, "local", [*scores, score("aopc", 0.2, "random")])
    found = {level.model: level for level in aopc_levels(grid.results, published)}
    assert (found["cnn"].published, found["cnn"].plain) == (16.5, pytest.approx(47.2))
    assert found["cnn"].most == pytest.approx(46.21, abs=0.01)
    assert fit([(2.0, 1.0), (1.0, 2.0)]) == pytest.approx((1.0, log(2)))
    picture = figures.second_softmax(grid.results, published)
    # The paper has 16.5 and 17.03: 2.86 and 2.94 times lower, and 1.00 and 0.97 through a second softmax.
    assert "ours are as they are 2.90 times the paper's on average" in picture.caption
    assert "through a second softmax 0.98 times the paper's on average" in picture.caption
    assert "2 of CNN and LSTM and 1 of the encoder" in picture.caption
    assert "2 of their published numbers lie below what words in random order give" in picture.caption
    assert "aopc_levels" in [one.name for one in figures.all_figures(grid.results, published)]
