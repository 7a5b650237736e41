"""`vmask export`: a model for programs without vmask."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from vmask import TextClassifier
from vmask.export.onnx import run_onnx


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """What the command prints, run as a person runs it, and its folder. Do not write to it."""
    out = tmp_path_factory.mktemp("exports") / "onnx"
    done = subprocess.run(
        [sys.executable, "-m", "vmask", "export", str(trained), str(out)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done, out


def test_it_says_what_was_done_and_nothing_of_the_libraries(exported):
    done, out = exported
    note, difference, where = done.stdout.splitlines()
    assert note == "mask folded into the word vectors"
    assert difference.startswith("greatest difference of a probability from the model's: ")
    assert float(difference.split()[-1]) <= 1e-5
    assert where.startswith(f"exported to {out} (onnx, ")
    assert where.endswith(" MB): README.md, config.json, model.onnx, tokenizer.json")
    lines = [line for line in done.stderr.splitlines() if "onnxruntime" not in line]  # which misses a GPU aloud
    assert lines == [f"next: {out}/README.md shows how to run it"]


def test_the_export_answers_as_the_model(exported, trained):
    texts = ["a lovely film", "awful", ""]
    expected = TextClassifier.load(trained).predict_proba(texts)
    assert run_onnx(exported[1], texts) == pytest.approx(expected, abs=1e-5)
    assert json.loads((exported[1] / "config.json").read_text())["labels"] == ["1", "5"]


def test_an_export_is_replaced_only_when_asked(vmask, fails, exported, trained):
    _, out = exported
    assert "Choose another folder, or pass overwrite=True (--overwrite)." in fails("export", trained, out)
    value = vmask("export", trained, out, "--format", "onnx", "--overwrite", "--json").json
    assert value.pop("difference") <= 1e-5
    sizes = value.pop("sizes")
    assert sizes == {file.name: file.stat().st_size for file in out.iterdir()}
    assert value == {
        "path": str(out),
        "format": "onnx",
        "folded": True,
        "files": sorted(sizes),
        "notes": ["mask folded into the word vectors"],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "hf"], "transformers has no class that loads it. Use --format onnx."),
        (["--format", "onxn"], "'onxn' is not known. Did you mean 'onnx'?"),
    ],
)
def test_a_format_that_cannot_be_is_refused(fails, trained, tmp_path, words, message):
    assert message in fails("export", trained, tmp_path / "out", *words)
    assert list(tmp_path.iterdir()) == []


def test_the_model_itself_is_never_replaced(fails, trained):
    before = sorted(trained.iterdir())
    assert "is no export, so it is not replaced" in fails("export", trained, trained, "--overwrite")
    assert sorted(trained.iterdir()) == before


def test_a_folder_without_a_model_is_said(fails, tmp_path):
    assert "There is no model folder" in fails("export", tmp_path / "nothing", tmp_path / "out")
