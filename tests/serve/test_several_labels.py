"""The server with a model that gives a text several labels, or none."""

from __future__ import annotations

import csv
import io

import pytest

from serve.conftest import clients
from toy import toy_label_sets, write_csv
from vmask import TextClassifier
from vmask.serve.loaded_model import load_models

TEXTS = ["please look at my invoice and what about the refund today", "the garden is wrong again"]


@pytest.fixture(scope="module")
def classifier():
    made = TextClassifier(embeddings="random", epochs=10, learning_rate=0.01, model__filters=12, seed=1)
    return made.fit(*toy_label_sets(200))


@pytest.fixture(scope="module")
def client(classifier, tmp_path_factory):
    folder = classifier.save(tmp_path_factory.mktemp("models") / "requests")
    texts, sets = toy_label_sets(120, seed=3)
    data = write_csv(tmp_path_factory.mktemp("data") / "requests.csv", texts, [";".join(one) for one in sets])
    with clients(load_models([folder], data=str(data), device="cpu")) as make:
        yield make()


def test_predictions_have_all_labels_and_the_leading_one(client, classifier):
    answer = client.post("/api/predict", json={"texts": TEXTS}).json()
    found = answer["predictions"]
    assert [tuple(one["predicted_labels"]) for one in found] == classifier.predict(TEXTS)
    assert found[0]["predicted_labels"] == ["billing", "refund"]
    assert found[1]["predicted_labels"] == []
    assert all(one["label"] in answer["labels"] for one in found)
    hidden = client.post("/api/predict", json={"texts": TEXTS[:1], "hidden": [[4]]}).json()["predictions"][0]
    assert hidden["predicted_labels"] == ["refund"]


def test_explanations_are_of_the_leading_label_or_of_the_one_that_is_asked_for(client):
    (one,) = client.post("/api/explain", json={"texts": TEXTS[:1], "explainer": "occlusion"}).json()["explanations"]
    assert one["label"] == one["predicted"]
    assert one["predicted_labels"] == ["billing", "refund"]
    asked = {"texts": TEXTS[:1], "explainer": "occlusion", "target": "login"}
    assert client.post("/api/explain", json=asked).json()["explanations"][0]["label"] == "login"


def test_a_table_gets_its_labels_with_a_separator(client, classifier):
    body = "text\r\n" + "".join(f"{text}\r\n" for text in TEXTS)
    rows = list(csv.DictReader(io.StringIO(client.post("/api/table", content=body.encode()).text)))
    assert [row["predicted"] for row in rows] == ["billing;refund", ""]
    summary = client.post("/api/table?format=json", content=body.encode()).json()
    assert summary["counts"] == [1, 0, 1]
    assert [row["label"] for row in summary["first"]] == ["billing + refund", "no label"]


def test_examples_are_right_where_all_labels_are_and_found_by_any(client, classifier):
    answer = client.get("/api/examples", params={"limit": 1000}).json()
    for one in answer["examples"]:
        assert one["right"] == (one["labels"] == one["predicted_labels"])
        assert tuple(one["predicted_labels"]) == classifier.predict([one["text"]])[0]
    assert answer["accuracy"] == sum(one["right"] for one in answer["examples"]) / answer["total"]
    some = client.get("/api/examples", params={"limit": 1000, "label": "refund"}).json()["examples"]
    assert [one["number"] for one in some] == [one["number"] for one in answer["examples"] if "refund" in one["labels"]]
    some = client.get("/api/examples", params={"limit": 1000, "predicted": "login"}).json()["examples"]
    assert some
    assert all("login" in one["predicted_labels"] for one in some)


def test_an_edit_has_a_cost_in_texts_whose_labels_change(client, classifier):
    body = {"edit": {"hide": ["invoice", "charge", "payment"], "show": []}}
    cost = client.post("/api/edit", json=body).json()["cost"]
    assert cost["flips"] == len([one for one in cost["examples"] if one["before"] != one["after"]]) > 0
    assert cost["accuracy_after"] < cost["accuracy_before"]
