"""An export of a calibrated model gives the same probabilities, and a Hugging Face folder stays an ordinary one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from torch import nn

from tiny_encoders import FAMILIES
from vmask.errors import ExportError
from vmask.export.answers import answers_of
from vmask.export.hf import fold_calibration
from vmask.inference.calibration import Calibration

TEXTS = ["a lovely film about a small town", "", "awful", "what a dreadful evening , boring and tedious"]
KINDS = {"temperature": Calibration(0.4), "bias": Calibration(2.5, (0.7, -0.7))}


def calibrated(classifier, calibration):
    """A copy with another calibration."""
    made = copy.copy(classifier)
    made.predictor_ = classifier.predictor_.calibrated(calibration)
    return made


def check(made, classifier, folder, format):
    made.export(folder, format)
    expected = made.predict_proba(TEXTS)
    assert np.abs(expected - classifier.predict_proba(TEXTS)).max() > 1e-3
    assert answers_of(folder)(TEXTS) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hugging_face_folder_has_it_in_its_last_layer(masking_encoder, tmp_path, family, kind):
    classifier = masking_encoder(family)
    check(calibrated(classifier, KINDS[kind]), classifier, tmp_path / "hf", "hf")


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_of_an_encoder_has_it_in_the_graph(masking_encoder, tmp_path, kind):
    classifier = masking_encoder("bert")
    check(calibrated(classifier, KINDS[kind]), classifier, tmp_path / "onnx", "onnx")


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_of_a_word_model_has_it_in_the_graph(fitted, tmp_path, kind):
    check(calibrated(fitted, KINDS[kind]), fitted, tmp_path / "onnx", "onnx")


def test_a_bias_without_a_place_in_the_last_layer_is_said():
    network = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2, bias=False))
    fold_calibration(Calibration(2.0), network, 2)
    with pytest.raises(ExportError, match="--format onnx"):
        fold_calibration(Calibration(2.0, (1.0, -1.0)), network, 2)
    with pytest.raises(ExportError, match="--format onnx"):
        fold_calibration(Calibration(2.0), nn.Sequential(nn.Linear(4, 3), nn.Tanh()), 2)
