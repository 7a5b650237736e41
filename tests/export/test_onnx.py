"""ONNX files: the probabilities of the model, for any texts in any company, run without vmask."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn

from vmask import TextClassifier, __version__
from vmask.errors import ConfigError, ExportError, MissingExtra
from vmask.export import onnx
from vmask.export.onnx import export_module, run_onnx, sample_texts

pytestmark = pytest.mark.full

TEXTS = [
    "a lovely film about a small town",
    "",
    "awful",
    "neverseen",
    "lovely lovely lovely awful awful lovely lovely",
    "What a DULL evening, don't you think? 电影 cafe\u0301",
    " ".join(["the plot is charming and the cast tries hard , boring"] * 20),
    "the second half",
]
IDS = {"ids": torch.ones(2, 7, dtype=torch.long)}
CASES = {
    "cnn": {},
    "lstm": {"model": "lstm"},
    "cnn-l2x": {"mask": "l2x", "mask__k": 2},
    "lstm-l2x-normalised": {"model": "lstm", "mask": "l2x", "mask__mode": "soft", "mask__normalise": True},
    "cnn-paper": {"mask": "iba", "preset": "paper_code", "max_words": 15},
    "lstm-paper": {"model": "lstm", "preset": "paper_code", "max_words": 15, "cleaning": "paper"},
}


def fit(toy, **options):
    small = {"embeddings": "random", "epochs": 3, "learning_rate": 0.02, "max_words": 40, "device": "cpu"}
    return TextClassifier(**{**small, **options, "epochs": 3}).fit(*toy)


@pytest.fixture(scope="module", params=CASES)
def case(request, toy, tmp_path_factory):
    """A classifier and its export. Do not write to it."""
    classifier = fit(toy, **CASES[request.param])
    out = tmp_path_factory.mktemp("exports") / request.param
    return classifier, classifier.export(out, "onnx")


@pytest.fixture(scope="module")
def exported(fitted, tmp_path_factory):
    """One export of a CNN-VMASK. Do not write to it."""
    return fitted.export(tmp_path_factory.mktemp("exports") / "cnn")


def test_the_probabilities_are_the_models_in_any_company_and_padding(case):
    classifier, result = case
    expected = classifier.predict_proba(TEXTS)
    np.testing.assert_allclose(run_onnx(result.path, TEXTS), expected, rtol=0, atol=1e-5)
    session = onnxruntime.InferenceSession(result.path / "model.onnx")
    tokenizer = Tokenizer.from_file(str(result.path / "tokenizer.json"))
    for text, row in zip(TEXTS, expected, strict=True):
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        for extra in (0, 1, 9):
            (answer,) = session.run(None, {"ids": np.pad(ids, ((0, 0), (0, extra)))})
            np.testing.assert_allclose(answer[0], row, rtol=0, atol=1e-5)
    random = np.random.default_rng(0)
    order = random.permutation(len(TEXTS) * 3) % len(TEXTS)
    answers = run_onnx(result.path, [TEXTS[i] for i in order])
    np.testing.assert_allclose(answers, expected[order], rtol=0, atol=1e-5)


def test_the_result_says_what_was_done(case):
    classifier, result = case
    assert 0 <= result.difference <= 1e-5
    word_level = classifier.predictor_.model.mask.word_level()
    assert result.folded == word_level
    (note,) = result.notes
    assert note.startswith("mask folded into the word vectors" if word_level else "mask kept in the graph: what l2x")
    assert result.files == ("README.md", "config.json", "model.onnx", "tokenizer.json")
    assert result.sizes == {name: (result.path / name).stat().st_size for name in result.files}
    weights = classifier.predictor_.model.encoder.embedding.weight
    assert weights.numel() * 4 < result.sizes["model.onnx"]


def test_the_config_has_what_a_program_needs(fitted, exported):
    config = json.loads((exported.path / "config.json").read_text(encoding="utf-8"))
    about = config.pop("vmask")
    assert config == {
        "labels": ["neg", "pos"],
        "max_words": 256,
        "cleaning": "gentle",
        "inputs": {"ids": {"type": "int64", "shape": ["batch", "words"], "padding": 0}},
        "outputs": {"probabilities": {"type": "float32", "shape": ["batch", 2]}},
    }
    digests = about.pop("sha256")
    assert set(digests) == {"model.onnx", "tokenizer.json"}
    for name, digest in digests.items():
        assert hashlib.sha256((exported.path / name).read_bytes()).hexdigest() == digest
    assert about == {
        "version": __version__,
        "export": "onnx",
        "model": "cnn",
        "mask": "vmask",
        "folded": True,
        "files": list(exported.files),
    }
    session = onnxruntime.InferenceSession(exported.path / "model.onnx")
    (given,), (answer,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape, given.type) == ("ids", ["batch", "words"], "tensor(int64)")
    assert (answer.name, answer.shape, answer.type) == ("probabilities", ["batch", 2], "tensor(float)")


def test_the_code_of_its_readme_runs_without_vmask(fitted, exported):
    card = (exported.path / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    blocked = "import sys\nsys.modules.update(dict.fromkeys(('vmask', 'torch', 'transformers')))\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + code],
        cwd=exported.path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    texts = ["a text", "another text, somewhat longer"]
    rows = fitted.predict_proba(texts)
    labels = fitted.predict(texts)
    expected = [f"{label}\t{row.max():.4f}\t{text}" for label, row, text in zip(labels, rows, texts, strict=True)]
    assert done.stdout.splitlines() == expected


def test_its_readme_has_the_facts_of_the_model(fitted, exported):
    card = (exported.path / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# CNN-vmask\n")
    assert "| dev accuracy |" in card
    assert "Exported to ONNX: mask folded into the word vectors." in card
    assert "TextClassifier" not in card


def test_the_file_tells_nothing_of_the_machine_that_wrote_it(exported):
    for name in exported.files:
        content = (exported.path / name).read_bytes()
        for place in (Path(onnx.__file__).parent, Path(torch.__file__).parent, exported.path, Path.home()):
            assert str(place).encode() not in content


def test_the_classifier_is_not_changed_and_the_same_again_is_the_same_file(fitted, exported, tmp_path):
    before = fitted.predict_proba(TEXTS)
    first = (exported.path / "model.onnx").read_bytes()
    again = fitted.export(tmp_path / "again")
    assert (again.path / "model.onnx").read_bytes() == first
    assert np.array_equal(fitted.predict_proba(TEXTS), before)
    assert fitted.predictor_.model.encoder.embedding.weight.requires_grad


def test_labels_that_are_numbers_stay_numbers(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "export_module", lambda *_: (tmp_path / ".out.onnx").touch())
    texts, labels = toy
    classifier = fit((texts, [5 if label == "pos" else 1 for label in labels]), mask="base")
    monkeypatch.setattr(onnx, "run_onnx", lambda folder, texts: classifier.predict_proba(texts))
    result = classifier.export(tmp_path / "out")
    assert json.loads((result.path / "config.json").read_text())["labels"] == [1, 5]
    assert result.notes == ("no mask to fold: base leaves the word vectors as they are",)


# Refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0.01, float("nan")])
def test_a_file_that_answers_otherwise_is_not_kept(fitted, tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(onnx, "export_module", lambda *_: None)
    monkeypatch.setattr(onnx, "run_onnx", lambda folder, texts: fitted.predict_proba(texts) + wrong)
    with pytest.raises(ExportError, match=r"differ from the model's by .*, so it was not kept. Install the versions"):
        fitted.export(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_model_whose_answer_depends_on_the_batch_is_refused(toy, tmp_path):
    with pytest.raises(ConfigError, match="so there is no one answer to export"):
        fit(toy, model__count_padding=True).export(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["onnx", "onnxscript", "onnxruntime"])
def test_a_missing_package_is_said_with_the_command(fitted, tmp_path, monkeypatch, missing):
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(MissingExtra, match=r"Export to ONNX needs the 'onnx' extra. Run: pip install 'vmask\[onnx\]'"):
        fitted.export(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_the_exporter_does_not_know_is_one_clear_error(tmp_path, capfd):
    class Odd(nn.Module):
        def forward(self, ids):
            return torch.from_numpy(np.asarray(ids.tolist(), dtype=np.float32))

    with pytest.raises(ExportError, match=r"cannot be put into an ONNX graph: .*other packages") as caught:
        export_module(Odd(), IDS, tmp_path / "model.onnx")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_packages_too_old_for_torch_are_said_with_the_command(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise ModuleNotFoundError("No module named 'onnxscript.newer'")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    with pytest.raises(ExportError, match=r"'onnxscript.newer'\. Run: pip install --upgrade onnx onnxscript"):
        export_module(nn.Identity(), IDS, tmp_path / "model.onnx")


def test_a_graph_for_one_length_alone_is_refused(tmp_path):
    class Fixed(nn.Module):
        def forward(self, ids):
            return sum(ids[:, step] for step in range(ids.shape[1]))

    with pytest.raises(ExportError, match="takes the number of texts or words of an example for a constant"):
        export_module(Fixed(), IDS, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_texts_are_asked_about_a_few_at_a_time_and_answered_in_their_order(monkeypatch):
    monkeypatch.setattr(onnx, "BATCH_POSITIONS", 24)
    tokenizer = Tokenizer(WordLevel({"<pad>": 0, "w": 1}, unk_token="<pad>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding()
    asked = []

    def ask(encodings):
        asked.append(np.array([encoding.attention_mask for encoding in encodings]))
        return asked[-1].sum(1, keepdims=True).astype(np.float32)

    lengths = [12, 1, 7, 0, 12, 3, 99, 7, 5]
    answers = onnx.in_batches(tokenizer, ask)(["w " * length for length in lengths])
    assert answers[:, 0].tolist() == [min(length, 12) for length in lengths]
    assert len(asked) > 2
    assert all(batch.size <= 24 for batch in asked)


def test_an_export_answers_about_empty_texts_alone(case):
    classifier, result = case
    np.testing.assert_allclose(run_onnx(result.path, ["", ""]), classifier.predict_proba(["", ""]), atol=1e-5)


def test_the_texts_that_are_tried_have_every_length():
    lengths = [len(text.split()) for text in sample_texts(["good", "film"], max_words=12)]
    assert {0, 1, 2, 60, 17} <= set(lengths)
