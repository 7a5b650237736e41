"""`vmask explain`: the words of a text, where they stand, how much each matters."""

from __future__ import annotations

import io
import json

import pytest

from toy import write_csv
from vmask import Explanation, TextClassifier

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike


def test_a_text_is_shown_with_its_label_and_top_words(vmask, trained):
    done = vmask("explain", trained, "a lovely film")
    assert done.lines[0] == "a lovely film"
    assert "top words: " in done.lines[1]
    assert done.lines[1].split()[0] in ("1", "5")


@pytest.mark.parametrize(
    "text", ["a lovely film", "Grüße, 电影! cafe\u0301 👍🏽", "", "qwertz", 'say "[bold]hi[/bold]"']
)
def test_json_has_the_words_with_their_offsets_and_scores(vmask, trained, text):
    value = vmask("explain", trained, text, "--json").json
    assert value["text"] == text
    assert value["label"] in ("1", "5")
    for word in value["words"]:
        assert text[word["start"] : word["end"]] == word["word"]
        assert 0 <= word["score"] <= 1
    expected = TextClassifier.load(trained).explain(text)[0]
    assert Explanation.from_dict(value) == expected


def test_brackets_and_colons_are_printed_as_they_are(vmask, tmp_path):
    model = TextClassifier(embeddings="random", epochs=1).fit(["one", "two"] * 20, ["[b]", ":smile:"] * 20)
    done = vmask("explain", model.save(tmp_path / "m"), "[bold]so[/bold] :smile:")
    assert done.lines[0] == "[bold]so[/bold] :smile:"
    assert done.lines[1].split()[0] in ("[b]", ":smile:")


def test_many_texts_come_from_a_file_or_standard_input(vmask, trained, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("lovely\n\nawful\n", encoding="utf-8")
    data = write_csv(tmp_path / "a.csv", ["lovely", "", "awful"], ["x", "y", "z"], header=("review", "other"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"lovely\n\nawful\n")))
    for source in (tmp_path / "a.txt", data, "-"):
        done = vmask("explain", trained, "--input", source, "--json")
        assert [json.loads(line)["text"] for line in done.lines] == ["lovely", "", "awful"]


def test_words_past_the_length_limit_are_counted(vmask, trained):
    assert "(44 words past the length limit)" in " ".join(vmask("explain", trained, "word " * 300).out.split())
    assert vmask("explain", trained, "word " * 300, "--json").json["unseen"] == 44


def test_a_model_without_word_scores_says_how_to_get_them(fails, base_model):
    assert "Train with `--mask vmask`" in fails("explain", base_model, "a lovely film")


def test_either_a_text_or_a_file_is_needed(fails, trained, tmp_path):
    assert "Give either a text" in fails("explain", trained)
    assert "Give either a text" in fails("explain", trained, "a text", "--input", tmp_path / "a.txt")


def test_an_unknown_method_names_the_near_one(fails, trained):
    assert "Did you mean 'mask'" in fails("explain", trained, "text", "--method", "msk")


def test_a_missing_input_is_said(fails, trained, tmp_path):
    assert "There is no file" in fails("explain", trained, "--input", tmp_path / "none.txt")
