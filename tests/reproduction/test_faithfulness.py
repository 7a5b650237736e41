"""Tables of masks beside people and beside what models use, from made-up results."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from grid_results import Made
from reproduction import faithfulness, plausibility
from reproduction.faithfulness import METHODS, faithfulness_tables
from reproduction.plausibility import CELLS, NAMES, ROWS, SIMPLE, plausibility_table
from reproduction.results import Results
from reproduction.write import RESULTS, read_document
from vmask.grid.spec import read_experiment
from vmask.report.grid import formats

HERE = Path(__file__).parents[2] / "reproduction"
STEPS = (0.0, 0.01, 0.03)
"""What seeds differ by."""


def split(method):
    mask, _, variant = method.partition(":")
    return mask, variant


def test_without_results_both_say_that_they_were_not_run():
    for table in (plausibility_table(None), *faithfulness_tables(None)):
        text = formats.markdown(table)
        assert text.startswith(f"{table.title}: not run.")
        assert "Signature" not in text


# Plausibility ---------------------------------------------------------------------------------------------


@pytest.fixture
def marked(tmp_path):
    """Rankings with their place among the rows as token F1, in tenths of a point."""
    made = Made(tmp_path)
    by_file = {}
    for number, (method, by) in enumerate(ROWS):
        steps = (0.0,) if (method, by) in SIMPLE else STEPS
        scores = {("token_f1", by, "", ""): [number / 1000 + step for step in steps]}
        scores["auprc", by, "", "average precision"] = [0.9 - number / 1000 + step for step in steps]
        by_file.setdefault((method, (method, by) in SIMPLE), {}).update(scores)
    for (method, simple), scores in by_file.items():
        mask, variant = split(method)
        for dataset, model in CELLS:
            if (mask, model) != ("select", "lstm"):
                made.stage(dataset, "words" if simple else model, mask, scores, plausibility.STAGE, variant=variant)
    return Results.read(tmp_path)


def test_every_ranking_has_a_row_with_its_interval(marked):
    table = plausibility_table(marked)
    assert len(set(ROWS)) == len(ROWS) == 12
    first = table.entry("token F1", "VMASK's mask", column="SST trees CNN").ours
    assert first.value == pytest.approx(100 * sum(STEPS) / 3)
    assert first.how == "t over 3 seeds"
    last = table.entry("token F1", "random order", column="movies CNN").ours
    assert (last.value, last.how) == (pytest.approx(1.1), "over texts")
    for name in NAMES.values():  # select is trained with a CNN alone
        entry = table.entry("average precision", name, column="SST trees LSTM")
        assert entry.absent == name.startswith("select")
    linear = [table.entry("token F1", NAMES[plausibility.LINEAR], column=column).ours for column in table.columns]
    assert linear[0] == linear[1]
    assert "† one seed, interval over texts" in formats.markdown(table)


def test_rankings_are_compared_seed_by_seed(marked):
    table = plausibility_table(marked)

    def difference(title, column="SST trees CNN"):
        return table.entry("difference in token F1", title, column=column).ours

    of_select = difference("select's mask, 25% visible minus VMASK's mask")
    assert (of_select.value, of_select.n) == (pytest.approx(0.2), 3)
    assert isnan(of_select.low)  # all seeds differ by the same
    against_linear = difference("VMASK's mask minus weights of a linear model")
    assert against_linear.value == pytest.approx(100 * sum(STEPS) / 3 - 100 * ROWS.index(plausibility.LINEAR) / 1000)
    assert against_linear.low < against_linear.value < against_linear.high


def test_the_grid_measures_every_row_of_the_table():
    experiment = read_experiment(HERE / "plausibility.yaml")
    planned = set()
    for cell in experiment.cells:
        of = cell.combination
        for stage in experiment.stages_of(cell):
            method = f"{of.mask}:{of.variant}" if of.variant else of.mask
            planned |= {(of.dataset, of.model, (method, by)) for by in stage.explainers}
    wanted = {(*cell, ranking) for cell in CELLS for ranking in ROWS if ranking not in SIMPLE}
    assert planned == {row for row in wanted if (row[1], row[2][0].split(":")[0]) != ("lstm", "select")}


# Faithfulness ---------------------------------------------------------------------------------------------


@pytest.fixture
def used(tmp_path):
    made = Made(tmp_path)
    for number, method in enumerate(METHODS):
        mask, variant = split(method)
        scores = {}
        for by in ("lime",) if method == "base" else ("mask", "lime"):
            for metric, part in (("sufficiency", "mean"), ("comprehensiveness", "mean"), ("naopc", "")):
                # Seeds of a method differ by more the later it comes, so that differences have intervals.
                scores[metric, by, "remove", part] = [0.1 * number + (number + 1) * step for step in STEPS]
        scores["post_hoc_accuracy", "ranking" if method == "base" else "mask", "remove", "k=2"] = [0.7, 0.8, 0.9]
        made.stage("sst2", "cnn", mask, scores, faithfulness.STAGE, variant=variant)
        made.train("sst2", "cnn", mask, [0.8, 0.81, 0.82], variant=variant)
    return Results.read(tmp_path)


def test_every_method_has_its_scores_by_mask_and_by_lime(used):
    scores, differences = faithfulness_tables(used)
    assert [row.heads[0] for row in scores.rows] == [
        *("base", "VMASK", "IBA", "random mask", "select at 50%", "select at 25%")
    ]
    assert scores.entry("base", column="NAOPC, mask").text == "no mask"
    assert not any(entry.absent for entry in (*scores.entries, *differences.entries))
    half = scores.entry("select at 50%", column="sufficiency, LIME").ours
    assert half.value == pytest.approx(40 + 5 * 100 * sum(STEPS) / 3)
    assert scores.entry("base", column="post-hoc accuracy, two words").ours.value == pytest.approx(80)
    assert scores.entry("select at 25%", column="test accuracy").ours.value == pytest.approx(81)
    assert "n 50 texts; 3 seeds a cell (0-2)" in scores.signature


def test_naopc_is_compared_seed_by_seed(used):
    _, table = faithfulness_tables(used)
    assert [row.heads for row in table.rows] == [
        ("select at 50% minus VMASK", "mask"),
        ("select at 25% minus VMASK", "mask"),
        ("select at 50% minus base", "LIME"),
        ("select at 25% minus base", "LIME"),
        ("VMASK minus base", "LIME"),
    ]
    found = table.rows[0].entries[0].ours
    assert found.value == pytest.approx(30 + 3 * 100 * sum(STEPS) / 3)
    assert found.low < found.value < found.high


def test_the_grid_trains_the_models_of_the_table_and_of_the_curves():
    experiment = read_experiment(HERE / "faithfulness.yaml")
    of = {cell.combination for cell in experiment.cells}
    assert {f"{one.mask}:{one.variant}".rstrip(":") for one in of} == set(METHODS)
    assert {(one.dataset, one.model) for one in of} == {faithfulness.CELL}
    for cell in experiment.cells:
        (stage,) = experiment.stages_of(cell)
        ranker = experiment.ranker_of(cell, stage)
        assert (ranker is not None) == (cell.combination.mask == "base")
        assert set(stage.metrics) == {*(key.metric for key in faithfulness.SCORES.values()), "post_hoc_accuracy"}
    text = (HERE / "curves.yaml").read_text(encoding="utf-8")
    for one in of:  # the same options by the same name, so that one training serves both
        if one.variant:
            assert f"{one.variant}: {{mask__budget: {one.options['mask__budget']}}}" in text


# In the report --------------------------------------------------------------------------------------------


def test_the_report_has_the_tables(tmp_path):
    (tmp_path / "results").mkdir()
    for name in ("cells", "data", "search"):
        (tmp_path / "results" / name).symlink_to(RESULTS / name)
    text = read_document(tmp_path / "results", None).markdown("figures")
    assert "## Rankings of words beside the words that people marked\n\nRankings of words" in text
    assert "## Masks beside what their models use, CNN on SST-2\n\nMasks beside" in text
    committed = read_document().markdown("figures")
    assert "| token F1 | weights of a linear model | 35.7 ± 3.0† |" in committed
