"""What a training says about how much a mask shows."""

from __future__ import annotations

from vmask.masks import MASKS
from vmask.training.run_config import make_plan
from vmask.training.visibility import describe_visibility


def described(name, visible=0.298, words=412, **options):
    mask = MASKS.get(name)(4, make_plan("cnn", name, **options).mask_options)
    return describe_visibility(name, mask, {"mask_visible": visible}, words)


def test_a_ranking_is_no_restriction():
    assert described("vmask", 0.97) == "VMASK shows 97% of running words above 0.5: a ranking, not a restriction"


def test_a_selection_of_words_says_how_many_it_reads():
    assert described("select") == "reads 412 words, 29.8% of running words (budget 30%)"
    assert described("vmask", mask__inference="threshold") == "reads 412 words, 29.8% of running words"


def test_nothing_is_said_without_a_ranking_or_where_texts_differ():
    assert described("base", None) == ""
    assert described("l2x") == ""
    assert describe_visibility("vmask", MASKS.get("base")(4, None), {}, 3) == ""
