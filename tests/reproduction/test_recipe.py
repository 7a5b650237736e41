"""The choice of VMASK's schedule, by its rule."""

from __future__ import annotations

import pytest

from reproduction import recipe
from reproduction.recipe import choose, recipe_table, scores_of
from vmask.grid.store import Store


def record(variant, seed, *accuracies, spread=0.2):
    """A training whose last two epochs compete; the first has the highest score."""
    rows = [{"dev_accuracy": 1.0, "competes": False, "mask_std": 0.01}]
    rows += [{"dev_accuracy": accuracy, "competes": True, "mask_std": spread} for accuracy in accuracies]
    return {
        "cell": {"dataset": "trec", "model": "cnn", "mask": "vmask", "variant": variant, "seed": seed},
        "status": "done",
        "history": rows,
        "best_epoch": 2,
        "facts": {"versions": {"vmask": "1"}, "commit": "abc"},
    }


def scores(*values):
    return {("trec", "cnn", seed): value for seed, value in enumerate(values)}


def test_the_score_is_the_mean_over_the_epochs_that_compete():
    assert scores_of([record("default", 1, 0.6, 0.7)]) == {("trec", "cnn", 1): pytest.approx(65)}


def test_a_variant_must_be_better_by_more_than_a_standard_error():
    default = scores(80.0, 90.0, 70.0)
    same, noisy, better = scores(80.0, 90.0, 70.0), scores(85.0, 86.0, 70.0), scores(81.0, 91.5, 71.0)
    assert choose({"default": default, "same": same, "noisy": noisy}) == "default"
    assert choose({"default": default, "better": better, "noisy": noisy}) == "better"
    best = scores(82.0, 92.5, 72.0)
    assert choose({"default": default, "better": better, "best": best}) == "best"


@pytest.mark.parametrize("complete", [True, False])
def test_the_table_has_scores_differences_and_spread(tmp_path, monkeypatch, complete):
    monkeypatch.setattr(recipe, "PAIRS", 2)
    store = Store(tmp_path)
    for variant, gain in (("default", 0.0), ("longer", 0.01)):
        for seed in (1, 2):
            made = record(variant, seed, 0.6 + gain + 0.001 * seed * gain, 0.7 + gain, spread=0.3)
            store.write(store.cell(f"trec--cnn--vmask--{variant}--s{seed}"), made)
    if not complete:
        store.write(store.cell("trec--cnn--vmask--half--s1"), record("half", 1, 0.9, 0.9))
    table = recipe_table(tmp_path)
    rows = {row.heads[0]: [entry.text for entry in row.entries] for row in table.rows}
    assert table.rows[0].entries[0].ours.value == pytest.approx(65)
    assert rows["default"][1:] == ["65.00", "", "0.30"]
    if complete:
        assert rows["longer, chosen"][2].startswith("+1.00 (0.00")
    else:  # nothing is chosen before all is there
        assert list(rows) == ["default", "half", "longer"]
        assert rows["half"][1:3] == ["not run", ""]


def test_without_results_there_is_no_table(tmp_path):
    assert recipe_table(tmp_path) is None
