"""What a model can be asked besides predictions."""

from __future__ import annotations

from vmask.explain import EXPLAINERS
from vmask.report.capable import SCORES, applies, ranks


def test_mask_scores_need_a_mask_that_ranks(fitted, fitted_encoder):
    base = fitted_encoder("bert", "base").predictor_
    assert ranks(fitted.predictor_)
    assert not ranks(base)
    assert not ranks(object())
    assert EXPLAINERS.get("mask").needs == SCORES
    assert applies(EXPLAINERS.get("mask"), fitted.predictor_)
    assert not applies(EXPLAINERS.get("mask"), base)


def test_a_method_applies_where_the_model_has_what_it_needs(fitted):
    assert applies(EXPLAINERS.get("saliency"), fitted.predictor_)
    assert not applies(EXPLAINERS.get("saliency"), object())
    assert applies(EXPLAINERS.get("lime"), object())
