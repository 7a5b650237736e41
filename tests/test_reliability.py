"""docs/reliability.md has the tables that chaos/results.json and chaos/cluster.json give."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import update_reliability  # noqa: E402

SAMPLE = {
    "seed": 0,
    "share": 0.5,
    "suites": {
        "kills": {
            "cases": 1200,
            "groups": {"train": 700, "export": 500},
            "failures": [
                {"case": "train:rename 3", "failure": "Traceback\n  a | b\nOSError: half a folder"},
                {"case": "train:write 9", "failure": "hangs: longer than 60 s"},
            ],
            "seconds": 90.0,
            "slowest": 2.5,
        },
        "inputs": {"cases": 3, "groups": {"csv": 3}, "failures": [], "seconds": 30.0, "slowest": 0.25},
    },
    "versions": {"python": "3.11.7", "torch": "2.13.0"},
    "machine": "Linux x86_64, 2 cores",
    "commit": "0123456789",
    "code": "feedfeedfeedfeed",
}


def test_the_document_has_the_tables_of_the_results():
    assert update_reliability.written() == update_reliability.current(), "run: python scripts/update_reliability.py"


def test_the_document_has_the_table_of_the_cluster():
    found = update_reliability.written(update_reliability.CLUSTER)
    assert found == update_reliability.current_cluster(), "run: python scripts/update_reliability.py"


def test_every_fault_of_a_cluster_is_named():
    found = {
        "cells": 60,
        "seed": 3,
        "kills": {"worker": 30, "node": 20},
        "exit_code": 2,
        "files": 91,
        "missing_or_different": ["cells/a.json"],
        "done_twice": [],
        "processes_left": ["ray::IDLE"],
        "errors": ["The worker died 4 times."],
        "seconds": 90,
        **{name: SAMPLE[name] for name in ("versions", "machine", "commit")},
    }
    made = update_reliability.cluster_table(found)
    assert "50 kills over 60 cells: of 91 files 1 missing or different, 0 pieces done twice, 1 processes" in made
    assert "exit code 2 (seed 3; 2 minutes). Commit 0123456789; Linux" in made
    assert "| node | 20 |\n| worker | 30 |" in made
    assert made.endswith(
        "- missing or different: `cells/a.json`\n- processes left: `ray::IDLE`\n- errors: `The worker died 4 times.`"
    )


def test_cases_and_failures_are_counted_by_suite_and_group():
    made = update_reliability.tables(SAMPLE)
    assert "**1,203 cases, 2 failures** (seed 0, a sample of 50%; 2 minutes, the slowest case 2.5 s)" in made
    assert "Commit 0123456789; Linux x86_64, 2 cores; python 3.11.7, torch 2.13.0." in made
    rows = [line for line in made.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[-2:] for line in rows[2:]] == [
        ["**1,200**", "**2** |"],
        ["500", "0 |"],
        ["700", "2 |"],
        ["**3**", "**0** |"],
        ["3", "0 |"],
    ]
    assert "- kills, `train:rename 3`: OSError: half a folder" in made
    assert "- kills, `train:write 9`: hangs" in made


def test_a_full_run_without_failures_says_so():
    whole = {**SAMPLE, "share": 1.0, "suites": {"inputs": SAMPLE["suites"]["inputs"]}}
    made = update_reliability.tables(whole)
    assert "**3 cases, 0 failures** (seed 0; " in made
    assert made.endswith("Nothing failed.")


def test_the_document_is_rewritten_between_its_marks(tmp_path, monkeypatch):
    before = update_reliability.DOC.read_text(encoding="utf-8")
    monkeypatch.setattr(update_reliability, "CLUSTER_RESULTS", tmp_path / "cluster.json")
    doc, results = tmp_path / "reliability.md", tmp_path / "results.json"
    doc.write_text(before, encoding="utf-8")
    monkeypatch.setattr(update_reliability, "DOC", doc)
    monkeypatch.setattr(update_reliability, "RESULTS", results)
    update_reliability.main()
    assert update_reliability.written() == update_reliability.NONE
    assert update_reliability.written(update_reliability.CLUSTER) == update_reliability.NONE_OF_CLUSTER
    results.write_text(update_reliability.json.dumps(SAMPLE), encoding="utf-8")
    update_reliability.main()
    assert update_reliability.written() == update_reliability.tables(SAMPLE)
    after = doc.read_text(encoding="utf-8")
    mark = f"<!-- {update_reliability.NAME}:"
    assert after.partition(mark)[0] == before.partition(mark)[0]


@pytest.mark.parametrize("suite", ["kills", "none"])
def test_a_suite_is_described_by_its_docstring(tmp_path, monkeypatch, suite):
    (tmp_path / "kills.py").write_text('"""Kills a command.\n\nMore."""\n', encoding="utf-8")
    monkeypatch.setattr(update_reliability, "CHAOS", tmp_path)
    assert update_reliability._about(suite) == ("Kills a command." if suite == "kills" else "")
