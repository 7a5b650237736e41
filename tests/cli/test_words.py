"""`vmask words`: the words a model uses most."""

from __future__ import annotations

import pytest

from vmask import TextClassifier


def test_words_are_ranked_with_importance_and_count(vmask, trained):
    done = vmask("words", trained, "--top", "5")
    head, *rows, last = done.lines
    assert head.split() == ["word", "importance", "count"]
    assert len(rows) == 5
    scores = [float(row.split()[-2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert last.startswith("correlation of importance with frequency: ")


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
    assert f"argument {option}: '{value}' is not a whole number of 0 or more" in fails("words", trained, option, value)


def test_a_model_without_word_scores_says_how_to_get_them(fails, base_model):
    assert "Train with `--mask vmask`" in fails("words", base_model)
