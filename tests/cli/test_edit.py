"""`vmask edit`, `vmask verify` and `vmask words --visible`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from toy import toy_texts, write_csv


@pytest.fixture
def data(tmp_path):
    texts, labels = toy_texts(40)
    stars = [5 if label == "pos" else 1 for label in labels]
    return write_csv(tmp_path / "reviews.csv", texts, stars, header=("review", "stars"))


@pytest.fixture
def edited(vmask, trained, data, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("superb\nDREADFUL\n", encoding="utf-8")
    hide = f"film,@{names}"
    return vmask(
        "edit", trained, tmp_path / "out", "--hide", hide, "--data", data, "--text", "review", "--label", "stars"
    )


def test_edit_hides_words_and_says_what_it_costs(edited, tmp_path):
    assert edited.lines[0] == "hides 3 words: DREADFUL, film, superb"
    assert edited.lines[1].startswith("accuracy 0.7500 before, 0.7250 after: ")
    assert "of 40 texts get another class" in edited.lines[2]
    assert edited.lines[-1] == f"saved to {tmp_path / 'out'}"
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert config["about"]["edits"]["hidden"] == ["DREADFUL", "film", "superb"]
    cost = config["about"]["edits"]["cost"]
    assert (cost["n"], cost["data"]) == (40, "reviews.csv")
    assert len(cost["flipped"]) == cost["flips"] > 0
    assert "(40 texts of reviews.csv)" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_verify_holds_on_the_edited_model(vmask, edited, data, tmp_path):
    done = vmask("verify", tmp_path / "out", data, "--exchanges", "100", "--text", "review", "--label", "stars")
    assert "holds: hidden words change no answer" in done.lines
    value = vmask(
        "verify", tmp_path / "out", data, "--exchanges", "100", "--text", "review", "--label", "stars", "--json"
    ).json
    assert value["holds"] is True
    assert value["greatest"] == 0


def test_verify_asks_an_export(vmask, fails, edited, data, tmp_path):
    pytest.importorskip("onnxruntime")
    assert vmask("export", tmp_path / "out", tmp_path / "onnx").code == 0
    columns = ("--text", "review", "--label", "stars", "--exchanges", "60")
    done = vmask("verify", tmp_path / "out", data, "--export", tmp_path / "onnx", "--json", *columns)
    assert done.json["holds"] is True
    assert done.json["tolerance"] == 1e-6
    assert "is no export" in fails("verify", tmp_path / "out", data, "--export", tmp_path, *columns)
    alone = vmask("verify", tmp_path / "onnx", data, "--json", *columns).json
    assert (alone["holds"], alone["accuracy"]) == (True, done.json["accuracy"])
    assert "an export itself" in fails("verify", tmp_path / "onnx", data, "--export", tmp_path / "onnx", *columns)


def test_verify_ends_with_code_1_where_an_answer_moves(vmask, edited, data, tmp_path, monkeypatch):
    def parity(text):
        return sum(map(ord, text)) % 2

    monkeypatch.setattr(
        "vmask.inference.predictor.WordPredictor.predict_docs",
        lambda self, docs: np.array([[parity(doc.text), 1 - parity(doc.text)] for doc in docs], np.float32),
    )
    done = vmask("verify", tmp_path / "out", data, "--exchanges", "100", "--text", "review", "--label", "stars")
    assert done.code == 1
    assert any(line.startswith("FAILS: the answers to ") for line in done.lines)


def test_visible_words_are_listed_by_class(vmask, edited, tmp_path):
    value = vmask("words", tmp_path / "out", "--visible", "--json").json
    words = {row["word"] for row in value["words"]}
    assert not words & {"superb", "dreadful", "film"}
    assert value["visible"] == len(words) == value["n"] - 3
    assert 0 < value["visible_share"] < 1
    done = vmask("words", tmp_path / "out", "--visible")
    assert f"this model reads {len(words):,} of {value['n']:,} words" in " ".join(done.lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "There is nothing to edit"),
        (("--hide", "zzz"), "knows none of these words: zzz"),
        (("--hide", "@missing.txt"), "Give a text file with a word a line after the @"),
        (("--hide-pattern", "("), "is no regular expression"),
        (("--only", "zzz"), "knows none of these words: zzz"),
        (("--only", ","), "only is empty"),
    ],
)
def test_edits_that_cannot_be(fails, trained, tmp_path, words, message):
    assert message in fails("edit", trained, tmp_path / "out", *words)
    assert not (tmp_path / "out").exists()


def test_a_model_is_not_edited_in_place(fails, trained):
    assert "would replace the one it is made from" in fails("edit", trained, trained, "--hide", "film", "--overwrite")


def test_a_model_that_hides_nothing_cannot_be_verified(fails, trained, data):
    assert "hides no word" in fails("verify", trained, data, "--text", "review", "--label", "stars")


def test_the_words_of_a_training_come_from_a_file(vmask, fails, reviews_csv, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\ufeffsuperb\nawful\n", encoding="utf-8")
    options = ("--embeddings", "random", "--epochs", "2", "--report", "none", "--quiet")
    done = vmask("train", reviews_csv, "--out", tmp_path / "model", "--hide", f"@{names}", *options)
    assert done.code == 0, done.err
    config = json.loads((tmp_path / "model" / "config.json").read_text("utf-8"))
    assert config["about"]["edits"]["hidden"] == ["awful", "superb"]
    missing = fails("train", reviews_csv, "--out", tmp_path / "other", "--hide", "@missing.txt", *options)
    assert "Give a text file with a word a line after the @" in missing


def test_a_model_reads_only_the_words_of_a_lexicon(vmask, reviews_csv, tmp_path):
    words = tmp_path / "lexicon.txt"
    words.write_text("superb\nAwful\nlovely\n", encoding="utf-8")
    options = ("--mask", "base", "--embeddings", "random", "--epochs", "2", "--report", "quick", "--quiet")
    done = vmask("train", reviews_csv, "--out", tmp_path / "model", "--only", f"@{words}", *options)
    assert done.code == 0, done.err
    assert any(line.startswith("reads only 3 words, ") for line in done.lines)
    assert "It may read only these words: Awful, lovely, superb." in (tmp_path / "model" / "report.html").read_text(
        "utf-8"
    )
    listed = vmask("words", tmp_path / "model", "--visible", "--json").json
    assert {row["word"] for row in listed["words"]} == {"superb", "awful", "lovely"}
    assert vmask("verify", tmp_path / "model", reviews_csv, "--exchanges", "100", "--json").json["holds"] is True
    edit = ("edit", tmp_path / "model", tmp_path / "out", "--only", "superb,film", "--data", "none")
    assert vmask(*edit).lines[0] == "reads only 2 words: film, superb"
    listed = vmask("words", tmp_path / "out", "--visible", "--json").json
    assert {row["word"] for row in listed["words"]} == {"superb", "film"}


def test_a_split_that_is_not_there_is_named(fails, trained, tmp_path):
    assert "split 'vaild'" in fails("edit", trained, tmp_path / "out", "--hide", "film", "--split", "vaild")
