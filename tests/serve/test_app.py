"""Every endpoint: what it answers, and what it refuses."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from html import escape

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.helpers import TEXT, WAIT
from thoroughness import examples
from vmask import __version__
from vmask.config import HIDES, option
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, classes_of
from vmask.explain.highlight import AGAINST, FOR, STRONG
from vmask.serve.app import create_app, safe_stem
from vmask.serve.batcher import ModelQuery
from vmask.serve.config import ServeConfig
from vmask.serve.loaded_model import LoadedModel
from vmask.serve.page import is_instant
from vmask.text.words import whole_characters

WORDS = ("lovely", "film", "dreadful", "a", "the", "plot", ",", "?", "ö")
TEXTS = [TEXT, "the plot is dreadful and the cast tries hard", "", "unheard-of wørds 🎬 here", "a" * 50, "\0"]


def predict(client, **asked):
    answer = client.post("/api/predict", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def explain(client, **asked):
    answer = client.post("/api/explain", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_health(client):
    assert client.get("/healthz").json() == {"status": "ok", "version": __version__, "models": 2}


def test_options_describe_models_explainers_and_limits(client, models):
    found = client.get("/api/options").json()
    ranking, plain = found["models"]
    assert (ranking["name"], plain["name"]) == ("cnn", "base")
    assert ranking["labels"] == ["neg", "pos"]
    assert ranking["explainers"][0] == "mask"
    assert plain["explainers"][0] == "lime"
    assert "mask" not in plain["explainers"]
    assert (ranking["ranks"], plain["ranks"]) == (True, False)
    assert ranking["explainers"][-1] == plain["explainers"][-1] == "random"
    assert ranking["hides"] == ["remove", "zero", "unk"]
    assert ranking["max_words"] == 256
    assert ranking["examples"] == {"dataset": "reviews.csv", "split": "test", "n": 12}
    assert ranking["about"]["train"] == models[0].classifier.data_["train"]
    assert found["version"] == __version__
    assert [one["name"] for one in found["hides"]] == list(HIDES)
    assert all(one["description"] != one["name"] for one in found["hides"])
    assert found["limits"]["texts"] == ServeConfig.max_texts
    assert found["limits"]["explain_seconds"] == ServeConfig.explain_seconds
    assert found["colours"] == {"for": list(FOR), "against": list(AGAINST), "strong": STRONG}
    named = {one["name"]: one for one in found["explainers"]}
    assert {*ranking["explainers"], *plain["explainers"]} <= {*named}
    assert named["lime"]["title"] == "LIME"
    assert [one["name"] for one in found["explainers"] if one["instant"]] == ["mask"]
    samples = next(one for one in named["lime"]["options"] if one["name"] == "samples")
    assert samples == {
        "name": "samples",
        "kind": "int",
        "default": 1000,
        "choices": None,
        "most": 20_000,
        "help": "perturbations of a text, the whole text among them",
    }


@dataclass(frozen=True)
class LengthOptions:
    """Options of the explainer of this test."""

    power: float = option(1.0, "of the length")


@pytest.fixture
def length_explainer():
    """An explainer of one's own."""

    @EXPLAINERS.register("word_length")
    class WordLength(Explainer):
        """Length: how long a word is."""

        Options = LengthOptions
        hides = False
        signed = False

        def explain_batch(self, predictor, docs, targets, seed, hide):
            rows = predictor.predict_docs(docs)
            for doc, row, target in zip(docs, rows, classes_of(rows, targets), strict=True):
                scores = np.array([len(word) ** self.options.power for word in doc.words])
                yield self.finished(predictor, doc, scores, target, row[target])

    yield
    del EXPLAINERS._loaded["word_length"]


def test_a_new_explainer_is_offered_and_works_without_a_change(client, length_explainer):
    found = client.get("/api/options").json()
    assert "word_length" in found["models"][0]["explainers"]
    (described,) = [one for one in found["explainers"] if one["name"] == "word_length"]
    assert described["title"] == "Length"
    assert described["options"][0]["name"] == "power"
    (one,) = explain(client, texts=[TEXT], explainer="word_length", options={"power": 2})["explanations"]
    assert [word["score"] for word in one["words"]] == [len(word) ** 2 for word in TEXT.split()]
    assert one["method"] == "word_length"


def test_an_explainer_without_its_library_is_not_offered(client, monkeypatch, caplog):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("vmask.explain._gradients.import_module", missing)
    found = client.get("/api/options").json()
    assert "lime" in found["models"][0]["explainers"]
    assert not {"saliency", "integrated_gradients"} & {one["name"] for one in found["explainers"]}
    assert not caplog.records  # that is nobody's fault
    refused = client.post("/api/explain", json={"texts": [TEXT], "explainer": "saliency"})
    assert refused.status_code == 422
    assert "pip install 'vmask[gradients]'" in refused.json()["detail"]


@pytest.mark.parametrize("number", [0, 1])
def test_predictions_are_the_models(client, models, number):
    served = models[number]
    found = predict(client, texts=TEXTS, model=served.name, words=True)
    expected = served.classifier.predict_proba(TEXTS)
    assert (found["model"], found["labels"]) == (served.name, ["neg", "pos"])
    given = np.array([one["probabilities"] for one in found["predictions"]])
    np.testing.assert_allclose(given, expected, atol=1e-6)
    assert [one["label"] for one in found["predictions"]] == served.classifier.predict(TEXTS).tolist()
    docs = served.predictor.prepare(TEXTS)
    for one, doc in zip(found["predictions"], docs, strict=True):
        assert [(word["start"], word["end"]) for word in one["words"]] == list(doc.spans)
        assert one["unseen"] == doc.unseen
    assert "words" not in predict(client, texts=[TEXT])["predictions"][0]


def test_offsets_count_code_points(client):
    text = "🎬 a 👩🏽‍🚀 film"
    words = predict(client, texts=[text], words=True)["predictions"][0]["words"]
    assert [text[word["start"] : word["end"]] for word in words] == ["🎬", "a", "👩🏽‍🚀", "film"]


def test_words_past_the_limit_are_counted(client):
    found = predict(client, texts=["word " * 300], words=True)["predictions"][0]
    assert (len(found["words"]), found["unseen"]) == (256, 44)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=4),
    hide=st.sampled_from(["remove", "zero", "unk"]),
    data=st.data(),
)
def test_hidden_words_are_those_of_predict_kept(client, served, texts, hide, data):
    joined = [" ".join(words) for words in texts]
    docs = served.predictor.prepare(joined)
    hidden = [
        data.draw(st.lists(st.integers(0, len(doc.spans) - 1), max_size=5) if doc.spans else st.just([]))
        for doc in docs
    ]
    found = predict(client, texts=joined, hidden=hidden, hide=hide)["predictions"]
    keep = [np.array([[i not in one for i in range(len(doc.spans))]]) for doc, one in zip(docs, hidden, strict=True)]
    expected = [rows[0] for rows in served.predictor.predict_kept(docs, keep, hide)]
    assert len(found) == len(expected)
    for one, row in zip(found, expected, strict=True):
        np.testing.assert_allclose(one["probabilities"], row, atol=1e-6)


def test_to_hide_a_word_changes_the_answer_and_to_hide_none_does_not(client):
    whole = predict(client, texts=[TEXT])["predictions"][0]["probabilities"]
    for hide in ("remove", "zero", "unk"):
        none, one = predict(client, texts=[TEXT, TEXT], hidden=[[], [1]], hide=hide)["predictions"]
        np.testing.assert_allclose(none["probabilities"], whole, atol=1e-6)
        assert abs(one["probabilities"][0] - whole[0]) > 1e-3


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_explanations_are_those_of_the_classifier(client, models, method):
    options = {"lime": {"samples": 60}, "shapley": {"permutations": 4}}.get(method, {})
    hide = "zero" if EXPLAINERS.get(method).hides else None
    asked = {"texts": [TEXT, "so dreadful ö"], "explainer": method, "options": options, "seed": 3, "hide": hide}
    found = explain(client, **asked)
    classifier = models[0].classifier
    expected = classifier.explain(asked["texts"], method, seed=3, hide=hide, **options)
    assert found["milliseconds"] > 0
    for one, other in zip(found["explanations"], expected, strict=True):
        plain = other.to_dict()
        for name in ("text", "label", "method", "options", "seed", "signed", "unseen"):
            assert one[name] == plain[name], name
        for name, value in plain["details"].items():
            assert one["details"][name] == pytest.approx(value, abs=1e-5), name
        for shown, word, strength in zip(one["words"], plain["words"], other.strengths(), strict=True):
            assert {name: shown[name] for name in ("word", "start", "end")} == {
                name: word[name] for name in ("word", "start", "end")
            }
            assert shown["score"] == pytest.approx(word["score"], abs=1e-5)
            assert shown["strength"] == pytest.approx(strength, abs=1e-3)
        assert one["probability"] == pytest.approx(plain["probability"], abs=1e-6)
    np.testing.assert_allclose(
        [one["probabilities"] for one in found["explanations"]], classifier.predict_proba(asked["texts"]), atol=1e-6
    )
    assert [one["predicted"] for one in found["explanations"]] == classifier.predict(asked["texts"]).tolist()


@pytest.mark.parametrize("method", ["mask", "lime", "occlusion"])
def test_another_class_can_be_explained(client, method):
    for label in ("neg", "pos"):
        (one,) = explain(client, texts=[TEXT], explainer=method, target=label)["explanations"]
        assert one["label"] == label
        assert one["probability"] == pytest.approx(one["probabilities"][["neg", "pos"].index(label)], abs=1e-6)


@pytest.mark.parametrize("method", EXPLAINERS.names())
def test_the_options_say_whether_scores_depend_on_the_class(client, method):
    (described,) = [one for one in client.get("/api/options").json()["explainers"] if one["name"] == method]
    scores = [
        [
            word["score"]
            for word in explain(client, texts=[TEXT], explainer=method, target=label)["explanations"][0]["words"]
        ]
        for label in ("neg", "pos")
    ]
    if not described["by_class"]:
        assert scores[0] == scores[1]
    elif described["signed"]:  # of two classes one rises as the other falls, so what has no sign is the same
        assert scores[0] != scores[1]
    assert described["by_class"] == (method not in ("mask", "random"))


def test_the_default_explainer_is_the_mask_or_else_lime(client):
    assert explain(client, texts=[TEXT])["explanations"][0]["method"] == "mask"
    assert explain(client, texts=[TEXT], model="base")["explanations"][0]["method"] == "lime"


def test_no_texts_have_no_answers(client):
    assert predict(client, texts=[])["predictions"] == []
    assert explain(client, texts=[])["explanations"] == []
    assert explain(client, texts=[], explainer="lime")["explanations"] == []


def test_words_by_importance_count_and_alphabet(client, served):
    everything = served.predictor.word_importance(1)
    found = client.get("/api/words").json()
    assert found["model"] == "cnn"
    assert found["total"] == len(everything)
    assert found["words"][0] == {
        "word": everything[0].word,
        "score": everything[0].score,
        "count": everything[0].count,
        "known": everything[0].known,
        "hidden": False,
        "editable": True,
    }
    assert [word["word"] for word in found["words"]] == [word.word for word in everything[:100]]
    counts = [word["count"] for word in client.get("/api/words?sort=count").json()["words"]]
    assert counts == sorted(counts, reverse=True)
    words = [word["word"] for word in client.get("/api/words?sort=word").json()["words"]]
    assert words == sorted(words)


def test_words_are_filtered_and_paged(client, served):
    everything = [word for word in served.predictor.word_importance(3) if "o" in word.word]
    found = client.get("/api/words?query=O&min_count=3&limit=2&offset=1").json()
    assert found["total"] == len(everything) > 3
    assert [word["word"] for word in found["words"]] == [word.word for word in everything[1:3]]
    assert client.get("/api/words?offset=100000").json()["words"] == []
    assert client.get("/api/words?limit=0").json()["total"] > 0


def test_a_model_that_ranks_no_words_says_so(client):
    answer = client.post("/api/explain", json={"texts": [TEXT], "model": "base", "explainer": "mask"})
    assert answer.status_code == 422
    assert "Train with `--mask vmask`" in answer.json()["detail"]


def test_examples_have_labels_and_predictions(client, served):
    found = client.get("/api/examples").json()
    assert (found["model"], found["dataset"], found["split"], found["total"]) == ("cnn", "reviews.csv", "test", 12)
    texts = [one["text"] for one in found["examples"]]
    assert texts == served.examples.texts
    assert [one["predicted"] for one in found["examples"]] == served.classifier.predict(texts).tolist()
    assert [one["label"] for one in found["examples"]] == served.examples.labels
    assert found["accuracy"] == np.mean([one["right"] for one in found["examples"]])
    assert [one["number"] for one in found["examples"]] == list(range(12))


def test_examples_are_filtered_and_ordered(make_client):
    client = make_client()
    everything = client.get("/api/examples").json()["examples"]
    assert {one["right"] for one in everything} == {True, False}

    def numbers(query):
        return [one["number"] for one in client.get(f"/api/examples?{query}").json()["examples"]]

    assert numbers("show=wrong") == [one["number"] for one in everything if one["label"] != one["predicted"]]
    assert sorted(numbers("show=wrong") + numbers("show=right")) == list(range(12))
    by_probability = sorted(everything, key=lambda one: one["probability"])
    assert numbers("show=uncertain") == [one["number"] for one in by_probability]
    assert numbers("label=pos") == [one["number"] for one in everything if one["label"] == "pos"]
    assert numbers("predicted=neg") == [one["number"] for one in everything if one["predicted"] == "neg"]
    assert numbers("query=FILM") == [one["number"] for one in everything if "film" in one["text"]]
    assert numbers("limit=2&offset=3") == [3, 4]


def test_examples_that_are_being_prepared(client, monkeypatch):
    monkeypatch.setattr("vmask.serve.api.EXAMPLE_SECONDS", 0.0)
    api, hold = client.app.state.api, threading.Event()
    stuck = ModelQuery("stuck", lambda units: [hold.wait(WAIT)] * len(units), 1)
    monkeypatch.setattr(api, "_predict_examples", lambda model: api._batcher.submit(stuck, ["a", "b"], [1, 1]))
    try:
        answer = client.get("/api/examples")
        assert (answer.status_code, answer.json()) == (202, {"preparing": 0.0})
    finally:
        hold.set()


def test_without_examples_the_reason_is_given(make_client, models):
    client = make_client([LoadedModel("alone", models[0].classifier, None, "The data 'x' is not on this machine.")])
    answer = client.get("/api/examples")
    assert answer.status_code == 404
    assert "The data 'x' is not on this machine." in answer.json()["detail"]
    described = client.get("/api/options").json()["models"][0]
    assert described["examples"] is None
    assert described["no_examples"] == "The data 'x' is not on this machine."


LONG = "x" * 31
JSON = {"content-type": "application/json"}
REFUSED = [
    ("/api/predict", {"texts": ["a"] * 5}, 422, "the limit is 4 in a request"),
    ("/api/predict", {"texts": ["a", LONG]}, 422, "Text 1 has 31 characters; the limit is 30"),
    ("/api/explain", {"texts": ["a"] * 3}, 422, "the limit is 2 in a request"),
    ("/api/explain", {"texts": [LONG]}, 422, "Text 0 has 31 characters; the limit is 30"),
    ("/api/predict", {"texts": "a"}, 422, "texts: input should be a valid list"),
    ("/api/predict", {"texts": [1]}, 422, "texts[0]: input should be a valid string"),
    ("/api/predict", {"texts": [None]}, 422, "texts[0]: input should be a valid string"),
    ("/api/predict", {}, 422, "texts: field required"),
    ("/api/predict", [], 422, "JSON object"),
    ("/api/predict", 7, 422, "JSON object"),
    ("/api/predict", None, 422, "JSON object"),
    ("/api/predict", {"texts": [], "model": "none"}, 404, "There is no model 'none'. There are: cnn, base."),
    ("/api/predict", {"texts": [], "textz": []}, 422, "There is no field 'textz'. Did you mean 'texts'?"),
    ("/api/predict", {"texts": ["a b"], "hidden": [[2]]}, 422, "hidden[0] names word 2, but text 0 has words 0 to 1"),
    ("/api/predict", {"texts": ["", "a"], "hidden": [[0], []]}, 422, "text 0 has no words"),
    ("/api/predict", {"texts": ["a"], "hidden": [[-1]]}, 422, "hidden[0][0]: input should be greater than"),
    ("/api/predict", {"texts": ["a"], "hidden": [[10**30]]}, 422, "hidden[0][0]: input should be less than"),
    ("/api/predict", {"texts": ["a"], "hidden": [[1.5]]}, 422, "hidden[0][0]: input should be a valid integer"),
    ("/api/predict", {"texts": ["a"], "hidden": []}, 422, "1 texts and 0 lists"),
    ("/api/predict", {"texts": ["a"], "hidden": [[0]], "hide": "burn"}, 422, "Unknown way of hiding 'burn'"),
    ("/api/predict", {"texts": ["a"], "hidden": [[0]], "hide": "mask"}, 422, "no token to hide a word by 'mask'"),
    ("/api/predict", {"texts": ["a"], "hide": "burn"}, 422, "Available: mask, remove, unk, zero."),
    ("/api/predict", {"texts": ["a"], "hide": "mask"}, 422, "no token to hide a word by 'mask'"),
    ("/api/explain", {"texts": ["a"], "explainer": "limes"}, 422, "Did you mean 'lime'?"),
    ("/api/explain", {"texts": ["a"], "explainer": "../lime"}, 422, "Unknown explanation method"),
    ("/api/explain", {"texts": ["a"], "explainer": "contract"}, 422, "Unknown explanation method"),
    ("/api/explain", {"texts": ["a"], "target": "maybe"}, 422, "Unknown label 'maybe'"),
    ("/api/explain", {"texts": ["a"], "seed": -1}, 422, "seed: input should be greater than or equal to 0"),
    ("/api/explain", {"texts": ["a"], "seed": 10**12}, 422, "seed: input should be less than or equal"),
    ("/api/explain", {"texts": ["a"], "hide": "zero"}, 422, "hides no words"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "hide": "burn"}, 422, "burn"),
    ("/api/explain", {"texts": ["a"], "options": {"x": 1}}, 422, "Unknown option 'x'"),
    ("/api/explain", {"texts": ["a"], "options": {"\ud800": 1}}, 422, "Unknown option"),
    (
        "/api/explain",
        {"texts": ["a"], "explainer": "lime", "options": {"samples": 20_001}},
        422,
        "server, 20,000",
    ),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"samples": 0}}, 422, "must be at least 2"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"samples": "9"}}, 422, "must be of type int"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"alpha": 10**400}}, 422, "alpha is beyond"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"alpha": -(10**400)}}, 422, "alpha is beyond"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"features": []}}, 422, "must be of type str"),
    ("/api/explain", {"texts": ["a"], "explainer": "lime", "options": {"features": "x"}}, 422, "Choose one of"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_answered_is_refused_in_a_sentence(shared_client, path, body, status, message):
    client = shared_client(max_texts=4, max_explain_texts=2, max_characters=30)
    answer = client.post(path, content=json.dumps(body), headers=JSON)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["detail"]
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "kind", "status", "message"),
    [
        (b"", "application/json", 422, "JSON object"),
        (b"{", "application/json", 422, "not JSON"),
        (b'{"texts": ["a"]}', "text/plain", 422, "Content-Type: application/json"),
        (b'{"texts": ["a"]}', "application/x-www-form-urlencoded", 422, "Content-Type: application/json"),
        (b"texts=a", "multipart/form-data; boundary=x", 422, "Content-Type: application/json"),
        (b'{"texts": ["\xc3\x28"]}', "application/json", 400, "not JSON"),
        (b"[" * 100_000, "application/json", 400, "not JSON"),
        (b'{"texts": [' + b"[" * 50_000 + b"]" * 50_000 + b"]}", "application/json", 400, "not JSON"),
        (b'{"texts": ["a"], "seed": ' + b"9" * 5000 + b"}", "application/json", 400, "not JSON"),
        (b'{"texts": ["a"], "options": {"alpha": NaN}}', "application/json", 422, "Unknown option"),
        (b'{"texts": ["a"], "explainer": "lime", "options": {"alpha": NaN}}', "application/json", 422, "alpha is nan"),
        (
            b'{"texts": ["a"], "explainer": "lime", "options": {"alpha": 1e999}}',
            "application/json",
            422,
            "alpha is inf",
        ),
    ],
    ids=range(12),
)
def test_a_malformed_body_is_refused(client, content, kind, status, message):
    answer = client.post("/api/explain", content=content, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("words?limit=-1", 422, "limit: input should be greater"),
        ("words?limit=1001", 422, "limit: input should be less than or equal to 1000"),
        ("words?limit=x", 422, "limit: input should be a valid integer"),
        ("words?offset=" + "9" * 30, 422, "offset: input should be"),
        ("words?offset=" + "9" * 5000, 422, "offset: "),
        ("words?sort=fame", 422, "sort: input should be 'importance', 'count' or 'word'"),
        ("words?model=none", 404, "There is no model 'none'"),
        ("words?model=%ff%00", 404, "There is no model"),
        ("examples?show=some", 422, "show: input should be"),
        ("examples?model=none", 404, "There is no model 'none'"),
        ("words?top=3", 422, "no query parameter 'top'. There are: model, query, min_count, sort, limit, offset."),
        ("words?limits=3", 422, "no query parameter 'limits'. Did you mean 'limit'? There are:"),
        ("words?show=all", 422, "no query parameter 'show'."),
        ("examples?find=a&limit=1", 422, "no query parameter 'find'."),
        ("words?" + "a" * 5000 + "=", 422, "no query parameter 'aaa"),
        ("words?%ff=1", 422, "no query parameter"),
        ("options?model=cnn", 422, "no query parameter 'model'. This request has none."),
    ],
)
def test_a_wrong_parameter_is_refused(client, query, status, message):
    answer = client.get(f"/api/{query}")
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]


def test_a_wrong_parameter_of_a_post_is_refused(client):
    for path, message in (
        ("predict?model=base", "There is no query parameter 'model'. This request has none."),
        ("explain?explainer=lime", "There is no query parameter 'explainer'. This request has none."),
        ("table?colum=a", "Did you mean 'column'? There are: model, column, filename, encoding, sheet, format."),
    ):
        answer = client.post(f"/api/{path}", json={"texts": [TEXT]})
        assert answer.status_code == 422, answer.text
        assert message in answer.json()["detail"]


def test_the_page_the_health_and_the_metrics_ignore_parameters(client):
    for path in ("/", "/main.js", "/app.css", "/docs", "/healthz", "/metrics"):
        assert client.get(f"{path}?v=1").status_code == 200


@pytest.mark.parametrize("escaped", [r"\ud800", r"a \udfff b", r"\u0000", r"\ud83c\udfac film"])
def test_half_a_character_is_replaced_and_null_is_taken_as_it_is(client, escaped):
    body = f'{{"texts": ["{escaped} lovely"], "words": true}}'
    assert client.post("/api/predict", content=body, headers=JSON).status_code == 200
    for method in ("mask", "lime", "saliency"):
        body = f'{{"texts": ["{escaped} lovely"], "explainer": "{method}"}}'
        answer = client.post("/api/explain", content=body, headers=JSON)
        assert answer.status_code == 200, answer.text
        (one,) = answer.json()["explanations"]
        assert one["text"] == whole_characters([json.loads(f'"{escaped} lovely"')])[0]
        assert one["words"][-1]["word"] == "lovely"


@pytest.mark.parametrize("options", [{"kernel_width": 1e-300}, {"alpha": 0}, {"kernel_width": 1e6, "alpha": 1e6}])
@pytest.mark.parametrize("text", ["", "a", "a a a", TEXT])
def test_strange_options_never_make_an_answer_that_is_no_json(client, options, text):
    answer = client.post("/api/explain", json={"texts": [text], "explainer": "lime", "options": options})
    assert answer.status_code == 200, answer.text
    json.loads(answer.text, parse_constant=lambda constant: pytest.fail(constant))


def test_markup_comes_back_as_data(client):
    text = "<script>alert(1)</script> lovely <img src=x onerror=alert(1)>"
    for path in ("/api/predict", "/api/explain"):
        answer = client.post(path, json={"texts": [text]})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["explanations"][0]["text"] == text
    refused = client.get(f"/api/words?model={text}")
    assert refused.headers["content-type"] == "application/json"


def test_the_first_of_two_models_is_the_default(client):
    assert predict(client, texts=[TEXT])["model"] == "cnn"
    assert predict(client, texts=[TEXT], model="")["model"] == "cnn"
    assert predict(client, texts=[TEXT], model=None)["model"] == "cnn"
    assert predict(client, texts=[TEXT], model="base")["model"] == "base"


def test_wrong_methods_and_paths(client):
    answer = client.get("/api/predict")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "/docs" in answer.json()["detail"]
    for path in ("/api", "/api/predict/", "/docs/", "/favicon.ico", "/redoc", "/api/none"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert list(answer.json()) == ["detail"]


def test_docs_list_every_route_and_ask_no_other_server(client):
    page = client.get("/docs")
    document = client.get("/openapi.json").json()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in page.text
    for name, schema in document["components"]["schemas"].items():
        assert f'id="{name}"' in page.text
        assert all(f"<td>{escape(field)}" in page.text for field in schema.get("properties", {}))
    assert "<script" not in page.text
    assert " style=" not in page.text
    assert page.text.count("http://") == page.text.count("http://127.0.0.1")
    assert "https://" not in page.text
    assert not [path for path in document["paths"] if not path.startswith(("/api/", "/healthz", "/metrics"))]


def test_a_fault_of_ours_is_said_without_details(make_client, models, caplog):
    client = make_client([models[0]])

    def broken(texts):
        raise ZeroDivisionError("secret")

    client.app.state.api.models[0].predictor = type("Broken", (), {"prepare": staticmethod(broken)})()
    answer = client.post("/api/predict", json={"texts": ["a"]})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["content-security-policy"]
    assert "ZeroDivisionError" in caplog.text


def test_create_app_loads_folders(model_folder, base_folder, data_csv):
    told = []
    app = create_app([model_folder, model_folder, base_folder], device="cpu", say=told.append)
    assert [one.name for one in app.state.api.models] == ["cnn", "cnn-2", "base"]
    assert all("no examples" in line for line in told)
    assert len(told) == 3


@pytest.mark.parametrize(
    ("name", "stem"), [("a b.csv", "a_b"), ('x"\r\n.csv', "x___"), ("..\\..\\c.csv", "c"), ("", "table"), ("é", "_")]
)
def test_names_of_downloads_are_harmless(name, stem):
    assert safe_stem(name) == stem


def test_only_the_mask_is_instant():
    assert [name for name in EXPLAINERS.names() if is_instant(EXPLAINERS.get(name))] == ["mask"]
