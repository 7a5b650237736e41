"""Claims: the verdict follows from the numbers, by the stated rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.claim import Claim, claim_rows
from reproduction.claims import all_claims
from reproduction.effect import BELOW_0, Effect
from reproduction.plausibility import CELLS, plausible
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
        ((0.85, 0.85, 0.85, 0.84), "contradicted"),
        ((0.89,) * 4, "not shown"),  # one seed is three points higher
        ((0.9001, 0.8999, 0.9, 0.9), "contradicted"),  # the paper has half a point
    ],
)
def test_more_accurate_than_base(vmask, said):
    made = results(accuracies(base=(0.9,) * 4, vmask=vmask))
    for (_, _, mask, _), by_seed in made.records.items():
        if mask == "vmask" and said == "not shown":
            by_seed[0]["test_accuracy"] += 0.03
    found = verdict(made, "accuracy")
    assert found.verdict == said
    assert "of 4 cells" in " ".join(found.lines())


def test_the_effect_stands_beside_the_papers_in_the_same_cells():
    found = verdict(results(accuracies(base=(0.9,) * 4, vmask=(0.85, 0.85, 0.85, 0.84))), "accuracy")
    # The paper has 93.02, 90.80, 85.78, 84.35 against 92.40, 90.40, 85.50, 83.74.
    (row,) = found.rows()
    assert row[:4] == ("VMASK minus base", "-5.25 (-5.25 to -5.25), 4 cells", "+0.48", "contradicted, the opposite")
    assert found.to_dict()["effects"][0]["paper"] == pytest.approx(0.004775)


def test_word_dropout_is_the_control_of_accuracy():
    found = verdict(results(accuracies(base=(0.9,) * 4, vmask=(0.91,) * 4, word_dropout=(0.92,) * 4)), "accuracy")
    assert found.evidence[0].startswith("Control, word dropout minus base: +2.00")


def test_no_constant_gain_needs_a_cell_that_is_clearly_lower():
    base, up, mixed = (0.9,) * 4, (0.91,) * 4, (0.91, 0.91, 0.91, 0.89)
    assert verdict(results(accuracies(base=base, l2=mixed, iba=mixed)), "others").verdict == "holds"
    found = verdict(results(accuracies(base=base, l2=mixed, iba=up)), "others")
    assert found.verdict == "holds in part"
    assert [effect.verdict for effect in found.run] == ["holds", "contradicted"]
    assert found.run[0].title == "l2 minus base, lowest cell: LSTM SST-2"


def test_base_is_held_against_the_mean_of_earlier_papers_less_a_point():
    # Kim 2014 and Wang 2017 have 92.8 and 89.33 for CNN on TREC, 91.07 on average; 500 texts.
    assert verdict(results({("trec", "cnn", "base"): 0.96}), "earlier").verdict == "holds"
    assert verdict(results({("trec", "cnn", "base"): 0.905}), "earlier").verdict == "holds"
    assert verdict(results({("trec", "cnn", "base"): 0.86}), "earlier").verdict == "contradicted"
    found = verdict(results({("trec", "cnn", "base"): 0.96, ("trec", "lstm", "base"): 0.5}), "earlier")
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
    assert verdict(aopc(0.2, 0.2), "aopc").verdict == "contradicted"
    assert verdict(aopc(0.4, 0.2), "aopc").verdict == "holds in part"
    assert verdict(aopc(0.4, 0.4, "trec"), "aopc").verdict == "not run"
    assert verdict(aopc(0.31, 0.29, "trec"), "aopc_trec").verdict == "holds"
    assert verdict(aopc(0.35, 0.35, "trec"), "aopc_trec").verdict == "contradicted"


def post_hoc(cnn, lstm, mask="vmask"):
    return {
        ("sst2", model, mask, "words", "post_hoc_accuracy", "mask", "k=2"): value
        for model, value in (("cnn", cnn), ("lstm", lstm))
        if value is not None
    }


def test_two_words_reach_about_eighty_percent():
    assert verdict(results(scores=post_hoc(0.82, 0.79)), "two_words").verdict == "holds"
    assert verdict(results(scores=post_hoc(0.751, 0.749)), "two_words").verdict == "not shown"
    assert verdict(results(scores=post_hoc(0.6, 0.7)), "two_words").verdict == "contradicted"


def test_encoders_need_more_words():
    encoder = {("sst2", "minilm", "vmask", "words", "post_hoc_accuracy", "mask", "k=2"): 0.75}
    assert verdict(results(scores=post_hoc(0.8, 0.801) | encoder), "encoders").verdict == "holds"
    assert verdict(results(scores=post_hoc(0.8, 0.7) | encoder), "encoders").verdict == "not shown"
    assert verdict(results(scores=post_hoc(0.8, 0.8)), "encoders").verdict == "not run"


@pytest.mark.parametrize(
    ("pearson", "log", "spearman", "said"),
    [(0.05, 0.0, 0.05, "holds"), (0.05, 0.0, 0.2, "holds in part"), (-0.2, 0.3, -0.4, "contradicted")],
)
def test_importance_and_frequency(pearson, log, spearman, said):
    of = ("sst2", "cnn", "vmask", "words", "frequency_correlation", "mask")
    found = results(scores={(*of, "pearson"): pearson, (*of, "log"): log, (*of, "spearman"): spearman})
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

    def made(top, frequent):
        scores = {(*cell, "post_hoc_accuracy", "mask", "k=2"): 0.8}  # for three seeds
        return results(scores=scores, importance={cell: words(top, frequent)})

    high, low = made([0.9] * 10, [0.45] * 10), made([0.9] * 9 + [0.7], [0.8] * 10)
    assert [verdict(high, name).verdict for name in ("task_words", "frequent_words")] == ["holds"] * 2
    assert [verdict(low, name).verdict for name in ("task_words", "frequent_words")] == ["contradicted"] * 2


def test_top_words_are_held_against_a_random_mask():
    def made(of_random, telling=("fine", "dull")):
        cells = {("sst2", "cnn", mask, "words") for mask in ("vmask", "random_mask")}
        scores = {(*cell, "post_hoc_accuracy", "mask", "k=2"): 0.8 for cell in cells}
        importance = {
            cell: words([0.9], [0.5], of_random if "random_mask" in cell else ["fine", "dull"]) for cell in cells
        }
        return verdict(results(scores=scores, importance=importance, telling=telling), "top_words")

    found = made(["fine", "lamp"])
    assert found.verdict == "holds"
    assert "Percent, VMASK: CNN SST-2 100.0" in found.evidence
    assert "Percent, random mask: CNN SST-2 50.0" in found.evidence
    assert made(["fine", "dull"]).verdict == "not shown"
    assert made(["fine", "lamp"], ()).verdict == "not run"


def test_local_and_global_agree_where_limes_words_are_among_the_masks_more_often_than_by_chance():
    def made(by_lime):
        cell = ("sst2", "cnn", "vmask", "local")
        scores = {(*cell, "aopc", "lime", ""): 0.3}
        found = results(scores=scores, importance={cell: words([0.9], [0.5], ["fine", "dull"])})
        for record in found.records[cell].values():
            record["splime"] = {"lime": {"absolute": [[word, 1.0] for word in by_lime]}}
        return verdict(found, "agreement")

    agreed = made(["Fine", "the", "dull", "of"])
    assert agreed.verdict == "holds"
    assert agreed.evidence == ("Points above chance: CNN SST-2 46.0",)  # half, and 2 of half of 100 words
    assert made(["the", "of"]).verdict == "contradicted"


def test_a_claim_of_several_parts_holds_in_part_where_one_does():
    holds, denied = (
        Effect("x", {("trec", "cnn"): [0.1, 0.101]}, region) for region in (Effect("", {}).region, BELOW_0)
    )
    unclear, missing = Effect("x", {("trec", "cnn"): [0.1, -0.1]}), Effect("x", {})
    for effects, said in (
        ((holds, denied), "holds in part"),
        ((holds, unclear), "holds in part"),
        ((denied, unclear), "contradicted in part"),
        ((denied, missing), "contradicted"),
        ((missing,), "not run"),
    ):
        assert Claim("x", "X.", effects).verdict == said
    rows = claim_rows([Claim("x", "X.", (holds, denied)), Claim("y", "Y.", (missing,))])
    assert [row[0] for row in rows] == ["X.", "", "Y."]
    assert rows[2] == ("Y.", "", "not run", "", "not run", "")


def test_plausibility_holds_where_the_mask_is_above_lime_of_base():
    scores = {}
    for number, (dataset, model) in enumerate(CELLS):
        for mask, by, value in (("base", "lime", 0.45), ("vmask", "mask", 0.52 + 0.01 * number), ("iba", "mask", 0.3)):
            scores[dataset, model, mask, "plausibility", "token_f1", by, ""] = value
    found = plausible(results(scores=scores))
    assert (found.verdict, found.of_paper) == ("holds", False)
    assert found.rows()[0][1] == "+8.00 (+8.00 to +8.00), 3 cells"
    assert any(line.startswith("IBA's mask minus LIME of base: -15.00") for line in found.evidence)
    assert any("VMASK's mask 52.0, LIME of base 45.0, IBA's mask 30.0" in line for line in found.evidence)
    assert plausible(None).verdict == "not run"


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
