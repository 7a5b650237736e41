"""Old names of modules are found for one release, with a warning that names the new place."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from vmask._core.moved_modules import MOVED

pytestmark = pytest.mark.full

EVERY = """
import importlib, warnings
from vmask._core.moved_modules import MOVED
for old, new in sorted(MOVED.items()):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = importlib.import_module(f"vmask.{old}")
    real = importlib.import_module(f"vmask.{new}")
    assert module is real and module.__name__ == module.__spec__.name == f"vmask.{new}", old
    assert any(f"vmask.{old} has moved to vmask.{new};" in str(warning.message) for warning in caught), (old, caught)
print(len(MOVED))
"""


def test_every_old_name_is_the_new_module():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", EVERY], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, f"{len(MOVED)}\n"), done.stderr


def test_names_that_users_import_are_where_they_were():
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from vmask.web.app import build_app\n"
        "from vmask.explain.contract import Doc, Explainer, Explanation, Predictor\n"
        "from vmask.training.progress import Silence, TrainingBar, shown\n"
        "from vmask.training.seeding import numpy_stream\n"
        "import vmask.embeddings, vmask.explaining\n"
        "print(vmask.explaining.explain_texts.__module__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "vmask.explain.api\n"


def test_what_was_never_there_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("vmask.never")
