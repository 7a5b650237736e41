"""Copies of models with random weights: what changes, what is shared, and that every one still answers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from predictors import piece_predictor, random_text, word_predictor
from registered import WORD_MODELS
from tiny_encoders import FAMILIES
from vmask.inference.randomize import DEPTHS, cascade
from vmask.masks import MASKS


def changed(first, second):
    """Names of the parameters in which two models differ."""
    return {
        name
        for (name, one), other in zip(first.named_parameters(), second.parameters(), strict=True)
        if not torch.equal(one, other)
    }


@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("model", WORD_MODELS)
def test_depths_add_up_from_the_head_to_the_vectors(build, model, mask):
    made = build(model, mask)
    before = {name: tensor.clone() for name, tensor in made.state_dict().items()}
    depths = dict(cascade(made, 0))
    own = {name for name, _ in made.mask.named_parameters()}
    assert list(depths) == [depth for depth in DEPTHS if depth != "mask" or own]
    sizes = [changed(made, copy) for copy in depths.values()]
    assert all(few < more for few, more in pairwise(sizes))
    assert all(name.startswith("encoder.output") for name in sizes[0])
    assert not any(name.startswith("mask.") for name in changed(made, depths["encoder"]))
    assert "encoder.embedding.weight" in sizes[-1]
    for name, tensor in made.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_draws_keep_the_scale_and_hang_on_the_seed_and_the_name(build):
    made = build("cnn", "vmask")
    first, again, other = (dict(cascade(made, seed))["all"] for seed in (0, 0, 1))
    assert not changed(first, again)
    assert changed(first, other) >= {"encoder.embedding.weight", "encoder.output.weight"}
    for name, tensor in made.named_parameters():
        if tensor.numel() > 60:
            drawn = first.get_parameter(name)
            assert drawn.std().item() == pytest.approx(tensor.std().item(), rel=0.35)
            assert drawn.mean().item() == pytest.approx(tensor.mean().item(), abs=0.6 * tensor.std().item())


def test_copies_share_what_they_have_in_common(build):
    made = build("lstm", "vmask")
    depths = dict(cascade(made, 0))
    assert depths["head"].encoder.embedding.weight is made.encoder.embedding.weight
    assert depths["all"].encoder.output.weight is depths["head"].encoder.output.weight


def test_padding_stays_zero(build):
    table = dict(cascade(build("cnn", "vmask"), 0))["all"].encoder.embedding.weight
    assert not table[0].any()
    assert table[1].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_encoders_are_randomized_too(build_encoder, family):
    predictor = piece_predictor(build_encoder, family, "vmask")
    docs = predictor.prepare(["a lovely film about a small town", "boring", ""])
    before = predictor.predict_docs(docs)
    copies = predictor.randomized(0)
    assert list(copies) == list(DEPTHS)
    for copy in copies.values():
        answers = copy.predict_docs(docs)
        assert np.isfinite(answers).all()
        assert not np.array_equal(answers, before)
    # the mask acts at the copy's own seam, and the scores are those of its mask
    assert np.array_equal(copies["encoder"].mask_scores(docs)[0], predictor.mask_scores(docs)[0])
    assert not np.array_equal(copies["mask"].mask_scores(docs)[0], predictor.mask_scores(docs)[0])
    assert np.array_equal(predictor.predict_docs(docs), before)


@pytest.mark.parametrize("model", WORD_MODELS)
def test_copies_answer_a_text_alike_in_any_company_and_any_way(build, model):
    predictor = word_predictor(build, model, "vmask")
    docs = predictor.prepare([random_text(9), random_text(1), "", random_text(5)])
    for copy in predictor.batched(2).randomized(3).values():
        together = copy.predict_docs(docs)
        alone = np.concatenate([copy.predict_docs([doc]) for doc in docs])
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
        whole = [np.ones((1, len(doc.spans)), bool) for doc in docs]
        for hide in ("remove", "zero"):
            kept = np.concatenate(copy.predict_kept(docs, whole, hide))
            np.testing.assert_allclose(kept, together, rtol=0, atol=1e-5)
