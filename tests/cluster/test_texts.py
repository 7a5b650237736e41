"""Explanations by a cluster from Python: what is wrong is said before anything is started."""

from __future__ import annotations

import pytest

from vmask.cluster.texts import explain_texts
from vmask.errors import ConfigError, ModelFolderError, UnknownName


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"workers": 0}, ConfigError),
        ({"gpus": -1.0}, ConfigError),
        ({"samples": 1}, ConfigError),
        ({"batch_size": 0}, ConfigError),
        ({"hide": "mask"}, ConfigError),
        ({"target": "poss"}, UnknownName),
        ({"method": "lame"}, UnknownName),
    ],
)
def test_wrong_options_are_said_at_once(model_folder, options, error):
    with pytest.raises(error):
        explain_texts(model_folder, ["a lovely film"], **options)


def test_a_missing_model_is_said_at_once(tmp_path):
    with pytest.raises(ModelFolderError, match="There is no model folder"):
        explain_texts(tmp_path / "none", [])
