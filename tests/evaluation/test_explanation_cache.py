"""Explanations that are kept in files are made once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linear import LinearWords
from vmask import evaluate, read_explanations
from vmask.errors import DataError, OutputExists
from vmask.evaluation.explanation_cache import KeptExplanations

WEIGHTS = {"good": 0.2, "fine": 0.1, "bad": -0.15, "poor": -0.1}
DATA = ([f"good fine w{i}" for i in range(50)], ["yes"] * 50)
ASKED = {"metrics": "aopc", "explainers": {"lime": {"samples": 20}}, "hide": "remove"}


class Stops(LinearWords):
    """Fails after so many questions, as a process that is killed."""

    def __init__(self, weights, after):
        super().__init__(weights)
        self.after = after

    def predict_kept(self, docs, keep, hide="remove"):
        if docs and (after := self.after - 1) >= 0:
            self.after = after
        elif docs:
            raise KeyboardInterrupt
        return super().predict_kept(docs, keep, hide)


def keeper(folder, models=({"sha": "a"},), **options):
    return KeptExplanations(folder, models, **options)


def test_explanations_are_written_and_read_again(tmp_path):
    first = evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))
    assert len(list(read_explanations(tmp_path / "explanations" / "lime.jsonl"))) == 50
    model = LinearWords(WEIGHTS)
    second = evaluate(model, DATA, **ASKED, keep=keeper(tmp_path))
    per_text = len(model.asked) / 50
    assert per_text < 20, "nothing was explained anew"
    for key, series in first.found[0].items():
        np.testing.assert_array_equal(series.values, second.found[0][key].values)


def test_one_that_was_cut_off_goes_on_and_ends_the_same(tmp_path):
    whole = evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        evaluate(Stops(WEIGHTS, after=4), DATA, **ASKED, keep=keeper(tmp_path / "cut"))
    part = tmp_path / "cut" / "explanations" / "lime.jsonl.part"
    assert part.exists()
    again = evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path / "cut"))
    files = [tmp_path / name / "explanations" / "lime.jsonl" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not part.exists()
    for key, series in whole.found[0].items():
        np.testing.assert_array_equal(series.values, again.found[0][key].values)


@pytest.mark.parametrize("change", ["model", "seed", "options", "texts"])
def test_what_was_asked_otherwise_is_not_used(tmp_path, change):
    evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))
    asked, data, models = dict(ASKED), DATA, ({"sha": "a"},)
    if change == "model":
        models = ({"sha": "b"},)
    elif change == "seed":
        asked["seed"] = 1
    elif change == "options":
        asked["explainers"] = {"lime": {"samples": 21}}
    else:
        data = ([*DATA[0][:-1], "bad"], DATA[1])
    with pytest.raises(OutputExists, match="--overwrite"):
        evaluate(LinearWords(WEIGHTS), data, **asked, keep=keeper(tmp_path, models))
    folder = tmp_path / "explanations"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    keep = keeper(tmp_path, models, overwrite=True)
    evaluate(LinearWords(WEIGHTS), data, **asked, keep=keep)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before, "the old stay"
    keep.finish()
    side = json.loads((folder / "lime.json").read_text(encoding="utf-8"))
    assert side["sha"] == models[0]["sha"]
    assert [one.text for one in read_explanations(folder / "lime.jsonl")] == data[0]
    assert sorted(path.name for path in folder.iterdir()) == sorted(before), "nothing else is left"
    model = LinearWords(WEIGHTS)
    evaluate(model, data, **asked, keep=keeper(tmp_path, models))
    assert len(model.asked) / 50 < 20, "and the new are read"


def test_a_replacement_that_was_cut_off_is_not_taken_for_the_old_ones(tmp_path):
    """The old file was asked for otherwise, so it must not be taken for the new one."""
    evaluate(LinearWords({"good": -0.2}), DATA, **ASKED, keep=keeper(tmp_path))
    new = ({"sha": "b"},)
    with pytest.raises(KeyboardInterrupt):
        evaluate(Stops(WEIGHTS, after=4), DATA, **ASKED, keep=keeper(tmp_path, new, overwrite=True))
    assert list(read_explanations(tmp_path / "explanations" / "lime.jsonl")), "the old are whole"
    with pytest.raises(OutputExists, match="--overwrite"):
        evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path, new))
    again = evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path, new, overwrite=True))
    fresh = evaluate(LinearWords(WEIGHTS), DATA, **ASKED)
    for key, series in fresh.found[0].items():
        np.testing.assert_array_equal(series.values, again.found[0][key].values)


def test_a_file_of_the_users_own_is_not_replaced(tmp_path):
    path = tmp_path / "explanations" / "lime.jsonl"
    path.parent.mkdir()
    path.write_text("mine\n", encoding="utf-8")
    with pytest.raises(OutputExists, match="--overwrite"):
        evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))
    assert path.read_text(encoding="utf-8") == "mine\n"


def test_a_file_with_other_texts_is_said(tmp_path):
    evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))
    path = tmp_path / "explanations" / "lime.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[::-1]), encoding="utf-8")
    with pytest.raises(DataError, match=r"Line 1 of .* explains another text"):
        evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))


def test_a_file_that_lacks_lines_is_said(tmp_path):
    evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))
    path = tmp_path / "explanations" / "lime.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(DataError, match="it has 49 explanations of 50"):
        evaluate(LinearWords(WEIGHTS), DATA, **ASKED, keep=keeper(tmp_path))


def test_each_of_several_models_has_its_own(tmp_path):
    models = [LinearWords(WEIGHTS), LinearWords({"good": 0.15})]
    evaluate(models, DATA, **ASKED, keep=keeper(tmp_path, ({"sha": "a"}, {"sha": "b"})))
    assert sorted(path.name for path in (tmp_path / "explanations").glob("lime*.jsonl")) == [
        "lime-0.jsonl",
        "lime-1.jsonl",
    ]
