"""Texts with words hidden: every fast way of answering many perturbations equals the slow way of answering each."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from predictors import MAX_WORDS, piece_predictor, random_text, word_predictor
from thoroughness import examples
from vmask.errors import ConfigError, UnknownName
from vmask.inference import perturb
from vmask.inference.contract import Doc
from vmask.text.batches import collate
from vmask.text.words import UNK

SMALL = {"cnn": {"model__filters": 8}, "lstm": {"model__hidden": 8}}
MASKS = {
    "base": {},
    "vmask": {},
    "iba": {},
    "l2x": {"mask__k": 3},
    "random_mask": {},
    "l2x of soft weights that sum to the words": {"mask__mode": "soft", "mask__normalise": True},
}
MODELS = {f"{model}, {mask}": (model, mask.split()[0], MASKS[mask]) for model in SMALL for mask in MASKS} | {
    "cnn, narrow": ("cnn", "vmask", {"model__padding": "narrow"}),
    "cnn, width 1": ("cnn", "vmask", {"model__widths": (1,)}),
    "cnn, narrow, width 1": ("cnn", "base", {"model__widths": (1,), "model__padding": "narrow"}),
    "cnn, widths 2 and 3": ("cnn", "vmask", {"model__widths": (2, 3)}),
    "cnn, narrow, widths 2 and 3": ("cnn", "iba", {"model__widths": (2, 3), "model__padding": "narrow"}),
    "cnn, narrow, width 7": ("cnn", "vmask", {"model__widths": (7,), "model__padding": "narrow"}),
    "cnn, two of a width": ("cnn", "vmask", {"model__widths": (4, 2, 4)}),
    "cnn, every text padded": ("cnn", "vmask", {"pad_to_max": True}),
    "cnn, padding counts": ("cnn", "vmask", {"model__count_padding": True, "pad_to_max": True}),
    "cnn, as released": ("cnn", "vmask", {"preset": "paper_code"}),
    "cnn of selected words, as released": ("cnn", "l2x", {"preset": "paper_code", "mask__k": 3}),
    "lstm, squashed": ("lstm", "vmask", {"model__squash": True}),
    "lstm, as released": ("lstm", "vmask", {"preset": "paper_code"}),
    "lstm of selected words, as released": ("lstm", "l2x", {"preset": "paper_code", "mask__k": 3}),
}
ENCODERS = {
    "bert": ("bert", "vmask", {}),
    "bert, base": ("bert", "base", {}),
    "bert, iba": ("bert", "iba", {}),
    "bert, l2x": ("bert", "l2x", {"mask__k": 3}),
    "bert, behind the block": ("bert", "vmask", {"model__placement": "block"}),
    "bert, special tokens masked": ("bert", "vmask", {"model__mask_special_tokens": True}),
    "bert, every text padded": ("bert", "vmask", {"pad_to_max": True}),
    "roberta": ("roberta", "vmask", {}),
    "deberta-v2": ("deberta-v2", "base", {}),
}
SENTENCES = [
    "a delightful plot-twist , don't go",
    "",
    "film",
    "tedious tedious qwertz film 東京 👍🏽",
    "film [MASK] film [SEP] awful",
    "the second half turns lovely , the music too",
]


@pytest.fixture(scope="module")
def made(build, build_encoder):
    """A predictor by its name in `MODELS` or `ENCODERS`, each built once."""
    found = {}

    def get(name):
        if name not in found:
            if name in MODELS:
                model, mask, options = MODELS[name]
                found[name] = word_predictor(build, model, mask, **{**SMALL[model], **options})
            else:
                family, mask, options = ENCODERS[name]
                found[name] = piece_predictor(build_encoder, family, mask, **options)
        return found[name]

    return get


def docs_of(predictor):
    if hasattr(predictor, "table"):
        return predictor.prepare(SENTENCES)
    return predictor.prepare([random_text(length) for length in (7, 0, 1, 12, 2, 30, 4)])


def patterns(doc, rows=9, seed=0, fractions=False):
    """Rows of words kept: all, none, each end alone, random ones of every density, one of them twice."""
    words = len(doc.spans)
    random = np.random.default_rng([words, seed])
    keep = random.random((rows, words)) < random.random((rows, 1))
    keep = keep * random.random(keep.shape) if fractions else keep
    ends = np.zeros((2, words), keep.dtype)
    ends[0, :1], ends[1, -1:] = 1, 1
    keep = np.vstack([np.ones(words, keep.dtype), keep, ends, np.zeros(words, keep.dtype), keep[:2]])
    return random.permutation(keep)


def pieces_kept(doc, keep):
    """How much is left of every id when `keep` (W,) is left of every word."""
    if doc.owners is None:
        return np.asarray(keep, np.float32)
    left = np.ones(len(doc.ids), np.float32)
    for position, word in doc.owners.tolist():
        left[position] = min(left[position], keep[word])
    return left


def slowly(predictor, doc, keep, hide):
    """(S, C) the answers to perturbations, each spelt out as a text of its own."""
    if hide == "zero":
        batch = collate([doc.ids] * len(keep), length=predictor.pad_length, pad=predictor.pad)
        left = torch.ones(batch.ids.shape)
        for row, one in enumerate(keep):
            left[row, : len(doc.ids)] = torch.from_numpy(pieces_kept(doc, one))
        with torch.no_grad():
            return torch.softmax(predictor.model(batch, left).logits, 1).numpy()
    if hide == "remove":
        ids = [doc.kept_ids(one > 0) for one in keep]
    else:
        stand_in = np.int32(predictor.stand_ins()[hide])
        ids = [np.where(pieces_kept(doc, one) > 0, doc.ids, stand_in) for one in keep]
    return predictor.predict_docs([Doc(doc.text, doc.spans, one) for one in ids])


def check(predictor, docs, keep, hide):
    found = predictor.predict_kept(docs, keep, hide)
    assert len(found) == len(docs)
    for doc, rows, answers in zip(docs, keep, found, strict=True):
        assert answers.shape == (len(rows), len(predictor.labels))
        assert answers.dtype == np.float32
        if len(rows):
            np.testing.assert_allclose(answers, slowly(predictor, doc, rows, hide), rtol=0, atol=2e-6)
    return found


# The answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", MODELS)
def test_many_perturbations_are_answered_as_each_alone(made, name, hide):
    predictor = made(name)
    docs = docs_of(predictor)
    found = check(predictor, docs, [patterns(doc) for doc in docs], hide)
    for doc, answers in zip(docs, found, strict=True):
        np.testing.assert_allclose(answers.sum(1), 1, rtol=0, atol=1e-6)
        if len(doc.spans) > 2:
            assert np.ptp(answers, axis=0).max() > 1e-3  # hiding words shows, else this test sees nothing


@pytest.mark.parametrize("hide", ["remove", "zero", "unk", "mask"])
@pytest.mark.parametrize("name", ENCODERS)
def test_many_perturbations_of_an_encoder_are_answered_as_each_alone(made, name, hide):
    predictor = made(name)
    docs = docs_of(predictor)
    found = check(predictor, docs, [patterns(doc, rows=5) for doc in docs], hide)
    assert max(np.ptp(answers, axis=0).max() for answers in found) > 1e-3


@pytest.mark.parametrize("name", [*MODELS, "bert", "bert, iba", "roberta"])
def test_a_word_can_be_kept_in_part(made, name):
    predictor = made(name)
    docs = docs_of(predictor)
    check(predictor, docs, [patterns(doc, fractions=True) for doc in docs], "zero")


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "bert"])
def test_nothing_hidden_is_the_text_itself(made, name):
    predictor = made(name)
    docs = docs_of(predictor)
    whole = predictor.predict_docs(docs)
    for hide in ("remove", "zero", "unk"):
        found = predictor.predict_kept(docs, [np.ones((1, len(doc.spans)), bool) for doc in docs], hide)
        np.testing.assert_allclose(np.concatenate(found), whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["cnn, vmask", "cnn, narrow", "cnn, as released", "lstm, vmask", "cnn, l2x", "bert"])
def test_removed_words_leave_the_text_that_never_had_them(made, name):
    predictor = made(name)
    text, left = (
        ("a lovely film about two sisters", "a film two sisters") if name == "bert" else ("w1 w2 w3 w4", "w1 w3")
    )
    (doc,) = predictor.prepare([text])
    keep = np.array([[word in left.split() for word in doc.words]])
    (found,) = predictor.predict_kept([doc], [keep])
    np.testing.assert_allclose(found, predictor.predict_docs(predictor.prepare([left])), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask"])
def test_unk_is_an_unknown_word(made, name):
    predictor = made(name)
    whole, unknown = predictor.prepare(["w1 w2 w3", "w1 qqq w3"])
    assert UNK in unknown.ids
    (found,) = predictor.predict_kept([whole], [np.array([[1, 0, 1]])], "unk")
    np.testing.assert_allclose(found, predictor.predict_docs([unknown]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_hidden_word_takes_all_its_pieces(made, family):
    predictor = made(family)
    (doc,) = predictor.prepare(["a Delightful film"])
    places = doc.owners[doc.owners[:, 1] == 1, 0]
    assert len(places) > 1  # of several pieces
    keep = np.array([[1, 0, 1]])
    for hide in ("unk", "mask"):
        ids = doc.ids.copy()
        ids[places] = predictor.stand_ins()[hide]
        (found,) = predictor.predict_kept([doc], [keep], hide)
        np.testing.assert_allclose(found, predictor.predict_docs([replace(doc, ids=ids)]), rtol=0, atol=1e-6)
    (found,) = predictor.predict_kept([doc], [keep], "remove")
    removed = replace(doc, ids=np.delete(doc.ids, places))
    np.testing.assert_allclose(found, predictor.predict_docs([removed]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("hide", ["remove", "zero", "unk", "mask"])
def test_a_piece_of_two_words_goes_with_either_and_a_word_may_have_none(made, hide):
    predictor = made("bert")
    (doc,) = predictor.prepare(["a film go"])
    owners = np.array([[1, 0], [2, 0], [2, 1], [3, 3]], np.int32)  # a word without pieces is the third
    shared = replace(doc, spans=((0, 1), (2, 6), (6, 7), (7, 9)), owners=owners)
    keep = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)
    (found,) = check(predictor, [shared], [keep], hide)
    np.testing.assert_allclose(found[~keep[:, 2]], found[keep[:, 2]], rtol=0, atol=1e-6)


# What must not matter -----------------------------------------------------------------------------------------

FEW = ["cnn, vmask", "cnn, narrow", "cnn, l2x", "cnn, as released", "cnn, iba", "lstm, vmask", "lstm, l2x", "bert"]


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", FEW)
def test_neither_order_nor_company_nor_the_size_of_a_batch_changes_an_answer(made, name, hide):
    predictor = made(name)
    docs = docs_of(predictor)
    keep = [patterns(doc) for doc in docs]
    together = predictor.predict_kept(docs, keep, hide)
    for rows in (1, 7, 512):
        for one, other in zip(together, predictor.batched(rows).predict_kept(docs, keep, hide), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    for one, doc, rows in zip(together, docs, keep, strict=True):
        (alone,) = predictor.predict_kept([doc], [rows], hide)
        np.testing.assert_allclose(one, alone, rtol=0, atol=1e-6)
        (backwards,) = predictor.predict_kept([doc], [rows[::-1]], hide)
        np.testing.assert_allclose(one, backwards[::-1], rtol=0, atol=1e-6)
    backwards = predictor.predict_kept(docs[::-1], keep[::-1], hide)[::-1]
    for one, other in zip(together, backwards, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "cnn, iba", "bert"])
def test_equal_rows_have_equal_answers_and_the_kind_of_number_does_not_matter(made, name, hide):
    predictor = made(name)
    doc = docs_of(predictor)[0]
    keep = patterns(doc)
    (expected,) = predictor.predict_kept([doc], [keep], hide)
    twice = np.repeat(keep, 3, axis=0)
    (found,) = predictor.predict_kept([doc], [twice], hide)
    np.testing.assert_array_equal(found[::3], found[1::3])
    np.testing.assert_allclose(found[::3], expected, rtol=0, atol=1e-6)
    before = keep.copy()
    for kind in (np.int64, np.float64, np.float32):
        (other,) = predictor.predict_kept([doc], [keep.astype(kind)], hide)
        np.testing.assert_allclose(other, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(keep, before)
    same = predictor.predict_kept([doc, doc], [keep, keep], hide)
    np.testing.assert_allclose(same[0], same[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "bert"])
def test_a_text_without_rows_has_no_answers_and_no_texts_none(made, name, hide):
    predictor = made(name)
    docs = docs_of(predictor)
    none = [np.zeros((0, len(doc.spans)), bool) for doc in docs]
    for answers in predictor.predict_kept(docs, none, hide):
        assert answers.shape == (0, len(predictor.labels))
    assert predictor.predict_kept([], [], hide) == []
    some = [patterns(doc) if number % 2 else none[number] for number, doc in enumerate(docs)]
    check(predictor, docs, some, hide)


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "bert"])
def test_rows_are_computed_in_parts_where_they_do_not_fit_in_memory(made, name, hide, monkeypatch):
    predictor = made(name)
    docs = docs_of(predictor)
    keep = [patterns(doc) for doc in docs]
    expected = predictor.predict_kept(docs, keep, hide)
    for cells in (1, 64):
        monkeypatch.setattr(perturb, "MAX_SPELT", cells)
        for one, other in zip(expected, predictor.predict_kept(docs, keep, hide), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "bert"])
def test_threads_may_share_a_model(made, name):
    predictor = made(name)
    docs = docs_of(predictor)
    jobs = [(hide, [patterns(doc, seed=seed) for doc in docs]) for seed in range(3) for hide in ("remove", "zero")]
    expected = [predictor.predict_kept(docs, keep, hide) for hide, keep in jobs]
    found = {}

    def work(number):
        hide, keep = jobs[number]
        found[number] = predictor.predict_kept(docs, keep, hide)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, answers in enumerate(expected):
        for one, other in zip(answers, found[number], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask", "bert"])
def test_asking_leaves_no_trace(made, name):
    predictor = made(name)
    docs = docs_of(predictor)
    ids = [doc.ids.copy() for doc in docs]
    state = {key: value.clone() for key, value in predictor.model.state_dict().items()}
    random = torch.get_rng_state()
    for hide in ("remove", "zero", "unk"):
        predictor.predict_kept(docs, [patterns(doc) for doc in docs], hide)
    for doc, before in zip(docs, ids, strict=True):
        np.testing.assert_array_equal(doc.ids, before)
    assert all(torch.equal(value, state[key]) for key, value in predictor.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)
    assert all(parameter.grad is None for parameter in predictor.model.parameters())


# Any pattern ----------------------------------------------------------------------------------------------------

PROPERTY = [
    "cnn, base",
    "cnn, vmask",
    "cnn, narrow",
    "cnn, narrow, widths 2 and 3",
    "cnn, iba",
    "lstm, vmask",
    "lstm, l2x",
]


@st.composite
def perturbed(draw):
    """Some texts, a few rows of words kept for each."""
    chosen = []
    for _ in range(draw(st.integers(1, 3))):
        words = draw(st.integers(0, 14))
        text = random_text(words, seed=draw(st.integers(0, 5)))
        shape = (draw(st.integers(0, 6)), words)
        chosen.append((text, draw(arrays(bool, shape))))
    return chosen


@pytest.mark.parametrize("hide", ["remove", "zero", "unk"])
@pytest.mark.parametrize("name", PROPERTY)
@settings(max_examples=examples(15), derandomize=True)
@given(chosen=perturbed())
def test_any_words_may_be_hidden(made, name, hide, chosen):
    predictor = made(name)
    docs = predictor.prepare([text for text, _ in chosen])
    check(predictor, docs, [keep for _, keep in chosen], hide)


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask"])
@pytest.mark.parametrize("shape", ["prefixes", "one hidden", "one kept", "windows"])
def test_the_patterns_of_the_explainers(made, name, shape):
    predictor = made(name)
    (doc,) = predictor.prepare([random_text(18)])
    eye = np.eye(18, dtype=bool)
    keep = {
        "prefixes": np.tril(np.ones((19, 18), bool), -1)[:, np.random.default_rng(0).permutation(18)],
        "one hidden": ~eye,
        "one kept": eye,
        "windows": ~(np.tri(18, dtype=bool) & ~np.tri(18, k=-4, dtype=bool)),
    }[shape]
    for hide in ("remove", "zero", "unk"):
        check(predictor, [doc], [keep], hide)


def test_a_long_text_among_short_ones(made):
    predictor = made("cnn, vmask")
    docs = predictor.prepare([random_text(MAX_WORDS), *(random_text(2, seed) for seed in range(5))])
    assert len(docs[0].spans) == MAX_WORDS
    for hide in ("remove", "zero", "unk"):
        check(predictor, docs, [patterns(doc, rows=30 if doc is docs[0] else 2) for doc in docs], hide)


ALL_CNNS = [name for name in MODELS if name.startswith("cnn")]
SOME_CNNS = ["cnn, vmask", "cnn, narrow, widths 2 and 3", "cnn, as released"]
OTHER_CNNS = [pytest.param(name, marks=pytest.mark.full) for name in ALL_CNNS if name not in SOME_CNNS]


@pytest.mark.parametrize("name", [*SOME_CNNS, "lstm, vmask", *OTHER_CNNS])
def test_one_text_under_very_many_perturbations(made, name):
    """So many that a model may prepare for this text alone."""
    predictor = made(name)
    docs = predictor.prepare([random_text(11), random_text(40), random_text(3)])
    random = np.random.default_rng(0)
    keep = [random.random((rows, len(doc.spans))) < 0.6 for doc, rows in zip(docs, (900, 1200, 20), strict=True)]
    assert len(np.unique(keep[0], axis=0)) > 512
    assert len(np.unique(keep[1], axis=0)) > 1024
    for hide in ("zero", "remove", "unk"):
        check(predictor, docs, keep, hide)


@pytest.mark.parametrize("name", ALL_CNNS)
def test_any_text_may_be_prepared_for_alone(made, name, monkeypatch):
    monkeypatch.setattr(perturb, "MANY", 1)
    predictor = made(name)
    docs = predictor.prepare([random_text(length) for length in range(14)])
    check(predictor, docs, [patterns(doc) for doc in docs], "zero")
    for size in (1, 7):
        check(predictor.batched(size), docs[:5], [patterns(doc) for doc in docs[:5]], "zero")


@pytest.mark.parametrize(("model", "mask"), [("cnn", "vmask"), ("lstm", "vmask"), ("cnn", "iba")])
@pytest.mark.parametrize("length", [8, 9, 63, 64, 65, 129])
def test_texts_of_any_length(build, model, mask, length):
    """Rows that differ at the last word alone, too."""
    predictor = word_predictor(build, model, mask, max_words=200, **SMALL[model])
    (doc,) = predictor.prepare([random_text(length)])
    keep = patterns(doc, rows=6)
    last = keep.copy()
    last[:, -1] ^= True
    keep = np.vstack([keep, last, ~np.eye(length, dtype=bool)[-9:]])
    for hide in ("zero", "remove", "unk"):
        check(predictor, [doc], [keep], hide)


# What cannot be done ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cnn, vmask", "lstm, vmask"])
def test_a_model_of_words_has_no_mask_token(made, name):
    predictor = made(name)
    docs = docs_of(predictor)
    with pytest.raises(ConfigError, match="hide=unk"):
        predictor.predict_kept(docs, [patterns(doc) for doc in docs], "mask")


@pytest.mark.parametrize("name", ["cnn, vmask", "bert"])
def test_an_unknown_way_of_hiding_is_named_with_the_nearest(made, name):
    with pytest.raises(UnknownName, match="Did you mean 'remove'"):
        made(name).predict_kept([], [], "removed")
