"""Edits: what a person decides about words holds, whatever the mask has learnt."""

from __future__ import annotations

import contextlib
import copy
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError, ModelFolderError, VmaskWarning
from vmask.evaluation.verify import verify
from vmask.export.answers import answers_of
from vmask.inference.edits import Edit, PieceFinder, WordFinder, finder_of, resolve
from vmask.inference.folding import fold
from vmask.inference.visible_words import visible_words
from vmask.masks import MASKS
from vmask.text.batches import collate
from vmask.text.vocabulary import WordTokenizer

pytestmark = pytest.mark.filterwarnings("ignore:These words share a piece")
IDS = [np.array([3, 5, 7, 5], np.int32), np.array([2, 9, 4], np.int32)]


def logits(model, ids):
    with torch.no_grad():
        return model(collate(ids)).logits


@pytest.mark.parametrize("mask", MASKS.own())
def test_a_hidden_word_cannot_matter_and_a_shown_one_is_seen_whole(build, mask):
    model = build("cnn", mask)
    edits = torch.zeros(30, dtype=torch.int8)
    edits[5], edits[9] = -1, 1
    model.edits = edits
    with torch.no_grad():
        batch = collate(IDS)
        x = model.encoder.embedded(batch)
        z = model.masked(x, batch.ids).apply(x.dense())
    expected = torch.zeros(6) if model.mask.hidden_vector is None else model.mask.hidden_vector
    assert torch.allclose(z[batch.ids == 5], expected.expand(2, -1))
    assert torch.equal(z[batch.ids == 9], x.dense()[batch.ids == 9])
    scores = model.masked(x, batch.ids).scores
    assert (scores[batch.ids == 5] == 0).all()
    assert (scores[batch.ids == 9] == 1).all()
    model.edits = None


@pytest.mark.parametrize("mask", [name for name in MASKS.own() if name != "l2x"])
def test_edits_fold_into_the_vectors(build, mask):
    model = build("cnn", mask)
    edits = torch.zeros(30, dtype=torch.int8)
    edits[5], edits[9] = -1, 1
    model.edits = edits
    expected = logits(model, IDS)
    table = fold(model.mask, model.encoder.embedding.weight, model.encoder.words(torch.arange(30)), edits)
    plain = build("cnn", "base")
    plain.load_state_dict({**model.state_dict(), "encoder.embedding.weight": table}, strict=False)
    plain.edits = None
    assert torch.allclose(logits(plain, IDS), expected, atol=1e-6)
    model.edits = None


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=30, max_size=30))
def test_words_without_a_decision_are_masked_as_before(build, decided):
    model = build("cnn", "vmask")
    batch = collate(IDS)
    x = model.encoder.embedded(batch)
    with torch.no_grad():
        before = model.mask(x)
        after = before.edited(torch.tensor(decided, dtype=torch.int8)[batch.ids], None)
    same = torch.tensor(decided)[batch.ids] == 0
    assert torch.equal(before.scale[same], after.scale[same])
    assert set(after.scale[~same].tolist()) <= {0.0, 1.0}


def test_words_are_found_in_any_case_and_by_patterns(fitted):
    edited = resolve(fitted.predictor_, Edit(hide=("Superb", "FILM"), show_patterns=("^t",)))
    id_of = fitted.predictor_.tokenizer.id_of
    assert [int(edited.edits[id_of(word)]) for word in ("superb", "film", "the", "town", "a")] == [-1, -1, 1, 1, 0]
    assert edited.hidden == ("FILM", "Superb")
    assert "the" in edited.shown


def test_words_that_case_folding_joins_are_one_word(fitted_encoder):
    spelled = ["straße", "STRASSE", "Strasse", "odysseus"]
    words = WordFinder(WordTokenizer.build(["straße", "strasse", "strase"], "gentle", 5))
    for word in spelled[:3]:
        assert words.ids_of(word).tolist() == [2, 3]
    tokenizer = fitted_encoder("roberta").predictor_.tokenizer
    pieces = PieceFinder(tokenizer, known=["a", "straße"])
    one, *others = (set(pieces.ids_of(word).tolist()) for word in spelled)
    assert one == others[0] == others[1] != others[2]
    for text in ("straße", "a strasse"):
        (read,) = tokenizer.encode([text])
        assert {int(read.ids[place]) for place, word in read.owners.tolist() if word == len(read.spans) - 1} <= one


def test_words_that_are_read_as_unknown_have_no_id(fitted, fitted_encoder):
    words = ["film", "superb", "Superb", "東京", "猫"]
    assert finder_of(fitted.predictor_).knows(words) == [True, True, True, False, False]
    finder = finder_of(fitted_encoder().predictor_)
    assert finder.knows(words) == [True, True, True, True, False]  # the pieces of the toy encoder have two signs
    assert [len(finder.ids_of(word)) > 0 for word in words] == finder.knows(words)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"hide": ("zzz",)}, "knows none of these words: zzz"),
        ({"hide": ("superbb",)}, "Did you mean 'superb'"),
        ({"hide": ("film",), "show": ("Film",)}, "'film' is to be hidden and to be shown"),
        ({"hide": ("superb film",)}, "reads 'superb film' as several words: superb film"),
        ({"hide": (" ",)}, "is no word"),
        ({"hide_patterns": ("(",)}, "is no regular expression"),
        ({"hide_patterns": ("a" * 2000,)}, "longer than 1,000 characters"),
        ({"hide_patterns": ("^zz$",)}, "knows none of these words"),
    ],
)
def test_edits_that_cannot_be(fitted, edit, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        resolve(fitted.predictor_, Edit(**edit))


def test_an_unknown_word_beside_a_known_one_is_told(fitted):
    edited = resolve(fitted.predictor_, Edit(hide=("film", "xylophone")))
    assert (edited.hidden, edited.unknown) == (("film",), ("xylophone",))


def test_what_finds_words_can_be_kept_for_further_edits(fitted_encoder, fitted):
    for classifier in (fitted, fitted_encoder()):
        predictor = classifier.predictor_
        finder = finder_of(predictor)
        for edit in (Edit(hide=("delightful",)), Edit(hide=("superb",), show=("film",))):
            one, other = resolve(predictor, edit), resolve(predictor, edit, finder=finder)
            assert torch.equal(one.edits, other.edits)
            assert (one.hidden, one.shown, one.unknown, one.also) == (
                other.hidden,
                other.shown,
                other.unknown,
                other.also,
            )


@pytest.mark.parametrize("encoder", [False, True])
def test_an_edit_at_once_answers_as_any_other(fitted, fitted_encoder, encoder):
    predictor = (fitted_encoder() if encoder else fitted).predictor_
    edits = resolve(predictor, Edit(hide=("superb",), show=("film",))).edits
    docs = predictor.edited(edits).prepare(["a superb film", "a film"])
    expected = predictor.edited(edits).predict_docs(docs)
    assert np.array_equal(predictor.with_edits(edits).predict_docs(docs), expected)
    assert predictor.with_edits(edits).model.encoder is predictor.model.encoder


def test_words_of_any_model_are_listed_by_count(fitted, fitted_encoder):
    for classifier in (fitted, fitted_encoder("bert", "base")):
        listed = classifier.predictor_.words_by_count()
        assert {word.word: word.count for word in listed} == classifier.predictor_.word_counts()
        assert [(-word.count, word.word) for word in listed] == sorted((-word.count, word.word) for word in listed)
        assert all(np.isnan(word.score) for word in listed)


def test_an_edit_of_a_classifier_is_a_copy(fitted):
    texts, _ = toy_texts(10)
    before = fitted.predict_proba(texts)
    edited = fitted.edit(hide=["superb", "dreadful"], show=["the"])
    assert np.array_equal(fitted.predict_proba(texts), before)
    assert fitted.predictor_.model.edits is None
    scores = {word.word: word.score for word in edited.word_importance()}
    assert (scores["superb"], scores["dreadful"], scores["the"]) == (0.0, 0.0, 1.0)
    assert edited.about_["edits"] == {"hidden": ["dreadful", "superb"], "shown": ["the"]}
    again = edited.edit(show=["superb"])
    assert again.about_["edits"] == {"hidden": ["dreadful"], "shown": ["superb", "the"]}
    one, other = edited.predict_proba(["a superb film", "a dreadful film"])
    assert np.array_equal(one, other)


@pytest.mark.parametrize("mask", ["base", "vmask", "iba", "l2x"])
def test_any_model_can_be_edited_saved_and_exported(toy, mask, tmp_path):
    texts, labels = toy
    classifier = TextClassifier(mask=mask, embeddings="random", epochs=1, model__filters=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # that all words are masked alike
        classifier.fit(texts, labels)
    edited = classifier.edit(hide=["superb", "awful", "the"])
    expected = edited.predict_proba(texts)
    assert not np.allclose(expected, classifier.predict_proba(texts), atol=1e-7)
    loaded = TextClassifier.load(edited.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(texts), expected)
    assert "hidden by hand | 3 words: awful, superb, the" in (tmp_path / "model" / "README.md").read_text("utf-8")
    exported = loaded.export(tmp_path / "onnx")  # checks its answers itself
    assert exported.difference < 1e-5
    assert "hidden by hand" in (tmp_path / "onnx" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_all_pieces_of_a_word_are_hidden_from_an_encoder(masking_encoder, family, tmp_path):
    classifier = masking_encoder(family)
    edited = classifier.edit(hide=["superb", "dreadful"])
    (first,) = edited.predictor_.prepare(["a superb film"])
    assert first.hidden.tolist() == [False, True, False]
    (start,) = edited.predictor_.prepare(["Superb film"])
    assert start.hidden[0]
    importance = {word.word: word.score for word in edited.word_importance()}
    assert importance["superb"] == 0.0
    exported = edited.export(tmp_path / "hf")
    assert exported.difference < 1e-5


@pytest.mark.parametrize("mask", ["base", "vmask"])
def test_a_model_can_be_trained_without_words(toy, mask, tmp_path):
    texts, labels = toy
    classifier = TextClassifier(
        mask=mask, embeddings="random", epochs=3, model__filters=8, hide_words=["Superb", "awful"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # that all words are masked alike
        classifier.fit(texts, labels)
    one, other = classifier.predict_proba(["a superb film", "a awful film"])
    assert np.array_equal(one, other)
    assert classifier.about_["edits"]["hidden"] == ["Superb", "awful"]
    loaded = TextClassifier.load(classifier.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(texts), classifier.predict_proba(texts))
    assert loaded.get_params()["hide_words"] == ["Superb", "awful"]


@pytest.mark.parametrize("mask", ["base", "vmask", "select"])
def test_a_model_can_be_trained_with_some_words_alone(toy, mask, tmp_path):
    texts, labels = toy
    words = ["Superb", "awful", "the", "film"]
    classifier = TextClassifier(
        mask=mask, embeddings="random", epochs=3, model__filters=8, hide_words=["the"], only_words=[*words, "zzz"]
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", VmaskWarning)
        classifier.fit(texts, labels)
    assert any("does not know 1 of these words: zzz" in str(one.message) for one in told)
    (doc,) = classifier.predictor_.prepare(["the superb lovely film xylophone"])
    assert doc.hidden.tolist() == [True, doc.hidden[1], True, doc.hidden[3], True]
    assert doc.ids[0] == doc.ids[2] == doc.ids[4]  # hidden words, and unknown ones, are one id
    if mask != "select":  # which may hide some of them
        assert {one.word for one in visible_words(classifier.predictor_)} == {"superb", "awful", "film"}
    assert classifier.about_["edits"] == {"hidden": ["the"], "shown": [], "only": sorted(words)}
    assert verify(classifier.predictor_, texts, exchanges=200).holds
    loaded = TextClassifier.load(classifier.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(texts), classifier.predict_proba(texts))
    assert loaded.about_["edits"] == classifier.about_["edits"]
    assert "reads only | 4 words: Superb, awful, film, the" in (tmp_path / "model" / "README.md").read_text("utf-8")
    loaded.export(tmp_path / "onnx")
    held = verify(classifier.predictor_, texts, exchanges=200, answer=answers_of(tmp_path / "onnx"), tolerance=1e-6)
    assert held.holds


def test_edits_on_top_of_a_limit_add_words_and_take_words_away(fitted):
    def seen(classifier):
        return {one.word for one in visible_words(classifier.predictor_)}

    limited = fitted.edit(show=["the"], only=["superb", "film"])
    assert seen(limited) == {"superb", "film", "the"}
    assert limited.about_["edits"] == {"hidden": [], "shown": ["the"], "only": ["film", "superb"]}
    fewer = limited.edit(hide=["film"])
    assert seen(fewer) == {"superb", "the"}
    assert fewer.about_["edits"] == {"hidden": ["film"], "shown": ["the"], "only": ["film", "superb"]}
    assert seen(fewer.edit(hide=["superb", "the"])) == set()
    assert seen(fewer.edit(show=["FILM", "awful"])) == {"superb", "the", "film", "awful"}
    others = fewer.edit(only=["film", "a"])
    assert seen(others) == {"film", "a"}
    assert others.about_["edits"] == {"hidden": [], "shown": [], "only": ["a", "film"]}


def test_what_a_limit_leaves_is_up_to_the_mask(fitted):
    scores, limited = (
        {one.word: one.score for one in of.word_importance()} for of in (fitted, fitted.edit(only=["superb"]))
    )
    assert limited["superb"] == scores["superb"]
    assert set(limited.values()) == {scores["superb"], 0.0}


def test_a_limit_that_leaves_nothing_is_refused(fitted, toy):
    with pytest.raises(ConfigError, match=r"knows none of these words: zzz\."):
        fitted.edit(only=["zzz"])
    with pytest.raises(ConfigError, match="knows none of these words: zzz"):
        fitted.edit(only=["zzz"], hide=["film"])
    with pytest.raises(ConfigError, match="only is empty"):
        fitted.edit(only=[])
    with pytest.raises(ConfigError, match="only_words is empty"):
        TextClassifier(only_words=[]).fit(*toy)
    with pytest.raises(ConfigError, match="only_words has no word that is not in hide_words"):
        TextClassifier(only_words=["film"], hide_words=["the", "Film"]).fit(*toy)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_an_encoder_reads_the_pieces_of_some_words_alone(fitted_encoder, family, tmp_path):
    classifier = fitted_encoder(family, "base", only_words=("superb", "film"))
    predictor = classifier.predictor_
    ids = PieceFinder(predictor.tokenizer)
    wanted = {id for word in ("superb", "film") for id in ids.ids_of(word).tolist()}
    visible = {int(id) for id in np.flatnonzero(predictor.visible)}
    assert visible - {*predictor.tokenizer.special, predictor.tokenizer.pad} == wanted
    (doc,) = predictor.prepare(["Superb zzz film"])
    assert not doc.hidden[0]
    assert not doc.hidden[2]
    assert set(predictor.tokenizer.special) & set(doc.ids.tolist())  # special tokens stay
    also = resolve(predictor, Edit(only=("dreadful",))).also  # told of: they are seen in part
    assert also == tuple(word for word in predictor.table.words if word != "dreadful" and shares(word, "dreadful", ids))
    assert classifier.export(tmp_path / "hf").difference < 1e-5


def shares(word, other, finder):
    """Whether a word within a text has a piece of another."""
    (pieces,) = finder.tokenizer.encode([word])
    return bool(set(pieces.ids.tolist()) & set(finder.ids_of(other).tolist()))


def test_a_list_of_words_has_words_in_it(toy):
    with pytest.raises(ConfigError, match="hide_words has 3 in it"):
        TextClassifier(hide_words=[3]).fit(*toy)
    with pytest.raises(ConfigError, match="knows none of these words: zzz"):
        TextClassifier(embeddings="random", hide_words=["zzz"]).fit(*toy)


def test_an_encoder_is_trained_without_the_pieces_of_a_word(fitted_encoder):
    classifier = fitted_encoder("bert", "vmask", hide_words=("superb",))
    (doc,) = classifier.predictor_.prepare(["a superb film"])
    assert doc.hidden.tolist() == [False, True, False]


def test_edits_stay_in_the_graph_with_a_mask_that_cannot_be_folded(masking_encoder, tmp_path):
    edited = masking_encoder("bert", "vmask", model__placement="block").edit(hide=["superb", "dreadful"])
    texts = ["a superb film", "superb", "dreadful superb"]
    assert edited.export(tmp_path / "onnx", "onnx").difference < 1e-5
    np.testing.assert_allclose(answers_of(tmp_path / "onnx")(texts), edited.predict_proba(texts), atol=1e-5)


def test_a_string_is_no_list_of_words(fitted):
    for argument in ("hide", "show", "only", "hide_patterns", "show_patterns"):
        with pytest.raises(ConfigError, match="'film' is one string, which would be taken for a list of letters"):
            fitted.edit(**{argument: "film"})


def test_words_that_are_not_known_are_told(fitted):
    with pytest.warns(VmaskWarning, match="does not know 1 of these words: shee"):
        edited = fitted.edit(hide=["film", "shee"])
    assert edited.about_["edits"]["hidden"] == ["film"]


def test_a_later_decision_replaces_an_earlier_one_in_any_case(fitted):
    edited = fitted.edit(hide=["Film", "the"]).edit(show=["film"])
    assert edited.about_["edits"] == {"hidden": ["the"], "shown": ["film"]}
    (doc,) = edited.predictor_.prepare(["the film"])
    assert doc.hidden.tolist() == [True, False]


def test_scores_of_the_model_before_an_edit_are_not_those_after(fitted):
    classifier = copy.copy(fitted)
    classifier.about_ = {"dataset": "toys", "test_accuracy": 0.9, "test_n": 10}
    assert classifier.edit(hide=["film"]).about_ == {"dataset": "toys", "edits": {"hidden": ["film"], "shown": []}}


def test_a_piece_of_a_hidden_word_stays_hidden_where_a_shown_word_has_it(masking_encoder):
    edited = masking_encoder("bert").edit(hide=["dreadful"], show=["delightful"])
    (doc,) = edited.predictor_.prepare(["a dreadful film"])
    assert doc.hidden.tolist() == [False, True, False]
    again = masking_encoder("bert").edit(hide=["dreadful"]).edit(show=["delightful"])
    (doc,) = again.predictor_.prepare(["a dreadful film"])
    assert doc.hidden.tolist() == [False, True, False]


@pytest.mark.parametrize("edits", [["x"], {"hidden": 3}, {"hidden": ["film", 3]}, {"cost": {"accuracy_before": "a"}}])
def test_a_folder_with_damaged_edits_is_refused(fitted, tmp_path, edits):
    classifier = copy.copy(fitted)
    classifier.about_ = {**fitted.about_, "edits": edits}
    with contextlib.suppress(Exception):
        classifier.save(tmp_path / "model")
    if (tmp_path / "model" / "config.json").exists():
        with pytest.raises(ModelFolderError):
            TextClassifier.load(tmp_path / "model")


def test_a_selection_of_the_graph_does_not_see_which_word_is_hidden(toy, tmp_path):
    """A mask that compares the words of a text must not compare hidden ones."""
    classifier = TextClassifier(mask="l2x", mask__k=2, embeddings="random", epochs=1, model__filters=4).fit(*toy)
    hidden = ["superb", "charming", "lovely", "brilliant", "dreadful", "awful"]
    edited = classifier.edit(hide=hidden)
    edited.export(tmp_path / "onnx")
    answers = answers_of(tmp_path / "onnx")([f"a {word} boring clumsy film" for word in hidden])
    np.testing.assert_allclose(answers, np.broadcast_to(answers[:1], answers.shape), atol=1e-6)


def test_a_pattern_finds_words_that_only_the_vectors_know(fitted):
    classifier = copy.copy(fitted)
    classifier.predictor_ = copy.copy(fitted.predictor_)
    classifier.predictor_.counts = np.where(
        [word == "film" for word in fitted.predictor_.tokenizer.words], 0, fitted.predictor_.counts
    )
    edited = classifier.edit(hide_patterns=["^fil"])
    assert edited.about_["edits"]["hidden"] == ["film"]
