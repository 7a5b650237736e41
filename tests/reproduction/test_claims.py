"""Claims: the verdict follows from the numbers, by the stated rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.claim import sides, together
from reproduction.claims import all_claims
from reproduction.published import load_published
from reproduction.results import Results
from vmask.report.grid.results import GridResults, Setting

PUBLISHED = load_published(Path(__file__).parents[2] / "reproduction" / "published.yaml")
SMALL = (0.0, 0.001, -0.001)
"""What seeds differ by."""


def results(trainings=None, scores=None, importance=None, telling=()):
    """Results with three seeds a cell: accuracies, and scores as (stage, metric, by, part)."""
    records = {}
    for (dataset, model, mask), value in (trainings or {}).items():
        records[Setting(dataset, model, mask), "train"] = {
            seed: {"test_accuracy": value + step} for seed, step in enumerate(SMALL)
        }
    for (dataset, model, mask, stage, metric, by, part), value in (scores or {}).items():
        by_seed = records.setdefault(
            (Setting(dataset, model, mask), stage), {seed: {"scores": []} for seed in range(3)}
        )
        for seed, step in enumerate(SMALL):
            score = {"metric": metric, "by": by, "hide": "remove", "part": part, "value": value + step}
            by_seed[seed]["scores"].append(score)
    for (dataset, model, mask, stage), words in (importance or {}).items():
        for record in records.setdefault((Setting(dataset, model, mask), stage), {0: {"scores": []}}).values():
            record["importance"] = words
    datasets = {name: {"telling": list(telling)} for name in ("trec", "sst2")}
    return Results(GridResults(records, {}, datasets, []))


def verdict(found, name):
    return next(claim for claim in all_claims(found, PUBLISHED) if claim.name == name)


def accuracies(**by_mask):
    cells = [("trec", "cnn"), ("trec", "lstm"), ("sst2", "cnn"), ("sst2", "lstm")]
    return {(*cell, mask): value for mask, values in by_mask.items() for cell, value in zip(cells, values, strict=True)}


def test_without_results_every_claim_is_not_run():
    claims = all_claims(results(), PUBLISHED)
    assert {claim.verdict for claim in claims} == {"not run"}
    assert len({claim.name for claim in claims}) == len(claims) >= 14


@pytest.mark.parametrize(
    ("vmask", "said"),
    [
        ((0.95, 0.95, 0.95, 0.96), "holds"),
        ((0.85, 0.85, 0.85, 0.84), "does not hold"),
        ((0.91, 0.89, 0.905, 0.895), "not shown"),  # supported here, contradicted there
        ((0.9001, 0.8999, 0.9, 0.9), "not shown"),
        ((0.95, 0.95, 0.95, 0.85), "not shown"),
    ],
)
def test_more_accurate_than_base(vmask, said):
    found = verdict(results(accuracies(base=(0.9,) * 4, vmask=vmask)), "accuracy")
    assert found.verdict == said
    assert "of 4 cells" in " ".join(found.evidence)


def test_one_cell_denies_no_claim_where_the_interval_over_cells_contains_0():
    found = verdict(results(accuracies(base=(0.9,) * 4, vmask=(0.9, 0.9, 0.9, 0.85))), "accuracy")
    assert found.verdict == "not shown"
    assert found.reason == "The interval contains 0."
    assert found.lines()[0] == found.reason


def test_the_effect_stands_beside_the_papers_in_the_same_cells():
    found = verdict(results(accuracies(base=(0.9,) * 4, vmask=(0.85, 0.85, 0.85, 0.84))), "accuracy")
    # The paper has 93.02, 90.80, 85.78, 84.35 against 92.40, 90.40, 85.50, 83.74.
    effect = "VMASK minus base: -5.25 points (-6.05 to -4.45) on average, in the paper +0.48 points (+0.21 to +0.74)"
    assert found.effects == (effect,)
    assert found.evidence[0].startswith(effect)


def with_schedule(made, best, beta=(0.8, 0.51, 0.3, 0.01), **train):
    """The results with the epochs of their trainings, all with the epoch `best` as the best."""
    options = {"train": {"beta": 1.0, "beta_end": 0.01, "beta_schedule": "linear"} | train}
    history = [{"epoch": number, "beta": one} for number, one in enumerate(beta, 1)]
    for (_, _, mask, stage), by_seed in made.records.items():
        for record in by_seed.values():
            if (mask, stage) == ("vmask", "train"):
                record.update(options=options, history=history, best_epoch=best)
    return made


@pytest.mark.parametrize(
    ("best", "train", "said"),
    [
        (2, {}, "not shown"),
        (3, {}, "does not hold"),
        (2, {"beta_schedule": "constant"}, "does not hold"),  # it falls no further
        (2, {"beta_end": None}, "does not hold"),
    ],
)
def test_trainings_that_were_kept_early_in_the_schedule_deny_no_claim(best, train, said):
    made = with_schedule(results(accuracies(base=(0.9,) * 4, vmask=(0.85, 0.85, 0.85, 0.84))), best, **train)
    found = verdict(made, "accuracy")
    assert found.verdict == said
    count = "12 of the 12 trainings with VMASK behind it (CNN 6 of 6, LSTM 6 of 6) were kept from an epoch at which"
    assert found.reason.startswith(count) == (said == "not shown")


def test_a_claim_that_holds_in_spite_of_early_trainings_holds():
    made = with_schedule(results(accuracies(base=(0.9,) * 4, vmask=(0.95, 0.95, 0.95, 0.96))), 1)
    found = verdict(made, "accuracy")
    assert (found.verdict, found.reason) == ("holds", "")


def test_early_trainings_are_counted_of_the_seeds_and_cells_that_a_claim_rests_on():
    vmask = {("sst2", "cnn", "vmask"): 0.9, ("sst2", "lstm", "vmask"): 0.9, ("trec", "cnn", "vmask"): 0.9}
    scores = {
        ("sst2", model, mask, "local", "aopc", by, ""): value + (0.001 if model == "cnn" else 0)
        for model in ("cnn", "lstm")
        for by in ("lime", "shapley")
        for mask, value in (("base", 0.3), ("vmask", 0.2 if model == "cnn" else 0.205))
    }
    made = with_schedule(results(vmask, scores), 1)
    for seed in range(3):
        made.records["sst2", "lstm", "vmask", "train"][seed] |= {"best_epoch": 4}
    del made.records["sst2", "cnn", "vmask", "local"][2]
    found = verdict(made, "aopc")
    assert found.verdict == "not shown"
    assert "2 of the 5 trainings with VMASK behind it (CNN 2 of 2, LSTM 0 of 3)" in found.reason
    assert any("LIME, cells without a training that was kept so early: -9.50 points" in line for line in found.evidence)


def test_a_claim_about_every_cell_is_not_denied_by_early_trainings():
    found = with_schedule(results({("sst2", "cnn", "vmask"): 0.9}, post_hoc(0.6, None)), 1)
    assert verdict(found, "two_words").verdict == "not shown"


def test_no_constant_gain_is_denied_by_one_method_that_always_gains():
    base, up, mixed = (0.9,) * 4, (0.91,) * 4, (0.91, 0.91, 0.91, 0.89)
    assert verdict(results(accuracies(base=base, l2=mixed, iba=mixed)), "others").verdict == "holds"
    assert verdict(results(accuracies(base=base, l2=mixed, iba=up)), "others").verdict == "does not hold"


def test_earlier_papers_span_their_results_and_the_band_of_a_run():
    # Kim 2014 and Wang 2017 have 92.8 and 89.33 for CNN on TREC; 500 texts.
    assert verdict(results({("trec", "cnn", "base"): 0.91}), "earlier").verdict == "holds"
    assert verdict(results({("trec", "cnn", "base"): 0.945}), "earlier").verdict == "holds"  # 92.8 + 2.27
    assert verdict(results({("trec", "cnn", "base"): 0.96}), "earlier").verdict == "holds"  # more
    assert verdict(results({("trec", "cnn", "base"): 0.86}), "earlier").verdict == "does not hold"
    both = {("trec", "cnn", "base"): 0.96, ("trec", "lstm", "base"): 0.5}
    found = verdict(results(both), "earlier")
    assert found.verdict == "holds in part"
    assert "Above the 95% band of earlier results: CNN TREC 96.0 (band 86.6 to 95.1, of 89.3 to 92.8)" in found.evidence
    assert "Below the 95% band of earlier results: LSTM TREC 50.0 (band 83.8 to 89.8, of 86.8)" in found.evidence


def test_aopc_leaves_trec_out_and_judges_both_explainers():
    def aopc(lime, shapley, dataset="sst2"):
        found = {}
        for model in ("cnn", "lstm"):
            found |= {(dataset, model, "base", "local", "aopc", by, ""): 0.3 for by in ("lime", "shapley")}
            found[dataset, model, "vmask", "local", "aopc", "lime", ""] = lime + (0.001 if model == "cnn" else 0)
            found[dataset, model, "vmask", "local", "aopc", "shapley", ""] = shapley + (0.001 if model == "cnn" else 0)
        return results(scores=found)

    assert verdict(aopc(0.4, 0.4), "aopc").verdict == "holds"
    assert verdict(aopc(0.2, 0.2), "aopc").verdict == "does not hold"
    assert verdict(aopc(0.4, 0.2), "aopc").verdict == "holds in part"
    assert verdict(aopc(0.4, 0.4, "trec"), "aopc").verdict == "not run"
    assert verdict(aopc(0.31, 0.29, "trec"), "aopc_trec").verdict == "holds"
    assert verdict(aopc(0.35, 0.35, "trec"), "aopc_trec").verdict == "does not hold"


def post_hoc(cnn, lstm, mask="vmask"):
    return {
        ("sst2", model, mask, "words", "post_hoc_accuracy", "mask", "k=2"): value
        for model, value in (("cnn", cnn), ("lstm", lstm))
        if value is not None
    }


def test_two_words_reach_about_eighty_percent():
    assert verdict(results(scores=post_hoc(0.82, 0.79)), "two_words").verdict == "holds"
    assert verdict(results(scores=post_hoc(0.82, 0.7)), "two_words").verdict == "holds in part"
    assert verdict(results(scores=post_hoc(0.6, 0.7)), "two_words").verdict == "does not hold"


def test_encoders_need_more_words():
    encoder = {("sst2", "minilm", "vmask", "words", "post_hoc_accuracy", "mask", "k=2"): 0.75}
    assert verdict(results(scores=post_hoc(0.8, 0.8) | encoder), "encoders").verdict == "holds"
    assert verdict(results(scores=post_hoc(0.8, 0.7) | encoder), "encoders").verdict == "holds in part"
    assert verdict(results(scores=post_hoc(0.8, 0.8)), "encoders").verdict == "not run"


@pytest.mark.parametrize(
    ("pearson", "spearman", "said"), [(0.05, 0.05, "holds"), (0.05, 0.2, "holds in part"), (-0.2, 0, "does not hold")]
)
def test_importance_and_frequency(pearson, spearman, said):
    of = ("sst2", "cnn", "vmask", "words", "frequency_correlation", "mask")
    found = results(scores={(*of, "pearson"): pearson, (*of, "log"): 0.0, (*of, "spearman"): spearman})
    assert verdict(found, "frequency").verdict == said


def words(top, frequent, seen=()):
    return {
        "top": [[f"t{i}", one, 3] for i, one in enumerate(top)],
        "frequent": [[f"f{i}", one, 99] for i, one in enumerate(frequent)],
        "top_seen_5": [[word, 0.9, 9] for word in seen],
        "words": 100,
        "drawn": [[9, 0.5], [1, 0.5]],
    }


def test_importance_of_top_and_frequent_words():
    cell = ("sst2", "cnn", "vmask", "words")
    high = results(importance={cell: words([0.9] * 10, [0.45] * 10)})
    low = results(importance={cell: words([0.9] * 9 + [0.7], [0.8] * 10)})
    assert [verdict(high, name).verdict for name in ("task_words", "frequent_words")] == ["holds"] * 2
    assert [verdict(low, name).verdict for name in ("task_words", "frequent_words")] == ["does not hold"] * 2


def test_top_words_are_held_against_a_random_mask():
    importance = {
        ("sst2", "cnn", "vmask", "words"): words([0.9], [0.5], ["fine", "dull"]),
        ("sst2", "cnn", "random_mask", "words"): words([0.9], [0.5], ["fine", "lamp"]),
    }
    found = verdict(results(importance=importance, telling=["fine", "dull"]), "top_words")
    assert found.verdict == "holds"
    assert "Percent, VMASK: CNN SST-2 100.0" in found.evidence
    assert "Percent, random mask: CNN SST-2 50.0" in found.evidence
    assert verdict(results(importance=importance), "top_words").verdict == "not run"


def test_local_and_global_agree_where_limes_words_are_among_the_masks_more_often_than_by_chance():
    def made(by_lime):
        cell = ("sst2", "cnn", "vmask", "local")
        found = results(importance={cell: words([0.9], [0.5], ["fine", "dull"])})
        found.records[cell][0]["splime"] = {"lime": {"absolute": [[word, 1.0] for word in by_lime]}}
        return verdict(found, "agreement")

    agreed = made(["Fine", "the", "dull", "of"])
    assert agreed.verdict == "holds"
    assert agreed.evidence == (
        "Percent of the ten words: CNN SST-2 50.0",
        "By chance: CNN SST-2 4.0",
    )  # 2 of half of 100 words
    assert made(["the", "of"]).verdict == "does not hold"


@pytest.mark.parametrize(("aopc", "said"), [(0.3, "holds"), (0.1, "does not hold")])
def test_local_and_global_agree_where_vmask_gains_by_both(aopc, said):
    scores = {
        ("sst2", "cnn", "base", "local", "aopc", "lime", ""): 0.2,
        ("sst2", "cnn", "vmask", "local", "aopc", "lime", ""): aopc,
        ("sst2", "cnn", "base", "words", "post_hoc_accuracy", "ranking", "k=2"): 0.7,
        ("sst2", "cnn", "vmask", "words", "post_hoc_accuracy", "mask", "k=2"): 0.8,
    }
    found = verdict(results(scores=scores), "agreement")
    assert found.verdict == said
    (line,) = found.evidence
    assert line.endswith(f"alike in {int(aopc > 0.2)} of 1: CNN SST-2 {100 * (aopc - 0.2):+.1f} and +10.0")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["holds", "does not hold"], "holds in part"),
        (["holds in part", "does not hold"], "holds in part"),
        (["not shown", "does not hold"], "not shown"),
        (["does not hold", "not run"], "does not hold"),
        (["not run"], "not run"),
    ],
)
def test_a_claim_of_several_parts(parts, whole):
    assert together(parts) == whole


def test_sides_needs_both_methods_and_two_seeds_for_a_test():
    first = {("trec", "cnn"): {0: 0.5, 1: 0.51}, ("sst2", "cnn"): {0: 0.5}}
    second = {("trec", "cnn"): {0: 0.8, 1: 0.81}, ("sst2", "cnn"): {0: 0.6}, ("subj", "cnn"): {0: 0.6}}
    found = sides(second, lambda cell: first.get(cell, {}), lambda cell: second[cell])
    assert list(found.differences) == [("trec", "cnn"), ("sst2", "cnn")]
    assert found.differences["sst2", "cnn"] == pytest.approx(0.1)
    assert found.tested == 1
    assert found.supported == [("trec", "cnn")]
    assert not found.contradicted


def test_evidence_names_what_was_run_not_what_it_stands_for():
    scores = {
        (dataset, model, "vmask", "words", "frequency_correlation", "mask", part): 0.01
        for dataset, model in (("trec", "minilm"), ("yelp", "lstm"))
        for part in ("pearson", "log", "spearman")
    }
    made = results(scores=scores)
    made = replace(made, asides={"yelp": "stand-in"})
    evidence = " ".join(verdict(made, "frequency").evidence)
    assert "MiniLM TREC 0.01" in evidence
    assert "LSTM Yelp (stand-in) 0.01" in evidence
    assert "BERT" not in evidence
