"""How much of the texts a model sees."""

from __future__ import annotations

import math

import pytest

from vmask.inference.visible_words import visible_counts, visible_share, visible_share_of


def test_a_model_that_hides_nothing_sees_all(fitted):
    assert visible_counts(fitted.predictor_) == fitted.predictor_.word_counts()
    assert visible_share(fitted.predictor_) == visible_share_of(fitted.predictor_, ["any text"]) == 1.0


def test_running_words_are_counted(fitted):
    predictor = fitted.edit(only=["film", "superb"]).predictor_
    counts = predictor.word_counts()
    assert visible_counts(predictor) == {word: counts[word] for word in counts if word in ("film", "superb")}
    assert visible_share(predictor) == pytest.approx((counts["film"] + counts["superb"]) / sum(counts.values()))
    assert visible_share_of(predictor, ["film film", "superb xylophone", ""]) == 0.75
    assert math.isnan(visible_share_of(predictor, [""]))
