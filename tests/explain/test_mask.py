"""The mask explainer: the mask itself, the same for every class."""

from __future__ import annotations

import numpy as np
import pytest

from toy import BAD, FRAMES, GOOD, toy_texts
from vmask import TextClassifier


def test_scores_are_those_of_the_mask_and_do_not_depend_on_the_class(fitted):
    from vmask.explain.mask import MaskExplainer

    predictor = fitted.predictor_
    docs = predictor.prepare(["a lovely film", "awful"])
    scores = predictor.mask_scores(docs)
    for targets in (None, [0, 1], [1, 0]):
        for explanation, expected in zip(MaskExplainer().explain(predictor, docs, targets), scores, strict=True):
            assert explanation.scores == pytest.approx(expected.tolist())


def test_the_words_that_decide_come_out_on_top():
    texts, labels = toy_texts(240)
    classifier = TextClassifier(embeddings="random", epochs=25, learning_rate=0.003, dev_fraction=0.3)
    scores = {w.word: w.score for w in classifier.fit(texts, labels).word_importance()}
    decisive = np.mean([scores[word] for word in (*GOOD, *BAD)])
    others = np.mean([scores[word] for frame in FRAMES for word in frame.split() if word in scores])
    assert decisive > others + 0.05
