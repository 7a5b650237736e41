"""Rows that are held out do not hang on the order of the others."""

from __future__ import annotations

import random

from vmask.data.splits import hold_out


def test_rows_that_differ_in_their_rationales_alone_are_told_apart():
    rows = [(f"text {i % 10}", "a" if i % 2 else "b", ((0, i),)) for i in range(60)]

    def drawn(rows):
        texts, labels, spans = zip(*rows, strict=True)
        rest, out, _ = hold_out(texts, labels, 12, 0, rationales=spans)
        assert sorted(rest + out) == list(range(60))
        return {rows[i] for i in out}

    assert all(drawn(random.Random(seed).sample(rows, 60)) == drawn(rows) for seed in range(5))


def test_a_rare_label_stays_where_all_others_are_held_out():
    rest, out, how = hold_out(["a", "b", "c", "d"], ["x", "y", "x", "x"], 2, 0)
    assert len(rest) == len(out) == 2
    assert 1 in rest
    assert how == "not stratified as label 'y' has only 1 row"
