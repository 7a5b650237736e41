"""`vmask report`: the report of a grid, from its result files alone."""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from grid_results import Made

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduction" / "results"


@pytest.fixture
def made(tmp_path):
    found = Made(tmp_path / "results")
    found.train("tea", "cnn", "base", [0.8, 0.82])
    found.train("tea", "cnn", "gate", [0.9, 0.91])
    return found


def test_a_folder_without_results_is_said(vmask, tmp_path):
    done = vmask("report", str(tmp_path))
    assert done.code == 2
    assert "vmask grid" in done.err


def test_a_report_is_beside_the_results_unless_another_folder_is_named(vmask, made, tmp_path):
    done = vmask("report", str(made.folder), "--no-figures")
    assert done.code == 0
    assert f"open {made.folder / 'report' / 'report.html'}" in done.out.replace("\n", " ")
    assert vmask("report", str(made.folder), "--no-figures", "--out", str(tmp_path / "other")).code == 0
    names = {path.name for path in (tmp_path / "other").iterdir()}
    assert names == {"report.html", "report.md", "tables"}


def test_json_says_what_was_written(vmask, made):
    done = vmask("report", str(made.folder), "--no-figures", "--json", "--baseline", "gate")
    written = {"report": str(made.folder / "report"), "baseline": "gate", "tables": 4, "figures": 0, "failed": 0}
    assert json.loads(done.out) == written


def test_a_baseline_that_has_no_results_is_said(vmask, made):
    done = vmask("report", str(made.folder), "--no-figures", "--baseline", "gat")
    assert done.code == 2
    assert "Did you mean 'gate'?" in done.err
    assert not (made.folder / "report").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"status": "done", "seconds": "many"}'])
def test_a_damaged_result_is_named_and_the_old_report_stays(vmask, made, content):
    assert vmask("report", str(made.folder), "--no-figures").code == 0
    (made.folder / "cells" / "tea--cnn--gate--0.json").write_text(content, encoding="utf-8")
    done = vmask("report", str(made.folder), "--no-figures")
    assert done.code == 2
    assert "tea--cnn--gate--0.json" in done.err.replace("\n", "")
    assert "gate" in (made.folder / "report" / "report.md").read_text(encoding="utf-8")


def test_results_that_do_not_fit_together_are_said(vmask, made):
    made.data("tea", truth="01")
    path = made.store.cell("tea--cnn--gate--0")
    made.store.write(path, {**made.store.read(path), "test": {"labels": ["no", "yes"], "predicted": [0, 1, 1]}})
    done = vmask("report", str(made.folder), "--no-figures")
    assert done.code == 2
    assert "do not fit together" in done.err


@pytest.mark.full
def test_the_committed_results_are_reported_without_loading_a_model(tmp_path):
    code = (
        "import sys; from vmask.cli import main\n"
        f"code = main(['report', {str(RESULTS)!r}, '--out', 'report', '--no-figures'])\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    paths = sorted((RESULTS / "cells").glob("trec--cnn--base--s*.json"))
    accuracies = [json.loads(path.read_text())["test_accuracy"] for path in paths if path.name.count(".") == 1]
    with (tmp_path / "report" / "tables" / "test_accuracy.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if (row["row"], row["column"]) == ("cnn / base", "trec")]
    assert float(rows[0]["value"]) == pytest.approx(statistics.mean(accuracies))
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page
    assert f"{statistics.mean(accuracies):.3f} <small>±" in page
