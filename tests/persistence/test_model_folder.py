"""A model folder: whole or not there at all, checked when it is read, never overwritten silently."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from vmask import TextClassifier
from vmask.errors import ModelFolderError, OutputExists, UnknownName, VmaskError, VmaskWarning
from vmask.persistence import model_folder as persistence
from vmask.persistence.model_folder import check_free

FILES = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
TEXTS = ["a lovely film", "an awful film", "", "never seen", "电影 lovely"]


@pytest.fixture
def folder(model_folder, tmp_path):
    """A copy of a model folder, to be damaged."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def config_of(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def write_config(folder, config, signed=True):
    """Write a configuration: with its digest as who forges a folder would, or as who edits it by hand."""
    if signed:
        config = {**config, "digest": persistence.digest_of(config)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Saving and loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"model": "lstm"}, {"mask": "iba"}, {"mask": "base"}])
def test_a_loaded_model_gives_exactly_the_same_probabilities(options, toy, tmp_path):
    texts, labels = toy
    saved = TextClassifier(embeddings="random", epochs=3, learning_rate=0.01, **options).fit(texts, labels)
    loaded = TextClassifier.load(saved.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(TEXTS), saved.predict_proba(TEXTS))
    assert loaded.get_params() == saved.get_params()
    assert loaded.history_ == saved.history_
    assert loaded.best_epoch_ == saved.best_epoch_


def test_frozen_vectors_are_stored_exactly_in_half_the_space(toy, tmp_path):
    words = sorted({word for text in toy[0] for word in text.split()})
    stream = np.random.default_rng(0)
    rows = [f"{word} {' '.join(f'{v:.5f}' for v in stream.normal(size=10))}" for word in words]
    (tmp_path / "v.txt").write_text("\n".join(rows), encoding="utf-8")
    saved = TextClassifier(mask="base", embeddings=str(tmp_path / "v.txt"), epochs=1).fit(*toy)
    loaded = TextClassifier.load(saved.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(TEXTS), saved.predict_proba(TEXTS))
    from safetensors.torch import load_file

    table = load_file(tmp_path / "model" / "model.safetensors")["encoder.embedding.weight"]
    assert str(table.dtype) == "torch.float16"


def test_explanations_and_words_survive(fitted, model_folder):
    loaded = TextClassifier.load(model_folder)
    assert loaded.explain(TEXTS) == fitted.explain(TEXTS)
    assert loaded.word_importance() == fitted.word_importance()


@pytest.mark.parametrize("labels", [[1, 5], [False, True], [0.5, 3.5], ["ä", "中"]])
def test_labels_keep_their_kind(labels, tmp_path):
    given = labels * 10
    classifier = TextClassifier(mask="base", embeddings="random", epochs=1, duplicates="ignore")
    saved = classifier.fit(["one", "two"] * 10, given)
    loaded = TextClassifier.load(saved.save(tmp_path / "model"))
    assert loaded.classes_.tolist() == labels
    assert loaded.classes_.dtype == saved.classes_.dtype


def test_the_folder_has_four_files_and_no_pickle(folder):
    assert sorted(files_of(folder)) == FILES
    for name, data in files_of(folder).items():
        assert not data.startswith((b"\x80", b"PK")), f"{name} looks like a pickle or a zip"


def test_the_files_are_as_readable_as_any_other(tmp_path, fitted):
    umask = os.umask(0o022)
    try:
        folder = fitted.save(tmp_path / "model")
    finally:
        os.umask(umask)
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {"0o644"}


def test_a_loaded_model_can_be_saved_again(folder, tmp_path):
    again = TextClassifier.load(folder).save(tmp_path / "again")
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert np.array_equal(
        TextClassifier.load(again).predict_proba(TEXTS), TextClassifier.load(folder).predict_proba(TEXTS)
    )


def test_options_from_a_numpy_grid_can_be_saved(tmp_path, toy):
    options = {"epochs": np.int64(1), "mask__hidden": np.int32(10), "learning_rate": np.float32(0.5)}
    classifier = TextClassifier(embeddings="random", **options)
    loaded = TextClassifier.load(classifier.set_params(learning_rate=np.float64(0.01)).fit(*toy).save(tmp_path / "m"))
    assert loaded.get_params()["epochs"] == 1
    assert loaded.get_params()["mask__hidden"] == 10


def test_the_card_says_what_the_model_is(model_folder):
    card = (model_folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# CNN-vmask\n")
    assert "neg, pos" in card
    assert "Words it sees most of" in card
    assert "TextClassifier.load" in card


# Damage ---------------------------------------------------------------------------------------------------


def refused(folder, match):
    with pytest.raises(VmaskError, match=match) as caught:
        TextClassifier.load(folder)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def test_a_folder_that_is_not_there(tmp_path):
    refused(tmp_path / "none", "There is no model folder .*vmask train")


def test_a_folder_that_is_no_model(tmp_path):
    refused(tmp_path, r"not a complete model folder\. A model folder has a config\.json")


def test_a_folder_with_an_unfinished_training(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    refused(tmp_path, "unfinished: add --resume")


def test_a_format_of_the_future_names_the_version_that_wrote_it(folder):
    write_config(folder, {**config_of(folder), "format": 4, "vmask": "9.1.0"})
    assert "9.1.0" in refused(folder, "has format 4; this version of vmask reads format 3")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    refused(folder, f"lacks {name}. Copy the whole")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_truncated_file_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-10])
    refused(folder, f"{name} is not the file that was saved: truncated or changed")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_one_changed_byte_is_noticed(folder, name):
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    refused(folder, f"{name} is not the file that was saved: truncated or changed")


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"labels": []}'])
def test_a_config_that_is_not_ours_is_said(folder, data):
    (folder / "config.json").write_bytes(data)
    refused(folder, r"config\.json is damaged")


@pytest.mark.parametrize("key", [*persistence._KINDS])
@pytest.mark.parametrize("value", [..., None, 3.5])
def test_a_config_with_a_bad_entry_is_said(folder, key, value):
    config = config_of(folder)
    config.pop(key) if value is ... else config.update({key: value})
    write_config(folder, config)
    refused(folder, "damaged|truncated")


def test_a_config_with_other_sizes_than_the_weights_is_said(folder):
    config = config_of(folder)
    config["plan"]["model_options"]["filters"] = 7
    write_config(folder, config)
    refused(folder, "is damaged: its weights are not those of its configuration: encoder")
    write_config(folder, {**config_of(folder), "labels": ["neg", "pos", "third"]})
    refused(folder, "is damaged")


def test_weights_that_are_no_safetensors_are_said_even_when_the_digest_fits(folder):
    (folder / "model.safetensors").write_bytes(b"junk")
    config = config_of(folder)
    config["sha256"]["model.safetensors"] = persistence.sha256(folder / "model.safetensors")
    write_config(folder, config)
    refused(folder, "is damaged")


def test_a_mask_that_is_not_installed_is_named(folder):
    config = config_of(folder)
    config["plan"]["mask"] = "theirs"
    write_config(folder, config)
    with pytest.raises(UnknownName, match="Unknown mask 'theirs'"):
        TextClassifier.load(folder)


# What is signed -------------------------------------------------------------------------------------------


EDITS = {
    "labels reversed": lambda config: config["labels"].reverse(),
    "one word a text": lambda config: config.update(max_words=1),
    "another activation": lambda config: config["plan"]["model_options"].update(windows=[3, 4, 6]),
    "another cleaning": lambda config: config.update(cleaning="paper"),
    "a better accuracy": lambda config: config["about"].update(test_accuracy=1.0),
    "another source": lambda config: config["about"].update(source="/etc/passwd"),
    "a file elsewhere": lambda config: config["files"].update({"model.safetensors": "../model.safetensors"}),
    "no digest": lambda config: config.pop("digest"),
    "a new key": lambda config: config.update(more=1),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_the_configuration_is_found(folder, edit):
    config = config_of(folder)
    edit(config)
    write_config(folder, config, signed=False)
    refused(folder, r"config\.json is not what was saved: it was edited or damaged")


def test_the_order_of_keys_and_white_space_are_no_edit(folder):
    config = config_of(folder)
    text = json.dumps(dict(reversed(config.items())), indent=7, ensure_ascii=True)
    (folder / "config.json").write_text(text, encoding="utf-8")
    TextClassifier.load(folder)


def test_files_elsewhere_are_refused_from_a_forger_too(folder, tmp_path):
    shutil.copy(folder / "model.safetensors", tmp_path / "model.safetensors")
    config = config_of(folder)
    config["files"]["model.safetensors"] = "../model.safetensors"
    write_config(folder, config)
    refused(folder, "it names no model.safetensors")


def test_a_folder_of_the_old_format_loads_with_a_warning(folder):
    config = config_of(folder)
    for key in ("digest", "files"):
        del config[key]
    write_config(folder, {**config, "format": 1}, signed=False)
    with pytest.warns(VmaskWarning, match=r"older format, in which an edit of its config\.json is not noticed"):
        TextClassifier.load(folder)


def test_a_report_is_in_the_manifest_and_changes_no_digest(folder):
    before = config_of(folder)
    (folder / "report.html").write_text("page", encoding="utf-8")
    assert persistence.lacks_report(folder)
    persistence.note_report(folder)
    assert not persistence.lacks_report(folder)
    assert config_of(folder)["digest"] == before["digest"]
    TextClassifier.load(folder)
    (folder / "report.html").write_text("forged", encoding="utf-8")
    with pytest.warns(VmaskWarning, match=r"report\.html was changed since it was written"):
        TextClassifier.load(folder)


@pytest.mark.parametrize("noted", [False, True])
def test_the_report_of_a_model_that_is_replaced_goes(fitted, folder, noted):
    (folder / "report.html").write_text(f"<html> {persistence.GENERATOR}", encoding="utf-8")
    if noted:  # else a kill came between the model and its report
        persistence.note_report(folder)
    fitted.save(folder, overwrite=True)
    assert not (folder / "report.html").exists()


def test_a_page_of_the_users_own_stays(fitted, folder):
    (folder / "report.html").write_text("mine", encoding="utf-8")
    fitted.save(folder, overwrite=True)
    assert (folder / "report.html").read_text(encoding="utf-8") == "mine"


# Overwriting ----------------------------------------------------------------------------------------------


def test_a_model_is_replaced_only_when_told(fitted, folder):
    before = files_of(folder)
    with pytest.raises(OutputExists, match=r"exists.*overwrite=True"):
        fitted.save(folder)
    assert files_of(folder) == before
    (folder / "README.md").write_text("stale", encoding="utf-8")
    fitted.save(folder, overwrite=True)
    assert sorted(files_of(folder)) == ["README.md", "config.json", "model-2.safetensors", "tokenizer-2.json"]
    assert "stale" not in (folder / "README.md").read_text(encoding="utf-8")
    TextClassifier.load(folder)
    fitted.save(folder, overwrite=True)
    assert sorted(files_of(folder)) == FILES
    TextClassifier.load(folder)


def test_a_file_of_the_users_own_is_not_replaced(fitted, tmp_path):
    (tmp_path / "README.md").write_text("my project", encoding="utf-8")
    with pytest.raises(OutputExists, match=r"has a README\.md"):
        fitted.save(tmp_path)
    assert files_of(tmp_path) == {"README.md": b"my project"}


def test_other_files_of_a_folder_stay(fitted, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    fitted.save(tmp_path)
    assert sorted(files_of(tmp_path)) == sorted([*FILES, "notes.txt"])


# A full disk ----------------------------------------------------------------------------------------------


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


WRITERS = [
    ("vmask.persistence.model_folder.save_file", full),
    ("vmask.text.vocabulary.WordTokenizer.save", full),
    ("vmask.persistence.model_folder.model_card", full),
    ("vmask.persistence.model_folder.to_json", full),
]


@pytest.mark.parametrize(("where", "what"), WRITERS)
def test_a_full_disk_leaves_nothing_behind(fitted, tmp_path, monkeypatch, where, what):
    monkeypatch.setattr(where, what)
    with pytest.raises(ModelFolderError, match=r"could not be saved.*No space left.*Free some space"):
        fitted.save(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("where", "what"), WRITERS)
def test_a_full_disk_leaves_the_old_model_as_it_was(fitted, folder, monkeypatch, where, what):
    before = files_of(folder)
    monkeypatch.setattr(where, what)
    with pytest.raises(ModelFolderError):
        fitted.save(folder, overwrite=True)
    assert files_of(folder) == before
    TextClassifier.load(folder)


REAL = """
import resource, signal, sys
from vmask import TextClassifier
classifier = TextClassifier.load(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))  # every longer write fails, as on a full disk
try:
    classifier.save(sys.argv[2])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.full
def test_a_write_that_the_system_refuses_is_said(folder, tmp_path):
    command = [sys.executable, "-c", REAL, str(folder), str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("ModelFolderError The model could not be saved"), done.stderr
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_said(fitted, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(ModelFolderError, match="could not be saved"):
            fitted.save(path)


# Before a training ----------------------------------------------------------------------------------------


def test_a_new_or_empty_folder_is_free(tmp_path, monkeypatch):
    check_free(tmp_path)
    check_free(tmp_path / "a" / "b")
    monkeypatch.chdir(tmp_path)
    check_free(Path("runs/model"))


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_anything_in_it_is_not(folder, tmp_path, resume):
    (folder / "report.html").write_text("page", encoding="utf-8")
    persistence.note_report(folder)
    with pytest.raises(OutputExists, match="nothing to resume" if resume else "--overwrite"):
        check_free(folder, resume=resume)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("x", encoding="utf-8")
    for overwrite in (False, True):  # files that are not a model's are never replaced
        with pytest.raises(OutputExists, match="other files than a model"):
            check_free(tmp_path / "mine", resume=resume, overwrite=overwrite)
    check_free(folder, overwrite=True)


def test_a_readme_of_someone_else_is_not_replaced_even_when_told_to_overwrite(fitted, tmp_path):
    (tmp_path / "README.md").write_text("notes", encoding="utf-8")
    with pytest.raises(OutputExists, match="not of a model"):
        fitted.save(tmp_path, overwrite=True)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "notes"


def test_an_unfinished_training_can_be_resumed_or_replaced(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(OutputExists, match=r"unfinished training\. Add --resume"):
        check_free(tmp_path)
    check_free(tmp_path, resume=True)
    check_free(tmp_path, overwrite=True)


def test_an_unfinished_training_that_would_replace_a_model_asks_for_both(folder):
    (folder / "checkpoint").mkdir()
    with pytest.raises(OutputExists, match="--overwrite --resume"):
        check_free(folder, resume=True)
    check_free(folder, overwrite=True, resume=True)


def test_a_training_whose_report_is_missing_can_be_resumed(folder):
    with pytest.raises(OutputExists, match=r"Its report is missing: add --resume to write it"):
        check_free(folder)
    check_free(folder, resume=True)


def test_a_model_that_was_saved_is_not_unfinished_because_its_checkpoint_is_still_there(folder):
    (folder / "checkpoint").mkdir()
    assert not persistence.is_trained(folder)
    (folder / "checkpoint" / "saved").write_text(config_of(folder)["digest"], encoding="utf-8")
    assert persistence.is_trained(folder)
    check_free(folder, resume=True)


def test_a_folder_that_cannot_be_written_is_said_before_the_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(OutputExists, match="no folder that can be written"):
            check_free(path, overwrite=True)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # tests may run as root
    with pytest.raises(OutputExists, match="no folder that can be written"):
        check_free(tmp_path / "model")


def test_loading_leaves_the_callers_random_stream_alone(model_folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    TextClassifier.load(model_folder)
    assert torch.equal(torch.rand(2), expected)


def test_a_folder_that_is_saved_over_meanwhile_is_read_again(fitted, toy, tmp_path, monkeypatch):
    texts, labels = toy
    other = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2, seed=2).fit(texts, labels)
    folder = fitted.save(tmp_path / "m")
    real, calls = persistence.check_files, []

    def replaced(path, config):
        if not calls:
            other.save(folder, overwrite=True)  # between the look at config.json and at what it names
        calls.append(path)
        return real(path, config)

    monkeypatch.setattr(persistence, "check_files", replaced)
    assert TextClassifier.load(folder).get_params()["model__filters"] == 2
    assert len(calls) == 2


def test_the_report_of_another_model_is_not_noted(fitted, tmp_path):
    folder = fitted.save(tmp_path / "m")
    digest = persistence.read_config(folder)["digest"]
    (folder / "report.html").write_text("a page", encoding="utf-8")
    with pytest.raises(ModelFolderError, match="Another model was saved"):
        persistence.note_report(folder, "of the model before")
    assert "report" not in persistence.read_config(folder)
    persistence.note_report(folder, digest)
    assert "report" in persistence.read_config(folder)


def test_the_digest_of_a_folder_covers_its_report(fitted, tmp_path):
    folder = fitted.save(tmp_path / "m")
    digests = []
    for text in ("a page", "another page"):
        (folder / "report.html").write_text(text, encoding="utf-8")
        persistence.note_report(folder)
        config = persistence.read_config(folder)
        digests.append(persistence.folder_digest(config))
    assert len({*digests, persistence.digest_of(config)}) == 3
