"""A calibration of logits: what it does to them, and what is refused as one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from predictors import piece_predictor, random_text, word_predictor
from vmask.errors import ModelFolderError
from vmask.explain.api import explain_texts
from vmask.inference.calibration import Calibration, read_calibration
from vmask.inference.output import to_probabilities

TEXTS = [random_text(length) for length in (0, 1, 4, 9, 20)]
SHARP = Calibration(0.5, (0.3, -0.1, -0.2))


def softmax(logits):
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def test_probabilities_are_those_of_the_scaled_and_shifted_logits():
    logits = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    found = to_probabilities(torch.from_numpy(logits), SHARP).numpy()
    assert found == pytest.approx(softmax(logits / 0.5 + [0.3, -0.1, -0.2]), abs=1e-6)


def test_a_temperature_changes_no_predicted_class():
    logits = torch.from_numpy(np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32))
    for temperature in (0.05, 0.7, 3.0, 100.0):
        assert torch.equal(to_probabilities(logits, Calibration(temperature)).argmax(1), logits.argmax(1))


@pytest.fixture(params=["cnn", "lstm", "bert"])
def predictor(request, build, build_encoder):
    if request.param == "bert":
        return piece_predictor(build_encoder, "bert", "vmask")
    return word_predictor(build, request.param, "vmask")


def test_every_way_of_asking_a_model_gives_calibrated_probabilities(predictor):
    docs = predictor.prepare(TEXTS)
    plain, made = predictor, predictor.calibrated(SHARP)
    logits = plain.logits([doc.ids for doc in docs])
    expected = softmax(logits / 0.5 + [0.3, -0.1, -0.2])
    assert softmax(logits) == pytest.approx(plain.predict_docs(docs), abs=1e-6)
    assert made.predict_docs(docs) == pytest.approx(expected, abs=1e-6)
    assert made.logits([doc.ids for doc in docs]) == pytest.approx(logits)
    everything = [np.ones((1, len(doc.spans)), np.bool_) for doc in docs]
    for hide in ("remove", "unk", "zero"):  # by the cached reader, where there is one
        assert np.concatenate(made.predict_kept(docs, everything, hide)) == pytest.approx(expected, abs=1e-5)
    for seen in made.at_seam(docs):  # what gradients see
        assert seen.probabilities.numpy() == pytest.approx(expected[seen.rows], abs=1e-5)
        answers = seen.answer(seen.z, seen.index, seen.lengths).detach().numpy()
        assert answers == pytest.approx(expected[seen.rows], abs=1e-5)


def test_explanations_are_of_the_calibrated_probability(predictor):
    made = predictor.calibrated(SHARP)
    (text,) = made.prepare([TEXTS[2]])
    probability = made.predict_docs([text])[0]
    for method in ("occlusion", "saliency"):
        (explanation,) = explain_texts(made, [TEXTS[2]], method)
        assert explanation.probability == pytest.approx(float(probability.max()), abs=1e-5)


def test_copies_of_a_model_keep_its_calibration(predictor):
    made = predictor.calibrated(SHARP)
    copies = [made.batched(2), made.with_edits(None), *made.randomized(0).values()]
    assert [one.calibration for one in copies] == [SHARP] * len(copies)
    assert predictor.calibration is None


def test_a_stored_calibration_is_read_back():
    assert read_calibration(SHARP.to_dict(), 3) == SHARP
    assert read_calibration(Calibration(1.5).to_dict(), 3) == Calibration(1.5)
    assert read_calibration(None, 3) is None


@pytest.mark.parametrize(
    "forged",
    [
        *[
            {"temperature": value, "bias": []}
            for value in (0, -1, 1e-9, 1e9, float("nan"), float("inf"), "1", True, None)
        ],
        *[{"temperature": 1.0, "bias": value} for value in (None, [1.0], [1, 2, 3, 4], ["1", "2", "3"], "abc")],
        *[{"temperature": 1.0, "bias": [0.0, 0.0, value]} for value in (float("nan"), 1e6, None, True)],
        {"temperature": 1.0},
        {},
        [],
        1.0,
        "temperature",
    ],
    ids=repr,
)
def test_what_is_no_calibration_is_refused(forged):
    with pytest.raises(ModelFolderError, match="its calibration"):
        read_calibration(forged, 3)
