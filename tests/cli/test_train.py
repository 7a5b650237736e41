"""`vmask train`: any file becomes a model folder, and nothing is lost on the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import SafetensorError

from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask._core.locks import only_writer
from vmask.cli import main
from vmask.persistence.model_folder import LISTS

SMALL_WITH_REPORT = ["--embeddings", "random", "--epochs", "2", "--learning-rate", "0.01", "--model.filters", "8"]
SMALL = [*SMALL_WITH_REPORT, "--report", "none"]
MODEL = ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
FILES = sorted([*MODEL, "report.html"])
TEXTS, LABELS = toy_texts(60)


def names(folder):
    """Names of the files but lists of rows; a second model is written beside the first, under other names."""
    return sorted(path.name.replace("-2.", ".") for path in folder.iterdir() if path.name not in LISTS)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


# Files of every kind --------------------------------------------------------------------------------------


def test_the_columns_of_a_csv_are_guessed_and_the_splits_made_and_said(vmask, toy_csv, tmp_path):
    out = tmp_path / "model"
    done = vmask("train", toy_csv, "--out", out, *SMALL_WITH_REPORT)
    assert done.code == 0
    assert names(out) == FILES
    assert "No test split: held out 10.8% of all rows (13 rows)" in done.err
    assert "No dev split" in done.err
    assert "No dev split" not in done.out
    assert f"saved to {out}" in done.out
    assert f'next: vmask explain {out} "some text"   or   vmask words {out}   or   vmask serve {out}' in done.out
    about = json.loads((out / "config.json").read_text())["about"]
    assert (about["text"], about["label"]) == ("review", "stars")


def test_json_is_one_object_and_all_that_standard_output_has(vmask, toy_csv, tmp_path):
    done = vmask("train", toy_csv, "--out", tmp_path / "model", "--json", *SMALL)
    result = done.json
    assert result["model"] == str(tmp_path / "model")
    assert result["epochs"] == 2
    assert 0 <= result["dev_accuracy"] <= 1
    assert 0 <= result["test_accuracy"] <= 1
    assert result["test_n"] == 13
    assert "epoch   2" in done.err


def test_quiet_prints_the_result_alone(vmask, toy_csv, tmp_path):
    done = vmask("train", toy_csv, "--out", tmp_path / "model", "--quiet", *SMALL_WITH_REPORT)
    assert done.err == ""
    assert done.lines[-2:] == [f"saved to {tmp_path / 'model'}", f"report: {tmp_path / 'model' / 'report.html'}"]


def test_columns_can_be_named(vmask, tmp_path):
    rows = "".join(f"{t},{i},{label}\n" for i, (t, label) in enumerate(zip(TEXTS, LABELS, strict=True)) if "," not in t)
    (tmp_path / "a.csv").write_text(f"body text,number,mood\n{rows}", encoding="utf-8")
    done = vmask("train", tmp_path / "a.csv", "--text", "body text", "--label", "mood", "--out", tmp_path / "m", *SMALL)
    assert done.code == 0
    assert TextClassifier.load(tmp_path / "m").classes_.tolist() == ["neg", "pos"]


def test_numbers_as_labels_come_back_as_they_were_written(vmask, tmp_path):
    data = write_csv(tmp_path / "a.csv", TEXTS, [10 if label == "pos" else 9.0 for label in LABELS])
    assert vmask("train", data, "--out", tmp_path / "m", "--quiet", *SMALL).code == 0
    assert sorted(TextClassifier.load(tmp_path / "m").classes_.tolist()) == ["10", "9"]


def test_jsonl_and_tsv_are_read(vmask, tmp_path):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    lines = "".join(f"{row['text']}\t{row['label']}\n" for row in rows)
    (tmp_path / "a.tsv").write_text(f"text\tlabel\n{lines}", encoding="utf-8")
    for data in (write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / "a.tsv"):
        done = vmask("train", data, "--out", tmp_path / f"m{data.suffix}", "--json", "--quiet", *SMALL)
        assert done.json["test_n"] == 6


def test_a_folder_of_splits_is_taken_as_it_is(vmask, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_csv(folder / f"{name}.csv", *toy_texts(40, seed))
    done = vmask("train", folder, "--out", tmp_path / "m", "--json", *SMALL)
    assert done.json["test_n"] == 40
    assert "mine: train 40, dev 40, test 40" in done.err
    assert "held out" not in done.err


def test_a_german_and_chinese_file_works(vmask, tmp_path):
    texts = ["Ein schöner Film", "ein öder Film", "很好的电影", "很差的电影"] * 10
    data = write_csv(tmp_path / "a.csv", texts, ["gut", "schlecht"] * 20)
    assert vmask("train", data, "--out", tmp_path / "m", "--quiet", "--duplicates", "ignore", *SMALL).code == 0
    words = TextClassifier.load(tmp_path / "m").predictor_.tokenizer.words
    assert {"schöner", "öder", "电影"} <= set(words)


def test_without_out_the_folder_is_named_after_data_and_method(vmask, toy_csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = vmask("train", toy_csv, "--seed", "3", "--quiet", "--json", *SMALL)
    assert done.json["model"] == "runs/reviews-cnn-vmask-s3"
    assert names(tmp_path / "runs" / "reviews-cnn-vmask-s3") == MODEL


def test_options_of_method_and_model_reach_the_model(vmask, toy_csv, tmp_path):
    words = ["--mask.pi", "0.3", "--mask.hidden", "10", "--model.widths", "2,3", "--beta-schedule", "constant"]
    assert vmask("train", toy_csv, "--out", tmp_path / "m", "--quiet", *SMALL, *words).code == 0
    plan = TextClassifier.load(tmp_path / "m").plan_
    assert (plan.mask_options.pi, plan.mask_options.hidden, plan.model_options.widths) == (0.3, 10, (2, 3))
    assert plan.train.beta_schedule == "constant"


def test_coverage_of_the_vectors_is_reported(vmask, toy_csv, tmp_path):
    (tmp_path / "v.txt").write_text("film 1 2 3\nlovely 3 2 1\nawful 0 0 1\n", encoding="utf-8")
    done = vmask("train", toy_csv, "--out", tmp_path / "m", *SMALL, "--embeddings", tmp_path / "v.txt")
    assert "of the running text" in done.err


# Single bad rows ------------------------------------------------------------------------------------------


def test_bad_rows_are_left_out_or_cut_and_counted(vmask, tmp_path):
    texts = [*TEXTS, "", "  ", "no label here", "word " * 200_000]
    data = write_csv(tmp_path / "a.csv", texts, [*LABELS, "pos", "neg", "NaN", "pos"])
    folder = tmp_path / "mine"
    folder.mkdir()
    data.rename(folder / "train.csv")
    done = vmask("train", folder, "--out", tmp_path / "m", *SMALL)
    assert done.code == 0
    assert "Left out 2 rows of train without a text." in done.err
    assert "Left out 1 row of train without a label." in done.err
    assert done.err.count("cut to 256 words") == 1


@pytest.mark.parametrize("rare", range(5))
def test_a_label_with_one_row_does_not_stop_a_training(vmask, tmp_path, rare):
    data = write_csv(tmp_path / "a.csv", [*TEXTS[:30], f"odd {rare}"], [*LABELS[:30], "rare"])
    done = vmask("train", data, "--out", tmp_path / "m", "--mask", "base", "--embeddings", "random", "--epochs", "1")
    assert done.code == 0, done.err
    assert "rare" in TextClassifier.load(tmp_path / "m").classes_.tolist()


# Data that cannot be used ---------------------------------------------------------------------------------


def test_a_missing_file_names_a_near_one(fails, toy_csv, tmp_path):
    assert "Did you mean 'reviews.csv'" in fails("train", toy_csv.with_name("review.csv"), "--out", tmp_path / "m")


def test_a_missing_column_names_those_there_are(fails, toy_csv, tmp_path):
    err = fails("train", toy_csv, "--text", "revew", "--out", tmp_path / "m")
    assert "Did you mean 'review'" in err
    assert "review, stars" in err


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("good film", "same")] * 20, "have the label 'same'"),
        ([("", "a"), (" ", "b")] * 10, "has a text in"),
        ([("good", "nan"), ("bad", "NaN")] * 10, "and a label in"),
        ([("good", "a"), ("bad", "b")], "only 2 rows, too few"),
        ([], "no rows"),
    ],
)
def test_data_that_cannot_be_learnt_is_refused(fails, tmp_path, rows, message):
    data = write_csv(tmp_path / "a.csv", [text for text, _ in rows], [label for _, label in rows])
    assert message in fails("train", data, "--out", tmp_path / "m", *SMALL)
    assert not (tmp_path / "m").exists()


def test_bytes_that_are_not_utf8_are_named_with_the_fix(fails, tmp_path):
    (tmp_path / "a.csv").write_bytes("text,label\nfüné,x\n".encode() + b"caf\xe9,y\n")
    err = fails("train", tmp_path / "a.csv", "--out", tmp_path / "model")
    assert "Line 3 of 'a.csv' is not UTF-8" in err
    assert "--encoding windows-1252" in err


def test_a_binary_file_is_called_so(fails, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\x7fELF\0\0\0\1" * 50)
    assert "is a binary file" in fails("train", tmp_path / "a.csv", "--out", tmp_path / "m")


def test_a_folder_without_data_says_what_it_needs(fails, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "has no train file. Put in train.csv" in fails("train", tmp_path / "empty", "--out", tmp_path / "m")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trecc"], "Unknown dataset 'trecc'. Did you mean 'trec'?"),
        (["DATA", "--mask", "vmsk"], "Unknown mask 'vmsk'. Did you mean 'vmask'?"),
        (["DATA", "--mask", "vmsk", "--mask.pi", "0.1"], "Unknown mask 'vmsk'. Did you mean 'vmask'?"),
        (["DATA", "--model", "cn"], "Unknown model 'cn'. Did you mean 'cnn'?"),
        (["DATA", "--beta-schedule", "linera"], "--beta-schedule: 'linera' is not known. Did you mean 'linear'?"),
        (["DATA", "--vocabulary", "vector"], "Did you mean 'vectors'?"),
        (["DATA", "--learnin-rate", "1"], "Unknown argument '--learnin-rate'. Did you mean '--learning-rate'?"),
        (["DATA", "--mask.pie", "1"], "mask 'vmask' has no option '--mask.pie'. Did you mean '--mask.pi'?"),
        (["DATA", "--mask.pi", "7"], "pi"),
        (["DATA", "--epochs", "0"], "epochs is 0"),
        (["DATA", "--epochs", "ten"], "argument --epochs: 'ten' is not a whole number"),
        (["DATA", "--model.widths", "3,x"], "not a list of whole numbers such as 3,4,5"),
        (["DATA", "--preset", "paper"], "Unknown preset 'paper'"),
        (["DATA", "--device", "gpu"], "device is 'gpu'"),
        (["DATA", "--embeddings", "none.txt"], "There are no word vectors 'none.txt'"),
    ],
)
def test_a_wrong_name_or_value_is_said_with_the_fix(fails, toy_csv, tmp_path, words, message):
    words = [str(toy_csv) if word == "DATA" else word for word in words]
    embeddings = [] if "--embeddings" in words else ["--embeddings", "random"]
    assert message in fails("train", *words, *embeddings, "--out", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_offline_with_an_empty_cache_says_what_to_do_and_random_vectors_work(
    vmask, fails, toy_csv, tmp_path, monkeypatch
):
    def offline(command, **kwargs):
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found\n")

    monkeypatch.setattr("vmask.data.downloads.subprocess.run", offline)
    err = fails("train", toy_csv, "--out", tmp_path / "m")
    assert "Fetching word2vec-26k, once" in err
    assert "No matching distribution found" in err
    assert "--embeddings random" in err
    assert "VMASK_CACHE" in fails("train", "reviews", "--out", tmp_path / "m", "--embeddings", "random")
    assert vmask("train", toy_csv, "--out", tmp_path / "m", *SMALL).code == 0


# The output folder ----------------------------------------------------------------------------------------


def test_a_folder_that_exists_is_refused_before_any_work(fails, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "notes.txt").write_text("mine", encoding="utf-8")
    for extra in ([], ["--resume"], ["--overwrite"]):
        err = fails("train", tmp_path / "no such.csv", "--out", tmp_path / "m", *extra)
        assert "holds other files than a model. Choose another folder" in err
    assert names(tmp_path / "m") == ["notes.txt"]


def test_overwrite_replaces_a_model(vmask, toy_csv, tmp_path):
    out = tmp_path / "m"
    assert vmask("train", toy_csv, "--out", out, "--quiet", *SMALL_WITH_REPORT).code == 0
    first = (out / "model.safetensors").read_bytes()
    assert vmask("train", toy_csv, "--out", out, "--quiet", "--overwrite", "--seed", "5", *SMALL_WITH_REPORT).code == 0
    assert (out / "model-2.safetensors").read_bytes() != first
    assert names(out) == FILES


def test_a_failed_training_leaves_the_model_it_would_replace(vmask, fails, toy_csv, tmp_path):
    out = tmp_path / "m"
    assert vmask("train", toy_csv, "--out", out, "--quiet", *SMALL).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    fails("train", toy_csv, "--label", "none", "--out", out, "--overwrite", *SMALL)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_file_as_output_folder_is_refused(fails, toy_csv):
    assert "no folder that can be written" in fails("train", toy_csv, "--out", toy_csv, "--overwrite")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), SafetensorError("No space left on device")]
)
def test_a_full_disk_at_the_end_costs_nothing(vmask, fails, toy_csv, tmp_path, monkeypatch, error):
    def full(*args):
        raise error

    monkeypatch.setattr("vmask.persistence.model_folder.save_file", full)
    out = tmp_path / "m"
    err = fails("train", toy_csv, "--out", out, *SMALL_WITH_REPORT)
    assert "could not be saved" in err
    assert "No space left on device" in err
    assert names(out) == ["checkpoint"]
    monkeypatch.undo()
    done = vmask("train", toy_csv, "--out", out, "--resume", *SMALL_WITH_REPORT)
    assert done.code == 0
    assert "epoch   1" not in done.err  # nothing was trained again
    assert names(out) == FILES


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), SafetensorError("No space left on device")]
)
def test_a_full_disk_at_a_checkpoint_is_said(fails, toy_csv, tmp_path, monkeypatch, error):
    def full(*args):
        raise error

    monkeypatch.setattr("vmask.training.checkpoints.save_file", full)
    assert "No space left on device" in fails("train", toy_csv, "--out", tmp_path / "m", *SMALL)


# Resume ---------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_training_killed_in_the_middle_of_an_epoch_resumes_to_the_same_weights(tmp_path):
    data = write_csv(tmp_path / "toy.csv", *toy_texts(240))
    options = ["--embeddings", "random", "--epochs", "5", "--batch-size", "2", "--model.filters", "8", "--quiet"]
    options += ["--patience", "0", "--device", "cpu"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    state = killed / "checkpoint" / "state.json"
    command = [sys.executable, "-m", "vmask", "train", str(data), "--out", str(killed), *options]
    process = subprocess.Popen(command)
    try:
        while not state.exists():
            assert process.poll() is None, "it ended before its first checkpoint"
            time.sleep(0.01)
        time.sleep(0.05)  # into the next epoch
    finally:
        process.kill()
    assert process.wait(30) == -signal.SIGKILL
    assert json.loads(state.read_text())["epoch"] < 5
    assert not (killed / "config.json").exists()

    assert main(["train", str(data), "--out", str(killed), *options]) == 2  # not without --resume
    assert main(["train", str(data), "--out", str(killed), "--resume", *options]) == 0
    assert main(["train", str(data), "--out", str(whole), *options]) == 0
    assert names(killed) == FILES
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def killed_in_its_report(vmask, monkeypatch, *words):
    """Train, and end where a kill in the middle of the report would: nothing after it runs."""

    def kill(*args, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("vmask.cli.train._report", kill)
        assert vmask("train", *words).code == 130


@pytest.mark.full
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_training_killed_in_its_report_resumes_with_the_report(vmask, toy_csv, tmp_path, monkeypatch, overwrite):
    out = tmp_path / "m"
    options = [toy_csv, "--out", out, *SMALL_WITH_REPORT]
    if overwrite:
        assert vmask("train", toy_csv, "--out", out, "--seed", "5", "--quiet", *SMALL_WITH_REPORT).code == 0
        options.append("--overwrite")
    killed_in_its_report(vmask, monkeypatch, *options)
    weights = [path.read_bytes() for path in out.glob("*.safetensors")]
    assert not (out / "report.html").exists()
    done = vmask("train", *options, "--resume")
    assert done.code == 0, done.err
    assert "is finished; its report is still to be written" in done.err
    assert "dev accuracy" in done.out
    assert names(out) == FILES
    assert [path.read_bytes() for path in out.glob("*.safetensors")] == weights
    again = vmask("train", *[word for word in options if word != "--overwrite"], "--resume")
    assert again.code == 2
    assert "there is nothing to resume" in again.err


def test_a_finished_model_of_other_options_is_not_given_a_report(vmask, toy_csv, tmp_path, monkeypatch):
    out = tmp_path / "m"
    killed_in_its_report(vmask, monkeypatch, toy_csv, "--out", out, *SMALL_WITH_REPORT)
    done = vmask("train", toy_csv, "--out", out, "--resume", "--seed", "7", *SMALL_WITH_REPORT)
    assert done.code == 2
    assert "holds a model of other options or data" in done.err
    assert not (out / "report.html").exists()


@pytest.mark.full
@pytest.mark.parametrize("level", ["quick", "none"])
def test_a_checkpoint_whose_model_is_saved_is_removed(vmask, toy_csv, tmp_path, monkeypatch, level):
    out, options = tmp_path / "m", ["--report", level, *SMALL_WITH_REPORT]
    with monkeypatch.context() as patch:
        patch.setattr("vmask._core.files.remove_folder", lambda path: None)
        killed_in_its_report(vmask, monkeypatch, toy_csv, "--out", out, *options)
    assert (out / "checkpoint").is_dir()
    assert vmask("train", toy_csv, "--out", out, "--resume", "--quiet", *options).code == 0
    assert names(out) == (MODEL if level == "none" else FILES)


def test_a_second_training_into_a_folder_is_refused_at_once(fails, toy_csv, tmp_path):
    out = tmp_path / "m"
    with only_writer(out):
        err = fails("train", toy_csv, "--out", out, *SMALL)
    assert f"Another process is writing to {out}" in err
    assert "train 128" not in err, "the data was read first"


def test_a_training_that_fails_at_once_leaves_no_folder(fails, toy_csv, tmp_path):
    fails("train", toy_csv, "--label", "none", "--out", tmp_path / "m", *SMALL)
    assert not (tmp_path / "m").exists()


def test_resume_with_other_options_is_refused(vmask, fails, toy_csv, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("vmask.persistence.model_folder.save_file", full)
    fails("train", toy_csv, "--out", tmp_path / "m", *SMALL)
    monkeypatch.undo()
    err = fails("train", toy_csv, "--out", tmp_path / "m", "--resume", *SMALL, "--seed", "9")
    assert "of another run: seed was 0, is 9;" in err
    assert Path(tmp_path / "m" / "checkpoint").is_dir()


def test_skewed_and_absent_classes_are_said(vmask, tmp_path):
    texts = [f"message number {i} about lunch" for i in range(120)] + ["win money now", "cheap money win"]
    data = write_csv(tmp_path / "spam.csv", texts, ["ham"] * 120 + ["spam"] * 2)
    result = vmask("train", data, "--out", tmp_path / "m", "--mask", "base", *SMALL_WITH_REPORT)
    assert "of the training texts are 'ham'" in result.err
    assert "--class-weight balanced" in result.err
    assert "has no text of spam" in result.err
    assert "texts from column 'text', labels from column 'label'" in result.err
    assert "next: vmask predict" in result.out  # base ranks no words


def test_a_wrong_option_is_said_before_the_data_is_read(fails, tmp_path):
    err = fails("train", tmp_path / "no such.csv", "--learning-rate", "-1", "--out", tmp_path / "m")
    assert "learning_rate is -1.0" in err


@pytest.mark.full
def test_resume_without_a_checkpoint_says_that_it_starts_anew(vmask, toy_csv, tmp_path):
    result = vmask("train", toy_csv, "--out", tmp_path / "m", "--resume", *SMALL_WITH_REPORT)
    assert result.code == 0
    assert "no unfinished training" in result.err


def test_an_option_of_another_mask_is_said_to_be_none_of_this_one(fails, toy_csv, tmp_path):
    err = fails("train", toy_csv, "--mask", "base", "--mask.pi", "0.3", "--out", tmp_path / "m")
    assert "mask 'base' has no option '--mask.pi'" in err


# The report -----------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_report_is_written_full_quick_or_not_at_all(vmask, toy_csv, tmp_path):
    views = {}
    for level in ("full", "quick", "none"):
        done = vmask(
            "train", toy_csv, "--out", tmp_path / level, "--report", level, "--json", "--quiet", *SMALL_WITH_REPORT
        )
        path = tmp_path / level / "report.html"
        assert done.json["report"] == (None if level == "none" else str(path))
        assert names(tmp_path / level) == (MODEL if level == "none" else FILES)
        views[level] = path.read_text(encoding="utf-8").count('<div class="view"') if path.exists() else 0
    assert views["full"] == 3 * views["quick"] > 0  # by the mask, LIME and Shapley; or by the mask alone


def test_without_a_report_the_next_step_is_to_make_one(vmask, toy_csv, tmp_path):
    done = vmask("train", toy_csv, "--out", tmp_path / "m", "--report", "none", *SMALL_WITH_REPORT)
    assert f"next: vmask show {tmp_path / 'm'}   or   vmask explain" in done.out
    assert "report:" not in done.out


def test_a_wrong_level_is_refused_with_the_nearest(fails, toy_csv, tmp_path):
    assert "Did you mean 'quick'?" in fails("train", toy_csv, "--out", tmp_path / "m", "--report", "quik")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), ZeroDivisionError("oops"), KeyboardInterrupt()]
)
def test_a_report_that_fails_costs_neither_model_nor_result(vmask, toy_csv, tmp_path, monkeypatch, error):
    def broken(*args, **named):
        raise error

    monkeypatch.setattr("vmask.report.model.collect.collect", broken)
    done = vmask("train", toy_csv, "--out", tmp_path / "m", "--json", "--quiet", *SMALL_WITH_REPORT)
    assert done.code == 0
    assert done.json["report"] is None
    assert names(tmp_path / "m") == MODEL
    assert f"try: vmask show {tmp_path / 'm'}" in done.err
    TextClassifier.load(tmp_path / "m")


@pytest.mark.full
@pytest.mark.parametrize("level", ["full", "none"])
def test_overwriting_leaves_no_report_of_the_model_that_was_there(vmask, toy_csv, tmp_path, level):
    out = tmp_path / "m"
    assert vmask("train", toy_csv, "--out", out, "--quiet", *SMALL_WITH_REPORT).code == 0
    before = (out / "report.html").read_bytes()
    again = vmask(
        "train", toy_csv, "--out", out, "--quiet", "--overwrite", "--seed", "5", "--report", level, *SMALL_WITH_REPORT
    )
    assert again.code == 0
    assert names(out) == (FILES if level == "full" else MODEL)
    assert level == "none" or (out / "report.html").read_bytes() != before


@pytest.mark.full
def test_no_stale_report_is_left_where_the_new_one_fails(vmask, toy_csv, tmp_path, monkeypatch):
    out = tmp_path / "m"
    assert vmask("train", toy_csv, "--out", out, "--quiet", *SMALL_WITH_REPORT).code == 0

    def broken(*args, **named):
        raise ZeroDivisionError

    monkeypatch.setattr("vmask.report.model.collect.collect", broken)
    assert vmask("train", toy_csv, "--out", out, "--quiet", "--overwrite", "--seed", "5", *SMALL_WITH_REPORT).code == 0
    assert names(out) == MODEL


def test_another_process_of_several_writes_nothing(vmask, toy_csv, tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.cli.train.is_main_process", lambda: False)
    done = vmask("train", toy_csv, "--out", tmp_path / "m", *SMALL)
    assert done.code == 0
    assert not (tmp_path / "m" / "report.html").exists()
    assert not (tmp_path / "m" / "config.json").exists()
