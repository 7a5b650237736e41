"""From texts to a trained encoder: limits, labels, masks, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_encoders import FAMILIES, SHORT, save_encoder, tokenizer
from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError, DataError, VmaskWarning
from vmask.masks import MASKS
from vmask.persistence.model_card import model_card
from vmask.training.fit import prepare_data
from vmask.training.prepare_pieces import MAX_TOKENS, _positions
from vmask.training.run_config import make_plan

TEXTS, LABELS = toy_texts(60)
DEV = toy_texts(20, seed=1)


def prepare(folder, texts=TEXTS, labels=LABELS, dev=DEV, **options):
    return prepare_data(make_plan(str(folder), "vmask", **options), texts, labels, dev, 0.1)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_trains_and_answers(fit, family):
    classifier = fit(family=family, epochs=1)
    probabilities = classifier.predict_proba(["a lovely film", "", "word " * 100])
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=0, atol=1e-5)
    assert classifier.predictor_.tokenizer.max_tokens == SHORT
    assert classifier.data_["encoder"] == family
    assert {word.word for word in classifier.word_importance()} >= {"film", "the"}


@pytest.mark.parametrize("mask", MASKS.names())
def test_every_mask_trains_an_encoder(fit, mask):
    classifier = fit(mask, epochs=1)
    assert len(classifier.history_) == classifier.plan_.train.stages
    assert np.isfinite([row["loss"] for row in classifier.history_]).all()
    assert set(classifier.predict(["a lovely film", "awful"])) <= {"neg", "pos"}


@pytest.mark.full
def test_it_learns(fit):
    """A random encoder of this size learns the toy task by itself; the draws of a mask would need more texts."""
    texts, labels = toy_texts(200)
    classifier = fit("base", texts=texts, labels=labels, epochs=15, batch_size=10, learning_rate=3e-3)
    assert classifier.score(*toy_texts(60, seed=9)) > 0.8


# Limits ---------------------------------------------------------------------------------------------------


def test_texts_that_are_cut_are_counted(fit):
    long = sum(len(ids) > 20 for ids in tokenizer("wordpiece")(TEXTS)["input_ids"])
    assert 0 < long < len(TEXTS)
    with pytest.warns(VmaskWarning, match=f"^{long} of {len(TEXTS)} training texts were cut to 20 tokens"):
        classifier = fit("base", max_words=18, epochs=1, dev=(["film"], ["pos"]), quiet=False)
    assert classifier.data_["cut"] == long
    assert classifier.data_["max_tokens"] == 20
    assert f"({long} training texts were longer)" in model_card(classifier._trained())


def test_the_limit_is_the_smallest_of_all(encoder_folder):
    short = {"texts": ["film", "town"], "labels": ["a", "b"], "dev": (["film"], ["a"])}
    assert prepare(encoder_folder("bert"), **short, max_words=1).tokenizer.max_tokens == 3
    assert prepare(encoder_folder("bert"), **short, max_words=30).tokenizer.max_tokens == 32
    assert prepare(encoder_folder("bert"), max_words=5_000).tokenizer.max_tokens == SHORT
    assert prepare(encoder_folder("roberta")).tokenizer.max_tokens == SHORT


@pytest.mark.parametrize(
    ("family", "more", "expected"),
    [
        ("bert", {"max_position_embeddings": 100}, 100),
        ("roberta", {"max_position_embeddings": 100, "pad_token_id": 1}, 98),
        ("xlm-roberta", {"max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ("mpnet", {"max_position_embeddings": 100, "pad_token_id": 1}, 98),
        ("deberta-v2", {"max_position_embeddings": 0}, MAX_TOKENS),
    ],
)
def test_positions_that_an_encoder_keeps_for_itself_are_not_for_texts(family, more, expected):
    from transformers import AutoConfig

    assert _positions(AutoConfig.for_model(family, **more)) == expected


def test_every_position_that_is_left_can_be_read(fitted_encoder):
    for family in ("bert", "roberta", "mpnet", "xlm-roberta"):
        (doc,) = fitted_encoder(family).predictor_.prepare(["film " * 200])
        assert len(doc.ids) == SHORT
        assert np.isfinite(fitted_encoder(family).predictor_.predict_docs([doc])).all()


def test_an_encoder_without_room_for_a_text_is_refused(tmp_path):
    folder = save_encoder("bert", tmp_path / "tiny", max_position_embeddings=2)
    with pytest.raises(ConfigError, match="2 positions, too few for a text"):
        prepare(folder)


# Data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[1, 5], [False, True], [0.5, 3.5], ["ä", "中"]])
def test_labels_keep_their_kind(fit, labels):
    given = [labels[label == "pos"] for label in LABELS]
    classifier = fit("base", labels=given, dev=None, epochs=1)
    assert classifier.classes_.tolist() == labels
    assert type(classifier.predict(["a lovely film"]).tolist()[0]) is type(labels[0])


def test_texts_without_anything_are_dropped_and_counted(encoder_folder):
    with pytest.warns(VmaskWarning, match="2 empty training texts were dropped"):
        data = prepare(encoder_folder("bert"), [*TEXTS, "", " \n"], [*LABELS, "pos", "neg"])
    assert len(data.examples.labels) == len(TEXTS)


def test_texts_that_only_words_models_lack_words_for_are_kept(encoder_folder):
    data = prepare(encoder_folder("bert"), [*TEXTS, "☃", "……"], [*LABELS, "pos", "neg"])
    assert len(data.examples.labels) == len(TEXTS) + 2


def test_data_that_cannot_be_learnt_is_refused(encoder_folder):
    for texts, labels, dev, message in (
        (TEXTS, ["same"] * len(TEXTS), None, "at least two classes"),
        (TEXTS, LABELS, (["x"], ["other"]), "labels that training lacks"),
        (TEXTS, LABELS[1:], None, "one label for each text"),
    ):
        with pytest.raises(DataError, match=message):
            prepare(encoder_folder("bert"), texts, labels, dev)


@pytest.mark.parametrize("option", [{"embeddings": "random"}, {"vocabulary": "train"}, {"vector_words": 5}])
def test_options_of_words_are_refused(encoder_folder, option):
    with pytest.raises(ConfigError, match=f"{next(iter(option))} is no option of an encoder"):
        make_plan(str(encoder_folder("bert")), "vmask", **option)


def test_where_the_encoder_lay_does_not_matter_and_what_is_in_it_does(encoder_folder, tmp_path):
    first = prepare(encoder_folder("bert"))
    same = prepare(save_encoder("bert", tmp_path / "elsewhere"))
    other = prepare(save_encoder("bert", tmp_path / "other", layer_norm_eps=1e-3))
    assert first.digest() == same.digest() != other.digest()


def test_the_name_of_an_encoder_is_told_without_its_path(fit, tmp_path):
    classifier = fit("base", epochs=1)
    assert classifier.plan_.title == "bert-base"
    folder = classifier.save(tmp_path / "m")
    assert classifier.model not in (folder / "README.md").read_text(encoding="utf-8")


def test_it_is_an_estimator_of_scikit_learn(encoder_folder):
    from sklearn.base import clone

    classifier = TextClassifier(str(encoder_folder("bert")), model__placement="block", epochs=np.int64(1))
    assert clone(classifier).get_params() == classifier.get_params()
    assert classifier.plan().model_options.placement == "block"
    assert classifier.plan().model_options.encoder == str(encoder_folder("bert"))
