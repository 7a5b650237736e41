"""`vmask report`: the committed results as a report, and against the paper."""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


def accuracies(dataset, model, mask):
    paths = sorted((RESULTS / "cells").glob(f"{dataset}--{model}--{mask}--s*.json"))
    return [json.loads(path.read_text())["test_accuracy"] for path in paths if path.name.count(".") == 1]


def test_the_check_needs_the_committed_files_alone_and_loads_no_model():
    code = (
        "import sys; from vmask.cli import main; code = main(['report', 'results', '--check', '--json']); "
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["claims"]) >= 14
    assert {claim["verdict"] for claim in found["claims"]} & {"holds", "does not hold"}
    number = next(
        one
        for one in found["numbers"]
        if (one["table"], one["row"], one["column"]) == ("accuracy", ["CNN", "base"], "TREC")
    )
    assert number["published"] == 92.4
    assert number["ours"] == pytest.approx(100 * statistics.mean(accuracies("trec", "cnn", "base")))
    assert number["differs"] == ["vectors"]
    assert any(one["verdict"] == "not run" and one["ours"] is None for one in found["numbers"])


def test_the_check_says_what_holds(vmask, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = vmask("report", "results", "--check")
    assert done.code == 0
    lines = done.out.splitlines()
    assert any(line.startswith("CNN base TREC") and " ok " in line for line in lines)
    assert any(": Models trained with VMASK are more accurate than base models." in line for line in lines)
    assert any(line.startswith("Of ") and "seeds or more" in line for line in lines)
    assert lines[-1].startswith("all tables: ")


def test_a_file_of_published_numbers_that_is_missing_is_said(vmask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").symlink_to(RESULTS)
    done = vmask("report", "results", "--check")
    assert done.code == 2
    assert "--check FILE" in done.err
    assert vmask("report", "results", "--check", "nothing.yaml").code == 2


def test_a_folder_without_results_is_said(vmask, tmp_path):
    done = vmask("report", str(tmp_path))
    assert done.code == 2
    assert "vmask grid" in done.err


def test_tables_are_written_in_four_formats(vmask, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = vmask("report", "results", "--out", str(tmp_path / "report"), "--no-figures", "--json")
    assert json.loads(done.out)["tables"] >= 14
    out = tmp_path / "report"
    with (out / "tables" / "accuracy.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if (row["row"], row["column"]) == ("CNN / base", "TREC")]
    assert [row["published"] for row in rows] == ["92.4"]
    assert "\\begin{tabular}" in (out / "tables" / "accuracy.tex").read_text(encoding="utf-8")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")
    shown = f"{100 * statistics.mean(accuracies('trec', 'cnn', 'base')):.1f}"
    assert shown in page
    assert f"{shown} ±" in (out / "report.md").read_text(encoding="utf-8")


def test_without_published_numbers_the_report_says_so(vmask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").symlink_to(RESULTS)
    assert vmask("report", "results", "--out", "report", "--no-figures").code == 0
    assert "not at hand" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_the_document_is_the_one_that_the_results_give():
    sys.path.insert(0, str(ROOT / "scripts"))
    import update_reproduction as made

    written = made.DOC.read_text(encoding="utf-8")
    expected = made.NOTE + made.document().markdown(made.FIGURES.name)
    assert written.startswith(expected.rstrip("\n")), "run: make reproduction"
    pictures = [line for line in written.splitlines() if line.startswith("![")]
    assert pictures
    for line in pictures:
        assert (made.DOC.parent / line.partition("](")[2].rstrip(")")).is_file()
