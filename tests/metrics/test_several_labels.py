"""What holds of metrics where a text may have several labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss

from toy import toy_label_sets
from vmask import TextClassifier, evaluate
from vmask.data.splits import Split
from vmask.errors import ConfigError, DataError
from vmask.metrics import METRICS
from vmask.metrics.accuracy import accuracy
from vmask.metrics.contract import Facts
from vmask.metrics.macro_f1 import macro_f1
from vmask.metrics.micro_f1 import micro_f1
from vmask.metrics.nll import label_losses

LABELS = st.lists(st.tuples(*[st.booleans()] * 6), min_size=1, max_size=20).map(np.array)


@pytest.fixture(scope="module")
def classifier():
    made = TextClassifier(embeddings="random", epochs=4, learning_rate=0.01, model__filters=8, seed=1)
    return made.fit(*toy_label_sets(150))


@pytest.fixture(scope="module")
def data():
    texts, sets = toy_label_sets(40, seed=4)
    return Split(texts, sets, [str(at) for at in range(40)], (), [((0, len(text.split()[0])),) for text in texts])


@pytest.fixture(scope="module")
def found(classifier, data):
    return evaluate([classifier, classifier], data, "all", {"lime": {"samples": 40}, "mask": {}})


@given(LABELS)
def test_scores_are_those_of_scikit_learn(rows):
    true, predicted = np.split(rows, 2, 1)
    assert accuracy(true, predicted) == accuracy_score(true, predicted)
    assert micro_f1(true, predicted) == pytest.approx(f1_score(true, predicted, average="micro", zero_division=0))
    used = true.any(0) | predicted.any(0)
    if used.any():
        theirs = f1_score(true[:, used], predicted[:, used], average=None, zero_division=0)
        assert macro_f1(true, predicted) == pytest.approx(np.mean(theirs))


def test_the_loss_is_the_mean_over_labels():
    true, p = np.array([[True, False], [False, False]]), np.array([[0.9, 0.2], [0.4, 0.5]], np.float32)
    assert label_losses(p, true)[0] == pytest.approx(log_loss([1, 0], [0.9, 0.2]))
    assert label_losses(p, true)[1] == pytest.approx(-np.log([0.6, 0.5]).mean())


@pytest.mark.parametrize("name", METRICS.names())
def test_every_metric_is_measured_within_its_range_or_says_why_not(name, found):
    facts, metric = Facts.read(name), METRICS.get(name)()
    mine = [series.values for key, series in found.found[0].items() if key[0] == name]
    if not mine:
        assert any(note.startswith(f"{name} is left out, because") for note in found.notes)
    for values in mine if metric.averaged else ():
        values = values[np.isfinite(values)]
        assert len(values)
        assert facts.low - 1e-6 <= values.min() <= values.max() <= facts.high + 1e-6
    for score in found.scores:
        if score.metric == name and np.isfinite(score.value):
            assert facts.low - 1e-6 <= score.value <= facts.high + 1e-6


def test_only_planted_words_and_a_temperature_are_refused(classifier, data, found):
    assert {key[0] for key in found.found[0]} == set(METRICS.names()) - {"shortcut_precision"}
    with pytest.raises(ConfigError, match="temperature is for one label a text"):
        evaluate(classifier, data, {"aopc": {"temperature": 2.0}}, "mask")
    parts = {key[3] for key in found.found[0] if key[0] == "aopc"}
    assert not parts & {"second softmax", "equal confidence"}


def test_one_label_a_text_has_no_micro_f1():
    texts, labels = toy_label_sets(60)
    single = TextClassifier(embeddings="random", epochs=1, model__filters=4, mask="base")
    single.fit(texts, [one[0] if one else "none" for one in labels])
    with pytest.raises(ConfigError, match="each text has one label"):
        evaluate(single, (texts, [one[0] if one else "none" for one in labels]), "micro_f1")
    with pytest.raises(DataError, match="one label, and these texts have several labels"):
        evaluate(single, (texts, labels), "accuracy")


def test_the_table_of_labels_is_saved_and_is_that_of_scikit_learn(classifier, data, found, tmp_path):
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    rows = evaluate(classifier, data, "accuracy").by_label[0]
    binarizer = MultiLabelBinarizer(classes=classifier.classes_.tolist())
    true, predicted = (binarizer.fit_transform(sets) for sets in (data.labels, classifier.predict(data.texts)))
    for at, wanted in enumerate(precision_recall_fscore_support(true, predicted, zero_division=np.nan)):
        name = ("precision", "recall", "f1", "support")[at]
        np.testing.assert_allclose([row[name] for row in rows], wanted)
    assert [row["threshold"] for row in rows] == classifier.thresholds_.tolist()
    found.save(tmp_path / "evaluation")
    loaded = type(found).load(tmp_path / "evaluation")
    assert loaded.by_label == list(found.by_label)
    assert loaded.confusion == []


def test_a_decision_flips_where_the_label_crosses_its_threshold(classifier, data):
    keys = ("decision_flip", "mask", "remove", "k=5")
    found = evaluate(classifier, data, "decision_flip,prob_drop", "mask", hide="remove")
    flips, drops = found.values(keys)[0], found.values(("prob_drop", *keys[1:]))[0]
    for row, text in enumerate(data.texts):
        (one,) = classifier.explain(text)
        at = classifier.classes_.tolist().index(one.target)
        threshold = classifier.thresholds_[at]
        assert flips[row] == ((one.probability >= threshold) != (one.probability - drops[row] >= threshold))


def test_labels_of_any_form_are_measured_alike(classifier, data):
    from sklearn.preprocessing import MultiLabelBinarizer

    matrix = MultiLabelBinarizer(classes=classifier.classes_.tolist()).fit_transform(data.labels)
    scores = [
        [
            (score.metric, score.value)
            for score in evaluate(classifier, (data.texts, labels), "accuracy,micro_f1").scores
        ]
        for labels in (data.labels, [list(one)[::-1] for one in data.labels], matrix)
    ]
    assert scores[0] == scores[1] == scores[2]
    assert (
        dict(scores[0])["accuracy"] == classifier.score(data.texts, matrix) == classifier.score(data.texts, data.labels)
    )
