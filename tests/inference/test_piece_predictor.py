"""Encoders speak of words: scores of pieces joined, words counted, answers that depend on no neighbour."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from vmask import Explanation
from vmask.errors import NoWordScores
from vmask.masks import MASKS
from vmask.text.pieces import MERGING
from vmask.text.words import whole_words

TEXTS = [
    "a lovely film",
    "Don't go! It 's the plot-twist of qwertz",
    "",
    "film film film",
    "what a tedious evening at the cinema 東京 👍🏽 cafe\u0301",
    "film [SEP] </s> film",
    "awful",
]
RANKED = [name for name in MASKS.names() if MASKS.get(name).ranks]


def words(text):
    (spans,) = whole_words([text])
    return [text[start:end] for start, end in spans]


def piece_scores(classifier, text):
    """Score and characters of every piece, computed plainly: the mask on the row of the encoder's table."""
    model = classifier.predictor_.model
    encoding = classifier.predictor_.tokenizer.backend.encode(text)
    with torch.no_grad():
        scores = model.mask.scores_of(model.encoder.network.get_input_embeddings().weight[encoding.ids]).tolist()
    special = set(classifier.predictor_.tokenizer.special)
    values = [0.0 if id in special else score for id, score in zip(encoding.ids, scores, strict=True)]
    return list(zip(values, encoding.offsets, strict=True))


@pytest.mark.parametrize(
    ("family", "mask"), [*(("bert", mask) for mask in RANKED), ("roberta", "vmask"), ("deberta-v2", "vmask")]
)
def test_the_score_of_a_word_is_the_mean_over_its_pieces(fitted_encoder, family, mask):
    classifier = fitted_encoder(family, mask)
    predictor = classifier.predictor_
    docs = predictor.prepare(TEXTS)
    for text, doc, scores in zip(TEXTS, docs, predictor.mask_scores(docs), strict=True):
        pieces = piece_scores(classifier, text)
        expected = [
            np.mean([score for score, (a, b) in pieces if max(a, start) < min(b, end)]) for start, end in doc.spans
        ]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)
        assert doc.words == tuple(words(text))


def test_a_typed_special_token_has_no_score(fitted_encoder):
    (explanation,) = fitted_encoder("bert").explain("film [SEP] film")
    assert dict(zip(explanation.words, explanation.scores, strict=True))["SEP"] == 0
    assert explanation.scores[0] > 0


@pytest.mark.parametrize(("family", "cased"), [("bert", False), ("roberta", True), ("albert", True)])
def test_words_are_counted_over_the_training_texts(fitted_encoder, family, cased):
    predictor = fitted_encoder(family).predictor_
    texts = ["Film film, don't", "a FILM about 東京", "film"]
    table = predictor.tabulate(texts)
    expected = Counter(word if cased else word.lower() for text in texts for word in words(text))
    assert dict(zip(table.words, table.counts.tolist(), strict=True)) == expected
    assert table.counts.tolist() == sorted(expected.values(), reverse=True)


def test_the_table_is_of_the_training_texts_and_no_others(fitted_encoder, toy):
    expected = Counter(word for text in toy[0][:60] for word in words(text.lower()))
    found = fitted_encoder("bert").word_importance()
    assert {word.word: word.count for word in found} == expected
    assert all(word.known for word in found)
    often = fitted_encoder("bert").word_importance(min_count=10)
    assert {word.word for word in often} == {word for word, count in expected.items() if count >= 10}


@pytest.mark.parametrize("options", [{"family": "bert"}, {"family": "roberta"}, {"model__placement": "block"}])
def test_the_importance_of_a_word_is_the_mean_over_its_places(fitted_encoder, toy, options):
    classifier = fitted_encoder(**options)
    places = {}
    for explanation in classifier.explain(toy[0][:60]):
        for word, score in zip(explanation.words, explanation.scores, strict=True):
            places.setdefault(word, []).append(score)
    found = classifier.word_importance()
    np.testing.assert_allclose([w.score for w in found], [np.mean(places[w.word]) for w in found], rtol=0, atol=1e-5)
    order = [(-w.score, -w.count, w.word) for w in found]
    assert order == sorted(order)
    assert classifier.word_importance(3) == found[:3]


def test_at_the_word_vectors_a_word_has_one_score_and_behind_the_block_one_for_each_place(fitted_encoder):
    (word,) = fitted_encoder("bert").explain("film film film")
    (block,) = fitted_encoder("bert", model__placement="block").explain("film film film")
    assert len(set(word.scores)) == 1
    assert len(set(block.scores)) == 3
    assert all(0 < score < 1 for score in block.scores)


@pytest.mark.parametrize("mask", sorted(set(MASKS.names()) - set(RANKED)))
def test_a_method_without_a_ranking_says_so(fitted_encoder, mask):
    classifier = fitted_encoder("bert", mask)
    with pytest.raises(NoWordScores):
        classifier.word_importance()
    with pytest.raises(NoWordScores):
        classifier.explain(TEXTS)
    with pytest.raises(NoWordScores):
        classifier.predictor_.mask_scores(classifier.predictor_.prepare(TEXTS))
    assert (classifier.predictor_.table.scores == 0).all()


@pytest.mark.parametrize("placement", ["word", "block"])
@pytest.mark.parametrize("family", ["bert", "roberta", "deberta-v2"])
def test_neither_order_nor_company_changes_an_answer(fitted_encoder, family, placement):
    classifier = fitted_encoder(family, model__placement=placement)
    predictor = classifier.predictor_
    together = classifier.predict_proba(TEXTS)
    np.testing.assert_allclose(classifier.predict_proba(TEXTS[::-1])[::-1], together, rtol=0, atol=1e-6)
    alone = np.concatenate([classifier.predict_proba([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-6)
    np.testing.assert_allclose(together.sum(1), 1, rtol=0, atol=1e-6)
    scores = predictor.mask_scores(predictor.prepare(TEXTS))
    for text, one in zip(TEXTS, scores, strict=True):
        (other,) = predictor.mask_scores(predictor.prepare([text]))
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6)


def test_an_explanation_records_how_pieces_became_words(fitted_encoder, fitted):
    (explanation,) = fitted_encoder("bert").explain("a lovely film")
    assert explanation.options == {"merging": MERGING}
    assert Explanation.from_dict(explanation.to_dict()) == explanation
    assert fitted.explain("a lovely film")[0].options == {}  # words of a CNN are no pieces
    assert fitted_encoder("bert").data_["merging"] == MERGING


def test_words_past_the_limit_are_counted_and_change_nothing(fitted_encoder):
    classifier = fitted_encoder("bert")
    text = "film " * 100
    (explanation,) = classifier.explain(text)
    limit = classifier.predictor_.tokenizer.max_tokens
    assert len(explanation.words) == limit - 2
    assert explanation.unseen == 100 - len(explanation.words)
    np.testing.assert_array_equal(classifier.predict_proba([text]), classifier.predict_proba([text + "awful " * 9]))


def test_a_hidden_word_is_not_seen(fitted_encoder):
    predictor = fitted_encoder("bert").predictor_
    whole, without = predictor.prepare(["a lovely film", "a film"])
    hidden = replace(whole, ids=whole.kept_ids(np.array([True, False, True])))
    np.testing.assert_array_equal(predictor.predict_docs([hidden]), predictor.predict_docs([without]))


def test_a_model_that_counts_padding_pads_every_text_to_the_limit(fitted_encoder):
    classifier = fitted_encoder("bert", pad_to_max=True)
    (_, batch), *_ = classifier.predictor_._batches(classifier.predictor_.ids_of(["film"]))
    assert batch.ids.shape == (1, classifier.predictor_.tokenizer.max_tokens)
