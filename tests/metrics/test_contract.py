"""What holds of every registered metric."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linear import LinearWords
from toy import toy_texts
from vmask import TextClassifier, evaluate
from vmask.config import to_dict
from vmask.data.splits import Split
from vmask.evaluation.result import estimated
from vmask.metrics import METRICS
from vmask.metrics.contract import FAMILIES, ExplanationMetric, Facts, ModelMetric

NAMES = """
accuracy macro_f1 micro_f1 calibration_error confidence nll
aopc prob_drop naopc comprehensiveness sufficiency log_odds decision_flip
post_hoc_accuracy frequency_correlation sparsity token_f1 iou_f1 auprc shortcut_precision stability
racu soft_comprehensiveness soft_sufficiency sanity leakage
"""


@pytest.fixture(scope="module")
def classifier():
    texts, labels = toy_texts(120)
    made = TextClassifier(embeddings="random", epochs=3, learning_rate=0.01, model__filters=8)
    return made.fit(texts, labels)


@pytest.fixture(scope="module")
def found(classifier):
    """Everything measured of a small model, on texts with rationales and on texts with planted words."""
    texts, labels = toy_texts(36, seed=4)
    rationales = [((0, len(text.split()[0])), (len(text) - 3, len(text))) for text in texts]
    data = Split(texts, labels, [str(i) for i in range(36)], (), rationales)
    asked = {"explainers": {"lime": {"samples": 40}, "mask": {}}}
    whole = evaluate([classifier, classifier], data, "all", **asked)
    planted = evaluate(classifier, data, "shortcut_precision", **asked, planted=True)
    return {**dict(whole.found[0]), **dict(planted.found[0])}


def test_the_names_are_these():
    assert sorted(NAMES.split()) == METRICS.own()


@pytest.mark.parametrize("name", METRICS.names())
def test_the_file_says_what_it_measures(name):
    facts = Facts.read(name)
    assert facts.low < facts.high
    assert facts.family in FAMILIES
    assert facts.summary.endswith(".") or facts.summary.endswith("?")
    assert min(len(facts.definition), len(facts.limits)) > 40
    assert len(facts.citation) > 15


@pytest.mark.parametrize("name", METRICS.names())
def test_it_is_of_a_model_or_of_explanations(name):
    kind = METRICS.get(name)
    metric = kind(kind.Options())
    assert isinstance(metric, (ModelMetric, ExplanationMetric))
    assert metric.name == name
    assert kind(None).options == metric.options
    assert to_dict(metric.options) == to_dict(kind.Options())


MEASURED = [name for name in METRICS.names() if name != "micro_f1"]  # of several labels a text: test_several_labels.py


@pytest.mark.parametrize("name", MEASURED)
def test_every_value_is_in_the_range_that_it_states(name, found):
    facts, metric = Facts.read(name), METRICS.get(name)()
    mine = {key: series for key, series in found.items() if key[0] == name}
    assert mine, "it was not measured"
    for key, series in mine.items():
        if metric.averaged:
            values = series.values[np.isfinite(series.values)]
            assert len(values), key
            assert facts.low - 1e-6 <= values.min(), key
            assert values.max() <= facts.high + 1e-6, key
            assert len(series.values) == 36
        number = metric.statistic(series.values)
        assert facts.low - 1e-6 <= number <= facts.high + 1e-6, key


@pytest.mark.parametrize("name", MEASURED)
def test_the_headline_is_one_of_its_parts(name, found):
    metric = METRICS.get(name)()
    parts = {key[3] for key in found if key[0] == name}
    assert metric.shown in parts


@pytest.mark.parametrize("name", METRICS.names())
def test_its_number_is_in_its_interval(name, found):
    metric = METRICS.get(name)()
    for key, series in found.items():
        if key[0] == name and name != "calibration_error":  # whose interval corrects a bias
            estimate = estimated(metric, series.values)
            if math.isfinite(estimate.low):
                assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9, key


@pytest.mark.parametrize("name", METRICS.names())
def test_faithfulness_is_measured_for_every_way_of_hiding_and_of_the_random_floor(name, found):
    if Facts.read(name).family != "faithfulness":
        return
    ways = {(key[1], key[2]) for key in found if key[0] == name}
    assert ways == {(by, hide) for by in ("lime", "mask", "random") for hide in ("remove", "zero")}


def test_faithful_scores_beat_random_ones_where_the_truth_is_known():
    """On an additive model the order by weight is the best there is."""
    stream = np.random.default_rng(0)
    weights = {f"w{i}": float(weight) for i, weight in enumerate(stream.uniform(-0.04, 0.04, 30))}
    texts = [" ".join(stream.permutation(sorted(weights))[:12]) for _ in range(40)]
    found = evaluate(LinearWords(weights), texts, "all,-sparsity,-stability", "occlusion", hide="remove")
    for name in (
        *("aopc", "prob_drop", "comprehensiveness", "naopc", "decision_flip"),
        *("soft_comprehensiveness", "soft_sufficiency"),
    ):
        assert found.score(name, "occlusion").value > found.score(name, "random").value
    for name in ("sufficiency", "log_odds"):
        assert found.score(name, "occlusion").value < found.score(name, "random").value
    assert found.score("naopc", "occlusion").value == pytest.approx(1, abs=1e-4)


def test_a_docstring_without_a_field_is_refused(monkeypatch):
    monkeypatch.setattr(METRICS, "document", lambda name: "Something.\n\nRange: 0 to 1\n")
    with pytest.raises(ValueError, match="lacks a line 'Family"):
        Facts.read("mine")
