"""Hidden words: one id before any arithmetic, so that they cannot change an answer."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from toy import toy_texts
from vmask.inference.visibility import binds, visible_ids
from vmask.inference.visible_words import visible_share, visible_words

ENCODERS = ("bert", "roberta", "modernbert", "deberta-v2")


@pytest.mark.parametrize("model", ["cnn", "lstm"])
def test_exactly_the_words_with_a_score_of_at_least_half_are_visible(hard, model):
    predictor = hard(model).predictor_
    scores = predictor.word_scores()
    assert binds(predictor.model)
    assert np.array_equal(predictor.visible[2:], scores[2:] >= 0.5)  # without padding and the unknown word
    assert 0 < predictor.visible[2:].sum() < len(scores) - 2
    words = {word.word for word in predictor.word_importance() if word.score >= 0.5}
    assert {word.word for word in visible_words(predictor)} == words


def test_a_soft_mask_hides_nothing(fitted):
    predictor = fitted.predictor_
    assert predictor.visible is None
    (doc,) = predictor.prepare(["a superb film"])
    assert doc.hidden is None
    assert doc.text_ids is None
    assert visible_share(predictor) == 1


@pytest.mark.parametrize("model", ["cnn", "lstm"])
def test_hidden_words_get_one_id_and_keep_their_names(hard, model):
    predictor = hard(model).predictor_
    hidden = [word for word in predictor.word_counts() if not predictor.visible[predictor.tokenizer.id_of(word)]]
    shown = [word.word for word in visible_words(predictor)]
    (doc,) = predictor.prepare([f"{hidden[0]} {shown[0]} {hidden[1]}"])
    assert doc.hidden.tolist() == [True, False, True]
    assert doc.ids[0] == doc.ids[2] != doc.ids[1]
    assert predictor.ranked_words(doc) == [hidden[0], shown[0], hidden[1]]
    (other,) = predictor.prepare([f"{hidden[2]} {shown[0]} {hidden[0]}"])
    assert np.array_equal(doc.ids, other.ids)
    assert np.array_equal(predictor.predict_docs([doc]), predictor.predict_docs([other]))


def test_the_vector_of_hidden_words_does_not_matter(hard):
    """What is behind the id: with other vectors of hidden words, answers stay as they are."""
    predictor = hard().predictor_
    texts, _ = toy_texts(20)
    before = predictor.predict_docs(predictor.prepare(texts))
    clone = copy.copy(predictor)
    clone.model = copy.deepcopy(predictor.model)
    docs = clone.prepare(texts)
    representative = int(np.flatnonzero(~predictor.visible)[0])
    with torch.no_grad():
        vector = clone.model.encoder.embedding.weight[representative]
        while True:  # another vector that is hidden as well
            vector.copy_(torch.randn_like(vector))
            if not visible_ids(clone.model)[representative]:
                break
    assert np.array_equal(clone.predict_docs(docs), before)


@pytest.mark.parametrize("family", ENCODERS)
def test_pieces_of_encoders(masking_encoder, family):
    predictor = masking_encoder(family, mask__inference="threshold").predictor_
    assert predictor.visible is not None
    texts, _ = toy_texts(12)
    for doc in predictor.prepare(texts):
        position, word = doc.owners.T
        seen = predictor.visible[doc.ids if doc.text_ids is None else doc.text_ids]
        expected = [not seen[position[word == number]].any() for number in range(len(doc.spans))]
        assert (doc.hidden if doc.hidden is not None else np.zeros(len(doc.spans), bool)).tolist() == expected
        assert len(set(doc.ids[~seen].tolist())) <= 1
    special = [id for id in predictor.tokenizer.special if id < len(predictor.visible)]
    assert predictor.visible[special].all()


@pytest.mark.parametrize("method", ["lime", "shapley", "occlusion", "mask", "random"])
def test_explanations_leave_hidden_words_in_their_places_with_a_score_of_0(hard, method):
    classifier = hard()
    text = "the plot is superb and the cast tries hard"
    (explanation,) = classifier.explain(text, method)
    (doc,) = classifier.predictor_.prepare([text])
    assert explanation.hidden == tuple(doc.hidden.tolist())
    assert explanation.words == doc.words
    for score, hidden in zip(explanation.scores, explanation.hidden, strict=True):
        assert (score == 0) == hidden or not hidden
    restored = type(explanation).from_dict(explanation.to_dict())
    assert restored == explanation


def test_explainers_ask_about_visible_words_alone(hard):
    predictor = hard().predictor_
    asked = []
    ask = predictor.predict_kept

    class Counting(type(predictor)):
        def predict_kept(self, docs, keep, hide="remove"):
            asked.extend(rows.shape for rows in keep)
            return ask(docs, keep, hide)

    counting = copy.copy(predictor)
    counting.__class__ = Counting
    from vmask.explain.occlusion import Occlusion

    docs = predictor.prepare(["the plot is superb and the cast tries hard"])
    list(Occlusion().explain(counting, docs))
    visible = int((~docs[0].hidden).sum())
    assert all(width == visible < 9 for _, width in asked)
    assert sum(rows for rows, _ in asked) <= visible + 1


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
def test_perturbations_of_visible_words_are_the_texts_with_those_changed(hard, hide):
    predictor = hard().predictor_
    (doc,) = predictor.prepare(["the plot is superb and the cast tries hard"])
    part = doc.visible_part()
    keep = np.ones((2, len(part.spans)), bool)
    keep[1, 0] = False
    whole = np.ones((2, len(doc.spans)), bool)
    whole[1, int(np.flatnonzero(~doc.hidden)[0])] = False
    np.testing.assert_allclose(
        predictor.predict_kept([part], [keep], hide)[0], predictor.predict_kept([doc], [whole], hide)[0], atol=1e-6
    )
