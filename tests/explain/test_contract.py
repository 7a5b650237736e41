"""What every explanation can do, and what every explanation method must."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games import Game, doc_of
from predictors import LABELS, MAX_WORDS, piece_predictor, random_text, word_predictor
from vmask.errors import MissingExtra
from vmask.explain import EXPLAINERS, api
from vmask.explain.api import explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc

TEXT = "Good, GOOD film"


@pytest.fixture
def explanation():
    return Explanation(
        text=TEXT,
        words=("Good", ",", "GOOD", "film"),
        spans=((0, 4), (4, 5), (6, 10), (11, 15)),
        scores=(0.8, 0.2, 0.8, 0.5),
        target="pos",
        probability=0.9,
        method="mask",
        options={"k": 3},
        unseen=2,
    )


def test_the_top_words_have_the_highest_scores_and_ties_keep_their_order(explanation):
    assert explanation.top(3) == [("Good", 0.8), ("GOOD", 0.8), ("film", 0.5)]
    assert explanation.top(9)[-1] == (",", 0.2)


def test_an_explanation_is_one_line_of_json_and_comes_back_from_it(explanation):
    line = explanation.to_json()
    assert "\n" not in line
    assert json.loads(line)["words"][2] == {"word": "GOOD", "start": 6, "end": 10, "score": 0.8}
    assert Explanation.from_dict(json.loads(line)) == explanation


def test_strengths_grow_from_the_median_of_a_text_to_its_highest_score(explanation):
    assert explanation.strengths() == [1, 0, 1, 0]
    spans = tuple((i, i + 1) for i in range(5))
    rising = Explanation("abcde", tuple("abcde"), spans, (0.1, 0.2, 0.3, 0.4, 0.5), "x", 1.0, "mask")
    assert rising.strengths() == pytest.approx([0, 0, 0, 0.5, 1])
    flat = Explanation("a b", ("a", "b"), ((0, 1), (2, 3)), (0.4, 0.4), "x", 1.0, "mask")
    assert flat.strengths() == [0, 0]
    assert Explanation("", (), (), (), "x", 1.0, "mask").strengths() == []


def test_strengths_of_a_signed_explanation_are_shares_of_its_greatest_score():
    spans = tuple((i, i + 1) for i in range(4))

    def signed(*scores):
        return Explanation("abcd", tuple("abcd"), spans, scores, "x", 1.0, "lime", signed=True).strengths()

    assert signed(0.2, -0.4, 0.0, 0.1) == pytest.approx([0.5, -1, 0, 0.25])
    assert signed(-0.1, -0.2, -0.2, 0.0) == pytest.approx([-0.5, -1, -1, 0])
    assert signed(0.0, 0.0, 0.0, 0.0) == [0, 0, 0, 0]
    assert Explanation("", (), (), (), "x", 1.0, "lime", signed=True).strengths() == []


def test_the_words_of_a_doc_are_cut_from_its_text():
    assert Doc(TEXT, ((0, 4), (11, 15)), np.array([2, 3], np.int32)).words == ("Good", "film")


def test_hiding_a_word_of_a_word_model_takes_its_id():
    doc = Doc(TEXT, ((0, 4), (4, 5), (6, 10)), np.array([7, 8, 7], np.int32))
    assert doc.kept_ids(np.array([True, False, True])).tolist() == [7, 7]
    assert doc.kept_ids(np.zeros(3, bool)).tolist() == []


def test_hiding_a_word_takes_all_its_pieces_and_leaves_special_tokens():
    # [CLS] go ##od film [SEP], and a last piece that two words share
    owners = np.array([[1, 0], [2, 0], [3, 1], [4, 2], [5, 2], [5, 3]], np.int32)
    doc = Doc("Good film x y", ((0, 4), (5, 9), (10, 11), (12, 13)), np.array([2, 11, 12, 13, 14, 15, 3]), 0, owners)
    before = doc.ids.copy()

    def kept(*hidden):
        return doc.kept_ids(np.array([word not in hidden for word in range(4)])).tolist()

    assert kept() == [2, 11, 12, 13, 14, 15, 3]
    assert kept(0) == [2, 13, 14, 15, 3]
    assert kept(1) == [2, 11, 12, 14, 15, 3]
    assert kept(3) == [2, 11, 12, 13, 14, 3]  # the shared piece goes with either of its words
    assert kept(2) == [2, 11, 12, 13, 3]
    assert kept(2, 3) == [2, 11, 12, 13, 3]
    assert kept(0, 1, 2, 3) == [2, 3]
    assert (doc.ids == before).all()


def test_a_word_without_pieces_can_be_hidden():
    doc = Doc("\x07 film", ((0, 1), (2, 6)), np.array([2, 11, 3]), 0, np.array([[1, 1]], np.int32))
    assert doc.kept_ids(np.array([False, True])).tolist() == [2, 11, 3]
    empty = Doc("", (), np.array([2, 3]), 0, np.zeros((0, 2), np.int32))
    assert empty.kept_ids(np.zeros(0, bool)).tolist() == [2, 3]


# Every method ---------------------------------------------------------------------------------------------

TEXTS = ["a lovely film", "", "qwertz", "Grüße, an awful film 👍🏽", "a lovely film"]


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_every_text_is_explained_in_order_with_a_score_a_word(fitted, method):
    explanations = fitted.explain(TEXTS, method=method)
    assert [e.text for e in explanations] == TEXTS
    for explanation in explanations:
        assert explanation.method == method
        assert len(explanation.words) == len(explanation.spans) == len(explanation.scores)
        assert explanation.words == tuple(explanation.text[start:end] for start, end in explanation.spans)
        assert np.isfinite(explanation.scores).all()
        assert explanation.target in fitted.classes_
    assert explanations[0] == explanations[-1]


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_a_method_explains_the_class_it_is_asked_for(fitted, method):
    predictor = fitted.predictor_
    docs = predictor.prepare(["a lovely film"])
    for target in (0, 1):
        (explanation,) = EXPLAINERS.get(method)().explain(predictor, docs, [target])
        assert explanation.target == predictor.labels[target]
        assert explanation.probability == pytest.approx(float(predictor.predict_docs(docs)[0, target]))


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_company_does_not_change_an_explanation(fitted, method):
    alone = fitted.explain(TEXTS[3], method=method)[0]
    among = fitted.explain([*TEXTS, " ".join(TEXTS)], method=method)[3]
    np.testing.assert_allclose(alone.scores, among.scores, atol=1e-6)


# Every method on every kind of model ----------------------------------------------------------------------------------

MODELS = {
    "cnn": ("cnn", "vmask", {"model__filters": 8}),
    "cnn without a mask": ("cnn", "base", {"model__filters": 8}),
    "lstm": ("lstm", "vmask", {"model__hidden": 8}),
    "lstm without a mask": ("lstm", "base", {"model__hidden": 8}),
    "bert": ("bert", "vmask", {}),
    "bert without a mask": ("bert", "base", {}),
}
FEW = {"lime": {"samples": 30}, "shapley": {"permutations": 3}, "integrated_gradients": {"steps": 4}}
WORD_TEXTS = {
    "ten words": random_text(10),
    "nothing": "",
    "one word": "w3",
    "no known word": "zzz qqq",
    "repeated words": "w1 w2 w1 w1 w2 w5 w5 w5 w9",
    "emoji": "w1 👍🏽 😀, w2!",
    "half a character": "w4 \ud83d w5",
    "too long": random_text(MAX_WORDS + 12),
}
PIECE_TEXTS = {
    "ten words": "a delightful plot-twist about a small town , the end",
    "nothing": "",
    "one word": "film",
    "no known word": "zzz qqq",
    "repeated words": "film film awful film film awful",
    "emoji": "film 👍🏽 😀, awful!",
    "half a character": "film \ud83d plot",
    "too long": "film " * 50,
}


@pytest.fixture(scope="module")
def made(build, build_encoder):
    """A predictor by its name in `MODELS`, with texts for it."""
    found = {}

    def get(name):
        if name not in found:
            model, mask, options = MODELS[name]
            if model == "bert":
                found[name] = piece_predictor(build_encoder, model, mask, **options), PIECE_TEXTS
            else:
                found[name] = word_predictor(build, model, mask, **options), WORD_TEXTS
        return found[name]

    return get


def explained(predictor, texts, method, **options):
    kind = EXPLAINERS.get(method)
    try:
        kind()
    except MissingExtra as error:
        pytest.skip(str(error))
    if kind.needs and not hasattr(predictor, kind.needs):
        pytest.skip(f"{method} needs {kind.needs}")
    if kind.needs == "mask_scores" and not predictor.model.mask.ranks:
        pytest.skip("the model has no ranking of words")
    return list(explain_texts(predictor, texts, method, **{**FEW.get(method, {}), **options}))


def alike(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one.text, one.spans, one.target) == (other.text, other.spans, other.target)
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-6)
        assert one.probability == pytest.approx(other.probability, abs=1e-6)
        assert one.options == other.options
        assert one.seed == other.seed


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_an_explanation_says_all_that_decided_it(made, model, method):
    predictor, texts = made(model)
    kind = EXPLAINERS.get(method)
    found = explained(predictor, list(texts.values()), method, seed=5)
    answers = predictor.predict_docs(predictor.prepare(list(texts.values())))
    for name, explanation, expected in zip(texts, found, answers, strict=True):
        assert explanation.text == texts[name].replace("\ud83d", "\ufffd")
        assert explanation.words == tuple(explanation.text[start:end] for start, end in explanation.spans)
        assert len(explanation.scores) == len(explanation.words)
        assert np.isfinite(explanation.scores).all()
        assert explanation.method == method
        assert explanation.signed == kind.signed
        assert explanation.signed or min(explanation.scores, default=0) >= 0
        assert explanation.target == LABELS[expected.argmax()]
        assert explanation.probability == pytest.approx(expected.max(), abs=1e-6)
        assert ("hide" in explanation.options) == kind.hides
        assert explanation.options.get("hide", "remove") == "remove"
        assert FEW.get(method, {}).items() <= explanation.options.items()
        exact = method == "shapley" and len(explanation.words) <= explanation.options["enumerate_up_to"]
        assert explanation.seed == (5 if kind.draws and not exact else None)
        line = explanation.to_json()
        assert "NaN" not in line
        assert Explanation.from_dict(json.loads(line)) == explanation
        if name == "too long":
            assert 0 < len(explanation.words) < len(texts[name].split())
            assert explanation.unseen == len(texts[name].split()) - len(explanation.words)
        else:
            assert explanation.unseen == 0
    sizes = {name: len(explanation.words) for name, explanation in zip(texts, found, strict=True)}
    assert (sizes["nothing"], sizes["one word"], sizes["no known word"], sizes["half a character"]) == (0, 1, 2, 3)


@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_any_class_may_be_asked_for(made, model, method):
    predictor, texts = made(model)
    some = [texts["ten words"], texts["one word"], texts["nothing"]]
    answers = predictor.predict_docs(predictor.prepare(some))
    scores = []
    for number, label in enumerate(LABELS):
        found = explained(predictor, some, method, target=label)
        assert [one.target for one in found] == [label] * 3
        np.testing.assert_allclose([one.probability for one in found], answers[:, number], rtol=0, atol=1e-6)
        scores.append(found[0].scores)
    if method not in ("mask", "random"):  # which know of no classes
        assert np.ptp(scores, axis=0).max() > 1e-3
    if method in ("lime", "shapley", "occlusion", "gradient_x_input"):  # probabilities sum to 1, what adds to them to 0
        np.testing.assert_allclose(np.sum(scores, axis=0), 0, rtol=0, atol=1e-5)


@pytest.mark.parametrize("hide", ["remove", "zero", "unk", "mask"])
@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
@pytest.mark.parametrize("method", [name for name in EXPLAINERS.names() if EXPLAINERS.get(name).hides])
def test_the_way_of_hiding_is_recorded_and_matters(made, model, method, hide):
    predictor, texts = made(model)
    if hide == "mask" and model != "bert":
        pytest.skip("the model has no mask token")
    found, *others = (
        explained(predictor, [texts["ten words"]], method, hide=one)[0]
        for one in (hide, *({"remove", "zero", "unk"} - {hide}))
    )
    assert found.options["hide"] == hide
    for other in others if method in EXPLAINERS.own() else ():  # another's may ask what is the same in two ways
        assert np.abs(np.subtract(found.scores, other.scores)).max() > 1e-5


@pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])
@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_neither_order_nor_company_nor_batches_nor_workers_change_an_explanation(made, model, method, monkeypatch):
    predictor, texts = made(model)
    texts = [text for name, text in texts.items() if name != "too long"]
    expected = explained(predictor, texts, method)
    for size in (1, 7, 512):
        alike(explained(predictor, texts, method, batch_size=size), expected)
    monkeypatch.setattr(api, "CHUNK", 2)  # texts that a worker takes at a time
    for workers in (2, 3):
        alike(explained(predictor, texts, method, workers=workers), expected)
    alike(explained(predictor, texts[::-1], method)[::-1], expected)
    for text, one in zip(texts, expected, strict=True):
        alike(explained(predictor, [text], method), [one])


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_the_seed_decides_and_nothing_else(made, method):
    predictor, texts = made("cnn")
    some = [texts["ten words"], texts["repeated words"]]
    first, again, other = (explained(predictor, some, method, seed=seed) for seed in (3, 3, 4))
    assert first == again
    for one, another in zip(first, other, strict=True):
        assert (one.scores != another.scores) == EXPLAINERS.get(method).draws


@pytest.mark.parametrize("method", [name for name in EXPLAINERS.names() if EXPLAINERS.get(name).draws])
def test_every_text_has_draws_of_its_own(method):
    drawn = []

    class Noting(Game):
        def predict_kept(self, docs, keep, hide="remove"):
            drawn.extend(keep)
            return super().predict_kept(docs, keep, hide)

    game = Noting(lambda keep: keep.mean(1))
    one, other, again = EXPLAINERS.get(method)().explain(game, [doc_of(9, "x"), doc_of(9, "y"), doc_of(9, "x")])
    assert one == again
    if EXPLAINERS.get(method).hides:
        assert np.array_equal(drawn[0], drawn[2])
        assert not np.array_equal(drawn[0], drawn[1])
    else:
        assert one.scores != other.scores


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_a_text_of_500_words(build, method):
    predictor = word_predictor(build, "cnn", "vmask", max_words=600, model__filters=8)
    few = {"samples": 20} if method == "lime" else {"permutations": 2} if method == "shapley" else {}
    text = random_text(500)
    (found,) = explained(predictor, [text], method, **few)
    assert len(found.scores) == 500
    assert found.unseen == 0
    assert np.isfinite(found.scores).all()
    beside = explained(predictor, ["w1", text, "w2 w3"], method, **few)
    alike(beside[1:2], [found])


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_targets_may_be_an_array(made, method):
    predictor, texts = made("cnn")
    docs = predictor.prepare([texts["ten words"], texts["one word"]])
    explained(predictor, [], method)  # skips where it cannot be had
    found = list(EXPLAINERS.get(method)().explain(predictor, docs, np.array([0, 2])))
    assert [one.target for one in found] == [LABELS[0], LABELS[2]]
    assert Explanation.from_dict(json.loads(found[0].to_json())) == found[0]
