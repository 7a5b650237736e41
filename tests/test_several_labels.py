"""Several labels a text in Python: training, predictions, explanations, folders and exports, of every kind of model."""

from __future__ import annotations

import importlib.util
import json
import warnings

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from toy import TOPICS, toy_label_sets
from vmask import TextClassifier
from vmask.errors import ConfigError, DataError, ModelFolderError, VmaskWarning
from vmask.explain import EXPLAINERS
from vmask.inference.black_box import BlackBox
from vmask.masks import MASKS

TEXTS, SETS = toy_label_sets(200)
NEW, TRUTH = toy_label_sets(40, seed=7)
WORD = {"embeddings": "random", "epochs": 8, "learning_rate": 0.01, "device": "cpu", "seed": 1}
ENCODER = {"epochs": 2, "learning_rate": 1e-3, "batch_size": 20, "device": "cpu", "seed": 1}
pytestmark = pytest.mark.filterwarnings(
    "ignore:The masks of all words", "ignore:No epoch kept to the mask's budget", "ignore:.*were cut to 40 tokens"
)


@pytest.fixture(scope="session")
def made(encoder_folder):
    """A model of a kind, trained once. Do not change it."""
    done = {}

    def make(model, mask="vmask"):
        if (model, mask) not in done:
            if model == "bert":
                classifier = TextClassifier(str(encoder_folder("bert")), mask, **ENCODER)
            else:
                classifier = TextClassifier(model, mask, **WORD, **{f"model__{SIZES[model]}": 12})
            done[model, mask] = classifier.fit(TEXTS, SETS)
        return done[model, mask]

    return make


SIZES = {"cnn": "filters", "lstm": "hidden"}
KINDS = pytest.mark.parametrize("model", ["cnn", "lstm", "bert"])


@pytest.mark.parametrize("mask", MASKS.own())
def test_every_mask_learns_several_labels(made, mask):
    classifier = made("cnn", mask)
    assert classifier.predictor_.task == "multi_label"
    assert classifier.plan_.train.select == "micro_f1"
    best = classifier.history_[classifier.best_epoch_ - 1]
    assert best["dev_micro_f1"] > 0.8
    assert classifier.score(NEW, TRUTH) > 0.5


@KINDS
def test_probabilities_stand_alone_and_labels_reach_their_thresholds(made, model):
    classifier = made(model)
    probabilities = classifier.predict_proba(NEW)
    assert probabilities.shape == (40, 3)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert np.ptp(probabilities.sum(1)) > 1e-3
    names = classifier.classes_.tolist()
    assert names == sorted(TOPICS)
    wanted = [tuple(names[at] for at in np.flatnonzero(row >= classifier.thresholds_)) for row in probabilities]
    assert classifier.predict(NEW) == wanted
    np.testing.assert_allclose(classifier.predict_proba(NEW[::-1])[::-1], probabilities, atol=1e-6)


@KINDS
def test_a_folder_holds_task_and_thresholds(made, model, tmp_path):
    classifier = made(model)
    classifier.save(tmp_path / "model")
    loaded = TextClassifier.load(tmp_path / "model", "cpu")
    assert loaded.predictor_.task == "multi_label"
    assert loaded.thresholds_.tolist() == classifier.thresholds_.tolist()
    assert loaded.predict(NEW) == classifier.predict(NEW)
    np.testing.assert_allclose(loaded.predict_proba(NEW), classifier.predict_proba(NEW), atol=1e-6)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "thresholds" in card
    assert "dev micro F1" in card


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": [0.5, 0.5]}, "not a probability for each label"),
        ({"thresholds": [0.5, 0.5, 2.0]}, "not a probability"),
        ({"thresholds": None}, "not a probability"),
        ({"thresholds": ["0.5"] * 3}, "not a probability"),
        ({"task": "pairs"}, "its task is 'pairs'"),
    ],
)
def test_a_forged_folder_is_refused(made, tmp_path, change, message):
    from vmask.persistence.model_folder import digest_of

    folder = made("cnn").save(tmp_path / "model")
    config = {**json.loads((folder / "config.json").read_text(encoding="utf-8")), **change}
    (folder / "config.json").write_text(json.dumps({**config, "digest": digest_of(config)}), encoding="utf-8")
    with pytest.raises(ModelFolderError, match=message):
        TextClassifier.load(folder)


@pytest.mark.parametrize("method", EXPLAINERS.own())
@pytest.mark.parametrize("model", ["cnn", "bert"])
def test_every_explainer_explains_the_leading_label(made, model, method):
    classifier = made(model)
    options = {"lime": {"samples": 20}, "shapley": {"permutations": 4}}.get(method, {})
    from vmask.inference.decisions import leading

    probabilities = classifier.predict_proba(NEW[:6])
    leads = leading(probabilities, classifier.thresholds_)
    for at, one in enumerate(classifier.explain(NEW[:6], method, **options)):
        assert one.target == classifier.classes_[leads[at]]
        assert one.probability == pytest.approx(probabilities[at, leads[at]], abs=1e-5)
    for one in classifier.explain(NEW[:3], method, target="refund", **options):
        assert one.target == "refund"
        assert one.probability == pytest.approx(classifier.predict_proba([one.text])[0, 2], abs=1e-5)


def test_occlusion_and_gradients_are_those_of_the_sigmoid(made):
    classifier = made("cnn", "base")
    (one,) = classifier.explain("look at my invoice", "occlusion", target="billing")
    words = ["look", "at", "my", "invoice"]
    for at, score in enumerate(one.scores):
        without = " ".join(word for number, word in enumerate(words) if number != at)
        assert score == pytest.approx(one.probability - classifier.predict_proba([without])[0, 0], abs=1e-5)
    (one,) = classifier.explain("look at my invoice", "integrated_gradients", target="billing")
    assert sum(one.scores) == pytest.approx(one.probability - classifier.predict_proba([""])[0, 0], abs=0.1)


def test_a_matrix_and_lists_teach_the_same(made):
    pandas = pytest.importorskip("pandas")
    classifier = made("cnn", "base")
    names = classifier.classes_.tolist()
    matrix = MultiLabelBinarizer(classes=names).fit_transform(SETS)
    options = {**WORD, "mask": "base", "model__filters": 12}
    by_names = TextClassifier(**options).fit(TEXTS, matrix, labels=names)
    by_frame = TextClassifier(**options).fit(TEXTS, pandas.DataFrame(matrix, columns=names))
    by_number = TextClassifier(**options).fit(TEXTS, matrix)
    for other in (by_names, by_frame, by_number):
        np.testing.assert_array_equal(other.predict_proba(NEW), classifier.predict_proba(NEW))
    assert by_frame.predict(NEW) == by_names.predict(NEW) == classifier.predict(NEW)
    assert by_number.classes_.tolist() == [0, 1, 2]
    assert by_number.predict(NEW)[:5] == [tuple(map(names.index, one)) for one in classifier.predict(NEW)[:5]]


def test_resuming_gives_the_same_thresholds(made, tmp_path):
    class Stop(Exception):
        pass

    from vmask.training.progress import ProgressCallback

    class StopsAfterTwo(ProgressCallback):
        def epoch(self, row, best):
            if row["epoch"] == 3:
                raise Stop

    options = {**WORD, "model__filters": 12}
    with pytest.raises(Stop):
        TextClassifier(**options).fit(TEXTS, SETS, checkpoint=tmp_path, progress=StopsAfterTwo())
    resumed = TextClassifier(**options).fit(TEXTS, SETS, checkpoint=tmp_path, resume=True)
    assert resumed.thresholds_.tolist() == made("cnn").thresholds_.tolist()
    np.testing.assert_array_equal(resumed.predict_proba(NEW), made("cnn").predict_proba(NEW))


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([("a",)] * 20, DataError, "only one label, 'a'"),
        ([("a", "b")] * 20, DataError, "nothing to learn"),
        ([()] * 20, DataError, "no label at all"),
        ([("a", 1), ("b",)] * 10, DataError, "strings and some are numbers"),
        ([("a",), ("b",)] * 9, DataError, "20 texts and 18 lists"),
        ([("a",), ("b", None)] * 10, DataError, "missing"),
        ([("a",), "b"] * 10, DataError, "others are lists"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        TextClassifier(**WORD).fit(TEXTS[:20], labels)


def test_a_dev_set_of_another_kind_is_refused():
    with pytest.raises(DataError, match="Training and dev differ"):
        TextClassifier(**WORD).fit(TEXTS, SETS, dev=(NEW, ["billing"] * 40))
    with pytest.raises(DataError, match="labels that training lacks: 'other'"):
        TextClassifier(**WORD).fit(TEXTS, SETS, dev=(NEW, [("other",)] * 40))


def test_a_label_without_texts_stays_a_column_and_is_warned_of():
    matrix = np.zeros((40, 3), int)
    matrix[::2, 0], matrix[::3, 1] = 1, 1
    with pytest.warns(VmaskWarning, match="No training text has the label 'c'"):
        made = TextClassifier(**{**WORD, "epochs": 1}).fit(TEXTS[:40], matrix, labels=["a", "b", "c"])
    assert made.classes_.tolist() == ["a", "b", "c"]
    assert made.thresholds_[2] == 0.5


def test_a_softmax_before_the_loss_is_refused():
    with pytest.raises(ConfigError, match="double_softmax needs one label"):
        TextClassifier("lstm", embeddings="random", model__double_softmax=True).fit(TEXTS, SETS)


def test_edits_keep_the_task(made):
    edited = made("cnn").edit(hide=TOPICS["billing"])
    assert edited.predictor_.task == "multi_label"
    assert edited.thresholds_.tolist() == made("cnn").thresholds_.tolist()
    assert edited.predict_proba(["my invoice"])[0, 0] < made("cnn").predict_proba(["my invoice"])[0, 0]


def test_a_black_box_may_say_that_its_labels_stand_alone():
    box = BlackBox(lambda texts: np.array([[0.4, 0.5]] * len(texts)), ["a", "b"], thresholds=[0.2, 0.9])
    from vmask.explain.api import explain_texts

    assert next(explain_texts(box, ["some text"], "occlusion")).target == "a"


def test_init_from_wants_the_same_task(made, encoder_folder, tmp_path):
    folder = made("bert").save(tmp_path / "model")
    single = TextClassifier(str(encoder_folder("bert")), init_from=str(folder), **ENCODER)
    with pytest.raises(ConfigError, match="One of both has several labels"):
        single.fit(TEXTS, [one[0] if one else "none" for one in SETS])


ONNX = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")


def run_card(folder, monkeypatch, capsys):
    """What the code in the README of an export prints, of its two texts."""
    code = (folder / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(folder)
    capsys.readouterr()
    exec(compile(code, "README.md", "exec"), {})
    return capsys.readouterr().out.splitlines()


@ONNX
@pytest.mark.parametrize(("model", "mask"), [("cnn", "vmask"), ("cnn", "l2x"), ("lstm", "select"), ("bert", "vmask")])
def test_onnx_gives_a_sigmoid_and_its_readme_the_labels(made, model, mask, tmp_path, monkeypatch, capsys):
    from vmask.export.answers import answers_of

    classifier = made(model, mask)
    result = classifier.export(tmp_path / "onnx", "onnx")
    assert result.difference < 1e-4
    np.testing.assert_allclose(answers_of(tmp_path / "onnx")(NEW), classifier.predict_proba(NEW), atol=1e-4)
    config = json.loads((tmp_path / "onnx" / "config.json").read_text(encoding="utf-8"))
    assert (config["task"], config["thresholds"]) == ("multi_label", classifier.thresholds_.tolist())
    lines = run_card(tmp_path / "onnx", monkeypatch, capsys)
    for line, text in zip(lines, ["a text", "another text, somewhat longer"], strict=True):
        found = eval(line.partition("\t")[0])
        assert tuple(label for label, _ in found) == classifier.predict([text])[0]


def test_a_hugging_face_folder_has_the_task(made, tmp_path, monkeypatch, capsys):
    from transformers import pipeline

    classifier = made("bert")
    classifier.export(tmp_path / "hf", "hf")
    config = json.loads((tmp_path / "hf" / "config.json").read_text(encoding="utf-8"))
    assert config["problem_type"] == "multi_label_classification"
    assert list(config["vmask"]["thresholds"].values()) == classifier.thresholds_.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classify = pipeline("text-classification", model=str(tmp_path / "hf"), truncation=True, top_k=None)
        answers = classify(NEW[:5])
    wanted = classifier.predict_proba(NEW[:5])
    for answer, row in zip(answers, wanted, strict=True):
        scores = {one["label"]: one["score"] for one in answer}
        np.testing.assert_allclose([scores[name] for name in classifier.classes_], row, atol=1e-4)
    assert len(run_card(tmp_path / "hf", monkeypatch, capsys)) == 2
