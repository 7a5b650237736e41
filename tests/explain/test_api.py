"""Explanations of many texts: options checked at once, texts taken as they come, memory bounded."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
import torch

from games import Game, doc_of
from vmask import TextClassifier, explain_texts
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.explain import EXPLAINERS, api, contract
from vmask.explain.api import as_predictor, number_of

HIDING = [name for name in EXPLAINERS.names() if EXPLAINERS.get(name).hides]
OTHERS = [name for name in EXPLAINERS.names() if not EXPLAINERS.get(name).hides]


def half(texts):
    """A function that sees no difference."""
    return np.full((len(texts), 2), 0.5)


class Texts:
    """A stream that notes how many texts were taken from it."""

    def __init__(self, count):
        self.count, self.taken = count, 0

    def __iter__(self):
        for number in range(self.count):
            self.taken += 1
            yield f"text {number}"


# Options ------------------------------------------------------------------------------------------


def test_a_target_is_a_label_or_its_spelling():
    assert number_of("pos", ("neg", "pos")) == 1
    assert number_of("2", (1, 2)) == number_of(2, (1, 2)) == number_of(2.0, (1, 2)) == number_of(2, ("1", "2")) == 1
    assert number_of("True", (False, True)) == 1
    assert number_of("1", (1, "1")) == 1  # as it is comes before as it is spelt
    assert number_of(3.5, (1.0, 3.5)) == number_of("3.5", (1.0, 3.5)) == 1
    with pytest.raises(UnknownName, match=r"Unknown label 'poss'\. Did you mean 'pos'"):
        number_of("poss", ("neg", "pos"))


def test_the_target_is_explained_whatever_is_predicted(fitted):
    for target in ("neg", "pos"):
        (found,) = fitted.explain("a lovely film", "occlusion", target=target)
        assert found.target == target
        assert found.probability == pytest.approx(
            fitted.predict_proba(["a lovely film"])[0, fitted.classes_.tolist().index(target)], abs=1e-6
        )
    with pytest.raises(UnknownName, match="Available: neg, pos"):
        fitted.explain("a lovely film", "occlusion", target="maybe")


@pytest.mark.parametrize("method", OTHERS)
def test_a_way_of_hiding_is_refused_where_no_words_are_hidden(fitted, method):
    with pytest.raises(ConfigError, match=f"method={method} hides no words"):
        fitted.explain("a lovely film", method, hide="unk")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "lmie"}, "Did you mean 'lime'"),
        ({"method": "lime", "sample": 100}, "Unknown option 'sample'. Did you mean 'samples'"),
        ({"method": "shapley", "samples": 100}, "Unknown option 'samples'.*Available: enumerate_up_to, permutations"),
        ({"method": "occlusion", "samples": 100}, "Unknown option 'samples'. Available: none"),
        ({"method": "lime", "selection": "lasso"}, "selection is 'lasso'"),
        ({"method": "lime", "samples": 1}, "samples is 1; it must be at least 2"),
        ({"method": "lime", "samples": "many"}, "samples is 'many'; it must be of type int"),
        ({"method": "lime", "kernel_width": 0.0}, "kernel_width is 0.0; it must be above 0"),
        ({"method": "lime", "alpha": -1.0}, "alpha is -1.0"),
        ({"method": "shapley", "permutations": 0}, "permutations is 0; it must be at least 1"),
        ({"method": "shapley", "tolerance": float("nan")}, "tolerance is nan"),
        ({"method": "lime", "hide": "removed"}, "'removed'. Did you mean 'remove'"),
        ({"method": "lime", "hide": "mask"}, "Use hide=unk"),
        ({"method": "lime", "seed": -1}, "seed is -1"),
        ({"method": "lime", "seed": 1.5}, "seed is 1.5; it must be of type int"),
        ({"method": "lime", "seed": "x"}, "seed is 'x'"),
        ({"method": "lime", "batch_size": 0}, "batch_size is 0"),
        ({"method": "lime", "batch_size": "all"}, "batch_size is 'all'"),
        ({"method": "lime", "workers": 0}, "workers is 0"),
        ({"method": "lime", "target": "poss"}, "Did you mean 'pos'"),
    ],
)
def test_what_cannot_work_is_said_before_the_first_text_is_looked_at(fitted, options, said):
    texts = Texts(3)
    with pytest.raises((ConfigError, UnknownName), match=said):
        explain_texts(fitted, texts, **options)
    assert texts.taken == 0


def test_numbers_of_numpy_are_numbers(fitted):
    found = fitted.explain("a lovely film at the cinema , my neighbour", "lime", seed=np.int64(3), samples=np.int64(50))
    assert found == fitted.explain("a lovely film at the cinema , my neighbour", "lime", seed=3, samples=50)
    assert json.loads(found[0].to_json())["seed"] == 3


@pytest.mark.parametrize("model", ["a string", 3, None, object()])
def test_something_that_is_no_model_is_refused(model):
    with pytest.raises(ConfigError, match="no model that can be explained"):
        as_predictor(model)


def test_a_classifier_its_predictor_and_its_function_are_all_models(fitted):
    text = "a lovely film"
    (one,) = explain_texts(fitted, [text], "occlusion")
    (other,) = explain_texts(fitted.predictor_, [text], "occlusion")
    (function,) = explain_texts(fitted.predict_proba, [text], "occlusion", labels=fitted.classes_)
    assert one == other
    assert function.target == one.target
    np.testing.assert_allclose(function.scores, one.scores, rtol=0, atol=1e-6)


def test_a_classifier_that_is_not_fitted_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        list(explain_texts(TextClassifier(), ["a lovely film"], "lime"))


# Texts --------------------------------------------------------------------------------------------


def test_a_method_of_ones_own_goes_by_the_name_it_is_registered_under(fitted):
    @EXPLAINERS.register("length")
    class Length(contract.Explainer):
        """The number of letters."""

        hides, signed = False, False

        def explain_batch(self, predictor, docs, targets, seed, hide):
            answers = predictor.predict_docs(docs)
            for doc, row, target in zip(docs, answers, contract.classes_of(answers, targets), strict=True):
                yield self.finished(predictor, doc, [len(word) for word in doc.words], target, row[target])

    try:
        (found,) = fitted.explain("a lovely film", "length")
    finally:
        del EXPLAINERS._loaded["length"]
    assert found.method == "length"
    assert found.scores == (1, 6, 4)
    assert found.options == {}


def test_one_text_may_be_given_as_it_is():
    (found,) = explain_texts(half, "a text", "occlusion")
    assert found.text == "a text"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("wrong", [None, 3, b"bytes", ["nested"]])
def test_what_is_no_text_is_refused_with_its_number(wrong, workers):
    with pytest.raises(DataError, match=r"Text number 1 .*is .*Give strings"):
        list(explain_texts(half, ["good", wrong], "occlusion", workers=workers))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_texts_are_taken_as_they_are_needed(workers):
    texts = Texts(1000)
    found = explain_texts(half, texts, "occlusion", workers=workers)
    assert texts.taken == 0
    assert next(found).text == "text 0"
    assert 0 < texts.taken <= (workers + 1) * api.CHUNK < 1000
    rest = list(found)
    assert [one.text for one in rest] == [f"text {number}" for number in range(1, 1000)]
    assert texts.taken == 1000


def test_results_come_in_order_though_some_take_longer():
    gate = threading.Event()

    def slow(texts):
        if any("text 0" in text for text in texts):  # the first text waits for one of the last
            gate.wait(20)
        if any("text 9" in text for text in texts):
            gate.set()
        return half(texts)

    box = api.BlackBox(slow, labels=["a", "b"])
    texts = [f"text {number}" for number in range(10)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "CHUNK", 1)
        found = [one.text for one in explain_texts(box, texts, "occlusion", workers=10)]
    assert found == texts
    assert gate.is_set()


def test_workers_share_the_cores_and_give_them_back():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        seen = set()

        def noting(texts):
            seen.add(torch.get_num_threads())
            return half(texts)

        found = explain_texts(noting, ["text"] * 200, "occlusion", workers=2)
        next(found)
        found.close()  # in the middle
        assert torch.get_num_threads() == 4
        assert seen == {2}
    finally:
        torch.set_num_threads(before)


# Memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", HIDING)
def test_no_more_perturbations_are_held_at_a_time_than_allowed(monkeypatch, method):
    monkeypatch.setattr(contract, "MAX_CELLS", 3000)
    docs = [doc_of(words) for words in (12, 3, 0, 30, 1, 12, 12, 50, 2, 2, 12)]
    whole = Game(lambda keep: keep.mean(1) if keep.shape[1] else np.zeros(len(keep)))
    options = {"lime": {"samples": 40}, "shapley": {"permutations": 4}}.get(method, {})
    kind = EXPLAINERS.get(method)
    found = list(kind(kind.Options(**options)).explain(whole, docs))
    assert [one.text for one in found] == [doc.text for doc in docs]
    assert len(whole.calls) > 1
    for call in whole.calls:
        assert len(call) <= 1 or sum(rows * words for rows, words in call) <= 3000
    monkeypatch.undo()
    together = Game(whole.worth)
    expected = list(kind(kind.Options(**options)).explain(together, docs))
    assert len(together.calls) <= 2
    assert found == expected


def test_the_sums_of_lime_count_too():
    """Few samples of long texts: what is held is the square of their words."""
    explainer = EXPLAINERS.get("lime")(EXPLAINERS.get("lime").Options(samples=2))
    assert explainer.rows(2000) >= 2000


def test_one_long_text_among_short_ones_does_not_multiply_its_memory():
    import tracemalloc

    game = Game(lambda keep: keep.mean(1))
    docs = [doc_of(700), *(doc_of(2, f"n{number} x") for number in range(60))]
    explainer = EXPLAINERS.get("lime")(EXPLAINERS.get("lime").Options(samples=20))
    tracemalloc.start()
    try:
        list(explainer.explain(game, docs))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10 * 8 * 700**2  # the sums of the long one a few times, not 61 times


def test_every_text_may_have_a_target_of_its_own(fitted):
    texts = ["good film", "bad film", "good"]
    wanted = [fitted.classes_[1], fitted.classes_[0], str(fitted.classes_[0])]
    found = list(explain_texts(fitted, texts, "occlusion", target=wanted))
    assert [str(one.target) for one in found] == [str(label) for label in wanted]
    for one, text, label in zip(found, texts, wanted, strict=True):
        alone = next(explain_texts(fitted, [text], "occlusion", target=label))  # in other company: equal to rounding
        assert (one.text, one.target, one.options) == (alone.text, alone.target, alone.options)
        np.testing.assert_allclose(
            (*one.scores, one.probability), (*alone.scores, alone.probability), rtol=0, atol=1e-6
        )
    with pytest.raises(DataError, match="2 targets"):
        list(explain_texts(fitted, texts, "occlusion", target=wanted[:2]))


def test_a_slow_model_gets_fewer_texts_at_a_time_so_that_results_are_seen_soon(fitted):
    lime, occlusion = (EXPLAINERS.get(name)() for name in ("lime", "occlusion"))
    assert api.at_once(fitted, lime) == api.at_once(fitted, occlusion) == api.CHUNK
    assert api.at_once(half, lime) == 2
    assert api.at_once(half, occlusion) == api.CHUNK
    taken = []
    texts = (taken.append(number) or f"text {number}" for number in range(100))
    next(explain_texts(half, texts, "lime"))
    assert len(taken) <= 2
