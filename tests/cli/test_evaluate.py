"""`vmask evaluate`: a file whole, a dataset by its split."""

from __future__ import annotations

import json

import pytest

from toy import toy_texts, write_csv
from vmask import TextClassifier


def stars(labels):
    return [5 if label == "pos" else 1 for label in labels]


@pytest.fixture
def folder(tmp_path):
    """A folder of splits with the columns of training, and another text column."""
    path = tmp_path / "mine"
    path.mkdir()
    for name, n in (("train", 40), ("dev", 20), ("test", 30)):
        texts, labels = toy_texts(n, seed=n)
        lines = "".join(f'"{t}",x,{s}\n' for t, s in zip(texts, stars(labels), strict=True))
        (path / f"{name}.csv").write_text(f"review,comment,stars\n{lines}", encoding="utf-8")
    return path


def test_a_single_file_is_scored_whole(vmask, trained, reviews_csv):
    result = vmask("evaluate", trained, reviews_csv, "--json").json
    assert result["n"] == 120
    assert result["data"] == str(reviews_csv)
    assert {"accuracy", "macro_f1"} <= set(result)


def test_the_accuracy_is_the_share_of_right_labels(vmask, trained, tmp_path):
    texts, labels = toy_texts(40, seed=7)
    data = write_csv(tmp_path / "a.csv", texts, stars(labels), header=("review", "stars"))
    predicted = TextClassifier.load(trained).predict(texts).tolist()
    right = sum(one == str(two) for one, two in zip(predicted, stars(labels), strict=True))
    assert vmask("evaluate", trained, data, "--json").json["accuracy"] == right / 40
    shown = vmask("evaluate", trained, data)
    assert shown.out.startswith(f"accuracy {right / 40:.4f}")
    assert shown.err == ""


def test_a_dataset_is_scored_on_its_split_by_the_columns_of_training(vmask, trained, folder):
    assert vmask("evaluate", trained, folder, "--json").json["n"] == 30
    assert vmask("evaluate", trained, folder, "--json", "--split", "dev").json["n"] == 20
    assert vmask("evaluate", trained, folder, "--json", "--split", "train").json["data"] == "mine train"


def test_a_split_that_is_not_there_names_those_that_are(fails, trained, folder):
    assert "Did you mean 'test'? Available: dev, test, train" in fails("evaluate", trained, folder, "--split", "tset")


def test_a_split_of_a_single_file_is_refused(fails, trained, reviews_csv):
    assert "scored whole. Leave --split out" in fails("evaluate", trained, reviews_csv, "--split", "test")


@pytest.mark.parametrize("label", [1, 5])
def test_a_file_with_one_of_the_classes_can_be_scored(vmask, trained, tmp_path, label):
    data = write_csv(tmp_path / "a.csv", ["a lovely film", "an awful film"], [label] * 2, header=("review", "stars"))
    result = vmask("evaluate", trained, data, "--json").json
    assert result["n"] == 2
    assert 0 <= result["accuracy"] <= 1


def test_columns_can_be_named(vmask, fails, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful"], [5, 1], header=("body", "score"))
    assert "There is no column 'review'" in fails("evaluate", trained, data)
    assert vmask("evaluate", trained, data, "--text", "body", "--label", "score", "--json").json["n"] == 2


def test_labels_that_the_model_does_not_know_are_named(fails, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful"], [5, 3], header=("review", "stars"))
    err = fails("evaluate", trained, data)
    assert "not trained on: 3." in err
    assert "It knows: 1, 5." in err


def test_rows_without_a_label_are_left_out_and_counted(vmask, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful", "fine", ""], [5, 1, "nan", 1], header=("review", "stars"))
    done = vmask("evaluate", trained, data, "--json")
    assert done.json["n"] == 2
    assert "Left out 1 row without a text." in done.err
    assert "Left out 1 row without a label." in done.err
    assert vmask("evaluate", trained, data, "--json", "--quiet").err == ""


def test_a_model_without_word_scores_is_scored_too(vmask, base_model, reviews_csv):
    assert vmask("evaluate", base_model, reviews_csv, "--json").json["n"] == 120


def test_a_folder_that_is_no_model_is_said(fails, tmp_path, reviews_csv):
    assert "There is no model folder" in fails("evaluate", tmp_path / "none", reviews_csv)
    assert "not a complete model folder" in fails("evaluate", tmp_path, reviews_csv)


def test_labels_of_a_model_fitted_in_python_are_compared_by_their_text(vmask, tmp_path):
    texts, labels = toy_texts(40)
    model = TextClassifier(mask="base", embeddings="random", epochs=1).fit(texts, stars(labels)).save(tmp_path / "m")
    data = tmp_path / "a.jsonl"
    rows = [json.dumps({"text": t, "label": s}) for t, s in zip(texts, stars(labels), strict=True)]
    data.write_text("\n".join(rows), encoding="utf-8")
    assert vmask("evaluate", model, data, "--json").json["n"] == 40
