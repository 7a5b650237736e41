"""`evaluate`: metrics and methods by name, models of every kind, one value a text."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import numpy as np
import pytest

from linear import LinearWords
from toy import toy_texts
from vmask import TextClassifier, evaluate, load_dataset
from vmask.data.splits import Split
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.evaluation.resolve import plugins, with_options
from vmask.explain import EXPLAINERS
from vmask.metrics import METRICS

WEIGHTS = {"good": 0.2, "fine": 0.1, "bad": -0.15, "poor": -0.1, "so": 0.02}
TEXTS = ["good fine so", "bad so poor", "so good", "fine", "bad", "good good bad", "poor fine so so"]
LABELS = ["yes", "no", "yes", "yes", "no", "yes", "no"]


@pytest.fixture
def model():
    return LinearWords(WEIGHTS)


@pytest.fixture(scope="module")
def trained():
    texts, labels = toy_texts(120)
    made = TextClassifier(embeddings="random", epochs=3, learning_rate=0.01, model__filters=8)
    return made.fit(texts, labels)


def cheap(**options):
    """Options that keep methods quick on toy texts."""
    return {"explainers": {"occlusion": {}, "lime": {"samples": 50}}, **options}


def test_by_default_predictions_are_measured(model):
    found = evaluate(model, (TEXTS, LABELS))
    assert [score.metric for score in found.scores] == ["accuracy", "macro_f1", "calibration_error"]
    right = [row.argmax() == ["no", "yes"].index(label) for row, label in zip(_answers(model), LABELS, strict=True)]
    assert found.score("accuracy").value == np.mean(right)
    assert np.array(found.confusion).sum() == len(TEXTS)
    assert np.trace(np.array(found.confusion[0])) == sum(right)


def _answers(model):
    return model.predict_docs(model.prepare(TEXTS))


def test_values_are_those_of_the_closed_form(model):
    found = evaluate(model, (TEXTS, LABELS), "aopc,prob_drop", "occlusion", hide="remove")
    values = found.found[0][("aopc", "occlusion", "remove", "")].values
    for text, value, row in zip(TEXTS, values, _answers(model), strict=True):
        sign = 1 if row.argmax() else -1
        drops = np.cumsum(sorted((sign * WEIGHTS[word] for word in text.split()), reverse=True)[:5])
        assert value == pytest.approx(drops.mean(), abs=1e-6)


def test_all_are_those_that_apply_and_the_others_are_said(model):
    found = evaluate(model, (TEXTS, LABELS), "all", **cheap())
    measured = {score.metric for score in found.scores}
    assert {"accuracy", "aopc", "naopc", "comprehensiveness", "sufficiency", "stability", "sparsity"} <= measured
    left_out = {note.partition(" ")[0] for note in found.notes}
    assert left_out == set(METRICS.names()) - measured
    assert any("no human rationales" in note for note in found.notes)


def test_a_metric_can_be_taken_out_of_all(model):
    found = evaluate(model, (TEXTS, LABELS), "all,-naopc,-stability", **cheap())
    assert not {"naopc", "stability"} & {score.metric for score in found.scores}


def test_a_metric_that_was_named_and_cannot_be_measured_is_an_error(model):
    with pytest.raises(ConfigError, match="token_f1 cannot be measured here, because the dataset has no human"):
        evaluate(model, (TEXTS, LABELS), "token_f1", **cheap())
    with pytest.raises(ConfigError, match="accuracy cannot be measured here, because the texts have no labels"):
        evaluate(model, TEXTS)


def test_texts_without_labels_are_enough_for_explanations(model):
    found = evaluate(model, TEXTS, "aopc", **cheap())
    assert found.confusion == []
    assert found.score("aopc", by="occlusion").n == len(TEXTS)


@pytest.mark.parametrize("wrong", [{"metrics": "aopcc"}, {"explainers": "lim"}, {"hide": "remov"}])
def test_a_wrong_name_is_said_with_the_near_one(model, wrong):
    with pytest.raises(UnknownName, match="Did you mean"):
        evaluate(model, (TEXTS, LABELS), **{"metrics": "aopc", **wrong})


def test_a_wrong_option_of_a_metric_is_said(model):
    with pytest.raises(ConfigError, match=r"Unknown option 'aopc\.kk'"):
        evaluate(model, (TEXTS, LABELS), {"aopc": {"kk": 3}})
    with pytest.raises(ConfigError, match="n is 0"):
        evaluate(model, (TEXTS, LABELS), n=0)


def test_options_of_metrics_are_used_and_recorded(model):
    found = evaluate(model, (TEXTS, LABELS), {"prob_drop": {"k": 2}}, "occlusion")
    assert {score.part for score in found.scores} == {"k=1", "k=2"}
    assert found.metrics["prob_drop"]["k"] == 2
    assert next(score.part for score in found.scores if score.headline and score.by == "random") == "k=2"


def test_the_random_floor_is_always_there(model):
    found = evaluate(model, (TEXTS, LABELS), "aopc", "occlusion")
    assert {score.by for score in found.scores} == {"occlusion", "random"}
    assert set(found.facts["explainers"]) == {"occlusion", "random"}
    assert "random" not in found.words


def test_two_ways_of_hiding_by_default(model, trained):
    assert evaluate(model, (TEXTS, LABELS)).facts["hide"] == ["remove", "mask"]
    texts, labels = toy_texts(8)
    assert evaluate(trained, (texts, labels)).facts["hide"] == ["remove", "zero"]
    plain = evaluate(lambda given: np.tile([0.4, 0.6], (len(given), 1)), (texts, labels), labels=["neg", "pos"])
    assert plain.facts["hide"] == ["remove", "unk"]


def test_a_sample_is_drawn_by_the_seed_and_recorded(model):
    texts = [f"good fine so w{i}" for i in range(40)]
    data = Split(texts, ["yes"] * 40, [f"id{i}" for i in range(40)])
    found = evaluate(model, data, "accuracy,aopc", "occlusion", n=10, seed=3)
    assert len(found.sample) == len(set(found.sample)) == 10
    assert list(found.sample) == sorted(found.sample)
    assert found.score("aopc").n == 10
    assert found.score("accuracy").n == 40
    assert found.ids[5] == "id5"
    assert list(evaluate(model, data, n=10, seed=3).sample) == list(found.sample)
    assert list(evaluate(model, data, n=10, seed=4).sample) != list(found.sample)


def test_company_and_order_change_no_value(trained):
    """More texts than are worked on at a time, forwards and backwards."""
    texts, labels = toy_texts(40, seed=5)
    texts = [f"{text} {i}" for i, text in enumerate(texts)]
    asked = {"metrics": "all", "explainers": {"lime": {"samples": 40}, "mask": {}}}
    one = evaluate(trained, (texts, labels), **asked)
    two = evaluate(trained, (texts[::-1], labels[::-1]), **asked)
    compared = 0
    for key, series in one.found[0].items():
        if series.over != "words":
            np.testing.assert_allclose(series.values, two.found[0][key].values[::-1], atol=1e-6)
            compared += 1
    assert compared > 50


def test_workers_and_batches_change_no_value(trained):
    texts, labels = toy_texts(40, seed=5)
    asked = {"metrics": "aopc,comprehensiveness,post_hoc_accuracy", "explainers": {"lime": {"samples": 40}}}
    one = evaluate(trained, (texts, labels), **asked)
    two = evaluate(trained, (texts, labels), **asked, workers=2, batch_size=7)
    for key, series in one.found[0].items():
        np.testing.assert_allclose(series.values, two.found[0][key].values, atol=1e-6)


def test_a_model_without_a_ranking_leaves_the_mask_out_and_says_so():
    texts, labels = toy_texts(60)
    base = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=4).fit(texts, labels)
    found = evaluate(base, (texts[:10], labels[:10]), "all,-naopc", {"mask": {}, "occlusion": {}})
    assert {score.by for score in found.scores if score.metric == "aopc"} == {"occlusion", "random"}
    assert "mask is left out, because the model gives words no importance." in found.notes
    assert any(note.startswith("post_hoc_accuracy is left out") for note in found.notes)


def test_a_ranking_of_another_model_can_be_given(trained):
    texts, labels = toy_texts(20, seed=2)
    ranking = {word.word.lower(): word.score for word in trained.word_importance()}
    base = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=4).fit(*toy_texts(60))
    found = evaluate(base, (texts, labels), "post_hoc_accuracy", ranking=ranking)
    assert {score.by for score in found.scores} == {"ranking", "random", "frequency", "tfidf", "majority"}


def test_several_trainings_are_one_evaluation_with_intervals_over_seeds(trained):
    texts, labels = toy_texts(120)
    options = {"embeddings": "random", "epochs": 2, "learning_rate": 0.01, "model__filters": 8}
    other, third = (TextClassifier(**options, seed=seed).fit(texts, labels) for seed in (1, 2))
    data = toy_texts(24, seed=9)
    found = evaluate([trained, other, third], data, "accuracy,aopc,stability", {"occlusion": {}})
    score = found.score("aopc", by="occlusion")
    each = [np.nanmean(one) for one in found.values(("aopc", "occlusion", score.hide, ""))]
    assert score.value == pytest.approx(np.mean(each))
    assert score.n == 3
    assert "3 seeds" in score.how
    assert score.wide_low < score.value < score.wide_high
    assert np.isnan(found.score("accuracy").wide_low) == np.isnan(found.score("accuracy").wide_high)
    agreement = found.score("stability", by="occlusion", part="training kendall")
    assert agreement.n == 24
    assert -1 <= agreement.low <= agreement.value <= agreement.high <= 1
    assert agreement.headline  # of a method that is not random there is no other
    assert len(found.confusion) == 3


def test_labels_are_compared_by_their_text_and_unknown_ones_are_named(trained):
    texts, _ = toy_texts(4)
    with pytest.raises(DataError, match=r"not trained on: great. It knows: neg, pos"):
        evaluate(trained, (texts, ["pos", "neg", "pos", "great"]))
    with pytest.raises(DataError, match="4 texts and 2 labels"):
        evaluate(trained, (texts, ["pos", "neg"]))


def test_labels_of_another_kind_can_be_left_out(trained):
    texts, _ = toy_texts(4)
    data = Split(texts, ["great", "poor", "fine", "great"], list("abcd"), (), [((0, 3),)] * 4)
    found = evaluate(trained, data, "all,-naopc", "occlusion", labelled=False)
    assert found.score("token_f1", by="occlusion").n == 4
    assert "accuracy is left out, because the texts have no labels." in found.notes


def test_a_dataset_is_measured_on_its_split(trained, tmp_path):
    for name, count in (("train", 30), ("dev", 12), ("test", 20)):
        rows = "".join(f"{text}\t{label}\n" for text, label in zip(*toy_texts(count, seed=count), strict=True))
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    data = load_dataset(tmp_path)
    assert len(evaluate(trained, data).ids) == 20
    found = evaluate(trained, data, split="dev")
    assert len(found.ids) == 12
    assert found.facts["split"] == "dev"
    assert found.facts["fingerprint"] == data.fingerprint
    assert found.facts["frequencies_of"] == f"the training texts of {data.name}"
    assert len(evaluate(trained, str(tmp_path)).ids) == 20
    with pytest.raises(UnknownName, match="Did you mean 'test'"):
        evaluate(trained, data, split="tset")


def test_a_costly_metric_states_its_cost_first(model, caplog):
    with caplog.at_level(logging.INFO, logger="vmask"):
        evaluate(model, (TEXTS, LABELS), "naopc", "occlusion")
    assert any("predictions" in record.getMessage() for record in caplog.records)


def test_words_that_matter_over_all_texts_are_listed(model):
    found = evaluate(model, (TEXTS, LABELS), "aopc", "occlusion")
    assert [word for word, _ in found.words["occlusion"]["by_class"]["yes"]][:2] == ["good", "fine"]
    assert found.words["occlusion"]["by_class"]["no"][0][0] == "bad"


def test_of_scores_without_a_sign_words_are_listed_by_their_mean(trained):
    texts, labels = toy_texts(60, seed=3)
    found = evaluate(trained, (texts, labels), "sparsity", "mask")
    importance = {word.word: word.score for word in trained.word_importance()}
    for word, mean in found.words["mask"]["mean"]:
        assert mean == pytest.approx(importance[word], abs=1e-5)
    means = [mean for _, mean in found.words["mask"]["mean"]]
    assert means == sorted(means, reverse=True)


def test_nothing_to_evaluate_is_said(model):
    with pytest.raises(ConfigError, match="no model to evaluate"):
        evaluate([], (TEXTS, LABELS))
    with pytest.raises(DataError, match="no texts to evaluate on"):
        evaluate(model, ([], []))


def test_methods_that_a_plain_function_lacks_are_left_out_and_said(model):
    found = evaluate(model, (TEXTS, LABELS), "aopc", {"all": {}, "lime": {"samples": 20}})
    assert {score.by for score in found.scores} == {"lime", "shapley", "occlusion", "random"}
    assert "saliency is left out, because it looks into the model, which is a plain function." in found.notes


def test_threads_are_given_back(trained):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        asked = {"lime": {"samples": 20}, "occlusion": {}, "mask": {}}
        evaluate(trained, toy_texts(70, seed=1), "aopc", asked, workers=3)
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)


def test_names_of_plugins():
    assert list(plugins(METRICS, "aopc, naopc")) == ["aopc", "naopc"]
    assert set(plugins(METRICS, "all")) == set(METRICS.names())
    assert plugins(METRICS, {"aopc": {"k": 2}}) == {"aopc": {"k": 2}}
    assert "lime" not in plugins(EXPLAINERS, ["all", "-lime"])
    assert "lime" not in plugins(EXPLAINERS, ["-lime", "all"])
    with pytest.raises(UnknownName):
        plugins(EXPLAINERS, "all,-lim")
    assert plugins(METRICS, {"all": {}, "aopc": {"k": 2}})["aopc"] == {"k": 2}


def test_options_of_the_command_line_belong_to_what_is_asked_for():
    assert with_options(METRICS, "aopc", {"aopc__k": 3, "lime__samples": 9}) == {"aopc": {"k": 3}}
    assert with_options(METRICS, "all", {"aopc__k": 3})["aopc"] == {"k": 3}
    with pytest.raises(ConfigError, match="an option of naopc, which is not asked for"):
        with_options(METRICS, "aopc", {"naopc__beam": 3})


def test_a_table_is_refused_with_the_way_out(fitted):
    table = SimpleNamespace(columns=["text", "label"])
    with pytest.raises(DataError, match="The table cannot be read"):
        evaluate(fitted, table)
