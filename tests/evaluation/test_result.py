"""What an evaluation holds: scores, values, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linear import LinearWords
from vmask import Evaluation, evaluate
from vmask.errors import ConfigError, DataError, OutputExists, UnknownName
from vmask.evaluation.result import SCORES, VALUES

TEXTS = ["good fine so", "bad so poor", "so good", "fine", "", "good good bad"]
LABELS = ["yes", "no", "yes", "yes", "no", "yes"]


@pytest.fixture(scope="module")
def found():
    model = LinearWords({"good": 0.2, "fine": 0.1, "bad": -0.15, "poor": -0.1})
    return evaluate(model, (TEXTS, LABELS), "all", {"occlusion": {}, "lime": {"samples": 30}})


def test_an_evaluation_is_saved_and_read_back(found, tmp_path):
    found.save(tmp_path / "out")
    read = Evaluation.load(tmp_path / "out")
    assert read.measured() == found.measured()
    np.testing.assert_equal([vars(one) for one in read.scores], [vars(one) for one in found.scores])
    for key in found.measured():
        np.testing.assert_allclose(read.values(key)[0], found.values(key)[0], rtol=1e-6)
    assert (read.ids, read.sample) == (found.ids, found.sample)
    assert read.facts == json.loads(json.dumps(found.facts))
    assert read.notes == found.notes
    assert read.words == json.loads(json.dumps(found.words))


def test_the_files_are_plain_json_without_nan(found, tmp_path):
    found.save(tmp_path)

    def refuse(value):
        raise AssertionError(value)

    scores = json.loads((tmp_path / SCORES).read_text(encoding="utf-8"), parse_constant=refuse)
    assert len(scores["scores"]) == len(found.scores)
    lines = (tmp_path / VALUES).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(found.found[0])
    rows = [json.loads(line, parse_constant=refuse) for line in lines]
    aopc = next(row for row in rows if (row["metric"], row["by"]) == ("aopc", "occlusion"))
    assert aopc["values"][TEXTS.index("")] is None
    assert len(aopc["values"]) == len(TEXTS)


def test_a_folder_that_has_an_evaluation_is_not_written_over(found, tmp_path):
    found.save(tmp_path)
    with pytest.raises(OutputExists, match="--overwrite"):
        found.save(tmp_path)
    found.save(tmp_path, overwrite=True)


def test_a_write_that_fails_leaves_the_old_evaluation(found, tmp_path, monkeypatch):
    found.save(tmp_path)
    other = evaluate(LinearWords({"good": 0.1}), (TEXTS, LABELS), "aopc", "occlusion")

    def fail(self):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(Evaluation, "to_dict", fail)
        with pytest.raises(OSError, match="disk full"):
            other.save(tmp_path, overwrite=True)
    assert Evaluation.load(tmp_path).measured() == found.measured()
    other.save(tmp_path, overwrite=True)
    assert Evaluation.load(tmp_path).measured() == other.measured()
    assert sorted(path.name for path in tmp_path.iterdir()) == [SCORES, VALUES]


def test_new_values_count_as_soon_as_the_scores_name_them(found, tmp_path, monkeypatch):
    """A kill right after `scores.json` was replaced: the new values still have a name of their own."""
    other = evaluate(LinearWords({"good": 0.1}), (TEXTS, LABELS), "aopc", "occlusion")
    found.save(tmp_path)

    class Killed(BaseException):
        pass

    def die(self, target):
        if self.name.startswith("values-"):
            raise Killed
        return rename(self, target)

    rename = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", die)
        with pytest.raises(Killed):
            other.save(tmp_path, overwrite=True)
    read = Evaluation.load(tmp_path)
    assert read.measured() == other.measured()
    np.testing.assert_allclose(read.values(read.measured()[0])[0], other.values(read.measured()[0])[0], rtol=1e-6)


def test_a_folder_without_one_and_a_damaged_one_are_said(found, tmp_path):
    with pytest.raises(DataError, match="holds no evaluation"):
        Evaluation.load(tmp_path)
    found.save(tmp_path)
    (tmp_path / VALUES).write_text('{"model": 0}\n', encoding="utf-8")
    with pytest.raises(DataError, match="is damaged"):
        Evaluation.load(tmp_path)


def test_trainings_that_were_evaluated_one_by_one_make_one_evaluation():
    models = [LinearWords({"good": weight, "bad": -weight}) for weight in (0.1, 0.15, 0.2)]
    asked = ((TEXTS, LABELS), "accuracy,aopc", {"occlusion": {}})
    joined = Evaluation.together([evaluate(model, *asked) for model in models])
    np.testing.assert_equal(
        [vars(one) for one in joined.scores], [vars(one) for one in evaluate(models, *asked).scores]
    )
    assert joined.facts["models"] == 3
    assert len(joined.confusion) == 3
    with pytest.raises(ConfigError, match=r"differ in their .* Evaluate them with the same options"):
        Evaluation.together([evaluate(models[0], *asked), evaluate(models[1], (TEXTS, LABELS), "accuracy")])


def test_a_score_is_found_by_its_name(found):
    assert found.score("accuracy").by == ""
    one = found.score("prob_drop", by="lime", hide="remove", part="k=1")
    assert (one.metric, one.by, one.hide, one.part) == ("prob_drop", "lime", "remove", "k=1")
    assert found.score("prob_drop").part == "k=5"
    with pytest.raises(UnknownName):
        found.score("aopc", by="shapley")


def test_values_of_what_was_not_measured_are_said(found):
    with pytest.raises(UnknownName, match="aopc, lime"):
        found.values(("aopc", "lime", "unk", ""))


def test_it_shows_itself_in_short_and_as_tables(found):
    assert repr(found).startswith(f"Evaluation({len(TEXTS)} texts, {len(TEXTS)} explained: accuracy")
    assert "naopc ↑" in str(found)
    assert str(found).splitlines()[0].startswith("accuracy ↑ 1.000")


def test_nothing_cannot_be_put_together():
    with pytest.raises(ConfigError, match="nothing to put together"):
        Evaluation.together([])


def test_an_f1_without_a_mistake_has_no_interval(found):
    score = found.score("macro_f1")
    assert score.value == 1
    assert np.isnan(score.low)
    assert "no interval" in score.how


def test_trainings_that_do_not_differ_have_no_interval():
    model = LinearWords({"good": 0.1, "bad": -0.1})
    score = evaluate([model, model, model], (TEXTS, LABELS), "aopc", {"occlusion": {}}).score("aopc", "occlusion")
    assert np.isnan(score.low)
    assert score.how == "no interval: every training gives the same"
    assert score.wide_low < score.value < score.wide_high


def test_an_example_without_a_value_does_not_count(found):
    one = found.score("aopc", by="occlusion", hide="remove")
    assert one.n == len(TEXTS) - 1
    values = found.values(("aopc", "occlusion", "remove", ""))[0]
    assert one.value == pytest.approx(np.nanmean(values))


def test_the_interval_holds_the_value(found):
    for score in found.scores:
        if np.isfinite(score.low) and score.metric != "calibration_error":  # whose interval corrects a bias
            assert score.low - 1e-9 <= score.value <= score.high + 1e-9, score
