"""Edits in requests: the answers are those of an edited copy of the model, and nothing stays behind."""

from __future__ import annotations

import asyncio
import copy
import json
import shlex
import threading
import warnings

import numpy as np
import pytest

from serve.helpers import TEXT, WAIT, Call
from toy import BAD, GOOD, toy_texts
from vmask import TextClassifier
from vmask.cli.main import main
from vmask.errors import VmaskWarning
from vmask.evaluation.edit_cost import edit_cost
from vmask.inference.predictor import WordPredictor
from vmask.serve import api as serve_api
from vmask.serve import edits as serve_edits
from vmask.serve.edits import MAX_KEPT, Editor
from vmask.serve.loaded_model import Examples, LoadedModel
from vmask.serve.queries import ExplanationQuery, hidden_words_query, prediction_query, top_class_query

TEXTS = [TEXT, "the plot is dreadful and the cast tries hard", "Lovely, lovely", "", "unheard-of wørds"]
JSON = {"Content-Type": "application/json"}
EDITS = [
    {"hide": ["lovely"]},
    {"hide": [*GOOD, *BAD, "The"]},
    {"show": ["lovely", "a"]},
    {"hide": ["a", "plot"], "show": ["lovely", "dreadful"]},
]


def with_examples(name, classifier, n=60):
    texts, labels = toy_texts(n, seed=5)
    return LoadedModel(name, classifier, Examples("toys", "test", texts, labels, list(range(n))))


def quietly_edited(classifier, edit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # of words that share a piece
        return classifier.edit(**edit)


@pytest.fixture(scope="module")
def classifiers(toy, fitted, fitted_encoder):
    """Models of every kind: masks that rank, hide, compare words, or do nothing; one that is edited; an encoder."""
    texts, labels = toy

    def fit(mask, **options):
        made = TextClassifier(mask=mask, embeddings="random", epochs=2, model__filters=6, seed=1, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
            return made.fit(texts, labels)

    compares = fit("l2x", mask__k=2)
    return {
        "vmask": fitted,
        "base": fit("base"),
        "select": fit("select", mask__budget=0.3),
        "edited": fitted.edit(hide=["film", "the"], show=["plot"]),
        "compares": compares.edit(hide=["the", "film"]),
        "encoder": fitted_encoder(),
        "plain encoder": fitted_encoder(mask="base"),
    }


KINDS = ["vmask", "base", "select", "edited", "compares", "encoder", "plain encoder"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", EDITS)
def test_predictions_are_those_of_an_edited_copy(make_client, classifiers, kind, edit):
    client = make_client([with_examples("m", classifiers[kind])])
    expected = quietly_edited(classifiers[kind], edit)
    asked = {"texts": TEXTS, "edit": edit, "words": True}
    found = client.post("/api/predict", json=asked).json()["predictions"]
    np.testing.assert_allclose([one["probabilities"] for one in found], expected.predict_proba(TEXTS), atol=1e-6)
    for one, doc in zip(found, expected.predictor_.prepare(TEXTS), strict=True):
        hidden = [False] * len(doc.spans) if doc.hidden is None else doc.hidden.tolist()
        assert [word["hidden"] for word in one["words"]] == hidden
    plain = client.post("/api/predict", json={"texts": TEXTS}).json()["predictions"]
    np.testing.assert_allclose(
        [one["probabilities"] for one in plain], classifiers[kind].predict_proba(TEXTS), atol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", EDITS)
def test_the_cost_is_that_of_an_edited_copy(make_client, classifiers, kind, edit):
    model = with_examples("m", classifiers[kind])
    answer = make_client([model]).post("/api/edit", json={"edit": edit})
    assert answer.status_code == 200, answer.text
    found = answer.json()["cost"]
    edited = quietly_edited(classifiers[kind], edit)
    expected = edit_cost(classifiers[kind], edited, model.examples.texts, model.examples.labels)
    assert {name: found[name] for name in expected.numbers()} == pytest.approx(expected.numbers())
    assert (found["dataset"], found["split"]) == ("toys", "test")
    flips = [(flip.number, flip.text, flip.label, flip.before, flip.after) for flip in expected.flips[:20]]
    assert [tuple(one.values()) for one in found["examples"]] == flips


def test_spaces_around_a_word_are_no_part_of_it(make_client, fitted):
    client = make_client([with_examples("m", fitted)])
    plain, spaced = (client.post("/api/edit", json={"edit": {"hide": [word]}}) for word in (GOOD[0], f" {GOOD[0]}\n"))
    assert spaced.json() == plain.json()
    assert f"--hide={GOOD[0]}" in spaced.json()["command"]


def test_an_edit_can_change_classes_at_all(make_client, fitted):
    """What the tests above compare is not always nothing."""
    served = with_examples("m", fitted)
    found = make_client([served]).post("/api/edit", json={"edit": {"hide": [*GOOD, *BAD]}}).json()["cost"]
    assert found["flips"] == len(found["examples"]) > 0
    assert found["accuracy_after"] < found["accuracy_before"]
    assert found["difference"] == pytest.approx(found["accuracy_after"] - found["accuracy_before"])
    assert found["low"] <= found["difference"] <= found["high"]
    texts = dict(zip(served.examples.numbers, served.examples.texts, strict=True))
    assert all(texts[one["number"]] == one["text"] and one["before"] != one["after"] for one in found["examples"])


@pytest.mark.parametrize("method", ["mask", "lime", "occlusion"])
@pytest.mark.parametrize("kind", ["vmask", "select", "encoder"])
def test_explanations_are_those_of_an_edited_copy(make_client, classifiers, kind, method):
    edit = {"hide": ["a", "film"], "show": ["lovely"]}
    options = {"samples": 60} if method == "lime" else {}
    body = {"texts": [TEXT], "explainer": method, "options": options, "edit": edit}
    (found,) = (
        make_client([with_examples("m", classifiers[kind])]).post("/api/explain", json=body).json()["explanations"]
    )
    (expected,) = quietly_edited(classifiers[kind], edit).explain(TEXT, method, **options)
    np.testing.assert_allclose([word["score"] for word in found["words"]], expected.scores, atol=1e-5)
    assert found["probability"] == pytest.approx(expected.probability, abs=1e-6)
    hidden = [word["word"] for word in found["words"] if word.get("hidden")]
    assert {"a", "film"} <= {*hidden}
    assert "lovely" not in hidden
    assert all(word["score"] == 0 for word in found["words"] if word["word"] in ("a", "film"))


def test_words_of_a_text_are_hidden_on_top_of_an_edit(client, served):
    edited = served.classifier.edit(hide=["lovely"]).predictor_
    body = {"texts": [TEXT], "hidden": [[2]], "hide": "zero", "edit": {"hide": ["lovely"]}}
    found = client.post("/api/predict", json=body).json()["predictions"][0]["probabilities"]
    keep = [np.array([[i != 2 for i in range(len(TEXT.split()))]])]
    np.testing.assert_allclose(found, edited.predict_kept(edited.prepare([TEXT]), keep, "zero")[0][0], atol=1e-6)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"hide": ["lovely", "zzz"]}, "The model does not know 1 of these words: zzz. Leave them out."),
        ({"hide": ["zzz"]}, "The model knows none of these words: zzz."),
        ({"hide": ["lovelyy"]}, "Did you mean 'lovely'?"),
        ({"hide": ["lovely"], "show": ["Lovely"]}, "'lovely' is to be hidden and to be shown"),
        ({"hide": ["lovely film"]}, "reads 'lovely film' as several words: lovely film"),
        ({"hide": [" "]}, "is no word"),
        ({"hide": [""]}, "edit.hide[0]: string should have at least 1 character"),
        ({"hide": ["a" * 401]}, "edit.hide[0]: string should have at most 400 characters"),
        ({"hide": [3]}, "edit.hide[0]: input should be a valid string"),
        ({"hide": "film"}, "edit.hide: input should be a valid list"),
        ({"hides": ["film"]}, "There is no field 'edit.hides'."),
        (["film"], "edit: input should be"),
        ({"hide": ["lovely"] * 3, "show": ["film"] * 3}, "The edit has 6 words; the limit is 5. Leave some out."),
        ({"hide": ["\ud800"]}, "edit.hide[0]: input should be a valid string"),
    ],
)
@pytest.mark.parametrize("route", ["edit", "predict", "explain"])
def test_edits_that_cannot_be_are_refused(shared_client, route, edit, said):
    client = shared_client(max_edit_words=5)
    body = {"edit": edit} if route == "edit" else {"edit": edit, "texts": [TEXT]}
    answer = client.post(f"/api/{route}", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


def test_a_request_for_an_edit_has_one(client):
    assert client.post("/api/edit", json={}).json()["detail"] == "edit: field required."
    assert client.post("/api/edit", json={"edit": None}).status_code == 422
    assert client.post("/api/edit", json={"edit": {}, "model": "none"}).status_code == 404


def test_an_edit_without_words_is_the_model_as_it_is(client, served):
    found = client.post("/api/edit", json={"edit": {}}).json()
    right = served.classifier.score(served.examples.texts, served.examples.labels)
    assert found["cost"]["accuracy_before"] == found["cost"]["accuracy_after"] == pytest.approx(right)
    assert (found["cost"]["flips"], found["cost"]["affected"], found["cost"]["difference"]) == (0, 0, 0)
    assert found["command"] == ""


def test_a_model_without_examples_has_no_cost(make_client, fitted):
    client = make_client([LoadedModel("m", fitted, None, "They are switched off.")])
    found = client.post("/api/edit", json={"edit": {"hide": ["lovely"]}}).json()
    assert (found["cost"], found["preparing"]) == (None, None)
    assert found["command"] == "vmask edit m m-edited --hide=lovely"


def test_the_command_makes_the_model_that_was_measured(make_client, model_folder, tmp_path, monkeypatch):
    """Of odd words too: a comma is a word of this model."""
    folder = TextClassifier.load(model_folder).save(tmp_path / "my model")
    edit = {"hide": [",", "lovely", "the"], "show": ["film"]}
    model = with_examples("my model", TextClassifier.load(folder))
    client = make_client([model])
    command = client.post("/api/edit", json={"edit": edit}).json()["command"]
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(command)[1:], "--data", "none", "--quiet"]) == 0
    made = TextClassifier.load(tmp_path / "my model-edited")
    assert made.about_["edits"] == {"hidden": [",", "lovely", "the"], "shown": ["film"]}
    found = client.post("/api/predict", json={"texts": TEXTS, "edit": edit}).json()["predictions"]
    np.testing.assert_allclose([one["probabilities"] for one in found], made.predict_proba(TEXTS), atol=1e-6)


def test_words_that_share_a_piece_are_told(make_client, fitted_encoder):
    client = make_client([with_examples("m", fitted_encoder())])
    found = client.post("/api/edit", json={"edit": {"hide": ["delightful"]}}).json()
    with pytest.warns(VmaskWarning, match="share a piece") as told:
        fitted_encoder().edit(hide=["delightful"])
    assert found["also"]
    assert ", ".join(found["also"][:10]) in str(told[0].message)
    assert found["also_total"] >= len(found["also"])


def test_the_list_of_words_says_which_are_hidden(make_client, classifiers):
    for kind in ("select", "edited", "encoder"):
        classifier = classifiers[kind]
        client = make_client([with_examples("m", classifier)])
        listed = client.get("/api/words?limit=1000").json()["words"]
        docs = classifier.predictor_.prepare([word["word"] for word in listed])
        assert [word["hidden"] for word in listed] == [doc.hidden is not None and doc.hidden.all() for doc in docs]
        assert any(word["hidden"] for word in listed) == (kind != "encoder")


def test_the_list_of_words_says_which_an_edit_can_name(make_client, encoder_folder, fitted):
    """An encoder reads words of its training texts as unknown: all but these can be hidden together."""
    texts, labels = toy_texts(40)
    texts = [f"{text} {'☃' if number % 2 else '猫'}" for number, text in enumerate(texts)]
    encoder = TextClassifier(str(encoder_folder("bert")), "base", epochs=1, device="cpu").fit(texts, labels)
    client = make_client([with_examples("m", encoder)])
    listed = client.get("/api/words?limit=1000").json()["words"]
    assert {word["word"] for word in listed if not word["editable"]} == {"☃", "猫"}
    refused = client.post("/api/edit", json={"edit": {"hide": [word["word"] for word in listed]}})
    assert refused.status_code == 422
    assert "does not know 2 of these words: ☃, 猫" in refused.json()["detail"]
    hide = [word["word"] for word in listed if word["editable"]]
    assert client.post("/api/edit", json={"edit": {"hide": hide}}).status_code == 200
    words = make_client([with_examples("m", fitted)]).get("/api/words?limit=1000").json()["words"]
    assert all(word["editable"] for word in words)


@pytest.mark.parametrize("kind", ["base", "plain encoder"])
def test_words_without_an_importance_are_listed_by_count(make_client, classifiers, kind):
    client = make_client([with_examples("m", classifiers[kind])])
    for query in ("", "&sort=count"):
        listed = client.get(f"/api/words?limit=1000{query}").json()["words"]
        counts = classifiers[kind].predictor_.word_counts()
        assert {word["word"]: word["count"] for word in listed} == counts
        assert [word["count"] for word in listed] == sorted(counts.values(), reverse=True)
        assert {word["score"] for word in listed} == {None}
    words = [word["word"] for word in client.get("/api/words?sort=word").json()["words"]]
    assert words == sorted(words)


def test_only_texts_with_an_edited_word_are_predicted_again(make_client, fitted):
    model = with_examples("m", fitted)
    client = make_client([model])
    asked = []
    made = serve_edits.LoadedModel.variant

    def variant(self, predictor, edit):
        prepare = predictor.prepare
        predictor.prepare = lambda texts: asked.extend(texts) or prepare(texts)
        return made(self, predictor, edit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serve_edits.LoadedModel, "variant", variant)
        found = client.post("/api/edit", json={"edit": {"hide": ["town"]}}).json()["cost"]
    with_word = [text for text in model.examples.texts if "town" in text.split()]
    assert asked == with_word
    assert found["affected"] == len(with_word) > 0


def test_texts_with_hidden_words_are_predicted_again_if_the_mask_compares_words(classifiers):
    """All hidden words are read as the first of them, which may be another one after the edit."""
    for kind, again in (("compares", True), ("edited", False)):
        model = with_examples("m", classifiers[kind])
        affected = Editor(model).edited(["town"], []).affected
        texts = [text.split() for text in model.examples.texts]
        hidden_before = {row for row, words in enumerate(texts) if {"the", "film"} & {*words}}
        edited = {row for row, words in enumerate(texts) if "town" in words}
        assert hidden_before - edited
        assert set(affected) == (hidden_before | edited if again else edited)


def test_queries_of_an_edited_model_are_not_joined_with_others(fitted):
    model = with_examples("m", fitted)
    others = [Editor(model).edited([word], []).model for word in ("lovely", "film")]
    explanation = ExplanationQuery("mask", None, None, 0, {})
    for query in (
        prediction_query,
        top_class_query,
        lambda one: hidden_words_query(one, "zero"),
        explanation.model_query,
    ):
        assert len({query(one).key for one in (model, *others)}) == 3
        assert query(others[0]) == query(Editor(model).edited(["lovely"], []).model)  # of two clients


def test_the_same_edit_is_made_once_and_few_are_kept(fitted):
    editor = Editor(with_examples("m", fitted))
    first = editor.edited(["lovely", "a", "a"], [])
    assert editor.edited(["a", "lovely"], []) is first
    words = [word for word in fitted.predictor_.tokenizer.words[2:] if word.isalpha()]
    assert len(words) > MAX_KEPT
    for word in words[:MAX_KEPT]:
        editor.edited([word], [])
    assert len(editor._kept) == MAX_KEPT
    assert editor.edited(["a", "lovely"], []) is not first


def test_an_edited_model_shares_the_weights(fitted):
    edited = Editor(with_examples("m", fitted)).edited(["lovely"], ["a"]).model.predictor
    own, other = fitted.predictor_.model, edited.model
    assert all(one is two for one, two in zip(own.parameters(), other.parameters(), strict=True))
    assert fitted.predictor_.model.edits is None


def test_nothing_is_written_and_the_model_stays_as_it_is(make_client, fitted, tmp_path, monkeypatch):
    classifier = copy.copy(fitted)
    classifier.about_ = dict(fitted.about_)
    client = make_client([with_examples("m", classifier)])
    before, about = fitted.predict_proba(TEXTS), dict(classifier.about_)
    listed = client.get("/api/words").json()
    monkeypatch.chdir(tmp_path)
    for edit in EDITS:
        for route in ("edit", "predict", "explain"):
            body = {"edit": edit} if route == "edit" else {"edit": edit, "texts": TEXTS}
            assert client.post(f"/api/{route}", json=body).status_code == 200
    assert list(tmp_path.iterdir()) == []
    assert classifier.about_ == about
    assert np.array_equal(fitted.predict_proba(TEXTS), before)
    assert client.get("/api/words").json() == listed


class Held:
    """Edited models stop before they compute, until the test lets them go on."""

    def __init__(self):
        self.entered, self.open = threading.Event(), threading.Event()
        self.calls = 0

    def predict_docs(self, predictor, docs):
        if predictor.model.edits is not None:
            self.calls += 1
            self.entered.set()
            assert self.open.wait(WAIT)
        return super(WordPredictor, predictor).predict_docs(docs)


@pytest.fixture
def held(monkeypatch):
    holding = Held()
    monkeypatch.setattr(
        WordPredictor, "predict_docs", lambda self, docs: holding.predict_docs(self, docs), raising=False
    )
    monkeypatch.setattr(serve_api, "EXAMPLE_SECONDS", 0.2)
    yield holding
    holding.open.set()


def test_a_long_measurement_says_how_far_it_is_and_goes_on(make_client, fitted, held):
    client = make_client([with_examples("m", fitted)])
    body = {"edit": {"hide": ["lovely"]}}
    answer = client.post("/api/edit", json=body)
    assert answer.status_code == 202
    assert (answer.json()["preparing"], answer.json()["cost"]) == (0, None)
    assert answer.json()["command"]
    held.open.set()
    while answer.status_code == 202:
        answer = client.post("/api/edit", json=body)
    assert answer.json()["cost"]["affected"] > 0
    calls = held.calls
    assert client.post("/api/edit", json=body).json() == answer.json()
    assert held.calls == calls  # it is known by now


def test_a_client_that_goes_away_ends_the_measurement(make_client, fitted, held, monkeypatch):
    monkeypatch.setattr(serve_api, "EXAMPLE_SECONDS", WAIT)
    client = make_client([with_examples("m", fitted)])
    api = client.app.state.api
    client.get("/api/examples")  # without the edit all is known

    async def leave():
        calls = [Call("/api/edit", {"edit": {"hide": ["lovely"]}}) for _ in range(2)]
        tasks = [asyncio.create_task(call.made(client.app)) for call in calls]
        await asyncio.to_thread(held.entered.wait, WAIT)
        edited = next(iter(api._editors["m"]._kept.values()))
        while edited.waiting < 2:
            await asyncio.sleep(0.01)
        pending = edited.pending
        calls[0].gone.set()
        await tasks[0]
        first = pending.future.done()
        calls[1].gone.set()
        await tasks[1]
        return first, pending.future.done(), edited.pending

    assert asyncio.run(leave()) == (False, True, None)


def test_a_measurement_that_makes_room_is_refused_for_now(make_client, fitted, held):
    client = make_client([with_examples("m", fitted)])
    assert client.post("/api/edit", json={"edit": {"hide": ["lovely"]}}).status_code == 202
    edited = next(iter(client.app.state.api._editors["m"]._kept.values()))
    future = edited.pending.future
    for word in [word for word in fitted.predictor_.tokenizer.words[2:] if word.isalpha()][:MAX_KEPT]:
        client.app.state.api._editors["m"].edited([word, "film"], [])
    assert "too many edits" in str(future.exception(WAIT))
    assert edited.pending is None
