"""The commands on data whose texts may have several labels, from table to export."""

from __future__ import annotations

import csv
import json

import pytest
import yaml

from toy import toy_label_sets, write_csv
from vmask.cli import main
from vmask.persistence.model_folder import read_config

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words", "ignore:No epoch kept to the mask's budget")
SMALL = [
    "--embeddings",
    "random",
    "--epochs",
    "6",
    "--learning-rate",
    "0.01",
    "--model.filters",
    "12",
    "--device",
    "cpu",
]
NEW = ["please look at my invoice and what about the refund today", "the garden is wrong again"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of requests; do not write to it."""
    texts, sets = toy_label_sets(200)
    return write_csv(tmp_path_factory.mktemp("data") / "requests.csv", texts, [";".join(one) for one in sets])


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """A model that hides words, with its report; do not write to it."""
    out = tmp_path_factory.mktemp("models") / "requests"
    words = ["--mask", "select", "--out", str(out), "--report", "quick", "--quiet", *SMALL]
    assert main(["train", str(table), *words]) == 0
    return out


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("\n".join(NEW) + "\n", encoding="utf-8")
    return path


def test_training_says_what_it_guessed_and_scores_f1(vmask, table, tmp_path):
    done = vmask("train", table, "--out", tmp_path / "model", "--report", "none", *SMALL)
    assert done.code == 0
    assert "cells of 'label' are split at ';'" in done.err
    assert "dev micro F1" in done.out
    assert "all labels of a text right" in done.out
    done = vmask("train", table, "--out", tmp_path / "m2", "--report", "none", "--json", "--quiet", *SMALL)
    assert {"dev_micro_f1", "test_micro_f1", "test_macro_f1", "test_accuracy"} <= done.json.keys()
    about = read_config(tmp_path / "m2")["about"]
    assert (about["label"], about["label_separator"]) == ("label", ";")


def test_training_may_be_told_that_each_cell_is_one_label(vmask, table, tmp_path):
    words = ["--label-separator", "none", "--report", "none", *SMALL]
    assert vmask("train", table, "--out", tmp_path / "model", *words).code == 0
    config = read_config(tmp_path / "model")
    assert "billing;refund" in config["labels"]
    assert "task" not in config
    assert (
        vmask("evaluate", tmp_path / "model", table, "--json", "--quiet").json["accuracy"] >= 0
    )  # read as in training


def test_columns_of_0_and_1_are_named_by_commas(vmask, tmp_path):
    texts, sets = toy_label_sets(80)
    rows = [f"{text},{int('billing' in one)},{int('refund' in one)}" for text, one in zip(texts, sets, strict=True)]
    path = tmp_path / "bits.csv"
    path.write_text("\n".join(["text,billing,refund", *rows]) + "\n", encoding="utf-8")
    words = ["--label", "refund,billing", "--report", "none", *SMALL]
    assert vmask("train", path, "--out", tmp_path / "model", *words).code == 0
    assert read_config(tmp_path / "model")["labels"] == ["billing", "refund"]
    found = vmask("evaluate", tmp_path / "model", path, "--metrics", "micro_f1", "--json", "--quiet").json
    assert found["micro_f1"] > 0.5


def test_the_report_has_labels_with_thresholds_and_no_confusions(folder, vmask):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "any of 3 labels, all of them right on" in page
    assert ">threshold<" in page
    assert "Micro F1" in page
    assert "Confusion matrix" not in page
    assert "billing + " in page or " + refund" in page
    shown = vmask("show", folder, "--report", "quick", "--json", "--quiet").json
    assert shown["several"] is True
    assert [row["label"] for row in shown["classes"]] == ["billing", "login", "refund"]
    assert all(0 <= row["threshold"] <= 1 for row in shown["classes"])
    for example in shown["texts"]["examples"]:
        assert (example["kind"] == "right") <= (example["label"] == example["predicted"])
        assert (example["kind"] == "wrong") <= (example["label"] != example["predicted"])


def test_evaluate_prints_a_table_of_labels(vmask, folder, table):
    done = vmask("evaluate", folder, table, "--metrics", "accuracy,micro_f1,aopc", "--explainers", "mask", "--n", "20")
    assert done.code == 0
    heads = next(line for line in done.lines if "threshold" in line)
    assert heads.split() == ["label", "precision", "recall", "F1", "support", "predicted", "threshold"]
    assert "micro f1" in done.out
    found = vmask("evaluate", folder, table, "--json", "--quiet").json
    assert [row["label"] for row in found["by_label"][0]] == ["billing", "login", "refund"]
    assert found["confusion"] == []


def test_predict_gives_all_labels_or_none(vmask, folder, texts):
    lines = vmask("predict", folder, texts, "--quiet").lines
    answers = [json.loads(line) for line in vmask("predict", folder, texts, "--json", "--quiet").lines]
    thresholds = read_config(folder)["thresholds"]
    for line, answer, text in zip(lines, answers, NEW, strict=True):
        reached = [
            name for (name, p), least in zip(answer["probabilities"].items(), thresholds, strict=True) if p >= least
        ]
        assert answer["labels"] == reached
        labels, probabilities, said = line.split("\t")
        assert labels == ";".join(reached)
        assert len(probabilities.split(";")) == max(len(reached), 1)
        assert said == text
    assert answers[0]["labels"] == ["billing", "refund"]
    assert answers[1]["labels"] == []


def test_explain_and_words(vmask, folder, texts):
    done = vmask("explain", folder, NEW[0], "--method", "lime", "--target", "refund", "--json")
    assert (done.json["label"], done.json["text"]) == ("refund", NEW[0])
    found = [json.loads(line) for line in vmask("explain", folder, "--input", texts, "--json", "--quiet").lines]
    assert found[0]["label"] in ("billing", "refund")
    assert vmask("words", folder, "--top", "5").code == 0
    refused = vmask("explain", folder, NEW[0], "--target", "refunds")
    assert refused.code != 0
    assert "refund" in refused.err


def test_verify_edit_and_compare(vmask, folder, table, tmp_path):
    done = vmask("verify", folder, table)
    assert done.code == 0
    assert "accuracy" in done.out
    done = vmask("edit", folder, tmp_path / "edited", "--hide", "invoice,charge,payment", "--data", table, "--quiet")
    assert done.code == 0
    assert "get other labels" in done.out
    assert "billing" in done.out
    page = tmp_path / "page.html"
    metrics = ["--metrics", "accuracy,micro_f1,macro_f1", "--explainers", "mask"]
    done = vmask("compare", folder, tmp_path / "edited", table, *metrics, "--html", page)
    assert done.code == 0
    assert "micro_f1" in done.out
    assert " + " in page.read_text(encoding="utf-8")


def test_an_export_is_verified_by_its_own_thresholds(vmask, folder, table, tmp_path):
    pytest.importorskip("onnxruntime")
    assert vmask("export", folder, tmp_path / "onnx").code == 0
    done = vmask("verify", tmp_path / "onnx", table)
    assert done.code == 0
    of_model = vmask("verify", folder, table)
    accuracy = [line for line in done.lines if line.startswith("accuracy")]
    assert accuracy == [line for line in of_model.lines if line.startswith("accuracy")]


def test_a_model_and_data_of_different_tasks_are_told_apart(vmask, folder, tmp_path):
    texts, sets = toy_label_sets(30)
    path = write_csv(tmp_path / "one.csv", texts, [one[0] if one else "billing" for one in sets])
    done = vmask("evaluate", folder, path, "--label-separator", "none")
    assert done.code != 0
    assert "The model gives a text several labels, and these texts have one label each" in done.err
    refused = vmask("evaluate", folder, path, "--planted")
    assert refused.code != 0


def test_a_grid_refuses_such_data_with_a_sentence(vmask, table, tmp_path):
    spec = {
        "name": "tiny",
        "out": "results",
        "models": {"cnn": {"embeddings": "random", "epochs": 1, "model__filters": 4}},
        "grid": [{"datasets": [str(table)], "models": ["cnn"], "masks": ["base"], "seeds": "0"}],
    }
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    done = vmask("grid", path, "--out", tmp_path / "out", "--models", tmp_path / "models")
    assert done.code != 0
    assert "may have several labels, and a grid is for one label a text" in done.err + done.out


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_table_gets_its_labels_back(vmask, folder, tmp_path, ending):
    path, out = write_csv(tmp_path / "new.csv", NEW, ["x", "y"]), tmp_path / f"scored{ending}"
    done = vmask("predict", folder, path, "--out", out, "--probabilities", "--explain", "--json")
    assert done.json["labels"] == {"billing": 1, "login": 0, "refund": 1, "no label": 1}
    if ending == ".csv":
        with out.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    else:
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    name = done.json["columns"]["label"]
    assert [row[name] for row in rows] == ["billing;refund", ""]
    assert float(rows[0]["probability"]) in (
        float(rows[0]["probability_billing"]),
        float(rows[0]["probability_refund"]),
    )
