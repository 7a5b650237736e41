"""Any function from texts to probabilities can be explained: a scikit-learn pipeline as a plain function."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from toy import BAD, GOOD
from vmask import Explanation, explain_texts
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.inference.black_box import BlackBox, rebuilt

METHODS = ["lime", "shapley", "occlusion", "random"]
TEXTS = ["what a superb evening at the cinema", "my neighbour called it clumsy", "", "Zzz, qqq!", "awful awful superb"]


@pytest.fixture(scope="module")
def pipeline(toy):
    texts, labels = toy
    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=10.0)).fit(texts, labels)


class Recorder:
    """A function that notes the texts it is given; its answer is the share of letters that are an `a`."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        self.calls.append(list(texts))
        share = np.array([text.count("a") / max(len(text), 1) for text in texts])
        return np.stack([share, 1 - share], 1)


# A pipeline -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_pipeline_is_explained(pipeline, method):
    found = list(explain_texts(pipeline, TEXTS, method, seed=2))
    assert [one.text for one in found] == TEXTS
    answers = pipeline.predict_proba(TEXTS)
    for explanation, row in zip(found, answers, strict=True):
        assert explanation.target == pipeline.classes_[row.argmax()]
        assert type(explanation.target) is str  # of Python's, not of numpy's
        assert explanation.probability == pytest.approx(row.max(), abs=1e-6)
        assert explanation.words == tuple(explanation.text[a:b] for a, b in explanation.spans)
        assert Explanation.from_dict(json.loads(explanation.to_json())) == explanation
    if method != "random":
        assert found[0].top(1)[0][0] in GOOD
        assert found[1].top(1)[0][0] in BAD
        assert max(map(abs, found[3].scores)) < 1e-6  # words that no feature is made of


@pytest.mark.parametrize("hide", ["remove", "unk"])
def test_the_scores_are_those_of_the_rebuilt_texts(pipeline, hide):
    (found,) = explain_texts(pipeline, ["a superb, clumsy film"], "occlusion", target="pos", hide=hide)
    assert found.words == ("a", "superb", ",", "clumsy", "film")
    hidden = "" if hide == "remove" else "UNKWORDZ"
    texts = ["a superb, clumsy film", f"a {hidden}, clumsy film", f"a superb, {hidden} film"]
    whole, without_superb, without_clumsy = pipeline.predict_proba(texts)[:, 1]
    assert found.scores[1] == pytest.approx(whole - without_superb, abs=1e-6)
    assert found.scores[3] == pytest.approx(whole - without_clumsy, abs=1e-6)
    assert found.scores[1] > 0.1 > -0.1 > found.scores[3]


def test_labels_are_those_of_the_model_or_of_the_caller_or_numbers(toy):
    texts, labels = toy
    numbers = [int(label == "pos") for label in labels]
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, numbers)
    (found,) = explain_texts(pipeline, TEXTS[:1], "occlusion")
    assert found.target == 1
    assert json.loads(found.to_json())["label"] == 1
    (named,) = explain_texts(pipeline, TEXTS[:1], "occlusion", labels=["bad", "good"])
    assert named.target == "good"
    (arrayed,) = explain_texts(pipeline.predict_proba, TEXTS[:1], "occlusion", labels=np.array([10, 20]))
    assert json.loads(arrayed.to_json())["label"] == 20
    (plain,) = explain_texts(pipeline.predict_proba, TEXTS[:1], "occlusion")
    assert plain.target == 1
    assert plain.scores == found.scores

    class Listed:
        classes_ = ["bad", "good"]
        predict_proba = staticmethod(pipeline.predict_proba)

    (listed,) = explain_texts(Listed(), TEXTS[:1], "occlusion")
    assert listed.target == "good"


@pytest.mark.parametrize(("hide", "lacking"), [("zero", "its vectors"), ("mask", "a mask_token")])
@pytest.mark.parametrize("method", ["lime", "shapley", "occlusion"])
def test_what_a_function_cannot_hide_is_refused_before_it_is_asked(method, hide, lacking):
    function = Recorder()
    with pytest.raises(ConfigError, match=f"hide={hide} needs {lacking}.*Use hide=remove or unk"):
        explain_texts(function, ["a b"], method, hide=hide)
    assert not function.calls


@pytest.mark.parametrize("method", ["mask", "integrated_gradients", "saliency", "gradient_x_input"])
def test_a_method_that_looks_into_the_model_is_refused(pipeline, method):
    with pytest.raises(ConfigError, match=r"plain function\. Use method=lime"):
        explain_texts(pipeline, TEXTS, method)


# What the function is asked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("method", ["lime", "shapley", "occlusion"])
def test_the_function_gets_no_more_texts_than_it_was_said_to(method, size):
    function = Recorder()
    list(explain_texts(function, ["a banana and a pear", "some apples", ""], method, batch_size=size))
    assert max(map(len, function.calls)) <= size
    assert all(type(text) is str for call in function.calls for text in call)
    whole = list(explain_texts(Recorder(), ["a banana and a pear", "some apples", ""], method))
    for one, other in zip(
        explain_texts(function, [e.text for e in whole], method, batch_size=size), whole, strict=True
    ):
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-6)


def test_equal_texts_are_asked_for_once():
    function = Recorder()
    box = BlackBox(function)
    docs = box.prepare(["ba na na", "na", "ba na"])
    rows = np.random.default_rng(0).random((200, 3)) < 0.5
    found = box.predict_kept(docs, [rows, rows[:, :1], rows[:, :2]])
    asked = [text for call in function.calls for text in call]
    assert len(asked) == len(set(asked)) < 20
    for doc, keep, answers in zip(docs, (rows, rows[:, :1], rows[:, :2]), found, strict=True):
        expected = Recorder()([rebuilt(doc, row, "") for row in keep])
        np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-7)
        assert answers.dtype == np.float32


def test_hidden_words_leave_what_stands_around_them_and_their_neighbours_whole():
    (doc,) = BlackBox(Recorder()).prepare(["A fine, 'fine' film."])
    assert doc.words == ("A", "fine", ",", "'", "fine", "'", "film", ".")
    assert rebuilt(doc, np.array([1, 1, 1, 1, 0, 1, 1, 1]), "") == "A fine, ' ' film."
    assert rebuilt(doc, np.array([0, 1, 0, 1, 1, 1, 1, 0]), "_") == "_ fine _ 'fine' film _"
    assert rebuilt(doc, np.ones(8), "_") == "A fine, 'fine' film."
    assert rebuilt(doc, np.zeros(8), "") == " " * 3


def test_the_tokens_that_stand_for_hidden_words_can_be_chosen():
    function = Recorder()
    box = BlackBox(function, unk_token="<u>", mask_token="<m>")
    docs = box.prepare(["a b"])
    keep = [np.array([[1, 0]])]
    for hide in ("unk", "mask", "remove"):
        box.predict_kept(docs, keep, hide)
    assert [call for call in function.calls if call != [""]] == [["a <u>"], ["a <m>"], ["a "]]
    with pytest.raises(UnknownName, match="Did you mean 'remove'"):
        box.predict_kept(docs, keep, "removed")


def test_half_a_character_reaches_no_function():
    function = Recorder()
    (found,) = explain_texts(function, ["a \ud83d b"], "occlusion")
    assert found.text == "a \ufffd b"
    assert all("\ud83d" not in text for call in function.calls for text in call)


def test_no_texts_are_no_question():
    function = Recorder()
    assert list(explain_texts(function, [], "lime")) == []
    assert BlackBox(function, ["a", "b"]).predict_docs([]).shape == (0, 2)
    assert BlackBox(function).predict_kept([], []) == []
    assert not function.calls


# What it may answer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: np.zeros(len(texts)),
        lambda texts: np.zeros((len(texts) + 1, 2)),
        lambda texts: np.zeros((len(texts), 2, 2)),
        lambda texts: np.zeros((len(texts), 0)),
        lambda texts: [[0.5, 0.5], [1.0]],
        lambda texts: [["yes", "no"]] * len(texts),
        lambda texts: None,
        lambda texts: torch.zeros(len(texts), 2, requires_grad=True),
        lambda texts: np.full((len(texts), 2), np.nan),
        lambda texts: np.full((len(texts), 2), np.inf),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_an_answer_that_is_no_table_of_probabilities_is_refused(method, answer):
    with pytest.raises(DataError, match=r"The function.*row of probabilities for every text"):
        list(explain_texts(answer, ["some text"], method))


def test_another_number_of_columns_than_labels_is_refused():
    with pytest.raises(DataError, match="2 probabilities for 3 labels"):
        list(explain_texts(Recorder(), ["a"], "occlusion", labels=["x", "y", "z"]))


@pytest.mark.parametrize("kind", [list, torch.tensor, np.float64])
def test_lists_and_tensors_are_answers_too(kind):
    (expected,) = explain_texts(Recorder(), ["a banana"], "occlusion")
    (found,) = explain_texts(lambda texts: kind(Recorder()(texts).tolist()), ["a banana"], "occlusion")
    assert found.scores == pytest.approx(expected.scores)


def test_an_error_of_the_function_is_the_callers_to_see():
    def broken(texts):
        raise KeyError("mine")

    for workers in (1, 2):
        with pytest.raises(KeyError, match="mine"):
            list(explain_texts(broken, ["a"], "occlusion", workers=workers))
