"""ONNX files of encoders: the probabilities of the model for any texts in any company, without vmask and torch."""

from __future__ import annotations

import copy
import functools
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
from torch import nn

from tiny_encoders import FAMILIES, SHORT, tokenizer
from vmask import TextClassifier, __version__
from vmask.errors import ExportError, MissingExtra
from vmask.export import encoder_onnx, onnx
from vmask.export.encoder_onnx import PieceGraph, run_encoder_onnx
from vmask.export.hf import folded_network, unfoldable
from vmask.masks import MASKS
from vmask.text.batches import collate

pytestmark = pytest.mark.full

TEXTS = [
    "a lovely film about a small town",
    "",
    "awful",
    "lovely lovely lovely awful awful lovely lovely",
    "[CLS] lovely [SEP] <s>awful</s> [MASK] <mask> [PAD] <pad> [UNK] <unk> film",
    "What a DULL evening, don't you think? 电影 cafe\u0301 東京 😀",
    " ".join(["the plot is charming and the cast tries hard , boring"] * 20),
    "the second half",
]
IDS = [[20, 30, 40, 25, 35, 45, 50], [21, 31], [22], [33, 20, 20, 44], []]
BLOCK = {"model__placement": "block"}
CASES = {
    **{family: (family, "vmask", {}) for family in FAMILIES},
    "distilbert-l2x": ("distilbert", "l2x", {"mask__k": 2}),
    "bert-block": ("bert", "vmask", BLOCK),
    "bert-iba-block": ("bert", "iba", BLOCK),
    "modernbert-l2x-block": ("modernbert", "l2x", {"mask__k": 2, **BLOCK}),
    "roberta-l2x-normalised": ("roberta", "l2x", {"mask__mode": "soft", "mask__normalise": True}),
    "electra-word_dropout-block": ("electra", "word_dropout", BLOCK),
    "bert-special": ("bert", "vmask", {"model__mask_special_tokens": True, "max_words": 9}),
}
QUICK = ("bert", "roberta", "distilbert", "deberta-v2", "modernbert", "distilbert-l2x", "bert-block")


@pytest.fixture(scope="module")
def export_of(masking_encoder, tmp_path_factory):
    """A classifier and its export, by its name in `CASES`. Do not write to it."""

    @functools.cache
    def make(name):
        family, mask, options = CASES[name]
        classifier = masking_encoder(family, mask, **options)
        before = classifier.predict_proba(TEXTS)
        result = classifier.export(tmp_path_factory.mktemp("exports") / name, "onnx")
        assert np.array_equal(classifier.predict_proba(TEXTS), before)
        return classifier, result

    return make


@pytest.fixture(params=[pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES])
def case(request, export_of):
    return export_of(request.param)


@pytest.fixture
def exported(export_of):
    """Of DistilBERT with VMASK."""
    return export_of("distilbert")[1]


def batch(family, texts=IDS, length=0):
    made = tokenizer(FAMILIES[family][0])
    rows = [np.array([made.cls_token_id, *ids, made.sep_token_id], np.int32) for ids in texts]
    return collate(rows, length=length, pad=made.pad_token_id)


# The graph in torch ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placement", ["word", "block"])
@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("family", FAMILIES)
def test_the_graph_answers_as_the_model_whatever_the_padding(build_encoder, family, mask, placement):
    model = build_encoder(family, mask, model__placement=placement, **({"mask__k": 2} if mask == "l2x" else {}))
    with torch.no_grad():
        expected = torch.softmax(model(batch(family)).logits, 1)
        kept = unfoldable(model, mask)
        if not kept:
            folded_network(model, mask)
        graph = PieceGraph(model.encoder, model.mask if kept else None)
        for length in (0, 30):
            padded = batch(family, length=length)
            answer = graph(padded.ids, padded.attend.long())
            torch.testing.assert_close(answer, expected, rtol=0, atol=1e-5)
        for row, text in enumerate(IDS):
            alone = batch(family, [text])
            answer = graph(alone.ids, alone.attend.long())[0]
            torch.testing.assert_close(answer, expected[row], rtol=0, atol=1e-5)
    assert bool(kept) == (mask not in ("base", "l2") and (placement == "block" or mask == "l2x"))


class Scaled(nn.Embedding):
    """As some encoders have it: what is looked up is not what the matrix has."""

    def forward(self, ids):
        return super().forward(ids) * 3


@pytest.mark.parametrize("mask", ["vmask", "l2x"])
def test_a_mask_over_vectors_that_change_as_they_are_looked_up_is_kept(build_encoder, mask):
    model = build_encoder("bert", mask)
    model.encoder.network.get_input_embeddings().__class__ = Scaled
    assert unfoldable(model, mask)
    one = batch("bert")
    with torch.no_grad():
        expected = torch.softmax(model(one).logits, 1)
        answer = PieceGraph(model.encoder, model.mask)(one.ids, one.attend.long())
    torch.testing.assert_close(answer, expected, rtol=0, atol=1e-5)


# The file ----------------------------------------------------------------------------------------------------


def test_the_probabilities_are_the_models_in_any_company_and_padding(case):
    classifier, result = case
    expected = classifier.predict_proba(TEXTS)
    np.testing.assert_allclose(run_encoder_onnx(result.path, TEXTS), expected, rtol=0, atol=1e-5)
    session = onnxruntime.InferenceSession(result.path / "model.onnx")
    made = Tokenizer.from_file(str(result.path / "tokenizer.json"))
    limit, pad = classifier.predictor_.tokenizer.max_tokens, classifier.predictor_.pad
    for text, row in zip(TEXTS, expected, strict=True):
        encoding = made.encode(text)
        for extra in (0, 1, 9):
            width = min(len(encoding.ids) + extra, limit) - len(encoding.ids)
            ids = np.pad(np.array([encoding.ids]), ((0, 0), (0, width)), constant_values=pad)
            attend = np.pad(np.array([encoding.attention_mask]), ((0, 0), (0, width)))
            (answer,) = session.run(None, {"input_ids": ids, "attention_mask": attend})
            np.testing.assert_allclose(answer[0], row, rtol=0, atol=1e-5)
    order = np.random.default_rng(0).permutation(len(TEXTS) * 3) % len(TEXTS)
    answers = run_encoder_onnx(result.path, [TEXTS[i] for i in order])
    np.testing.assert_allclose(answers, expected[order], rtol=0, atol=1e-5)


def test_its_tokenizer_cuts_a_text_as_ours_does(case):
    classifier, result = case
    made = Tokenizer.from_file(str(result.path / "tokenizer.json"))
    ours = [doc.ids.tolist() for doc in classifier.predictor_.prepare(TEXTS)]
    assert [made.encode(text).ids for text in TEXTS] == ours
    for encoding, ids in zip(made.encode_batch(TEXTS), ours, strict=True):
        padding = max(map(len, ours)) - len(ids)
        assert encoding.ids == [*ids, *[classifier.predictor_.pad] * padding]
        assert encoding.attention_mask == [1] * len(ids) + [0] * padding


def test_the_result_says_what_was_done(case):
    classifier, result = case
    model, name = classifier.predictor_.model, classifier.plan_.mask
    kept = unfoldable(copy.deepcopy(model), name)
    assert 0 <= result.difference <= 1e-5
    assert (result.format, result.folded) == ("onnx", not kept)
    (note,) = result.notes
    assert note.startswith("mask kept in the graph: " if kept else "mask folded into the word vectors")
    assert result.files == ("README.md", "config.json", "model.onnx", "tokenizer.json")
    assert result.sizes == {name: (result.path / name).stat().st_size for name in result.files}
    assert note in (result.path / "README.md").read_text(encoding="utf-8")
    config = json.loads((result.path / "config.json").read_text(encoding="utf-8"))
    assert config["max_tokens"] == classifier.predictor_.tokenizer.max_tokens
    assert config["vmask"]["folded"] == result.folded


def test_the_config_has_what_a_program_needs(exported):
    config = json.loads((exported.path / "config.json").read_text(encoding="utf-8"))
    about = config.pop("vmask")
    assert config == {
        "labels": ["neg", "pos"],
        "max_tokens": SHORT,
        "inputs": {
            "input_ids": {"type": "int64", "shape": ["batch", "tokens"]},
            "attention_mask": {"type": "int64", "shape": ["batch", "tokens"]},
        },
        "outputs": {"probabilities": {"type": "float32", "shape": ["batch", 2]}},
    }
    digests = about.pop("sha256")
    assert set(digests) == {"model.onnx", "tokenizer.json"}
    for name, digest in digests.items():
        assert hashlib.sha256((exported.path / name).read_bytes()).hexdigest() == digest
    assert about == {
        "version": __version__,
        "export": "onnx",
        "model": "distilbert",
        "mask": "vmask",
        "folded": True,
        "files": list(exported.files),
    }
    session = onnxruntime.InferenceSession(exported.path / "model.onnx")
    for name, given in zip(config["inputs"], session.get_inputs(), strict=True):
        assert (given.name, given.shape, given.type) == (name, ["batch", "tokens"], "tensor(int64)")
    (answer,) = session.get_outputs()
    assert (answer.name, answer.shape, answer.type) == ("probabilities", ["batch", 2], "tensor(float)")


def test_the_code_of_its_readme_runs_without_vmask_and_torch(masking_encoder, exported):
    card = (exported.path / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# distilbert-vmask\n")
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
    classifier = masking_encoder("distilbert")
    rows, labels = classifier.predict_proba(texts), classifier.predict(texts)
    expected = [f"{label}\t{row.max():.4f}\t{text}" for label, row, text in zip(labels, rows, texts, strict=True)]
    assert done.stdout.splitlines() == expected


def test_the_files_tell_nothing_of_the_machine_that_wrote_them(exported, encoder_folder):
    for name in exported.files:
        content = (exported.path / name).read_bytes()
        for place in (Path(onnx.__file__).parent, Path(torch.__file__).parent, encoder_folder("distilbert")):
            assert str(place).encode() not in content


def test_labels_that_are_numbers_stay_numbers_and_base_has_no_mask(masking_encoder, tmp_path, monkeypatch):
    classifier = masking_encoder("distilbert", "base", (1, 5))
    monkeypatch.setattr(encoder_onnx, "export_module", lambda *_: None)
    monkeypatch.setattr(encoder_onnx, "run_encoder_onnx", lambda folder, texts: classifier.predict_proba(texts))
    result = classifier.export(tmp_path / "out", "onnx")
    assert json.loads((result.path / "config.json").read_text())["labels"] == [1, 5]
    assert result.notes == ("no mask to fold: base leaves the word vectors as they are",)
    assert result.folded


@pytest.mark.slow
def test_the_same_again_is_the_same_file(masking_encoder, exported, tmp_path):
    loaded = TextClassifier.load(masking_encoder("distilbert").save(tmp_path / "model"), "cpu")
    again = loaded.export(tmp_path / "again", "onnx")
    assert (again.path / "model.onnx").read_bytes() == (exported.path / "model.onnx").read_bytes()


@pytest.mark.slow
def test_buckets_of_distances_as_in_deberta_v3(encoder_folder, tmp_path):
    more = {"position_buckets": 4, "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0}
    folder = encoder_folder("deberta-v2", **more, position_biased_input=False, max_position_embeddings=100)
    classifier = TextClassifier(str(folder), "base", epochs=1, device="cpu", duplicates="ignore")
    classifier.fit(["a lovely film", "an awful film"] * 5, [1, 0] * 5)
    result = classifier.export(tmp_path / "out", "onnx")
    answers = run_encoder_onnx(result.path, TEXTS)
    np.testing.assert_allclose(answers, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)


# Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mask", "way_out"), [("vmask", True), ("l2x", False)])
def test_an_encoder_that_the_exporter_does_not_know_is_said_with_the_way_out(
    masking_encoder, tmp_path, monkeypatch, mask, way_out
):
    def refuse(*_, **__):
        raise RuntimeError("no such operation") from ValueError("aten.odd is not known\nand much more")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    with pytest.raises(ExportError, match=r"cannot be put into an ONNX graph: aten.odd is not known\. ") as caught:
        masking_encoder("distilbert", mask).export(tmp_path / "out", "onnx")
    assert str(caught.value).endswith("Use --format hf, which needs no graph.") == way_out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [0.01, float("nan")])
def test_a_file_that_answers_otherwise_is_not_kept(masking_encoder, tmp_path, monkeypatch, wrong):
    classifier = masking_encoder("distilbert")
    monkeypatch.setattr(encoder_onnx, "export_module", lambda *_: None)
    monkeypatch.setattr(encoder_onnx, "run_encoder_onnx", lambda folder, texts: classifier.predict_proba(texts) + wrong)
    with pytest.raises(ExportError, match=r"differ from the model's by .*, so it was not kept. Install the versions"):
        classifier.export(tmp_path / "out", "onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_said_with_the_command(masking_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == "onnxscript" else name)
    with pytest.raises(MissingExtra, match=r"Export to ONNX needs the 'onnx' extra. Run: pip install 'vmask\[onnx\]'"):
        masking_encoder("distilbert").export(tmp_path / "out", "onnx")
    assert list(tmp_path.iterdir()) == []
