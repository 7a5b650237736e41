"""The commands on an encoder of one's own: train, evaluate, predict, explain, words."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from toy import toy_texts, write_csv
from vmask import Explanation, TextClassifier
from vmask.cli import main
from vmask.persistence.model_folder import LISTS

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike

FILES = ["README.md", "config.json", "model.safetensors", "report.html", "tokenizer.json"]
SMALL = ["--epochs", "1", "--batch-size", "20", "--learning-rate", "0.001", "--device", "cpu"]
TEXTS = [
    "a lovely film",
    "Don't go: it 's n't -lrb- Isn\u2019t",
    "cafe\u0301 東京 👩‍💻👍🏽 nospaceshere",
    "film [SEP] </s> <mask> film",
    "  spaces \t around  ",
    "",
]


@pytest.fixture(scope="session")
def train_encoder(reviews_csv, encoder_folder, tmp_path_factory):
    """The folder of a model that `vmask train` made of a tiny encoder. Do not write to it."""
    made = {}

    def train(family, mask="vmask"):
        if (family, mask) not in made:
            out = tmp_path_factory.mktemp("runs") / family
            words = ["--model", str(encoder_folder(family)), "--mask", mask, "--out", str(out), "--quiet", *SMALL]
            assert main(["train", str(reviews_csv), *words]) == 0
            made[family, mask] = out
        return made[family, mask]

    return train


# Train ----------------------------------------------------------------------------------------------------


def test_a_csv_and_a_folder_become_a_model_folder(vmask, toy_csv, encoder_folder, tmp_path):
    done = vmask("train", toy_csv, "--model", encoder_folder("bert"), "--out", tmp_path / "m", *SMALL)
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "m").iterdir() if path.name not in LISTS) == FILES
    assert "stage 1 of 2: without a mask" in done.err
    assert "stage 2 of 2: with the mask, word vectors frozen" in done.err
    assert "dev accuracy" in done.out
    assert "words it uses most" in done.out
    loaded = TextClassifier.load(tmp_path / "m")
    assert [row["stage"] for row in loaded.history_] == [1, 2]
    assert loaded.about_["best_epoch"] == loaded.best_epoch_ == 2


def test_json_is_one_object_and_the_folder_is_named_without_a_path(
    vmask, toy_csv, encoder_folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = vmask("train", toy_csv, "--model", encoder_folder("bert"), "--seed", "3", "--json", "--quiet", *SMALL)
    assert done.json["model"] == "runs/reviews-bert-vmask-s3"
    assert done.json["coverage"] is None
    assert (tmp_path / "runs" / "reviews-bert-vmask-s3" / "config.json").is_file()


@pytest.mark.parametrize("name", [".", "./", "../Bert.v2 (mine)"])
def test_an_odd_path_gives_a_plain_name(vmask, toy_csv, encoder_folder, tmp_path, monkeypatch, name):
    shutil.copytree(encoder_folder("bert"), tmp_path / "Bert.v2 (mine)")
    monkeypatch.chdir(tmp_path / "Bert.v2 (mine)")
    done = vmask("train", toy_csv, "--model", name, "--mask", "base", "--json", "--quiet", *SMALL)
    assert done.json["model"] == "runs/reviews-bert.v2-mine-base-s0"


def test_help_lists_the_options_of_an_encoder(vmask, encoder_folder):
    done = vmask("train", "--model", encoder_folder("bert"), "--help")
    assert done.code == 0
    assert "--model.placement" in done.out
    assert "--model.mask-special-tokens" in done.out
    assert "--model.filters" not in done.out
    assert "--model.placement" in vmask("train", "--model", "minilm", "--help").out  # nothing is fetched for it
    assert "--model.placement" in vmask("train", f"--model={encoder_folder('bert')}", "--help").out


def test_options_of_the_encoder_reach_it(vmask, toy_csv, encoder_folder, tmp_path):
    words = ["--model.placement", "block", "--max-words", "30", "--stages", "1", "--optimizer", "adam"]
    words += ["--accumulate", "2", "--mask-learning-rate", "0.01", "--warmup", "0", "--no-train-embeddings"]
    words = ["--model", encoder_folder("bert"), "--out", tmp_path / "m", "--quiet", *words]
    assert vmask("train", toy_csv, *words, *SMALL).code == 0
    loaded = TextClassifier.load(tmp_path / "m")
    assert loaded.plan_.model_options.placement == "block"
    assert loaded.predictor_.tokenizer.max_tokens == 32
    train = loaded.plan_.train
    assert (train.stages, train.optimizer, train.accumulate, train.mask_learning_rate) == (1, "adam", 2, 0.01)
    assert loaded.plan_.data.train_embeddings is False


@pytest.mark.full
def test_a_base_model_is_the_start_of_another(vmask, reviews_csv, train_encoder, encoder_folder, tmp_path):
    words = ["--model", encoder_folder("bert"), "--init-from", train_encoder("bert", "base"), "--quiet", *SMALL]
    assert vmask("train", reviews_csv, "--out", tmp_path / "m", *words).code == 0
    started = (tmp_path / "m" / "model.safetensors").read_bytes()
    assert started == (train_encoder("bert") / "model.safetensors").read_bytes()


def test_cut_texts_are_said(vmask, toy_csv, encoder_folder, tmp_path):
    words = ["--model", encoder_folder("bert"), "--mask", "base", "--max-words", "5", "--out", tmp_path / "m"]
    done = vmask("train", toy_csv, *words, *SMALL)
    assert re.search(r"(\d+) of \1 training texts were cut to 7 tokens", done.err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "minlm"], "Unknown model 'minlm'. Did you mean 'minilm'?"),
        (["--model", "cn"], "Unknown model 'cn'. Did you mean 'cnn'?"),
        (["--model", "./none"], "There is no encoder folder './none'"),
        (["--model", "BERT", "--model.placment", "word"], "Did you mean '--model.placement'?"),
        (["--model", "BERT", "--model.placement", "blok"], "Did you mean 'block'?"),
        (["--model", "BERT", "--model.filters", "8"], "has no option '--model.filters'"),
        (["--model", "BERT", "--embeddings", "random"], "embeddings is no option of an encoder"),
        (["--model", "BERT", "--stages", "3"], "stages is 3; it must be 1 or 2"),
        (["--model", "BERT", "--precision", "fp16"], "Use --precision bf16 or no"),
        (["--model", "BERT", "--precision", "bf"], "Did you mean 'bf16'?"),
        (["--model", "BERT", "--init-from", "none"], "There is no model folder none"),
        (["--model", "EMPTY"], "has no config.json, so it is no encoder"),
    ],
)
def test_a_wrong_name_or_value_is_said_with_the_fix(fails, toy_csv, encoder_folder, tmp_path, words, message):
    (tmp_path / "empty").mkdir()
    given = {"BERT": encoder_folder("bert"), "EMPTY": tmp_path / "empty"}
    words = [str(given.get(word, word)) for word in words]
    assert message in fails("train", toy_csv, "--out", tmp_path / "m", *SMALL, *words)
    assert not (tmp_path / "m" / "config.json").exists()


# Use ------------------------------------------------------------------------------------------------------


def test_predict_gives_a_line_for_every_line(vmask, train_encoder, tmp_path):
    (tmp_path / "a.txt").write_text("a lovely film\n\nan awful film\n", encoding="utf-8")
    done = vmask("predict", train_encoder("bert"), tmp_path / "a.txt", "--json")
    rows = [json.loads(line) for line in done.lines]
    expected = TextClassifier.load(train_encoder("bert")).predict_proba(["a lovely film", "", "an awful film"])
    np.testing.assert_allclose([list(row["probabilities"].values()) for row in rows], expected)
    assert {row["label"] for row in rows} <= {"1", "5"}


def test_evaluate_scores_a_file(vmask, train_encoder, tmp_path):
    texts, labels = toy_texts(30, seed=7)
    stars = [5 if label == "pos" else 1 for label in labels]
    data = write_csv(tmp_path / "new.csv", texts, stars, header=("review", "stars"))
    value = vmask("evaluate", train_encoder("roberta"), data, "--json").json
    right = TextClassifier.load(train_encoder("roberta")).score(texts, [str(star) for star in stars])
    assert value["accuracy"] == pytest.approx(right)
    assert value["n"] == 30


def test_words_are_ranked_with_importance_and_count(vmask, train_encoder):
    value = vmask("words", train_encoder("bert"), "--top", "5", "--json").json
    assert len(value["words"]) == 5
    scores = [word["score"] for word in value["words"]]
    assert scores == sorted(scores, reverse=True)
    assert all(word["count"] >= 3 for word in value["words"])
    assert -1 <= value["frequency_correlation"] <= 1
    assert vmask("words", train_encoder("bert")).lines[0].split() == ["word", "importance", "count"]


@pytest.mark.parametrize("text", TEXTS)
def test_two_encoders_explain_the_same_words(vmask, train_encoder, text):
    found = [vmask("explain", train_encoder(family), text, "--json").json for family in ("bert", "roberta")]
    one, other = ([(w["start"], w["end"], w["word"]) for w in value["words"]] for value in found)
    assert one == other
    for value in found:
        assert all(text[w["start"] : w["end"]] == w["word"] for w in value["words"])
        assert all(0 <= w["score"] <= 1 for w in value["words"])
        assert "mean over its pieces" in value["options"]["merging"]
    expected = TextClassifier.load(train_encoder("bert")).explain(text)[0]
    assert Explanation.from_dict(found[0]) == expected


def test_a_text_is_shown_with_its_words(vmask, train_encoder):
    done = vmask("explain", train_encoder("bert"), "a lovely film")
    assert done.lines[0] == "a lovely film"
    assert "top words: " in done.lines[1]
    long = " ".join(vmask("explain", train_encoder("bert"), "film " * 100).out.split())
    assert "(62 words past the length limit)" in long


def test_a_model_without_word_scores_says_how_to_get_them(fails, train_encoder):
    for words in (["explain", train_encoder("bert", "base"), "a film"], ["words", train_encoder("bert", "base")]):
        assert "Train with `--mask vmask`" in fails(*words)


def test_a_model_folder_is_no_encoder_and_an_encoder_is_no_model(
    fails, toy_csv, train_encoder, encoder_folder, tmp_path
):
    err = fails("train", toy_csv, "--model", train_encoder("bert"), "--out", tmp_path / "m", *SMALL)
    assert "--init-from" in err
    assert "is an encoder, not a trained model" in fails("explain", encoder_folder("bert"), "a film")
