"""A report of any grid, on small result folders made by hand: every method and variant is there, with known numbers."""

from __future__ import annotations

import csv
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from math import isnan

import pytest
from scipy import stats

from grid_results import Made
from vmask.errors import DataError, MissingPackage, UnknownName
from vmask.evaluation.statistics import holm
from vmask.report.grid import GridReport
from vmask.report.grid.formats import latex, markdown

BASE, MINE = (0.80, 0.82, 0.84), (0.90, 0.93, 0.93)
NASTY = "<script>alert('x')</script>&_%"


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path / "results")


def report(made, baseline=None):
    return GridReport.read(made.folder, baseline)


# What is shown -------------------------------------------------------------------------------------------------


def test_a_method_and_a_model_of_ones_own_have_rows(made):
    made.train("tea", "bag", "base", BASE)
    made.train("tea", "bag", "gate", MINE)
    made.train("tea", "cnn", "gate", BASE)
    table = report(made).table("test_accuracy")
    assert [row.heads for row in table.rows] == [("bag", "base"), ("bag", "gate"), ("cnn", "gate")]
    entry = table.entry("bag", "gate", column="tea")
    assert entry.estimate.value == pytest.approx(0.92)
    half = stats.t.ppf(0.975, 2) * stats.sem(MINE)
    assert entry.estimate.high - entry.estimate.value == pytest.approx(half)


def test_every_variant_has_a_row_and_is_compared_with_its_own_baseline(made):
    for mask, step in (("base", 0.0), ("gate", 0.05)):
        for variant, more in (("narrow", 0.0), ("wide", 0.02)):
            made.train("tea", "cnn", mask, [value + step + more for value in BASE], variant)
    made.train("tea", "cnn", "other", MINE, "odd")
    table = report(made).table("test_accuracy")
    assert table.heads == ("model", "method", "variant")
    assert [row.heads[1:] for row in table.rows] == [
        ("base", "narrow"),
        ("base", "wide"),
        ("gate", "narrow"),
        ("gate", "wide"),
        ("other", "odd"),
    ]
    found = {row.heads[1:]: row.entries[0] for row in table.rows}
    assert found["base", "narrow"].difference is None
    assert found["base", "wide"].difference.value == pytest.approx(0.02)
    assert found["gate", "wide"].difference.value == pytest.approx(0.05)
    assert found["other", "odd"].difference.value == pytest.approx(0.1)  # to the first variant


def test_one_seed_has_an_interval_over_texts_and_several_over_seeds(made):
    made.data("tea", truth="0110")
    made.train("tea", "cnn", "base", BASE)
    made.train("tea", "cnn", "gate", [0.75])
    path = made.store.cell("tea--cnn--gate--0")
    record = made.store.read(path)
    made.store.write(path, {**record, "test": {"labels": ["yes", "no"], "predicted": [1, 0, 0, 0]}})
    table = report(made).table("test_accuracy")
    several, single = (table.entry("cnn", mask, column="tea") for mask in ("base", "gate"))
    assert several.estimate.how == "t over 3 seeds"
    assert (single.estimate.value, single.estimate.n, single.estimate.how) == (0.75, 4, "over texts")
    low, high = stats.binomtest(3, 4).proportion_ci(method="wilson")
    assert (single.estimate.low, single.estimate.high) == pytest.approx((low, high))
    assert isnan(single.p_adjusted)  # a difference without a test
    assert "†" in markdown(table)
    assert "† one seed, interval over texts" in table.legend()


def test_a_dataset_that_a_method_was_not_run_on_is_said(made):
    made.train("tea", "cnn", "base", BASE)
    made.train("milk", "cnn", "gate", BASE)
    table = report(made).table("test_accuracy")
    assert table.columns == ("milk", "tea")
    assert table.entry("cnn", "base", column="milk").absent
    assert "not run" in markdown(table)
    assert table.entry("cnn", "gate", column="milk").difference is None  # no baseline there


def test_every_metric_has_a_table_of_its_headlines_and_all_parts_are_in_the_csv(made, tmp_path):
    made.train("tea", "cnn", "base", BASE)
    scores = {
        ("mine", "alone", "", "k=1"): [0.1],
        ("mine", "alone", "", "k=2"): [0.2],
        ("aopc", "lime", "mask", ""): [0.3],
    }
    made.stage("tea", "cnn", "base", scores, headline=("", "k=2"))
    found = report(made)
    assert {"mine", "aopc", "test_accuracy", "dev_accuracy", "seconds_per_epoch"} <= {one.name for one in found.tables}
    assert found.table("mine").entry("cnn", "base", column="tea").estimate.value == 0.2
    assert "by alone, part k=2" in found.table("mine").signature
    assert found.table("mine").title == "mine"
    assert found.table("aopc").title.startswith("aopc: Mean drop in probability")  # the registry's words
    found.write(tmp_path / "report", figures=False)
    with (tmp_path / "report" / "tables" / "scores.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "mine"]
    assert [(row["part"], row["value"]) for row in rows] == [("k=1", "0.1"), ("k=2", "0.2")]


def test_explainers_are_told_apart_and_floors_come_last_without_a_test(made):
    for mask, step in (("base", 0.0), ("gate", 0.2)):
        scores = {("aopc", by, "mask", ""): [0.1 + step, 0.12 + step, 0.15 + step] for by in ("random", "lime", "mine")}
        made.train("tea", "cnn", mask, BASE)
        made.stage("tea", "cnn", mask, scores)
    table = report(made).table("aopc")
    assert table.heads == ("by", "model", "method")
    assert [row.heads[0] for row in table.rows] == ["lime", "lime", "mine", "mine", "random", "random"]
    assert table.entry("lime", "cnn", "gate", column="tea").difference.value == pytest.approx(0.2)
    assert table.entry("random", "cnn", "gate", column="tea").difference is None


def test_a_metric_of_two_stages_has_two_tables(made):
    made.train("tea", "cnn", "base", BASE)
    for stage in ("one", "two"):
        made.stage("tea", "cnn", "base", {("mine", "", "", ""): [0.1]}, stage)
    assert [table.name for table in report(made).tables][3:5] == ["mine_one", "mine_two"]


# Differences ---------------------------------------------------------------------------------------------------


def test_the_same_seeds_are_paired_and_others_are_not(made):
    made.train("tea", "cnn", "base", BASE)
    made.train("tea", "cnn", "gate", MINE)
    made.train("tea", "cnn", "later", MINE, seeds=[1, 2, 3])
    table = report(made).table("test_accuracy")
    paired, welch = (table.entry("cnn", mask, column="tea") for mask in ("gate", "later"))
    expected = stats.ttest_rel(MINE, BASE), stats.ttest_ind(MINE, BASE, equal_var=False)
    assert (paired.difference.p, welch.difference.p) == pytest.approx((expected[0].pvalue, expected[1].pvalue))
    interval = expected[0].confidence_interval()
    assert (paired.difference.low, paired.difference.high) == pytest.approx((interval.low, interval.high))
    assert paired.difference.how == "paired t over 3 seeds"
    assert welch.difference.how == "Welch's t over 3 and 3 seeds"
    adjusted = holm([expected[0].pvalue, expected[1].pvalue])
    assert (paired.p_adjusted, welch.p_adjusted) == pytest.approx(tuple(adjusted))
    assert "Welch's t and paired t over seeds" in table.legend()
    assert "over the 2 tests of the table" in table.legend()


def test_an_arrow_says_that_a_difference_is_tested_and_which_side_is_better(made):
    made.train("tea", "cnn", "base", BASE)
    made.train("tea", "cnn", "gate", [value + step for value, step in zip(BASE, (0.1, 0.1001, 0.1002), strict=True)])
    made.train("tea", "cnn", "same", BASE)
    table = report(made).table("test_accuracy")
    better, same = (table.entry("cnn", mask, column="tea") for mask in ("gate", "same"))
    assert (better.mark.sign, better.mark.kind) == ("↑", "ok")
    assert better.beside() == "Δ +0.100"
    assert (same.mark, same.p_adjusted, same.beside()) == (None, 1.0, "Δ +0.000")


def test_the_baseline_is_base_or_the_first_or_the_one_that_is_asked_for(made):
    made.train("tea", "cnn", "zero", BASE)
    made.train("tea", "cnn", "gate", MINE)
    assert report(made).baseline == "gate"
    assert report(made, "zero").baseline == "zero"
    made.train("tea", "cnn", "base", BASE)
    assert report(made).baseline == "base"
    with pytest.raises(UnknownName, match=r"Unknown method 'gats'. Did you mean 'gate'"):
        report(made, "gats")


# Curves, words, texts, searches, failures ----------------------------------------------------------------------


def test_curves_are_means_over_seeds(made):
    for seed, last in ((0, 0.5), (1, 0.7)):
        history = [{"epoch": 1, "dev_accuracy": last - 0.2}, {"epoch": 2, "dev_accuracy": last}]
        made.train("tea", "bag", "gate", [last], seeds=[seed], history=history[: 2 - seed])
    scores = {("mine", "alone", "", f"k={k}"): [k / 10, k / 5] for k in (1, 2, 10)}
    made.stage("tea", "bag", "gate", scores | {("mine", "alone", "", "all"): [0.0, 0.0]})
    learning, parts = report(made).curves
    (line,) = learning.lines
    assert [(point.k, point.seeds) for point in line.points] == [(1, 2), (2, 1)]
    assert [point.value for point in line.points] == pytest.approx([0.4, 0.5])
    assert (parts.name, parts.axis) == ("mine_over_k", "k")
    assert [point.k for point in parts.lines[0].points] == [1, 2, 10]
    assert [point.value for point in parts.lines[0].points] == pytest.approx([0.15, 0.3, 1.5])


def test_words_of_the_mask_and_of_explanations_are_listed(made):
    top = [["cup", 0.9, 5], ["leaf", 0.8, 3]]
    importance = {"words": 2, "top": top, "top_seen_5": top, "frequent": top, "drawn": []}
    made.train("tea", "cnn", "gate", [0.5])
    splime = {"lime": {"absolute": [["the", 3.0]], "by_class": {}, "mean": []}}
    made.stage("tea", "cnn", "gate", {}, importance=importance, splime=splime)
    table = report(made).table("top_words")
    assert table.entry("tea", "cnn", "gate", column="by the mask").text == "cup, leaf"
    assert table.entry("tea", "cnn", "gate", column="by lime").text == "the"


def test_texts_are_shown_as_every_method_sees_them(made):
    example = {"text": "a | fine cup", "label": "yes", "predicted": "no", "spans": [[0, 1], [4, 8], [9, 12]]}
    for mask, scores in (("base", [0.1, 0.0, 0.0]), ("gate", [0.0, 0.9, 0.3])):
        made.train("tea", "cnn", mask, [0.5])
        made.stage("tea", "cnn", mask, {}, examples=[{**example, "alone": scores}])
    (found,) = report(made).examples
    assert (found.dataset, found.model, found.label) == ("tea", "cnn", "yes")
    marks = [[piece.text for piece in view.pieces if piece.rank] for view in found.views]
    assert [(view.method, view.by, view.predicted) for view in found.views] == [
        ("base", "alone", "no"),
        ("gate", "alone", "no"),
    ]
    assert marks == [["a"], ["fine", "cup"]]
    shown = report(made).markdown()
    assert r"| gate | alone | no | a \| <b>fine</b>¹ <b>cup</b>² |" in shown


def test_searches_and_failures_are_told(made):
    made.train("tea", "cnn", "base", BASE)
    made.search("tea", "cnn", "base", ({}, 0.5), ({"model__filters": 9}, 0.75), chosen=1)
    made.fail("tea", "cnn", "gate", "out of <memory>")
    found = report(made)
    table = found.table("search")
    assert table.entry("tea", "cnn", "base", column="trial 2").estimate.value == 75.0
    assert table.entry("tea", "cnn", "base", column="chosen").text == "2: filters 9"
    assert found.failures() == [("tea cnn gate, seed 0, train", "out of <memory>")]
    assert "1 failed" in found.lead()
    assert "out of &lt;memory>" in found.markdown()


def test_failures_alone_are_a_report(made, tmp_path):
    made.fail("tea", "cnn", "gate", "no memory")
    report(made).write(tmp_path / "report", figures=False)
    assert "no memory" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(DataError, match=r"holds no results. Make some with: vmask grid"):
        GridReport.read(tmp_path)


# Formats -------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]


def hostile(made):
    """Everything that a result file may name, with characters that every format has a meaning for."""
    for mask in ("base", NASTY):
        made.train(NASTY, NASTY, mask, BASE, NASTY)
        example = {"text": NASTY, "label": NASTY, "predicted": NASTY, "spans": [[0, 3]], NASTY: [0.5]}
        scores = {(NASTY, NASTY, NASTY, part): [0.1, 0.2] for part in ("", NASTY)}
        splime = {NASTY: {"absolute": [[NASTY, 3.0]], "by_class": {}, "mean": []}}
        made.stage(NASTY, NASTY, mask, scores, "local", NASTY, examples=[example], splime=splime, headline=("", NASTY))
    made.fail(NASTY, NASTY, NASTY, NASTY)
    return report(made)


def test_hostile_names_are_text_on_the_page(made, tmp_path):
    found = hostile(made)
    found.write(tmp_path / "report", figures=False)
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    elements = Elements(page)
    assert "script" not in elements.names
    assert not [name for name in elements.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(" in page
    assert "<script" not in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "http:" not in page
    assert {path.parent.name for path in (tmp_path / "report").rglob("*.tex")} == {"tables"}


def test_hostile_names_are_text_in_latex(made):
    for table in hostile(made).tables:
        shown = latex(table)
        assert "<" not in shown
        assert r"\textless{}script\textgreater{}" in shown or NASTY not in str(table)
        assert r"\&\_\%" in shown or NASTY not in str(table)
        assert shown.count("{") - shown.count(r"\{") == shown.count("}") - shown.count(r"\}")


def test_files_of_tables_stay_in_their_folder_whatever_a_metric_is_called(made, tmp_path):
    made.train("tea", "cnn", "base", BASE)
    names = ("../../outside", "scores", "search", "a/b", "A-b", "...", "x" * 300)
    made.stage("tea", "cnn", "base", {(name, "", "", ""): [0.1] for name in names})
    report(made).write(tmp_path / "deep" / "report", figures=False)
    assert [path.name for path in tmp_path.iterdir() if path != made.folder] == ["deep"]
    tables = {path.stem for path in (tmp_path / "deep" / "report" / "tables").glob("*.tex")}
    assert {"outside", "scores-2", "search", "a-b", "A-b-2", "table", "x" * 80} <= tables


def test_the_page_is_whole(made):
    made.train("tea", "cnn", "base", BASE)
    made.data("tea")
    page = report(made).html()
    assert page.startswith("<!doctype html>")
    body = page.partition("<body>")[2].partition("</body>")[0]
    ET.fromstring(body)  # every element is closed
    assert "Title of tea" in page


def test_the_csv_has_differences_with_their_p_values(made, tmp_path):
    made.train("tea", "cnn", "base", BASE)
    made.train("tea", "cnn", "gate", MINE)
    report(made).write(tmp_path / "report", figures=False)
    with (tmp_path / "report" / "tables" / "test_accuracy.csv").open(encoding="utf-8") as stream:
        base, gate = csv.DictReader(stream)
    assert (base["row"], base["column"], base["difference"], base["p"]) == ("cnn / base", "tea", "", "")
    assert float(gate["difference"]) == pytest.approx(0.1)
    assert float(gate["p"]) == float(gate["p_holm"]) == pytest.approx(stats.ttest_rel(MINE, BASE).pvalue)
    assert gate["test"] == "paired t over 3 seeds"


def test_figures_are_drawn_for_any_method(made, tmp_path):
    for number in range(9):  # more than there are colours
        made.train("tea", "bag", f"m{number}", BASE)
    scores = {("mine", by, "", f"{k}%"): [k / 100] for k in (10, 20, 50) for by in ("alone", "random")}
    made.stage("tea", "bag", "m0", scores)
    pictures = report(made).write(tmp_path / "report")
    assert [picture.name for picture in pictures] == ["learning_curves", "mine_over_percent"]
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    labels = [text.get_text() for text in pictures[0].figure.legends[0].get_texts()]
    assert labels == [f"m{number}" for number in range(9)]
    assert [text.get_text() for text in pictures[1].figure.legends[0].get_texts()] == ["m0", "words at random"]


# Python --------------------------------------------------------------------------------------------------------


def test_a_data_frame_has_a_row_for_every_number(made):
    pandas = pytest.importorskip("pandas")
    made.train("tea", "cnn", "base", BASE)
    made.stage("tea", "cnn", "gate", {("mine", "alone", "remove", "k=1"): [0.1, None]}, variant="wide")
    frame = report(made).to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    names = ["dataset", "model", "mask", "variant", "seed", "stage", "metric", "part", "by", "hide", "value"]
    assert list(frame.columns)[:11] == names
    mine = frame[frame.metric == "mine"]
    assert mine[names].values.tolist() == [
        ["tea", "cnn", "gate", "wide", 0, "local", "mine", "k=1", "alone", "remove", 0.1]
    ]
    means = frame[frame.metric == "test_accuracy"].groupby("mask").value.mean()
    assert means["base"] == pytest.approx(0.82)


def test_a_data_frame_without_pandas_says_what_to_install(made, monkeypatch):
    made.train("tea", "cnn", "base", BASE)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match=r"needs pandas. Run: pip install pandas"):
        report(made).to_dataframe()


def test_a_table_that_is_not_there_is_a_key_error(made):
    made.train("tea", "cnn", "base", BASE)
    with pytest.raises(KeyError):
        report(made).table("aopc")
