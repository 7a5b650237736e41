"""Tables of scores: a column a method, a row a number, its interval beside it or below."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from vmask.evaluation.compare import compare_evaluations
from vmask.evaluation.result import Evaluation, Score
from vmask.evaluation.score_tables import comparison_table, confusion_table, number, score_tables, with_interval
from vmask.metrics.contract import Series

NAN = float("nan")


def evaluation(scores=(), confusion=(((3, 1), (0, 2)),), labels=("neg", "pos")):
    """An evaluation with these scores, whatever they are made of."""
    made = Evaluation(({},), {}, [], [], labels, confusion)
    made.__dict__["scores"] = list(scores)
    return made


def score(metric="aopc", by="lime", hide="remove", value=0.25, low=0.1, high=0.4, **other):
    rest = {"part": "", "better": "higher", "headline": True, **other}
    return Score(
        metric, by=by, hide=hide, value=value, low=low, high=high, wide_low=NAN, wide_high=NAN, n=9, how="", **rest
    )


def printed(table, width=200):
    console = Console(width=width)
    with console.capture() as shown:
        console.print(table)
    return [line.rstrip() for line in shown.get().splitlines()]


def tables(scores, all_parts=False, width=None):
    return [printed(table, width or 200) for table in score_tables(evaluation(scores), all_parts, width)]


def test_a_number_is_rounded_and_a_missing_one_is_a_dash():
    assert number(0.12345) == "0.123"
    assert number(0.12345, 4) == "0.1235"
    assert number(-0.00001) == number(0.0) == "0.000"
    assert number(-1) == "-1.000"
    assert number(NAN) == "–"


def test_an_interval_is_shown_where_there_is_one():
    assert with_interval(score()) == "0.250 [0.100, 0.400]"
    assert with_interval(score(), 4) == "0.2500 [0.1000, 0.4000]"
    assert with_interval(score(low=NAN, high=NAN)) == "0.250"
    assert with_interval(score(value=NAN, low=NAN, high=NAN)) == "–"


def test_a_method_has_a_column_and_a_way_of_hiding_a_row():
    scores = [score(by=by, hide=hide) for by in ("lime", "mask") for hide in ("remove", "zero")]
    (lines,) = tables(scores)
    assert lines[0].split() == ["metric", "hidden", "by", "lime", "mask"]
    assert [line.split()[:3] for line in lines[1:]] == [["aopc", "↑", "remove"], ["aopc", "↑", "zero"]]
    assert lines[1].count("0.250 [0.100, 0.400]") == 2


def test_arrows_say_which_way_is_better():
    scores = [score("a", better="higher"), score("b", better="lower"), score("c", better="neither", part="entropy")]
    (lines,) = tables(scores)
    assert [line.split("remove")[0].rstrip() for line in lines[1:]] == ["a ↑", "b ↓", "c entropy"]


def test_a_cell_is_blank_where_a_method_lacks_a_number():
    (lines,) = tables([score(by="mask"), score(by="lime", hide="zero", value=0.5, low=NAN, high=NAN)])
    assert lines[0].split() == ["metric", "hidden", "by", "mask", "lime"]
    assert lines[1].split() == ["aopc", "↑", "remove", "0.250", "[0.100,", "0.400]"]
    assert lines[2].split() == ["aopc", "↑", "zero", "0.500"]
    assert lines[2].index("0.500") == lines[0].index("lime")


def test_a_number_without_hidden_words_stands_in_the_row_of_every_way():
    floor = score(by="majority", hide="", value=0.5, low=NAN, high=NAN)
    (lines,) = tables([score(by="mask"), score(by="mask", hide="zero"), floor])
    assert [line.split()[2] for line in lines[1:]] == ["remove", "zero"]
    assert [line.index("0.500") for line in lines[1:]] == [lines[0].index("majority")] * 2


def test_metrics_of_other_methods_have_a_table_of_their_own():
    first, second = tables([score(by="lime"), score(by="mask"), score("stability", by="lime", hide="")])
    assert first[0].split() == ["metric", "hidden", "by", "lime", "mask"]
    assert second[0].split() == ["metric", "lime"]


def test_scores_of_predictions_are_not_in_the_tables():
    assert tables([score("accuracy", by="", hide="")]) == []


def test_headlines_alone_or_every_part():
    scores = [score("prob_drop", part="k=1", headline=False), score("prob_drop", part="k=2", value=0.5)]
    (lines,) = tables(scores)
    assert [line.split()[1] for line in lines[1:]] == ["k=2"]
    (lines,) = tables(scores, all_parts=True)
    assert [line.split()[1] for line in lines[1:]] == ["k=1", "k=2"]
    assert "0.500" in lines[2]


def test_intervals_go_below_where_a_line_is_too_short():
    scores = [score("comprehensiveness", part="mean", by=by) for by in ("lime", "mask", "random")]
    (lines,) = tables(scores, width=103)
    assert len(lines) == 2
    (lines,) = tables(scores, width=102)
    assert lines[1].split() == ["comprehensiveness", "remove", "0.250", "0.250", "0.250"]
    assert lines[2].split() == ["mean", "↑", *3 * ["[0.100,", "0.400]"]]
    assert lines[0].index("mask") == lines[1].index("0.250", lines[1].index("0.250") + 1)


@pytest.mark.parametrize("width", [40, 50, 60, 80])
def test_columns_go_into_another_table_where_a_line_is_shorter_still(width):
    methods = ("lime", "mask", "random", "shapley")
    scores = [score(by=by, value=0.5 + number / 100) for number, by in enumerate(methods)]
    scores += [score("naopc", by="majority", hide=""), *(score("naopc", by=by) for by in methods)]
    shown = tables(scores, width=width)
    assert all(len(line) <= width for lines in shown for line in lines)
    everything = "\n".join(line for lines in shown for line in lines)
    for number_, by in enumerate(methods):
        assert everything.count(by) == 2
        assert f"0.5{number_}0" in everything
    assert "…" not in everything
    assert everything.count("[0.100, 0.400]") == 9
    assert all(set(line.split()) - {"naopc", "↑", "remove"} for lines in shown for line in lines)  # no empty rows


def test_the_confusion_matrix_has_true_classes_as_rows():
    lines = printed(confusion_table(evaluation(confusion=[[[3000, 1], [0, 2]]])))
    assert lines[0].split() == ["true", "\\", "predicted", "neg", "pos"]
    assert lines[1].split() == ["neg", "3,000", "1"]
    assert lines[2].split() == ["pos", "0", "2"]


@pytest.mark.parametrize(("classes", "shown"), [(12, True), (13, False)])
def test_the_confusion_matrix_of_many_classes_is_left_out(classes, shown):
    table = np.eye(classes, dtype=int).tolist()
    found = confusion_table(evaluation(confusion=[table], labels=list(range(classes))))
    assert (found is not None) == shown


def test_the_confusion_matrix_is_of_one_model_with_known_labels():
    table = [[3, 1], [0, 2]]
    assert confusion_table(evaluation(confusion=[table, table])) is None
    assert confusion_table(evaluation(confusion=[])) is None


def test_a_comparison_has_both_numbers_and_their_difference():
    def model(right):
        found = {("accuracy", "", "", ""): Series(np.array(right, np.float64))}
        return Evaluation((found,), {"accuracy": {}}, [str(i) for i in range(len(right))], [], ["a", "b"], [])

    found = compare_evaluations(model([0] * 20 + [1] * 20), model([1] * 40), names=("old", "new"))
    heads, row = printed(comparison_table(found))
    assert heads.split() == ["metric", "by", "hidden", "by", "old", "new", "new", "minus", "old", "p", "(Holm)"]
    assert row.split()[:4] == ["accuracy", "↑", "0.500", "1.000"]
    assert "+0.500 [+0." in row
    assert row.endswith("< 0.001")
