"""Encoders in a model folder: the same answers and words after a round trip, and damage is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ModelFolderError, VmaskError
from vmask.inference.piece_predictor import WordTable
from vmask.masks import MASKS
from vmask.persistence import model_folder as persistence

FILES = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
TEXTS = ["a lovely film", "an AWFUL film!", "", "qwertz 東京 👍🏽", "don't [SEP] </s>", "word " * 100]
FAMILIES = ["bert", "roberta", "deberta-v2"]


@pytest.fixture(scope="module")
def stored(fitted_encoder, tmp_path_factory):
    """A model folder of a tiny encoder. Do not write to it."""
    return fitted_encoder("bert").save(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def folder(stored, tmp_path):
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(stored, tmp_path / "model"))


def change_config(folder, change):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    change(config)
    config["digest"] = persistence.digest_of(config)  # as who forges a folder would
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def change_weights(folder, change):
    """Change the tensors and the digest with them, as no accident would."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    change_config(folder, lambda config: config["sha256"].update({path.name: persistence.sha256(path)}))


def refused(folder, match):
    with pytest.raises(VmaskError, match=match) as caught:
        TextClassifier.load(folder)
    assert len(str(caught.value)) < 400


# Round trips ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "mask", "options"),
    [
        *((family, "vmask", {}) for family in FAMILIES),
        *(("bert", mask, {}) for mask in MASKS.names() if mask != "vmask"),
        ("bert", "vmask", {"model__placement": "block"}),
        ("bert", "vmask", {"model__mask_special_tokens": True}),
        ("roberta", "vmask", {"pad_to_max": True}),
    ],
)
def test_a_loaded_encoder_answers_and_explains_exactly_the_same(fitted_encoder, tmp_path, family, mask, options):
    saved = fitted_encoder(family, mask, **options)
    folder = saved.save(tmp_path / "model")
    loaded = TextClassifier.load(folder, device="cpu")
    assert np.array_equal(loaded.predict_proba(TEXTS), saved.predict_proba(TEXTS))
    assert loaded.classes_.tolist() == saved.classes_.tolist()
    assert loaded.get_params() == {**saved.get_params(), "device": "cpu"}
    assert (loaded.history_, loaded.best_epoch_) == (saved.history_, saved.best_epoch_)
    assert (loaded.plan_, loaded.data_) == (saved.plan_, saved.data_)
    one, other = saved.predictor_.table, loaded.predictor_.table
    assert one.words == other.words
    assert (one.counts == other.counts).all()
    assert (one.scores == other.scores).all()
    if MASKS.get(mask).ranks:
        assert loaded.explain(TEXTS) == saved.explain(TEXTS)
        assert loaded.word_importance() == saved.word_importance()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_loaded_encoder_can_be_saved_again(fitted_encoder, tmp_path, family):
    first = fitted_encoder(family).save(tmp_path / "one")
    second = TextClassifier.load(first).save(tmp_path / "two")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    one, two = (json.loads((path / "config.json").read_text(encoding="utf-8")) for path in (first, second))
    assert {**one["encoder"], "dtype": None} == {**two["encoder"], "dtype": None}
    assert one["tokenizer"] == two["tokenizer"]


def test_numbers_as_labels_stay_numbers(encoder_folder, tmp_path):
    texts, labels = toy_texts(30)
    stars = [5 if label == "pos" else -1 for label in labels]
    classifier = TextClassifier(str(encoder_folder("bert")), "base", epochs=1).fit(texts, stars)
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert loaded.classes_.tolist() == [-1, 5]
    assert loaded.predict(TEXTS).tolist() == classifier.predict(TEXTS).tolist()
    assert loaded.predict(TEXTS).dtype.kind == "i"


def test_the_folder_has_four_files_and_no_path_of_the_encoder_but_the_one_that_was_given(stored, encoder_folder):
    assert sorted(path.name for path in stored.iterdir()) == FILES
    config = json.loads((stored / "config.json").read_text(encoding="utf-8"))
    assert "_name_or_path" not in config["encoder"]
    assert config["data"]["encoder"] == "bert"
    assert "# bert-vmask" in (stored / "README.md").read_text(encoding="utf-8")
    assert str(encoder_folder("bert")) not in (stored / "README.md").read_text(encoding="utf-8")
    stored_tokenizer = json.loads((stored / "tokenizer.json").read_text(encoding="utf-8"))
    assert stored_tokenizer["truncation"] is None


def test_the_encoder_is_not_needed_any_more(fitted_encoder, encoder_folder, tmp_path, toy):
    folder = Path(shutil.copytree(encoder_folder("roberta"), tmp_path / "encoder"))
    classifier = TextClassifier(str(folder), "base", epochs=1).fit(toy[0][:40], toy[1][:40])
    saved = classifier.save(tmp_path / "m")
    expected = classifier.predict_proba(TEXTS)
    shutil.rmtree(folder)
    assert np.array_equal(TextClassifier.load(saved).predict_proba(TEXTS), expected)


def test_words_of_every_kind_survive(fitted_encoder, tmp_path):
    predictor = fitted_encoder("roberta").predictor_
    classifier = TextClassifier.load(fitted_encoder("roberta").save(tmp_path / "one"))
    texts = ["a\nb\r\nc\u2028d\u0085e\x1cf\tg", "東京 👩‍💻 cafe\u0301 x\ud83dy ﷽", "\x00 \x07", ""]
    table = predictor.tabulate(texts)
    assert not any("\n" in word for word in table.words)  # they are stored a word a line
    assert {*"abcdefg", "東", "👩‍💻", "\x00"} <= set(table.words)
    classifier.predictor_.table = table
    loaded = TextClassifier.load(classifier.save(tmp_path / "two")).predictor_.table
    assert loaded.words == table.words
    assert (loaded.counts == table.counts).all()
    classifier.predictor_.table = WordTable([], np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert TextClassifier.load(classifier.save(tmp_path / "three")).word_importance() == []


def test_a_local_folder_is_pretrained_too(fitted_encoder, tmp_path, monkeypatch):
    classifier = fitted_encoder("bert")
    assert classifier.save_pretrained(tmp_path / "m") == tmp_path / "m"
    classifier.save_pretrained(tmp_path / "m")  # as with transformers, the second replaces the first
    expected = classifier.predict_proba(TEXTS)
    assert np.array_equal(TextClassifier.from_pretrained(tmp_path / "m").predict_proba(TEXTS), expected)
    monkeypatch.chdir(tmp_path)
    assert np.array_equal(TextClassifier.from_pretrained("m", device="cpu").predict_proba(TEXTS), expected)
    with pytest.raises(ModelFolderError, match="no model folder"):
        TextClassifier.from_pretrained(str(tmp_path / "none"))


def test_loading_leaves_the_callers_random_stream_alone(stored):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    TextClassifier.load(stored)
    assert torch.equal(torch.rand(2), expected)


# Damage ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_or_changed_file_is_named(folder, name):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-10])
    refused(folder, f"{name} is not the file that was saved: truncated or changed")
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    (folder / name).write_bytes(changed)
    refused(folder, f"{name} is not the file that was saved: truncated or changed")
    (folder / name).unlink()
    refused(folder, f"lacks {name}. Copy the whole")


@pytest.mark.parametrize("key", ["tokenizer", "encoder"])
@pytest.mark.parametrize("value", [..., None, 3.5, {}])
def test_a_config_with_a_bad_entry_is_said(folder, key, value):
    change_config(folder, lambda config: config.pop(key) if value is ... else config.update({key: value}))
    refused(folder, "damaged")


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["tokenizer"].pop("special"),
        lambda config: config["tokenizer"].update(more=1),
        lambda config: config["tokenizer"].update(max_tokens=2),
        lambda config: config["encoder"].update(model_type="none"),
        lambda config: config["encoder"].update(hidden_size=24),
        lambda config: config["encoder"].update(vocab_size=30),
        lambda config: config["encoder"].update(num_attention_heads=5),
        lambda config: config["plan"]["mask_options"].update(hidden=7),
        lambda config: config.update(labels=["neg", "pos", "third"]),
    ],
    ids=["special", "more", "limit", "kind", "size", "vocabulary", "heads", "mask", "labels"],
)
def test_a_config_that_does_not_fit_the_weights_is_said(folder, change):
    change_config(folder, change)
    refused(folder, "damaged|leaves no room")


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("words.text"),
        lambda tensors: tensors.pop("words.count"),
        lambda tensors: tensors.pop("words.score"),
        lambda tensors: tensors.update({"words.count": tensors["words.count"][1:].clone()}),
        lambda tensors: tensors.update({"words.text": tensors["words.text"][:-30].clone()}),
        lambda tensors: tensors.update({"words.text": torch.full((5,), 255, dtype=torch.uint8)}),
        lambda tensors: tensors.pop("mask.net.net.0.weight"),
        lambda tensors: tensors.pop("encoder.network.classifier.weight"),
        lambda tensors: tensors.update({"encoder.network.more": torch.zeros(1)}),
    ],
)
def test_weights_that_lack_something_are_said(folder, change):
    change_weights(folder, change)
    refused(folder, "damaged|its list of words")


def test_a_tokenizer_that_is_none_is_said_even_when_the_digest_fits(folder):
    path = folder / "tokenizer.json"
    path.write_text("{}", encoding="utf-8")
    change_config(folder, lambda config: config["sha256"].update({path.name: persistence.sha256(path)}))
    refused(folder, r"tokenizer\.json cannot be read")
