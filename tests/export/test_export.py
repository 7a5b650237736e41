"""The way in: which format, and what is said of one that cannot be."""

from __future__ import annotations

import pytest

from vmask import TextClassifier
from vmask.errors import ConfigError, OutputExists, UnknownName
from vmask.export import choose_format


def test_a_model_over_words_goes_to_onnx(fitted):
    assert choose_format(fitted._trained(), None) == choose_format(fitted._trained(), "onnx") == "onnx"


def test_a_cnn_is_no_hugging_face_folder(fitted, tmp_path):
    with pytest.raises(ConfigError, match=r"transformers has no class that loads it. Use --format onnx."):
        fitted.export(tmp_path / "out", "hf")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_format_gets_the_nearest(fitted, tmp_path):
    with pytest.raises(UnknownName, match=r"Unknown format 'onxn'. Did you mean 'onnx'"):
        fitted.export(tmp_path / "out", "onxn")


def test_what_is_in_the_way_is_said_before_any_work(fitted, model_folder):
    with pytest.raises(OutputExists, match="is no export"):
        fitted.export(model_folder, overwrite=True)


def test_a_classifier_that_was_not_fitted_says_so(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        TextClassifier().export(tmp_path / "out")
