"""`python -m reproduction`: the committed results against the paper, and as a report."""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.__main__ import DOC, DOC_FIGURES, NOTE, main
from reproduction.write import RESULTS, read_document

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


def accuracies(dataset, model, mask):
    paths = sorted((RESULTS / "cells").glob(f"{dataset}--{model}--{mask}--s*.json"))
    return [json.loads(path.read_text())["test_accuracy"] for path in paths if path.name.count(".") == 1]


def test_the_check_needs_the_committed_files_alone_and_loads_no_model():
    code = (
        "import sys; from reproduction.__main__ import main; code = main(['check', '--json']); "
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["claims"]) >= 14
    assert {claim["verdict"] for claim in found["claims"]} & {"holds", "contradicted"}
    number = next(
        one
        for one in found["numbers"]
        if (one["table"], one["row"], one["column"]) == ("accuracy", ["CNN", "base"], "TREC")
    )
    assert number["published"] == 92.4
    assert number["ours"] == pytest.approx(100 * statistics.mean(accuracies("trec", "cnn", "base")))
    assert number["differs"] == ["vectors"]
    assert any(one["verdict"] == "not run" and one["ours"] is None for one in found["numbers"])


def test_the_check_says_what_holds(capsys):
    assert main(["check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("CNN base TREC") and " ok " in line for line in lines)
    assert any(": Models trained with VMASK are more accurate than base models." in line for line in lines)
    assert any(line.startswith("Of ") and "seeds or more" in line for line in lines)
    assert lines[-1].startswith("all tables: ")


@pytest.mark.parametrize(("option", "name"), [("--published", "nothing.yaml"), ("--results", "nothing")])
def test_what_is_missing_is_said(capsys, option, name):
    assert main(["check", option, name]) == 2
    assert name in capsys.readouterr().err


def test_the_report_is_written_in_four_formats(tmp_path):
    out = tmp_path / "report"
    assert main(["report", "--out", str(out), "--no-figures"]) == 0
    with (out / "tables" / "accuracy.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if (row["row"], row["column"]) == ("CNN / base", "TREC")]
    assert [row["published"] for row in rows] == ["92.4"]
    assert "\\begin{tabular}" in (out / "tables" / "accuracy.tex").read_text(encoding="utf-8")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page
    shown = f"{100 * statistics.mean(accuracies('trec', 'cnn', 'base')):.1f}"
    assert shown in page
    assert f"{shown} ±" in (out / "report.md").read_text(encoding="utf-8")


def test_without_published_numbers_the_report_says_so():
    assert "not at hand" in read_document(RESULTS, None).markdown("figures")


def test_the_document_is_the_one_that_the_results_give():
    written = DOC.read_text(encoding="utf-8")
    expected = NOTE + read_document().markdown(DOC_FIGURES.name)
    assert written.startswith(expected.rstrip("\n")), "run: make reproduction"
    pictures = [line for line in written.splitlines() if line.startswith("![")]
    assert pictures
    for line in pictures:
        assert (DOC.parent / line.partition("](")[2].rstrip(")")).is_file()
