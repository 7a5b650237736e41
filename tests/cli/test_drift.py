"""`vmask drift`: a sentence, the tables, JSON."""

from __future__ import annotations

import pytest

from toy import toy_texts, write_csv


@pytest.fixture
def new_csv(tmp_path):
    texts, labels = toy_texts(80)
    stars = [5 if label == "pos" else 1 for label in labels]
    return write_csv(tmp_path / "new.csv", [f"{text} refund" for text in texts], stars, header=("review", "stars"))


def test_a_sentence_comes_first(vmask, trained, new_csv):
    done = vmask("drift", trained, new_csv)
    assert done.code == 0, done.err
    assert done.lines[0].startswith("These 80 texts look like the training data, except that ")
    assert "the most frequent new words: refund" in done.lines[0]
    assert "accuracy on the new texts" in done.out
    assert "unknown words *" in done.out


def test_json_has_all_of_it(vmask, trained, new_csv):
    found = vmask("drift", trained, new_csv, "--json").json
    assert found["new"]["texts"] == 80
    assert found["unknown_words"] == [{"word": "refund", "count": 80}]
    assert {change["what"] for change in found["changes"]} >= {"unknown words", "confidence", "label 1", "label 5"}
    assert 0 <= found["accuracy"]["low"] <= found["accuracy"]["value"] <= found["accuracy"]["high"] <= 1


def test_without_labels_there_is_no_accuracy(vmask, trained, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(toy_texts(40)[0]) + "\n\n", encoding="utf-8")
    found = vmask("drift", trained, tmp_path / "lines.txt", "--json").json
    assert (found["new"]["texts"], found["accuracy"]) == (40, None)


def test_what_cannot_be_compared_is_an_error(fails, trained, tmp_path, new_csv):
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "There is no text" in fails("drift", trained, tmp_path / "empty.txt")
    assert "There is no column 'nope'" in fails("drift", trained, new_csv, "--label", "nope")
