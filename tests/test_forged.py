"""Folders and files from a stranger are data: none runs code, asks, hangs, fills the memory or shows a secret."""

from __future__ import annotations

import builtins
import gzip
import json
import os
import pickle
import shutil
import struct
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from forging import (
    AUTO_MAP,
    SECRET,
    Bait,
    charsmap,
    edit,
    plant_code,
    put,
    read_config,
    rewrite_header,
    sign,
    sparse_weights,
    write_header,
)
from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask.cli.main import main
from vmask.data.recorded_source import dataset_of, recorded_source
from vmask.errors import DataError, ModelFolderError, VmaskError, VmaskWarning
from vmask.pretrained.encoders import load_encoder, load_pretrained, load_tokenizer, plain_config
from vmask.pretrained.word_vectors import read_vectors
from vmask.serve.loaded_model import Examples
from vmask.text.tokenizer_file import check_tokenizer

TEXTS = ["a lovely film", "", "yes"]
LIMIT_MB = 700


@pytest.fixture(autouse=True)
def watched(tmp_path, monkeypatch):
    """Nothing may leave a trace, ask, or take much memory."""
    canary = tmp_path / "canary"
    monkeypatch.setenv("VMASK_CANARY", str(canary))
    monkeypatch.setattr(builtins, "input", lambda *words: pytest.fail(f"asked: {words}"))
    before = _peak_mb()
    yield
    assert not canary.exists(), "planted code ran"
    assert _peak_mb() - before < LIMIT_MB
    assert "mine" not in sys.modules


def _peak_mb():
    """The most memory that this process had, where the system tells."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@pytest.fixture(scope="module")
def stored(fitted_encoder, tmp_path_factory):
    """A model folder of a tiny encoder. Do not write to it."""
    return fitted_encoder("bert").save(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def bert(stored, tmp_path):
    """A copy of it, to be forged."""
    return Path(shutil.copytree(stored, tmp_path / "bert"))


@pytest.fixture
def cnn(model_folder, tmp_path):
    """A copy of a model of words, to be forged."""
    return Path(shutil.copytree(model_folder, tmp_path / "cnn"))


@pytest.fixture
def encoder(encoder_folder, tmp_path):
    """A copy of an encoder, to be forged."""
    return Path(shutil.copytree(encoder_folder("bert"), tmp_path / "encoder"))


def refused(folder, match=""):
    """A folder that is refused in a line or two."""
    with pytest.raises(VmaskError, match=match) as caught:
        TextClassifier.load(folder).predict(TEXTS)
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


def harmless(folder):
    """A folder that is refused or answers."""
    with suppress(VmaskError):
        assert np.isfinite(TextClassifier.load(folder).predict_proba(TEXTS)).all()


def change_encoder(folder, **values):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= values
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


# Code -----------------------------------------------------------------------------------------------------

NAMED = {
    "auto_map": {"auto_map": AUTO_MAP},
    "auto_map of clip": {"auto_map": AUTO_MAP, "model_type": "clip"},
    "auto_map of no family": {"auto_map": AUTO_MAP, "model_type": "mine"},
    "auto_map within": {"text_config": {"auto_map": AUTO_MAP}, "backbone_config": {"auto_map": AUTO_MAP}},
    "trust": {"auto_map": AUTO_MAP, "trust_remote_code": True, "model_type": "mine"},
    "kernel": {"_attn_implementation": "stranger/kernel", "attn_implementation": {"": "stranger/kernel"}},
    "quantised": {"quantization_config": {"quant_method": "gptq", "bits": 4, "dataset": "c4"}},
    "pickled weights": {"transformers_weights": "pytorch_model.bin"},
    "method names": {"to_dict": "x", "__init__": 1, "update": 2},
}


@pytest.mark.parametrize("values", NAMED.values(), ids=NAMED)
def test_a_stored_configuration_runs_nothing(bert, values):
    plant_code(bert)
    torch.save({"a": Bait(os.environ["VMASK_CANARY"])}, bert / "pytorch_model.bin")
    edit(bert, lambda config: config["encoder"].update(values, _name_or_path=str(bert), name_or_path=str(bert)))
    harmless(bert)


def test_a_line_yes_on_standard_input_runs_nothing(bert, capsys, monkeypatch, tmp_path):
    plant_code(bert)
    values = {"model_type": "clip", "auto_map": AUTO_MAP, "_name_or_path": str(bert)}
    edit(bert, lambda config: config["encoder"].update(values))
    (tmp_path / "answers").write_text("yes\nyes\n", encoding="utf-8")
    with (tmp_path / "answers").open(encoding="utf-8") as answers:
        monkeypatch.setattr(sys, "stdin", answers)
        assert main(["predict", str(bert), "-"]) == 2
    assert capsys.readouterr().err.count("\n") <= 2


@pytest.mark.parametrize("values", NAMED.values(), ids=NAMED)
def test_an_encoder_to_train_runs_nothing(encoder, values):
    plant_code(encoder)
    torch.save({"a": Bait(os.environ["VMASK_CANARY"])}, encoder / "pytorch_model.bin")
    change_encoder(encoder, **values, _name_or_path=str(encoder))
    for kind in ("AutoConfig", "AutoTokenizer", "AutoModel", "AutoModelForSequenceClassification"):
        with suppress(ModelFolderError):
            load_pretrained(kind, str(encoder))


def test_a_tokenizer_that_brings_its_class_runs_nothing(encoder):
    plant_code(encoder)
    settings = json.loads((encoder / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["auto_map"] = {"AutoTokenizer": ["mine.MineTokenizer", "mine.MineTokenizer"]}
    (encoder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    with suppress(VmaskError):
        load_tokenizer(str(encoder))


def test_weights_in_a_pickle_are_not_opened(encoder):
    (encoder / "model.safetensors").unlink()
    torch.save({"a": Bait(os.environ["VMASK_CANARY"])}, encoder / "pytorch_model.bin")
    with pytest.raises(ModelFolderError, match="cannot be loaded"):
        load_encoder(str(encoder))


@pytest.mark.parametrize("part", ["pytorch_model.bin", "../bert.safetensors", "/dev/zero", 7])
def test_an_index_that_names_other_files_is_refused(encoder, part):
    (encoder / "model.safetensors").rename(encoder / "part.safetensors")
    torch.save({"a": Bait(os.environ["VMASK_CANARY"])}, encoder / "pytorch_model.bin")
    index = {"metadata": {}, "weight_map": {"a": "part.safetensors", "b": part}}
    (encoder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="names files that are no safetensors of this folder"):
        load_encoder(str(encoder))


def test_an_adapter_beside_an_encoder_is_refused(encoder):
    (encoder / "adapter_config.json").write_text('{"base_model_name_or_path": "stranger/net"}', encoding="utf-8")
    with pytest.raises(ModelFolderError, match="has an adapter beside it"):
        load_encoder(str(encoder))


@pytest.mark.parametrize(
    "write", [lambda path, bait: path.write_bytes(pickle.dumps(bait)), lambda p, b: torch.save(b, p)]
)
def test_a_pickle_in_the_place_of_weights_is_not_opened(cnn, write):
    write(cnn / "model.safetensors", Bait(os.environ["VMASK_CANARY"]))
    sign(cnn)
    refused(cnn, "is damaged")


def test_what_names_code_is_dropped_and_sizes_stay():
    config = {"hidden_size": 4, "conv_kernel_size": 3, "adapter_reduction_factor": 2, "hidden_act": "gelu"}
    named = {"auto_map": {}, "use_kernels": True, "_name_or_path": "a", "x": "a/b", "inner": {"auto_map": {}, "y": 1}}
    assert plain_config({**config, **named}) == {**config, "inner": {"y": 1}}


# Sizes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("encoder/num_hidden_layers", 10**7),
        ("encoder/num_hidden_layers", 10**5),
        ("encoder/hidden_size", 60_000),
        ("encoder/vocab_size", 10**10),
        ("encoder/intermediate_size", 10**9),
        ("encoder/max_position_embeddings", 10**9),
        ("tokenizer/max_tokens", 10**5),
        ("encoder/vocab_size", "many"),
        ("encoder/layer_norm_eps", [1]),
        ("tokenizer/settings/unk_token", True),
    ],
)
def test_an_encoder_of_other_sizes_than_its_weights_is_refused(bert, way, value):
    edit(bert, lambda config: put(config, way, value))
    refused(bert, "is damaged")


@pytest.mark.parametrize(
    ("key", "value"), [("num_hidden_layers", 10**7), ("hidden_size", 60_000), ("num_labels", 10**9)]
)
def test_an_encoder_to_train_of_other_sizes_than_its_weights_is_refused(encoder, key, value):
    change_encoder(encoder, **{key: value})
    with pytest.raises(ModelFolderError, match="cannot be loaded"):
        load_encoder(str(encoder))


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("plan/model_options/filters", 10**7),
        ("plan/model_options/widths", [10**9]),
        ("plan/mask_options/hidden", 10**9),
        ("max_words", 10**9),
        ("labels", [f"label {i}" for i in range(10_000)]),
    ],
)
def test_a_model_of_words_of_other_sizes_than_its_weights_is_refused(cnn, way, value):
    edit(cnn, lambda config: put(config, way, value))
    refused(cnn, "is damaged")


def test_texts_are_not_padded_beyond_the_memory(cnn):
    edit(cnn, lambda config: (config.update(max_words=100_000), config["plan"]["train"].update(pad_to_max=True)))
    refused(cnn, "pads every text to 100,000 words")


TABLE = "encoder.embedding.weight"


@pytest.mark.parametrize(
    ("key", "value"),
    [("shape", [10**9, 10**9]), ("shape", [0, 100]), ("dtype", "F4096"), ("data_offsets", [0, 2**62]), ("shape", [-1])],
)
def test_a_header_that_lies_is_refused(cnn, key, value):
    rewrite_header(cnn / "model.safetensors", lambda header: header[TABLE].update({key: value}))
    sign(cnn)
    refused(cnn, "is damaged")


def test_a_header_longer_than_its_file_is_refused(cnn):
    write_header(cnn / "model.safetensors", {"a": ("F32", [1], (0, 4))}, bytes(4), length=2**60)
    sign(cnn)
    refused(cnn, "is damaged")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_file_without_an_end_is_refused_before_it_is_read(cnn, name):
    with (cnn / name).open("r+b") as stream:
        stream.truncate(4 << 40)
    refused(cnn, f"{name} has .* GB, at most")


def test_zeros_that_take_no_place_on_the_disk_are_refused(cnn):
    sparse_weights(cnn / "model.safetensors", {TABLE: (10**10, 100)})
    refused(cnn, r"4,000\.0 GB, at most")


@pytest.mark.parametrize(
    "change", [lambda t: t * float("nan"), lambda t: t + float("inf"), lambda t: t.to(torch.complex64)]
)
def test_weights_that_are_no_numbers_are_refused(cnn, change):
    tensors = load_file(cnn / "model.safetensors")
    tensors[TABLE] = change(tensors[TABLE])
    save_file(tensors, cnn / "model.safetensors")
    sign(cnn)
    refused(cnn, "no finite numbers")


def test_answers_that_are_no_numbers_are_said(cnn):
    tensors = {
        k: torch.full_like(t, 3e38) if t.dtype == torch.float32 and not k.startswith("dev.") else t
        for k, t in load_file(cnn / "model.safetensors").items()
    }
    save_file(tensors, cnn / "model.safetensors")
    sign(cnn)
    refused(cnn, "answers are no numbers")


@pytest.mark.parametrize("change", [lambda t: t[:, None], lambda t: -t - 1, lambda t: t.double(), lambda t: t[0]])
def test_counts_of_words_of_another_kind_are_refused(cnn, change):
    tensors = load_file(cnn / "model.safetensors")
    tensors["words.count"] = change(tensors["words.count"]).contiguous()
    save_file(tensors, cnn / "model.safetensors")
    sign(cnn)
    refused(cnn, r"words\.count is no list of numbers|another number of words")


# Tokenizers -----------------------------------------------------------------------------------------------


def change_tokenizer(folder, key, value):
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    put(tokenizer, key, value)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    if "digest" in read_config(folder):
        sign(folder)


SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}
DOUBLE = {"type": "Replace", "pattern": {"Regex": "."}, "content": "ab"}
ADDED = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
TOKENIZERS = {
    "panic in a search": ("pre_tokenizer", {**SPLIT, "pattern": {"Regex": "(a+a*|[a-z ]+)+;"}}),
    "broken regex": ("pre_tokenizer", {**SPLIT, "pattern": {"Regex": "((("}}),
    "bomb": ("normalizer", {"type": "Sequence", "normalizers": [DOUBLE] * 40}),
    "long replacement": ("normalizer", {**DOUBLE, "content": "x" * 10**6}),
    "long prefix": ("normalizer", {"type": "Prepend", "prepend": "x" * 10**6}),
    "long map": ("normalizer", {"type": "Precompiled", "precompiled_charsmap": charsmap(b"x" * 10**5)}),
    "lying map": ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "/////wAAAAAAAAAA"}),
    "ids beyond the table": ("added_tokens", [{"id": 10**6, "content": "film", **ADDED}]),
    "ids far beyond the table": ("added_tokens", [{"id": 2**32 - 1, "content": "film", **ADDED}]),
    "no token for unknown words": ("model/unk_token", "[nothing]"),
    "unigram": ("model", {"type": "Unigram", "unk_id": 10**6, "vocab": [["a", 0.0]]}),
}


@pytest.mark.parametrize(("key", "value"), TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_forged_tokenizer_of_an_encoder_is_refused_or_answers(bert, key, value):
    change_tokenizer(bert, key, value)
    harmless(bert)


@pytest.mark.parametrize("name", ["bomb", "long replacement", "long prefix", "long map"])
def test_rules_that_fill_the_memory_are_refused(name, encoder):
    change_tokenizer(encoder, *TOKENIZERS[name])
    with pytest.raises(ModelFolderError, match=r"times as long"):
        check_tokenizer((encoder / "tokenizer.json").read_text(encoding="utf-8"))
    with pytest.raises(ModelFolderError, match=r"times as long"):
        load_tokenizer(str(encoder))


def test_a_map_of_characters_that_ends_the_process_is_refused(bert):
    change_tokenizer(bert, *TOKENIZERS["lying map"])
    refused(bert, "was cut short")


@pytest.mark.parametrize("name", ["panic in a search", "bomb", "ids beyond the table"])
def test_the_rules_of_a_model_of_words_are_not_taken_from_a_stranger(cnn, name):
    change_tokenizer(cnn, *TOKENIZERS[name])
    refused(cnn, "has other rules for splitting texts")


def test_ids_of_words_without_vectors_are_refused(cnn):
    change_tokenizer(cnn, "model/vocab", {"<pad>": 0, "<unk>": 1, "film": 10**9})
    refused(cnn, "is not a word tokenizer of vmask")


# What is signed, and what is read -------------------------------------------------------------------------


def test_a_report_that_is_a_pipe_is_not_waited_for(cnn, toy_csv, capsys):
    os.mkfifo(cnn / "report.html")
    assert main(["show", str(cnn), str(toy_csv)]) == 2
    assert "is no report of a model" in capsys.readouterr().err


def test_a_report_that_nobody_noted_is_said(cnn):
    (cnn / "report.html").write_text("<script>", encoding="utf-8")
    with pytest.warns(VmaskWarning, match=r"report\.html was changed"):
        TextClassifier.load(cnn)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("about/text", ["a"]),
        ("about/dataset", 7),
        ("about/seconds", {"a": 1}),
        ("about/test_accuracy", float("nan")),
        ("about/notes", [1]),
        ("data/train", "many"),
        ("data/coverage", {"types": "all"}),
        ("history", ["a"]),
        ("history/0", 0),
        ("best_epoch", 10**9),
    ],
)
def test_facts_that_no_report_could_tell_are_refused(cnn, way, value):
    edit(cnn, lambda config: put(config, way, value))
    refused(cnn, r"config\.json is damaged: it has no usable")


CALIBRATIONS = (
    *(
        {"temperature": value, "bias": []}
        for value in (0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), "1", None, [1])
    ),
    *({"temperature": 1.0, "bias": value} for value in ([1.0], [0.0] * 3, [float("nan"), 0.0], [1e30, 0.0], "ab", {})),
    *({}, [], "temperature", 1.5, True),
)


@pytest.mark.parametrize("forged", CALIBRATIONS, ids=repr)
def test_a_calibration_that_is_none_is_refused(cnn, forged):
    edit(cnn, lambda config: config.update(calibration=forged))
    refused(cnn, "its calibration")


@pytest.mark.parametrize("labels", [["a", "a"], ["a", 1], [float("nan"), 1.0], [10**290, 1], [["a"], ["b"]], []])
def test_labels_that_are_no_classes_are_refused(cnn, labels):
    edit(cnn, lambda config: config.update(labels=labels))
    refused(cnn, "is damaged: its labels are")


@pytest.mark.parametrize("known", [False, True])
def test_a_table_that_a_folder_names_is_not_shown(cnn, tmp_path, capsys, known):
    secret = write_csv(tmp_path / "secret.csv", [f"{SECRET} {i}" for i in range(40)], ["pos", "neg"] * 20)
    noted = {"source_bytes": secret.stat().st_size, "source_sha256": "0" * 64} if known else {}
    about = {"source": str(secret), "text": "text", "label": "label", **noted}
    edit(cnn, lambda config: config.update(about=about))
    assert main(["show", str(cnn), "--out", str(tmp_path / "page.html")]) == 2
    assert SECRET not in "".join(capsys.readouterr())
    assert not (tmp_path / "page.html").exists()
    found, reason = Examples.find(about, None, None, 10)
    assert found is None
    assert SECRET not in reason


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
@pytest.mark.parametrize("source", ["/proc", "/proc/kcore", "/proc/kmsg", "/dev/zero", "x" * 5000, "a\0b"])
def test_a_source_without_an_end_is_not_read(source):
    size = Path(source).stat().st_size if source.startswith("/proc/k") and Path(source).exists() else 0
    about = {"source": source, "source_sha256": "0" * 64, "source_bytes": size}
    with pytest.raises(DataError, match=r"Name the data"):
        dataset_of(about)
    assert Examples.find(about, None, None, 10)[0] is None


def test_a_source_with_the_content_that_was_recorded_is_read(tmp_path):
    path = write_csv(tmp_path / "mine.csv", *toy_texts(40))
    about = {**recorded_source(str(path)), "text": "text", "label": "label"}
    assert dataset_of(about).name == "mine.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("film", "tape"), encoding="utf-8")
    with pytest.raises(DataError, match="what is there now is not what the model was trained on"):
        dataset_of(about)


# Word vectors ---------------------------------------------------------------------------------------------


def npy(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


VECTORS = {
    "v.bin": b"1000000000000 5\nfilm " + bytes(20),
    "w.bin": b"10 1000000000\nfilm " + bytes(20),
    "x.bin": b"5 5\n" + b"1" * 300_000,
    "v.txt": b"1 1000000000000\nfilm 1 2\n",
    "v.txt.gz": gzip.compress(b"film 1 2\nfilm " + b"1" * (1 << 24)),
    "v.npy": npy("(1, 10000000000000)"),
    "w.npy": npy("(1, -5)"),
    "x.npy": npy("(1, 0)"),
    "y.npy": npy("(" * 9000 + ")" * 9000),
    "z.npy": npy("__import__('os').system('x')"),
}


@pytest.mark.parametrize(("name", "content"), VECTORS.items(), ids=VECTORS)
def test_word_vectors_with_a_lying_header_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    (tmp_path / name).with_suffix(".vocab.txt").write_text("film\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_vectors(str(tmp_path / name), ["film"])
    assert len(str(caught.value)) < 500


def test_word_vectors_in_a_pickle_are_not_opened(tmp_path):
    bait = np.array([[Bait(os.environ["VMASK_CANARY"])]], dtype=object)
    np.save(tmp_path / "v.npy", bait, allow_pickle=True)
    (tmp_path / "v.vocab.txt").write_text("film\n", encoding="utf-8")
    with pytest.raises(DataError):
        read_vectors(str(tmp_path / "v.npy"), ["film"])


# Checkpoints ----------------------------------------------------------------------------------------------


def change_state(folder, way, value):
    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    put(state, way, value)
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def reshape(folder):
    save_file({"model.encoder.head.weight": torch.zeros(3)}, next(folder.glob("epoch-*.safetensors")))


def put_pipe(folder):
    path = next(folder.glob("epoch-*.safetensors"))
    path.unlink()
    os.mkfifo(path)


CHECKPOINTS = {
    "elsewhere": lambda folder: change_state(folder, "files/last", "../other.safetensors"),
    "device": lambda folder: change_state(folder, "files/best", "/dev/zero"),
    "epoch": lambda folder: change_state(folder, "epoch", 10**12),
    "history": lambda folder: change_state(folder, "history", [7]),
    "deep": lambda folder: (folder / "state.json").write_text("[" * 10**5, encoding="utf-8"),
    "shapes": reshape,
    "pipe": put_pipe,
}


@pytest.mark.parametrize("damage", CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_a_forged_checkpoint_is_refused(tmp_path, toy, damage):
    def train(**more):
        classifier = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2)
        classifier.fit(toy[0][:40], toy[1][:40], checkpoint=tmp_path / "checkpoint", **more)

    train()
    damage(tmp_path / "checkpoint")
    with pytest.raises(ModelFolderError, match=r"The checkpoint in .* cannot be read: .* Delete that folder"):
        train(resume=True)
