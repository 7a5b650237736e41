"""Loaded models: their names, descriptions and examples; options of explainers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest

from toy import toy_texts, write_csv
from vmask.config import HIDES, make, option
from vmask.data.recorded_source import recorded_source
from vmask.errors import ConfigError, ModelFolderError, VmaskWarning
from vmask.explain import EXPLAINERS
from vmask.inference.contract import BasePredictor
from vmask.serve import loaded_model
from vmask.serve.config import ServeConfig
from vmask.serve.http_errors import NotFound
from vmask.serve.loaded_model import Examples, LoadedModel, find_model, load_models, unique_names
from vmask.serve.page import (
    HIDE_DESCRIPTIONS,
    applicable_explainers,
    available_explainers,
    check_options,
    describe_option,
)

JSON = {"content-type": "application/json"}


def test_folders_of_one_name_get_names_of_their_own():
    paths = [Path(p) for p in ("a/cnn", "b/cnn", "cnn-2", "c/cnn", ".", "/")]
    names = unique_names(paths)
    assert names[:4] == ["cnn", "cnn-2", "cnn-2-2", "cnn-3"]
    assert names[4:] == [Path.cwd().name, "model"]
    assert len(set(names)) == len(names)


def test_a_name_that_is_no_text_can_still_be_told():
    (name,) = unique_names([Path("bad\udcff")])
    assert name.encode() == b"bad?"


def test_models_are_found_by_name(models):
    assert find_model(models, None) is find_model(models, "") is models[0]
    assert find_model(models, "base") is models[1]
    with pytest.raises(NotFound, match="There are: cnn, base"):
        find_model(models, "CNN")


def test_a_folder_without_a_model_is_an_error(tmp_path):
    with pytest.raises(ModelFolderError):
        load_models([tmp_path])


def test_the_facts_of_a_model_have_no_paths_of_this_machine(fitted):
    fitted.about_.update({"dataset": "reviews", "source": "/somewhere/reviews.csv", "test_accuracy": 0.5, "notes": []})
    try:
        described = LoadedModel("x", fitted).describe(available_explainers())
    finally:
        fitted.about_.clear()
    assert "somewhere" not in str(described)
    assert described["title"] == "CNN-vmask on reviews"
    assert described["about"]["test_accuracy"] == 0.5
    assert all(isinstance(value, (str, int, float)) for value in described["about"].values())


def test_an_encoder_is_served_too(fitted_encoder, make_client):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)
        served = LoadedModel("tiny", fitted_encoder())
    client = make_client([served])
    described = client.get("/api/options").json()["models"][0]
    assert described["model"] == "transformer"
    assert described["hides"] == list(HIDES)
    assert described["max_words"] == served.predictor.tokenizer.max_tokens
    text = "a lovely film, unbelievably lovely"
    for method in described["explainers"]:
        answer = client.post("/api/explain", json={"texts": [text], "explainer": method})
        assert answer.status_code == 200, answer.text
        assert [word["word"] for word in answer.json()["explanations"][0]["words"]][1:3] == ["lovely", "film"]
    hidden = client.post("/api/predict", json={"texts": [text], "hidden": [[1]], "hide": "mask"})
    assert hidden.status_code == 200
    for path in ("/api/predict", "/api/explain"):  # half a character, which its tokenizer would choke on
        odd = client.post(path, content=b'{"texts": ["lovely \\ud800 film"]}', headers=JSON)
        assert odd.status_code == 200, odd.text
    words = client.get("/api/words").json()
    assert words["total"] == len(served.predictor.word_importance(1))


def test_every_way_of_hiding_is_described():
    assert set(HIDE_DESCRIPTIONS) == set(HIDES)


def test_what_a_model_can_do_is_tried(models):
    ranking, plain = (one.predictor for one in models)
    assert (ranking.ranks_words, plain.ranks_words) == (True, False)
    assert list(ranking.hides) == ["remove", "zero", "unk"]
    assert "mask" not in applicable_explainers(plain, available_explainers())


def test_a_model_without_a_capability_is_offered_no_explainer_that_needs_it(models):
    class Bare(BasePredictor):
        def predict_kept(self, docs, keep, hide):
            return []

    offered = applicable_explainers(Bare(), available_explainers())
    assert offered[0] == "lime"
    assert not [name for name in offered if EXPLAINERS.get(name).needs]


def test_an_explainer_of_others_that_cannot_be_loaded_is_left_out(monkeypatch, caplog):
    class Broken:
        Options = object

        def __init__(self):
            raise OSError("a library is missing")

    monkeypatch.setitem(EXPLAINERS._loaded, "broken", Broken)
    assert "broken" not in available_explainers()
    assert "'broken' cannot be used: a library is missing" in caplog.text


@dataclass(frozen=True)
class Several:
    """An option of every kind."""

    whole: int = option(7, "a whole number")
    zero: int = option(0, "one that is none by default")
    part: float = option(0.5, "a number")
    on: bool = option(False, "yes or no")
    way: Literal["a", "b"] | None = option(None, "a choice")
    widths: tuple[int, ...] = option((3, 4), "numbers")
    name: str = option("x", "a text")
    maybe: int | None = option(None, "a number or nothing")


def test_options_are_described_by_their_kind():
    found = {f.name: describe_option(Several, f, 20) for f in fields(Several)}
    assert {name: (one["kind"], one["default"], one["most"]) for name, one in found.items()} == {
        "whole": ("int", 7, 140),
        "zero": ("int", 0, 20),
        "part": ("float", 0.5, None),
        "on": ("bool", False, None),
        "way": ("choice", None, None),
        "widths": ("text", "3,4", None),
        "name": ("text", "x", None),
        "maybe": ("int", None, None),
    }
    assert found["way"]["choices"] == ["a", "b"]
    assert found["whole"]["help"] == "a whole number"


def test_what_is_described_can_be_sent_back():
    described = {f.name: describe_option(Several, f, 20)["default"] for f in fields(Several)}
    assert make(Several, check_options(Several, described, 20)) == Several()
    assert make(Several, check_options(Several, {"widths": "5, 6,"}, 20)).widths == (5, 6)


@pytest.mark.parametrize(
    "given", [{"whole": 141}, {"zero": 21}, {"maybe": 2**31}, {"part": 10**400}, {"part": -(10**400)}]
)
def test_numbers_above_the_limit_are_refused(given):
    with pytest.raises(ConfigError, match="is beyond the limit of this server"):
        check_options(Several, given, 20)


def test_numbers_up_to_the_limit_are_taken():
    assert check_options(Several, {"whole": 140, "part": 3, "on": True}, 20)["whole"] == 140


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    for split, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_csv(folder / f"{split}.csv", *toy_texts(40, seed))
    return folder


def test_examples_are_found_again(dataset, tmp_path, monkeypatch):
    noted = {"dataset": "toy", **recorded_source(str(dataset))}
    for about, data, data_dir in (
        (noted, None, None),
        ({"dataset": "toy", **recorded_source("toy", str(tmp_path))}, None, str(tmp_path)),
        ({"dataset": "other"}, str(dataset), None),
        ({}, str(dataset), None),
    ):
        found, reason = Examples.find(about, data, data_dir, 100)
        assert reason == ""
        assert found.describe() == {"dataset": "toy", "split": "test", "n": 40}
        assert found.texts == toy_texts(40, 2)[0]
        assert found.labels == toy_texts(40, 2)[1]
    monkeypatch.setenv("VMASK_DATA", str(tmp_path))
    assert Examples.find(recorded_source("toy"), None, None, 100)[0] is not None


def test_of_a_large_split_the_same_examples_are_drawn_every_time(dataset):
    one, other = (Examples.find({}, str(dataset), None, 10)[0] for _ in range(2))
    assert one.texts == other.texts
    assert len(one.texts) == 10
    texts, labels = toy_texts(40, 2)
    assert one.numbers == sorted(one.numbers)
    assert [texts[number] for number in one.numbers] == one.texts
    assert [labels[number] for number in one.numbers] == one.labels


@pytest.mark.parametrize(
    ("about", "data", "most", "reason"),
    [
        ({"dataset": "trec"}, None, 9, "The data 'trec' is not on this machine. Name it with --data or --data-dir."),
        ({"source": "/far/x.csv", "dataset": "x.csv"}, None, 9, "The data 'x.csv' is not on this machine"),
        ({"source": "/far/x.csv"}, None, 9, "The data 'x.csv' is not on this machine"),
        ({"dataset": "reviews"}, None, 9, "The data 'reviews' is not on this machine"),
        ({"dataset": "owner/name"}, None, 9, "is not on this machine"),
        ({}, None, 9, "The model does not say which data it was trained on"),
        ({"dataset": "x"}, "none.csv", 9, "There is no file 'none.csv'"),
        ({"dataset": "trec"}, None, 0, "They are switched off."),
    ],
)
def test_without_examples_there_is_a_reason_and_nothing_is_downloaded(about, data, most, reason, monkeypatch):
    if data is None:
        monkeypatch.setattr("vmask.data.datasets._hub", lambda *_: pytest.fail("asked the hub"))
        monkeypatch.setattr("vmask.data.datasets._reviews", lambda *_: pytest.fail("downloaded"))
    found, said = Examples.find(about, data, None, most)
    assert found is None
    assert reason in said


def test_data_without_a_test_split_has_no_examples(dataset, monkeypatch):
    class Without:
        name, splits = "toy", {}

    monkeypatch.setattr(loaded_model, "dataset_of", lambda *_: Without)
    assert Examples.find({}, str(dataset), None, 9) == (None, "The data 'toy' has no test split.")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"port": -1}, "port is -1; it must be from 0 to 65535"),
        ({"port": 65536}, "port is 65536"),
        ({"explain_seconds": 0.0}, "explain_seconds is 0.0; it must be above 0"),
        ({"max_texts": 0}, "max_texts is 0"),
        ({"max_body_bytes": -5}, "max_body_bytes is -5"),
        ({"max_queue": -1}, "max_queue is -1; it must be at least 0"),
        ({"examples": -1}, "examples is -1"),
    ],
)
def test_options_that_cannot_work_are_refused(given, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        make(ServeConfig, given)


def test_every_limit_can_be_told_to_the_page():
    limits = ServeConfig(max_queue=0, allow_host=" A.b , c,").limits()
    assert limits["queue"] == 0
    assert {f"max_{name}" for name in limits} - {"max_explain_seconds"} == {
        f.name for f in fields(ServeConfig) if f.name.startswith("max_")
    }
    assert ServeConfig(allow_host=" A.b , c,").allowed_hosts() == ("a.b", "c")


def test_below_the_threshold_of_its_training_a_model_does_not_answer(model_folder):
    from vmask import TextClassifier

    classifier = TextClassifier.load(model_folder)
    model = LoadedModel("toy", classifier)
    assert model.answers([0.5, 0.5])
    classifier.predictor_.abstain_below = 0.8
    assert [LoadedModel("toy", classifier).answers(row) for row in ([0.5, 0.5], [0.2, 0.8], [0.9, 0.1])] == [0, 1, 1]
