"""`vmask words`: the words a model uses most, by itself or by explanations."""

from __future__ import annotations

import pytest

from vmask import TextClassifier
from vmask.explain.aggregate import global_importance, pick


@pytest.fixture(scope="module")
def explanations(trained):
    texts = ["a superb film", "a dreadful film", "A superb evening , a superb cast", "the plot is boring"]
    return TextClassifier.load(trained).explain(texts, "lime", samples=100)


@pytest.fixture
def explanations_file(explanations, tmp_path):
    path = tmp_path / "explanations.jsonl"
    path.write_text("".join(one.to_json() + "\n" for one in explanations), encoding="utf-8")
    return path


def test_words_are_ranked_with_importance_and_count(vmask, trained):
    done = vmask("words", trained, "--top", "5")
    head, *rows, last, ranking = done.lines
    assert head.split() == ["word", "importance", "count"]
    assert len(rows) == 5
    scores = [float(row.split()[-2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert last.startswith("correlation of importance with frequency: ")
    assert ranking.startswith("VMASK shows ")
    assert ranking.endswith("of running words above 0.5: a ranking, not a restriction")


def test_json_has_the_words_and_the_correlation(vmask, trained):
    value = vmask("words", trained, "--top", "3", "--min-count", "5", "--json").json
    expected = TextClassifier.load(trained).word_importance(3, 5)
    assert value["words"] == [{"word": w.word, "score": w.score, "count": w.count, "known": True} for w in expected]
    assert -1 <= value["frequency_correlation"] <= 1
    assert value["n"] == len(TextClassifier.load(trained).word_importance())


def test_by_default_twenty_words_seen_three_times(vmask, trained):
    words = vmask("words", trained, "--json").json["words"]
    assert len(words) == 20
    assert min(word["count"] for word in words) >= 3


def test_top_0_gives_all_and_min_count_leaves_rare_words_out(vmask, trained):
    everything = vmask("words", trained, "--top", "0", "--min-count", "1", "--json").json
    assert len(everything["words"]) == everything["n"] > 20
    few = vmask("words", trained, "--top", "0", "--min-count", "40", "--json").json["words"]
    assert 0 < len(few) < everything["n"]
    assert all(word["count"] >= 40 for word in few)
    assert vmask("words", trained, "--min-count", "100000", "--json").json["words"] == []


@pytest.mark.parametrize(("option", "value"), [("--top", "-3"), ("--min-count", "x"), ("--top", "1.5")])
def test_a_number_that_makes_no_sense_is_refused(fails, trained, option, value):
    assert f"argument {option}: '{value}' is not a whole number from 0 to 1,000,000,000" in fails(
        "words", trained, option, value
    )


def test_a_model_without_word_scores_says_how_to_get_them(fails, base_model):
    assert "Train with `--mask vmask`" in fails("words", base_model)


def test_words_of_explanations_are_ranked_by_their_sums(vmask, explanations, explanations_file):
    head, *rows, last = vmask("words", "--explanations", explanations_file).lines
    assert head.split() == ["word", "signed", "absolute", "mean", "texts", "count"]
    expected = global_importance(explanations)
    assert [row.split()[0] for row in rows] == [word.word for word in expected]
    assert rows[0].split()[1:] == [
        f"{expected[0].signed:+.3f}",
        f"{expected[0].absolute:.3f}",
        f"{expected[0].mean:+.3f}",
        str(expected[0].texts),
        str(expected[0].count),
    ]
    assert last == f"{len(expected)} words with a count of 1 or more"


def test_explanations_by_another_ranking_of_one_class(vmask, explanations, explanations_file):
    asked = ("words", "--explanations", explanations_file, "--by", "absolute", "--label", "5", "--top", "2", "--json")
    value = vmask(*asked).json
    expected = global_importance(explanations, "absolute", label="5")
    assert value["n"] == len(expected)
    assert [word["word"] for word in value["words"]] == [word.word for word in expected[:2]]
    assert value["words"][0]["by_label"] == expected[0].by_label
    assert "picked" not in value


def test_a_mean_is_of_words_seen_three_times(vmask, explanations_file):
    words = vmask("words", "--explanations", explanations_file, "--by", "mean", "--json").json["words"]
    assert {word["word"] for word in words} == {"a", "superb"}
    more = vmask("words", "--explanations", explanations_file, "--by", "mean", "--min-count", "1", "--json").json
    assert len(more["words"]) > 2


def test_picked_texts_are_shown(vmask, explanations, explanations_file):
    done = vmask("words", "--explanations", explanations_file, "--top", "1", "--pick", "2")
    expected = [line for n in pick(explanations, 2) for line in (explanations[n].text, f"text number {n + 1}")]
    assert len(expected) == 4
    assert all(line.endswith(end) for line, end in zip(done.lines[3:], expected, strict=True))


def test_texts_are_picked_from_those_of_the_class(vmask, explanations, explanations_file):
    asked = ("words", "--explanations", explanations_file, "--label", "1", "--pick", "9", "--json")
    picked = vmask(*asked).json["picked"]
    assert {one["number"] - 1 for one in picked} == {n for n, one in enumerate(explanations) if one.target == "1"}
    assert all(one["text"] == explanations[one["number"] - 1].text for one in picked)


def test_either_a_folder_or_explanations(fails, trained, explanations_file):
    either = "Give either a model folder (vmask words DIR) or explanations (--explanations FILE)."
    assert either in fails("words")
    assert either in fails("words", trained, "--explanations", explanations_file)


@pytest.mark.parametrize("option", [("--by", "mean"), ("--label", "5"), ("--pick", "2")])
def test_options_of_explanations_are_not_for_a_folder(fails, trained, option):
    assert f"{option[0]} is for explanations" in fails("words", trained, *option)


def test_what_explanations_cannot_have_is_refused(fails, explanations_file):
    assert "--device is for a model folder" in fails("words", "--explanations", explanations_file, "--device", "cpu")
    assert "Unknown label '7'" in fails("words", "--explanations", explanations_file, "--label", "7")
    assert "There is no file" in fails("words", "--explanations", explanations_file.with_name("none.jsonl"))
    assert "Did you mean 'mean'?" in fails("words", "--explanations", explanations_file, "--by", "means")
