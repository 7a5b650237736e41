from __future__ import annotations

import json
import logging
import shutil
import sys
from types import SimpleNamespace

import pytest

from tiny_encoders import save_encoder
from vmask.errors import AssetError, ConfigError, FileMissing, MissingExtra, ModelFolderError
from vmask.pretrained import encoders
from vmask.pretrained.encoders import (
    ENCODERS,
    encoder_digest,
    is_encoder_name,
    load_encoder,
    load_encoder_config,
    load_pretrained,
    load_tokenizer,
    locate_encoder,
    public_name,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny encoder. Do not write to it."""
    return save_encoder("bert", tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture
def copy(folder, tmp_path):
    """The same, to be damaged."""
    return shutil.copytree(folder, tmp_path / "copy")


@pytest.mark.parametrize("name", [*ENCODERS, "bert-base-uncased", "org/name", "./mine", "/mine", "~/mine"])
def test_names_that_can_only_be_an_encoder(name):
    assert is_encoder_name(name)


@pytest.mark.parametrize("name", ["cmn", "cnn", "lstm", "", "-", "minlm", "a-", "two words"])
def test_names_that_are_none(name):
    assert not is_encoder_name(name)


def test_a_folder_here_is_an_encoder_name(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert is_encoder_name("tiny")
    assert not is_encoder_name("tinny")


def test_where_an_encoder_is(folder, monkeypatch):
    monkeypatch.setattr(encoders, "fetch", lambda name: folder)
    assert locate_encoder("minilm") == str(folder)
    assert locate_encoder(str(folder)) == str(folder)
    assert locate_encoder("org/name") == "org/name"
    assert locate_encoder("bert-base-uncased") == "bert-base-uncased"
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert locate_encoder("~/tiny") == str(folder)


@pytest.mark.parametrize("name", ["./nowhere", "/no/where", "~/nowhere", "../nowhere"])
def test_a_path_that_is_not_there_is_no_name_of_the_hub(name):
    with pytest.raises(FileMissing, match=r"no encoder folder '.*nowhere'|'/no/where'.*or minilm\.$"):
        locate_encoder(name)


def test_a_file_is_no_folder(folder):
    with pytest.raises(FileMissing, match="no encoder folder"):
        locate_encoder(str(folder / "config.json"))


def test_a_folder_without_a_configuration_is_no_encoder(tmp_path):
    with pytest.raises(ModelFolderError, match=r"has no config\.json.*Give the folder"):
        locate_encoder(str(tmp_path))


def test_a_name_tells_no_path(folder, monkeypatch):
    assert public_name(str(folder)) == public_name(f"{folder}/") == "tiny"
    monkeypatch.chdir(folder)
    assert public_name(".") == "tiny"
    assert (public_name("minilm"), public_name("org/name")) == ("minilm", "org/name")
    assert {public_name(f"{start}no/longer/there") for start in ("/", "./", "../", "~/")} == {"there"}


def test_loading(folder):
    import torch

    tokenizer = load_tokenizer(str(folder))
    ids = tokenizer("Films")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "film", "##s", "[SEP]"]
    assert load_encoder_config(str(folder)).hidden_size == 16
    model = load_encoder(str(folder))
    assert not model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_half_precision_weights_are_loaded_as_float32(copy):
    import torch
    from safetensors.torch import load_file, save_file

    path = copy / "model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    config = json.loads((copy / "config.json").read_text(encoding="utf-8")) | {"dtype": "float16"}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert next(load_encoder(str(copy)).parameters()).dtype == torch.float32


def test_loading_is_silent_and_leaves_the_settings_alone(copy, capfd):
    from safetensors.torch import load_file, save_file
    from transformers.utils import logging as noise

    path = copy / "model.safetensors"
    weights = {name: tensor for name, tensor in load_file(path).items() if "pooler" not in name}
    save_file(weights, path, {"format": "pt"})  # what transformers would report at length
    before = noise.get_verbosity(), noise.is_progress_bar_enabled()
    load_encoder(str(copy))
    assert capfd.readouterr() == ("", "")
    assert (noise.get_verbosity(), noise.is_progress_bar_enabled()) == before
    assert logging.getLogger("transformers").level == before[0]


@pytest.mark.parametrize(
    ("file", "text", "load"),
    [
        ("config.json", "{", load_encoder_config),
        ("config.json", '{"model_type": "nonesuch"}', load_encoder),
        ("tokenizer.json", "{}", load_tokenizer),
        ("model.safetensors", "short", load_encoder),
        ("model.safetensors", None, load_encoder),
    ],
)
def test_a_damaged_folder_is_named_with_the_fix(copy, file, text, load):
    (copy / file).unlink()
    if text is not None:
        (copy / file).write_text(text, encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"The encoder in '.*copy' cannot be loaded: .*Copy the folder again"):
        load(str(copy))


def test_a_pickle_is_not_loaded(copy):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(ModelFolderError, match="cannot be loaded"):
        load_encoder(str(copy))
    with pytest.raises(ModelFolderError, match=r"no model\.safetensors.*save_pretrained"):
        encoder_digest(str(copy))


def test_code_that_comes_with_an_encoder_is_not_run(copy):
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine"}}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (copy / "mine.py").write_text("raise SystemExit('the code ran')\n", encoding="utf-8")
    with pytest.raises(ModelFolderError, match="cannot be loaded"):
        load_encoder_config(str(copy))


def refuse(*args, **kwargs):
    raise OSError("We couldn't connect to the hub.\nAnd more lines.")


def test_a_name_that_the_hub_does_not_give(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    message = r"'{}' cannot be loaded from the Hugging Face hub: We couldn't connect to the hub\.{} Check .*folder"
    with pytest.raises(AssetError, match=message.format("org/name", "")):
        load_encoder_config("org/name")
    with pytest.raises(AssetError, match=message.format("minlm", r" Did you mean 'minilm'\?")):
        encoder_digest("minlm")


def test_a_slow_tokenizer_is_refused(monkeypatch):
    monkeypatch.setattr(encoders, "load_pretrained", lambda kind, name: SimpleNamespace(is_fast=False))
    with pytest.raises(ConfigError, match=r"no fast tokenizer.*offsets.*tokenizer\.json"):
        load_tokenizer("org/name")


def test_without_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'vmask\[encoders\]'"):
        load_pretrained("AutoModel", str(folder))
    with pytest.raises(MissingExtra, match=r"pip install 'vmask\[encoders\]'"):
        encoder_digest("org/name")


def test_the_digest_is_of_what_the_answers_depend_on(folder, copy):
    digest = encoder_digest(str(folder))
    assert len(digest) == 64
    (copy / "README.md").write_text("other words", encoding="utf-8")
    assert encoder_digest(str(copy)) == digest
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data + b" ")
        assert encoder_digest(str(copy)) != digest
        (copy / name).write_bytes(data)
    assert encoder_digest(str(copy)) == digest


def test_the_digest_of_a_name_of_the_hub_is_that_of_its_files(folder, monkeypatch):
    import huggingface_hub

    requests = []

    def snapshot(name, allow_patterns):
        requests.append((name, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert encoder_digest("org/name") == encoder_digest(str(folder))
    ((name, patterns),) = requests
    assert name == "org/name"
    assert "model*.safetensors" in patterns


@pytest.mark.slow
def test_the_real_minilm(tmp_path, monkeypatch):
    from vmask.pretrained.word_vectors import read_vectors

    monkeypatch.setenv("VMASK_CACHE", str(tmp_path))
    assert load_encoder_config("minilm").hidden_size == 384
    vectors = read_vectors("distil:minilm@3", ["film", "movie", "films", "tax", "budget"])
    assert vectors.matrix.shape == (5, 3)
    film, movie, films, tax, budget = vectors.matrix
    assert min(film @ movie, film @ films) > 0 > max(film @ tax, film @ budget)
