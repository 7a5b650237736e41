"""On the paper's own data, where it is at hand: every mask trains, and the words it picks carry the label."""

from __future__ import annotations

import json
import re

import pytest

from registered import WORD_MODELS
from vmask.cli import main
from vmask.masks import MASKS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("model", WORD_MODELS)
@pytest.mark.parametrize("mask", MASKS.names())
def test_every_mask_trains_every_model_on_trec(model, mask, shared, tmp_path, capsys):
    vectors = f"{shared}/embeddings/glove100.npy"
    command = (
        f"train trec --model {model} --mask {mask} --out {tmp_path / 'm'} --epochs 2 --embeddings {vectors} --json"
    )
    assert main([*command.split(), "--data-dir", str(shared / "data"), "--vocabulary", "train", "--quiet"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["test_n"] == 500
    assert result["test_accuracy"] > 0.4  # the largest class is 0.28 of the test texts


def sentiment_words(shared):
    """Words that people called positive or negative when they stood alone, and all words they saw."""
    trees = (shared / "data" / "sst_trees" / "train.txt").read_text(encoding="utf-8")
    leaves = re.findall(r"\((\d) ([^() ]+)\)", trees)
    loaded = {word.lower() for label, word in leaves if label != "2"}
    return loaded, {word.lower() for _, word in leaves}


def test_the_words_of_a_sentiment_model_carry_sentiment_and_are_not_the_frequent_ones(shared, tmp_path, capsys):
    loaded, seen = sentiment_words(shared)
    vectors = f"{shared}/embeddings/gnews300.npy,{shared}/embeddings/glove100.npy"
    command = (
        f"train sst2 --mask vmask --out {tmp_path / 'm'} --epochs 6 --embeddings {vectors} --vocabulary train --quiet"
    )
    assert main([*command.split(), "--data-dir", str(shared / "data"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test_accuracy"] > 0.81
    assert main(["words", str(tmp_path / "m"), "--top", "20", "--min-count", "3", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    words = [word["word"] for word in result["words"] if word["word"] in seen]
    base_rate = len(loaded) / len(seen)
    share = sum(word in loaded for word in words) / len(words)
    assert share > 0.6 > 2 * base_rate, (share, base_rate, words)
    assert abs(result["frequency_correlation"]) < 0.1
