"""From a classifier and its data to what stands on the page."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import DataError
from vmask.report.model.collect import collect, default_level, methods_of
from vmask.report.model.content import LEVELS, Content


def test_a_full_report_explains_by_all_methods(content, model, toys):
    assert content.level == "full"
    assert content.texts.methods == ("mask", "lime", "shapley")
    assert content.texts.missing == ""
    assert len(content.texts.examples) > 5
    for one in content.texts.examples:
        assert [view.method for view in one.explanations] == ["mask", "lime", "shapley"]
        assert {view.text for view in one.explanations} == {one.text}
        assert all(view.target == one.predicted for view in one.explanations)
        assert one.explanations[0].probability == pytest.approx(one.probability)
        assert (one.kind == "wrong") <= (one.label != one.predicted)
        assert (one.kind == "right") <= (one.label == one.predicted)
    lime = model.explain([content.texts.examples[0].text], "lime")[0]
    assert content.texts.examples[0].explanations[1].scores == pytest.approx(lime.scores, abs=1e-6)


def test_accuracy_is_that_of_the_training(content, model):
    assert content.scores.rivals[0].accuracy.value == model.about_["test_accuracy"]
    assert content.measured.texts == model.about_["test_n"] == 40


def test_a_quick_report_has_the_mask_alone_and_says_how_to_complete_it(model, toys):
    found = collect(model, toys, "quick", folder="my model")
    assert found.texts.methods == ("mask",)
    assert found.texts.missing.endswith("without LIME and Shapley values. To add them: vmask show 'my model'")


def test_a_model_without_a_ranking_has_lime_and_shapley(base, toys):
    full = collect(base, toys, "full")
    assert full.words is None
    assert full.texts.methods == ("lime", "shapley")
    quick = collect(base, toys, "quick")
    assert quick.texts.methods == ("lime",)  # quick enough for a CNN
    assert "without Shapley values" in quick.texts.missing
    assert "ranks no words (base)" in quick.lead


def test_encoders_are_quick_by_default(tiny_encoder, toys, model):
    assert default_level(model) == "full"
    assert default_level(tiny_encoder()) == "quick"
    found = collect(tiny_encoder(), toys)
    assert (found.level, found.texts.methods) == ("quick", ("mask",))
    assert found.words.total > 20
    assert methods_of(tiny_encoder(), "full") == ("mask", "lime", "shapley")


def test_an_encoder_without_a_ranking_shows_predictions_alone_until_asked(tiny_encoder, toys):
    found = collect(tiny_encoder("base"), toys, folder="m")
    assert found.texts.methods == ()
    assert "without LIME and Shapley values. To add them: vmask show m" in found.texts.missing
    assert all(not one.explanations for one in found.texts.examples)
    assert found.words is None


@pytest.mark.parametrize("there", [True, False])
def test_without_test_texts_dev_is_measured(model, toys, there):
    splits = {**toys.splits, "test": toys.splits["test"].take([])} if there else dict(list(toys.splits.items())[:2])
    found = collect(model, replace(toys, splits=splits), "quick")
    assert found.measured.split == "dev"
    assert found.headline.endswith("30 dev texts")
    assert any("measured on the dev texts" in one for one in found.warnings)


def test_other_data_is_said(model, toys, content):
    assert not any("fingerprint" in one for one in content.warnings)
    found = collect(model, replace(toys, fingerprint="0" * 64), "quick")
    assert "not those that the model was trained on" in found.warnings[0]


def test_strange_labels_are_said_and_none_known_is_an_error(model, toys):
    test = toys.splits["test"]
    some = replace(test, labels=["zebra", *test.labels[1:]])
    found = collect(model, replace(toys, splits={**toys.splits, "test": some}), "quick")
    assert any("1 test text has a label that the model was not trained on (zebra)" in one for one in found.warnings)
    none = replace(test, labels=["zebra"] * len(test))
    with pytest.raises(DataError, match="knows none of the labels of toys; it knows neg, pos"):
        collect(model, replace(toys, splits={**toys.splits, "test": none}), "quick")


def test_test_texts_that_stand_in_train_are_said(model, toys):
    train, test = toys.splits["train"], toys.splits["test"]
    test = replace(test, texts=[f"{text} , number {place}" for place, text in enumerate(test.texts)])

    def said(count):
        """What is said where so many test texts are known, of 40 that the model has never seen."""
        texts = [*train.texts[:count], *test.texts[count:]]
        some = replace(test, texts=texts, labels=[*train.labels[:count], *test.labels[count:]])
        found = collect(model, replace(toys, splits={**toys.splits, "test": some}), "quick")
        right = (model.predict(texts[count:]) == np.array(some.labels[count:])).sum()
        return [one for one in found.warnings if "also occur among the training texts" in one], right

    assert said(1)[0] == []
    (words,), right = said(4)
    assert words.startswith("4 of 40 test texts also occur among the training texts")
    assert words.endswith(f" Of the other 36 texts, {right} are classified correctly.")
    (words,), _ = said(40)
    assert words.endswith("less accurate on new texts.")


def test_few_texts_are_said_to_be_few(content):
    assert any("only 40 test texts" in one for one in content.warnings)


def test_masks_that_are_all_alike_are_said_to_mean_little(model, toys):
    row = {**model.history_[model.best_epoch_ - 1], "mask_std": 0.001}
    alike = TextClassifier()
    alike.__dict__.update({**model.__dict__, "history_": [row] * len(model.history_)})
    assert any("ranking means little" in one for one in collect(alike, toys, "quick").warnings)


def test_numbers_as_labels(train, toys):
    stars = {"neg": "1", "pos": "5"}
    splits = {name: replace(part, labels=[stars[one] for one in part.labels]) for name, part in toys.splits.items()}
    data = replace(toys, splits=splits, labels=("1", "5"))
    found = collect(train(data), data, "quick")
    assert set(found.labels) == {"1", "5"}
    assert {word.label for word in found.words.rows} <= {"1", "5", ""}


def test_all_of_it_is_json(content):
    value = json.loads(json.dumps(content.to_dict(), allow_nan=False))
    assert set(value) == set(Content.__dataclass_fields__)
    assert value["scores"]["rivals"][0]["accuracy"]["value"] == content.scores.rivals[0].accuracy.value
    assert value["texts"]["examples"][0]["explanations"][1]["method"] == "lime"
    assert len(value["words"]["rows"]) == content.words.total


def test_the_model_is_not_changed_and_the_same_again_is_the_same(model, toys, content):
    again = collect(model, toys, folder="my model")
    assert replace(again, facts={}) == replace(content, facts={})
    again, before = ({**one.facts, "Made by": {**one.facts["Made by"], "This page": ""}} for one in (again, content))
    assert again == before


def test_texts_are_asked_for_in_bounded_lists(model, toys, monkeypatch):
    longest = []

    def watch(name):
        method = getattr(type(model.predictor_), name)

        def watched(self, texts):
            longest.append(len(texts))
            return method(self, texts)

        monkeypatch.setattr(type(model.predictor_), name, watched)

    watch("prepare")
    watch("predict_texts")
    texts, labels = toy_texts(5000)
    many = replace(toys.splits["train"], texts=texts, labels=labels, ids=[str(at) for at in range(5000)])
    collect(model, replace(toys, splits={**toys.splits, "train": many, "test": many}), "quick")
    assert sum(longest) >= 10_000
    assert max(longest) <= 2000


def test_levels():
    assert LEVELS == ("full", "quick")
