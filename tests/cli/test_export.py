"""`vmask export`: a model for programs without vmask."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from vmask import TextClassifier
from vmask.export.encoder_onnx import run_encoder_onnx
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


@pytest.mark.full
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


@pytest.mark.full
def test_the_export_answers_as_the_model(exported, trained):
    texts = ["a lovely film", "awful", ""]
    expected = TextClassifier.load(trained).predict_proba(texts)
    assert run_onnx(exported[1], texts) == pytest.approx(expected, abs=1e-5)
    assert json.loads((exported[1] / "config.json").read_text())["labels"] == ["1", "5"]


@pytest.mark.full
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


# Encoders -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained_encoder(fitted_encoder, tmp_path_factory):
    """The folder of an encoder with VMASK. Do not write to it."""
    return fitted_encoder().save(tmp_path_factory.mktemp("runs") / "encoder")


@pytest.mark.full
def test_an_encoder_becomes_a_folder_for_transformers(trained_encoder, tmp_path):
    from transformers import pipeline

    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "vmask", "export", str(trained_encoder), str(out)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    note, difference, where = done.stdout.splitlines()
    assert note == "mask vmask folded into the embedding matrix"
    assert float(difference.split()[-1]) <= 1e-5
    assert where.startswith(f"exported to {out} (hf, ")
    assert done.stderr.splitlines() == [f"next: {out}/README.md shows how to run it"]
    texts = ["a lovely film", "awful", ""]
    answers = pipeline("text-classification", model=str(out), truncation=True, top_k=None)(texts)
    scores = [[{one["label"]: one["score"] for one in row}[label] for label in ("neg", "pos")] for row in answers]
    assert scores == pytest.approx(TextClassifier.load(trained_encoder).predict_proba(texts), abs=1e-5)


def test_an_encoder_as_json(vmask, trained_encoder, tmp_path):
    out = tmp_path / "out"
    value = vmask("export", trained_encoder, out, "--format", "hf", "--json").json
    assert value.pop("difference") <= 1e-5
    sizes = value.pop("sizes")
    assert sizes == {file.name: file.stat().st_size for file in out.iterdir()}
    assert value == {
        "path": str(out),
        "format": "hf",
        "folded": True,
        "files": ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"],
        "notes": ["mask vmask folded into the embedding matrix"],
    }


@pytest.mark.slow
def test_an_encoder_becomes_onnx_when_asked(vmask, trained_encoder, tmp_path):
    out = tmp_path / "out"
    value = vmask("export", trained_encoder, out, "--format", "onnx", "--json").json
    assert (value["format"], value["folded"]) == ("onnx", True)
    assert value["files"] == ["README.md", "config.json", "model.onnx", "tokenizer.json"]
    texts = ["a lovely film", "awful", ""]
    expected = TextClassifier.load(trained_encoder).predict_proba(texts)
    assert run_encoder_onnx(out, texts) == pytest.approx(expected, abs=1e-5)


def test_a_selection_is_refused_with_the_way_out(fails, fitted_encoder, tmp_path):
    folder = fitted_encoder(mask="l2x").save(tmp_path / "model")
    message = fails("export", folder, tmp_path / "out", "--format", "hf")
    assert "What l2x does to a word depends on the other words of its text" in message
    assert "Use --format onnx" in message
    assert not (tmp_path / "out").exists()
