"""Variants beside each other, by what they reach on dev."""

from __future__ import annotations

import pytest

from reproduction.variants import variants_table
from vmask.grid.store import Store


def trained(folder, dataset, variant, dev, seconds, seed=0, status="done"):
    record = {
        "cell": {"dataset": dataset, "model": "cnn", "mask": "base", "variant": variant, "seed": seed},
        "status": status,
        "dev_accuracy": dev,
        "seconds_per_epoch": seconds,
        "vectors": {"coverage": {"tokens": 0.9}},
        "facts": {"versions": {"vmask": "1"}, "commit": "abc"},
    }
    store = Store(folder)
    store.write(store.cell(f"{dataset}--cnn--base--{variant}--s{seed}"), record)


def test_means_are_over_cells_that_all_were_run(tmp_path):
    trained(tmp_path, "hotels", "a100", 0.7, 3.0)  # a dataset that is not the paper's comes last
    trained(tmp_path, "trec", "a100", 0.8, 1.0)
    trained(tmp_path, "trec", "a100", 0.9, 2.0, seed=1)
    trained(tmp_path, "trec", "b50+c20", 0.6, 1.0)
    trained(tmp_path, "hotels", "b50+c20", None, None, status="failed")
    table = variants_table(tmp_path)
    assert table.columns[:3] == ("TREC CNN", "hotels CNN", "mean")
    first, second = table.rows
    assert (first.heads, second.heads) == (("a100, 100-d",), ("b50+c20, 70-d",))
    assert [entry.ours.value for entry in first.entries[:2]] == [pytest.approx(85), pytest.approx(70)]
    assert [entry.text for entry in first.entries[2:]] == ["77.50", "90.0", "2.00"]
    assert second.entries[1].verdict == second.entries[2].text == "not run"


def test_without_variants_there_is_no_table(tmp_path):
    trained(tmp_path, "trec", "", 0.8, 1.0)
    assert variants_table(tmp_path) is None
