"""Every format through the commands that read tables."""

from __future__ import annotations

import json

import pytest

from cli.conftest import SMALL
from table_files import FORMATS, as_csv, as_xlsx
from toy import toy_texts
from vmask.persistence.model_folder import read_config
from vmask.serve.loaded_model import Examples

ROWS = [{"text": text, "label": label} for text, label in zip(*toy_texts(60), strict=True)]
WESTERN = [{"text": f"{row['text']} – très", "label": row["label"]} for row in ROWS]
CYRILLIC = [{"text": f"{row['text']} фильм", "label": row["label"]} for row in ROWS]

CASES = {
    **{name: (name, write, ()) for name, write in FORMATS.items()},
    "windows-1252": ("a.csv", lambda rows: as_csv(WESTERN).decode().encode("cp1252"), ()),
    "utf-16": ("a.jsonl", lambda rows: FORMATS["a.jsonl"](WESTERN).decode().encode("utf-16"), ()),
    "windows-1251": ("a.csv", lambda rows: as_csv(CYRILLIC).decode().encode("cp1251"), ("--encoding", "windows-1251")),
    "second sheet": ("a.xlsx", lambda rows: as_xlsx(rows, ("First", "Second", "Third")), ("--sheet", "Third")),
}
CHEAP = {"a.csv.zst", "a.arrow", "a.xlsx", "windows-1252", "windows-1251", "second sheet"}


@pytest.mark.parametrize(
    "case", [case if case in CHEAP else pytest.param(case, marks=pytest.mark.full) for case in CASES]
)
def test_a_format_goes_through_every_command(case, vmask, tmp_path, monkeypatch):
    name, write, options = CASES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(write(ROWS))

    def done(*words):
        result = vmask(*words, *options)
        assert result.code == 0, result.err
        if case == "windows-1252":
            assert result.err.count("is not UTF-8; read as Windows-1252") == 1, result.err
        return result

    made = done("train", name, "--out", "model", "--report", "none", *SMALL, "--epochs", "1")
    assert "texts from column 'text', labels from column 'label'" in made.err
    assert done("evaluate", "model", name, "--metrics", "accuracy", "--json").json["n"] == len(ROWS)
    assert len(done("predict", "model", name).lines) == len(ROWS)
    explained = done("explain", "model", "--input", name, "--limit", 2, "--method", "random", "--json").lines
    assert json.loads(explained[0])["text"].startswith(ROWS[0]["text"])
    assert done("compare", "model", "model", name, "--metrics", "accuracy").code == 0
    done("edit", "model", "edited", "--hide", "lovely,boring", "--data", name)
    assert "holds" in done("verify", "edited", name, "--exchanges", 5).out
    done("drift", "model", name)
    done("predict", "model", name, "--out", "answers.csv")
    result = vmask("show", "model", "--report", "quick")  # the data is found again, and read as it was
    assert result.code == 0, result.err
    examples, reason = Examples.find(read_config(tmp_path / "model")["about"], None, None, 10)
    assert examples is not None, reason


def test_several_files_by_a_pattern(vmask, fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r-1.csv").write_bytes(as_csv(ROWS[:30]))
    (tmp_path / "r-2.xlsx").write_bytes(as_xlsx(ROWS[30:]))
    made = vmask("train", "r-*", "--report", "none", *SMALL, "--epochs", "1", "--json")
    assert made.code == 0, made.err
    model = made.json["model"]
    assert model == "runs/r-cnn-vmask-s0"
    assert len(vmask("predict", model, "r-*").lines) == 60
    assert vmask("evaluate", model, "r-*", "--metrics", "accuracy", "--json").json["n"] == 60
    assert len(vmask("explain", model, "--input", "r-*", "--method", "random", "--json").lines) == 60
    assert vmask("show", model, "--report", "quick").code == 0
    assert "would lie in ." in fails("explain", model, "--input", "r-*", "--out", "r-3.jsonl")
    (tmp_path / "r-0.csv").write_bytes(as_csv([{"text": "a", "stars": "1"}]))
    assert "'r-1.csv' has no column 'stars'" in fails("train", "r-*", "--out", "other", *SMALL)
    assert "No file fits 'none-*'" in fails("predict", model, "none-*")


def test_words_in_files_may_be_in_windows_1252(vmask, trained, tmp_path):
    (tmp_path / "words.txt").write_bytes("lovely\ntrès\n".encode("cp1252"))
    assert (
        vmask("edit", trained, tmp_path / "edited", "--hide", f"@{tmp_path / 'words.txt'}", "--data", "none").code == 0
    )


def test_options_of_files_that_are_not_read(fails, trained):
    assert "are for --input" in fails("explain", trained, "a text", "--sheet", "1")
    assert "encoding is 'utf-9', which is not known. Did you mean 'utf-8'" in fails(
        "predict", trained, "-", "--encoding", "utf-9"
    )
