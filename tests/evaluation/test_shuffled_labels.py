"""A model of random labels has other explanations."""

from __future__ import annotations

import numpy as np

from vmask import TextClassifier, evaluate
from vmask.evaluation.shuffled_labels import train_on_shuffled_labels


def test_a_model_of_shuffled_labels(toy):
    texts, labels = toy
    options = {"embeddings": "random", "epochs": 6, "model__filters": 12, "duplicates": "ignore"}
    fitted = TextClassifier(mask="base", **options).fit(texts, labels)
    shuffled = train_on_shuffled_labels(fitted, texts, labels, seed=3)
    assert shuffled.get_params() == fitted.get_params()
    assert fitted.score(texts, labels) > shuffled.score(texts, labels) + 0.2
    found = evaluate([fitted, shuffled], texts[:20], "stability", "occlusion")
    assert abs(found.score("stability", "occlusion", part="training kendall").value) < 0.6


def test_the_order_of_labels_hangs_on_the_seed(toy):
    texts, labels = toy[0][:40], toy[1][:40]
    classifier = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=4)
    first, again, other = (train_on_shuffled_labels(classifier, texts, labels, seed) for seed in (3, 3, 4))
    assert np.array_equal(first.predict_proba(texts), again.predict_proba(texts))
    assert not np.array_equal(first.predict_proba(texts), other.predict_proba(texts))
    assert not hasattr(classifier, "predictor_")
