"""Verification: exchanging hidden words moves nothing, and what leaks is caught."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from toy import toy_texts
from vmask.errors import ConfigError, VmaskError
from vmask.evaluation.edit_cost import edit_cost
from vmask.evaluation.verify import verify, verify_export
from vmask.export.answers import answers_of
from vmask.export.hidden import HIDDEN, ExportReader

pytestmark = pytest.mark.filterwarnings("ignore:These words share a piece")
TEXTS, LABELS = toy_texts(40)


def test_nothing_moves_in_ten_thousand_exchanges(hard):
    found = verify(hard().predictor_, TEXTS, LABELS)
    assert found.holds
    assert found.exchanges >= 10_000
    assert (found.moved, found.greatest) == (0, 0.0)
    words = hard().word_importance()
    assert (found.visible_types, found.types) == (sum(word.score >= 0.5 for word in words), len(words))
    assert found.accuracy == pytest.approx(hard().score(TEXTS, LABELS))
    assert 0 < found.visible_share < 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(2, 46), min_size=1, max_size=12), min_size=1, max_size=5), st.integers(0, 99))
def test_random_texts(hard, rows, seed):
    predictor = hard().predictor_
    words = list(predictor.word_counts())
    hidden = next(word for word in words if not predictor.visible[predictor.tokenizer.id_of(word)])
    texts = [" ".join([hidden, *(words[id % len(words)] for id in row)]) for row in rows]
    assert verify(predictor, texts, exchanges=20, seed=seed).holds


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_encoders_get_words_of_as_many_pieces(masking_encoder, family):
    edited = masking_encoder(family).edit(hide=["superb", "dreadful", "film", "town", "the", "a", "cinema", "evening"])
    found = verify(edited.predictor_, TEXTS, exchanges=300)
    assert found.holds
    assert found.greatest == 0


class Leaking(torch.nn.Module):
    """A mask that says it hides words, and lets a little of them through."""

    def __init__(self, mask):
        super().__init__()
        self.mask = mask

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("mask"), name)

    def forward(self, x):
        masked = self.mask(x)
        return replace(masked, scale=masked.scale.clamp_min(0.05))


def test_a_mask_that_leaks_is_caught(hard):
    leaking = copy.copy(hard().predictor_)
    leaking.model = copy.deepcopy(hard().predictor_.model)
    leaking.model.mask = Leaking(leaking.model.mask)
    found = verify(leaking, TEXTS, exchanges=200)
    assert not found.holds
    assert found.moved > 0
    assert found.greatest > 0
    before, after = found.example
    assert before != after


def test_what_is_asked_may_be_an_export(hard, tmp_path):
    from vmask.export.onnx import run_onnx

    hard().export(tmp_path / "onnx")
    found = verify(
        hard().predictor_, TEXTS, exchanges=300, answer=lambda texts: run_onnx(tmp_path / "onnx", texts), tolerance=1e-6
    )
    assert found.holds


@pytest.mark.parametrize(("family", "format"), [("bert", "hf"), ("modernbert", "hf"), ("bert", "onnx")])
def test_exports_of_encoders(masking_encoder, family, format, tmp_path):
    edited = masking_encoder(family).edit(hide=["superb", "dreadful", "film", "town", "the", "cinema", "evening"])
    edited.export(tmp_path / "export", format)
    answers = answers_of(tmp_path / "export")
    assert verify(edited.predictor_, TEXTS, exchanges=60, answer=answers, tolerance=1e-6).holds
    found = verify_export(ExportReader.of(tmp_path / "export"), answers, TEXTS, LABELS, exchanges=60)
    assert found.holds
    assert found.accuracy == pytest.approx(edited.score(TEXTS, LABELS))
    docs = edited.predictor_.prepare(TEXTS)
    hidden = sum(int(doc.hidden.sum()) for doc in docs if doc.hidden is not None)
    assert found.visible_share == pytest.approx(1 - hidden / sum(len(doc.spans) for doc in docs))


def test_an_export_alone(hard, tmp_path):
    classifier = hard()
    classifier.export(tmp_path / "onnx")
    reader, answers = ExportReader.of(tmp_path / "onnx"), answers_of(tmp_path / "onnx")
    found, model = verify_export(reader, answers, TEXTS, LABELS, exchanges=300), verify(classifier.predictor_, TEXTS)
    assert found.holds
    assert found.visible_share == model.visible_share
    assert found.accuracy == pytest.approx(classifier.score(TEXTS, LABELS))


def test_an_export_whose_list_is_wrong_is_caught(hard, tmp_path):
    hard().export(tmp_path / "onnx")
    path = tmp_path / "onnx" / HIDDEN
    everything = {word: id for id, word in enumerate(hard().predictor_.tokenizer.words) if id > 1}
    path.write_text(json.dumps(everything), encoding="utf-8")
    reader, answers = ExportReader.of(tmp_path / "onnx"), answers_of(tmp_path / "onnx")
    assert not verify_export(reader, answers, TEXTS, exchanges=300).holds


def test_an_export_reads_no_further_than_its_limit(masking_encoder, tmp_path):
    edited = masking_encoder("bert").edit(hide=["superb", "dreadful", "film"])
    edited.export(tmp_path / "export", "hf")
    limit = edited.predictor_.tokenizer.max_tokens
    (doc,) = ExportReader.of(tmp_path / "export").prepare(["film " * (limit + 9)])
    assert len(doc.ids) == limit


def test_ids_of_an_export_may_have_gaps(tmp_path):
    words = {"[UNK]": 0, "a": 1, "b": 2, "c": 7}
    tokenizer = Tokenizer(WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"labels": ["x", "y"]}), encoding="utf-8")
    for hidden, fits in (({"c": 7}, True), ({"a": -1}, False), ({"a": 8}, False), ({"a": True}, False)):
        (tmp_path / HIDDEN).write_text(json.dumps(hidden), encoding="utf-8")
        if fits:
            reader = ExportReader.of(tmp_path)
            assert reader.claimed.tolist() == [True] * 7 + [False]
            assert [doc.words for doc in reader.prepare(["a c b"])] == [("a", "c", "b")]
        else:
            with pytest.raises(VmaskError, match="damaged"):
                ExportReader.of(tmp_path)


@pytest.mark.parametrize("damage", [None, "[]", '{"a": 1e9}', '{"a": "b"}', '{"a": -99999999}', "{", "{}"])
def test_a_list_that_is_missing_or_damaged_is_said(hard, tmp_path, damage):
    hard().export(tmp_path / "onnx")
    path = tmp_path / "onnx" / HIDDEN
    path.unlink() if damage is None else path.write_text(damage, encoding="utf-8")
    with pytest.raises(VmaskError):
        verify_export(ExportReader.of(tmp_path / "onnx"), answers_of(tmp_path / "onnx"), TEXTS, exchanges=30)


def test_a_model_that_hides_nothing_cannot_be_verified(fitted):
    with pytest.raises(ConfigError, match="hides no word: it sees something of each"):
        verify(fitted.predictor_, TEXTS)


def test_texts_without_hidden_words_say_so(fitted):
    edited = fitted.edit(hide=["superb", "film"])
    with pytest.raises(ConfigError, match="None of these texts has a hidden word"):
        verify(edited.predictor_, ["the plot"])


def test_the_cost_of_an_edit(fitted):
    cost = edit_cost(fitted, fitted.edit(hide=["superb", "charming", "lovely"]), TEXTS, LABELS)
    old, new = fitted.predict(TEXTS), fitted.edit(hide=["superb", "charming", "lovely"]).predict(TEXTS)
    assert [flip.number for flip in cost.flips] == np.flatnonzero(old != new).tolist()
    assert (cost.before, cost.after) == (np.mean(old == LABELS), np.mean(new == LABELS))
    assert cost.difference.value == pytest.approx(cost.after - cost.before)
    assert cost.to_dict()["flips"] == len(cost.flips)
    assert edit_cost(fitted, fitted, TEXTS, None).difference is None


def test_a_word_is_not_exchanged_for_itself(fitted):
    with pytest.raises(ConfigError, match="No hidden word of these texts can be exchanged for another"):
        verify(fitted.edit(hide=["film"]).predictor_, TEXTS, exchanges=10)
    edited = fitted.edit(hide=["film", "superb"])
    unedited = verify(
        edited.predictor_, TEXTS, exchanges=20, answer=lambda texts: fitted.predict_proba(texts)
    )  # asked in its place, a model that sees them
    assert not unedited.holds


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_encoders_with_a_mask_of_zeros_and_ones(masking_encoder, family):
    classifier = masking_encoder(family, mask__inference="threshold").edit(hide=["superb", "charming", "the", "a"])
    assert verify(classifier.predictor_, TEXTS, exchanges=100).holds


def test_labels_that_are_numbers_are_compared_as_labels(toy):
    texts, labels = toy
    from vmask import TextClassifier

    numbers = [1.0 if label == "pos" else 2.0 for label in labels]
    classifier = TextClassifier(mask="base", embeddings="random", epochs=4, model__filters=8, seed=1).fit(
        texts, numbers
    )
    edited = classifier.edit(hide=["film", "town"])
    cost = edit_cost(classifier, edited, texts, [f"{number:g}" for number in numbers])
    assert cost.before == pytest.approx(classifier.score(texts, numbers))
    assert verify(edited.predictor_, texts, numbers, exchanges=10).accuracy == pytest.approx(
        edited.score(texts, numbers)
    )
