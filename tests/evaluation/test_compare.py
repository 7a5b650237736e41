"""Two models on the same texts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from linear import LinearWords
from vmask import compare, evaluate
from vmask.errors import ConfigError
from vmask.evaluation.compare import NOTHING, compare_evaluations
from vmask.evaluation.score_tables import comparison_table, comparison_words

WORDS = ["good", "fine", "bad", "poor"]
RIGHT = {"good": 0.2, "fine": 0.1, "bad": -0.2, "poor": -0.1}
WRONG = {word: -weight for word, weight in RIGHT.items()}


def texts(count, seed=0):
    """Texts whose label is the sign of the sum of their words' weights."""
    stream = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        chosen = stream.choice(WORDS, 2).tolist()
        if total := sum(RIGHT[word] for word in chosen):
            made.append((" ".join([*chosen, f"w{len(made)}"]), "yes" if total > 0 else "no"))
    return [text for text, _ in made], [label for _, label in made]


DATA = texts(60)


def row_of(found, metric, by=""):
    return next(row for row in found.rows if row.metric == metric and by in ("", row.by))


def test_a_model_against_itself_shows_no_difference():
    found = compare(LinearWords(RIGHT), LinearWords(RIGHT), DATA, "accuracy,macro_f1,aopc", "occlusion")
    assert {row.verdict for row in found.rows} == {NOTHING}
    assert all(row.difference.value == 0 and row.p_holm == 1 for row in found.rows)


def test_a_right_model_is_better_than_a_wrong_one():
    found = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "accuracy,macro_f1")
    row = row_of(found, "accuracy")
    assert (row.a, row.b) == (0, 1)
    assert row.difference.value == 1
    assert row.verdict == "B is better"
    other = row_of(compare(LinearWords(RIGHT), LinearWords(WRONG), DATA), "accuracy")
    assert other.difference.value == -1
    assert other.verdict == "A is better"


def test_lower_is_better_where_the_metric_says_so():
    found = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "calibration_error")
    assert row_of(found, "calibration_error").difference.value < 0
    assert row_of(found, "calibration_error").verdict == "B is better"


def test_a_metric_that_does_not_compare_models_says_so():
    weak = {word: weight / 4 for word, weight in RIGHT.items()}
    found = compare(LinearWords(weak), LinearWords(RIGHT), DATA, "aopc", "occlusion")
    row = row_of(found, "aopc", "occlusion")
    assert not row.compares
    assert row.verdict == "higher for B, which does not compare models (see naopc)"
    assert (
        row_of(compare(LinearWords(weak), LinearWords(RIGHT), DATA, "naopc", "occlusion"), "naopc").verdict == NOTHING
    )


def test_p_values_are_corrected_for_the_number_of_tests():
    one = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "accuracy")
    many = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "accuracy,macro_f1,calibration_error")
    assert row_of(many, "accuracy").p_holm == pytest.approx(3 * row_of(one, "accuracy").p_holm)
    assert "corrected for 3 tests" in many.how()


def test_yardsticks_are_not_tested():
    found = compare(LinearWords(RIGHT), LinearWords(RIGHT), DATA, "aopc", "occlusion")
    assert {row.by for row in found.rows} == {"occlusion"}


def test_headlines_alone_or_all_parts():
    asked = (LinearWords(RIGHT), LinearWords(RIGHT), DATA, "prob_drop", "occlusion")
    assert {row.part for row in compare(*asked, hide="remove").rows} == {"k=5"}
    assert {row.part for row in compare(*asked, hide="remove", all_parts=True).rows} == {f"k={k}" for k in range(1, 6)}


def test_several_trainings_are_compared_by_their_means():
    stream = np.random.default_rng(0)

    def some(factor):
        return [
            LinearWords({word: weight * factor * stream.uniform(0.9, 1.1) for word, weight in RIGHT.items()})
            for _ in range(4)
        ]

    found = compare(some(0.5), some(1.0), DATA, "aopc", "occlusion", hide="remove")
    row = row_of(found, "aopc")
    assert row.difference.value == pytest.approx(row.b - row.a)
    assert row.p_holm < 0.01
    assert "Welch" in found.how()
    assert found.to_dict()["models"] == [4, 4]


def test_one_training_against_many_is_refused():
    one, many = (evaluate(model, DATA) for model in (LinearWords(RIGHT), [LinearWords(RIGHT)] * 2))
    with pytest.raises(ConfigError, match="There are 1 trainings of A and 2 of B"):
        compare_evaluations(one, many)


def test_different_texts_are_refused():
    """Though ids of texts without a name are their numbers."""
    one, two = (evaluate(LinearWords(RIGHT), texts(20, seed), n=10) for seed in (0, 1))
    assert list(one.ids) == list(two.ids)
    with pytest.raises(ConfigError, match="differ in their texts"):
        compare_evaluations(one, two)
    with pytest.raises(ConfigError, match="differ in their texts"):
        compare_evaluations(one, dataclasses.replace(one, sample=[1, 2]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rank": "absolute"}, "rank"),
        ({"metrics": {"aopc": {"k": 2}}}, r"options of aopc \(metrics\)"),
        ({"explainers": {"lime": {"samples": 21}}}, r"options of lime \(explainers\)"),
        ({"explain_hide": "zero"}, "explain_hide"),
        ({"seed": 1, "n": 60}, "seed"),
    ],
)
def test_what_was_measured_otherwise_is_refused(change, reason):
    asked = {"metrics": "aopc", "explainers": {"lime": {"samples": 20}}, "hide": "remove"}
    one, two = (evaluate(LinearWords(RIGHT), DATA, **options) for options in (asked, asked | change))
    with pytest.raises(ConfigError, match=reason):
        compare_evaluations(one, two)


def test_both_numbers_are_of_the_examples_that_both_have():
    """A text where no word weighs anything has no entropy."""
    data = ["good bad fine", "good so so", "fine poor so", "so so so", "bad good so"]
    one = LinearWords({"good": 0.2, "bad": -0.1})
    two = LinearWords({"good": 0.1, "fine": 0.1, "poor": -0.1})
    row = row_of(compare(one, two, data, "sparsity", "occlusion"), "sparsity")
    assert row.difference.value == pytest.approx(row.b - row.a)
    many = row_of(compare([one, one], [two, two], data, "sparsity", "occlusion"), "sparsity")
    assert (many.a, many.b) == pytest.approx((row.a, row.b))


def test_what_does_not_compare_models_costs_the_others_nothing():
    weak = {word: weight / 4 for word, weight in RIGHT.items()}
    alone = compare(LinearWords(weak), LinearWords(RIGHT), DATA, "calibration_error")
    both = compare(LinearWords(weak), LinearWords(RIGHT), DATA, "calibration_error,aopc,prob_drop", "occlusion")
    assert row_of(both, "calibration_error").p_holm == row_of(alone, "calibration_error").p_holm
    assert "1 test of metrics that compare models and, apart, 4 of those that do not" in both.how()


def test_limits_of_a_model_are_no_merit():
    weak = {word: weight / 4 for word, weight in RIGHT.items()}
    found = compare(LinearWords(weak), LinearWords(RIGHT), DATA, "naopc", "occlusion", hide="remove", all_parts=True)
    upper = next(row for row in found.rows if row.part == "upper")
    assert (upper.better, upper.verdict) == ("neither", "higher for B")
    assert found.a.score("naopc", part="upper").better == "neither"
    assert found.a.score("naopc").better == "higher"


def test_a_method_that_one_of_the_two_lacks_is_said():
    one = evaluate(LinearWords(RIGHT), DATA, "aopc", "occlusion")
    two = evaluate(LinearWords(RIGHT), DATA, "aopc", {"occlusion": {}, "lime": {"samples": 20}})
    notes = compare_evaluations(one, two).notes
    assert "aopc by lime is not compared: it was measured for only one of the two." in notes


def test_it_says_what_it_found_in_a_table_and_in_words():
    from rich.console import Console

    found = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "accuracy,aopc", "occlusion", hide="remove")
    console = Console(width=120)
    with console.capture() as shown:
        console.print(comparison_table(found))
    assert "+1.000" in shown.get()
    assert "< 0.001" in shown.get()
    assert repr(found) == "Comparison(A, B: 2 rows)"
    assert "+1.000" in str(found)
    assert "other seeds may say otherwise" in str(found)
    lines = comparison_words(found)
    assert "B is better: accuracy" in lines
    assert f"{NOTHING}: aopc (occlusion, remove)" in lines


def test_to_dict_has_no_nan():
    value = compare(LinearWords(WRONG), LinearWords(RIGHT), DATA, "all,-naopc", "occlusion").to_dict()

    def check(one):
        if isinstance(one, dict):
            [check(inner) for inner in one.values()]
        elif isinstance(one, list):
            [check(inner) for inner in one]
        else:
            assert one == one

    check(value)
