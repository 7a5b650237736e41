"""VMASK's first version beside today's."""

from __future__ import annotations

from reproduction.claim import Claim
from reproduction.effect import Effect
from reproduction.first_version import chosen_epochs_table, first_version, verdicts_table
from reproduction.results import Results
from vmask.report.grid.results import GridResults, Setting


def results(best):
    history = [
        {"epoch": number, "beta": beta, "mask_std": 0.1 * number, "competes": number > 2}
        for number, beta in enumerate((1.0, 0.5, 0.01), 1)
    ]
    records = {
        (Setting("trec", "cnn", "vmask"), "train"): {seed: {"history": history, "best_epoch": best} for seed in (0, 1)}
    }
    return Results(GridResults(records, {}, {}, []))


def test_chosen_epochs_of_both_versions_stand_beside_each_other():
    table = chosen_epochs_table(results(3))
    before, now = ([entry.text for entry in row.entries] for row in table.rows)
    trec = [row for row in first_version()["trainings"] if (row["dataset"], row["model"]) == ("trec", "cnn")]
    assert before[0] == str(len(trec)) == "5"
    assert before[2] == str(sum(row["beta"] > 0.011 for row in trec))
    assert now == ["2", "0.01 (highest 0.01)", "0", "0.30 (lowest 0.30)"]
    early = chosen_epochs_table(results(2)).rows[1].entries
    assert early[2].text == "2"


def test_without_trainings_of_today_there_is_no_table():
    assert chosen_epochs_table(Results(GridResults({}, {}, {}, []))) is None


def test_verdicts_before_and_after():
    effect = Effect("x", {("trec", "cnn"): [0.1, 0.101]})
    table = verdicts_table([Claim("iba_l2x", "IBA is more accurate.", (effect,)), Claim("y", "Y.", (), of_paper=False)])
    (row,) = table.rows
    texts = [entry.text for entry in row.entries]
    assert texts[0].startswith("IBA minus L2X: +1.77 points")
    assert texts[1] == "holds"
    assert texts[2].startswith("+10.05")
    assert texts[3] == "holds"
