"""Several labels a text in tables: what is guessed, what is said, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toy import toy_label_sets, write_csv
from vmask import load_dataset
from vmask.data.datasets import load_table
from vmask.data.label_columns import guess_separator, split_cell
from vmask.errors import DataError

TEXTS, SETS = toy_label_sets(60)
NAMES = ("billing", "login", "refund")
PART = st.text("abcdefgh ", min_size=1, max_size=5).map(str.strip).filter(bool)


def all_sets(dataset):
    return {
        text: label for split in dataset.splits.values() for text, label in zip(split.texts, split.labels, strict=True)
    }


@pytest.mark.parametrize(
    ("cells", "separator", "obvious"),
    [
        ({"a", "b", "a;b"}, ";", True),
        ({"a;b", "b;c", "a;c"}, ";", True),
        ({"a | b", "a", "b | c", "c"}, "|", True),
        ({"a, b", "b, c", "c, a", "a"}, ",", True),
        ({"['a', 'b']", "['a']", "[]"}, "lists", True),
        (['["a"]', '["a","b"]'], "lists", True),
        ({"3,5", "4,5", "3,0", "4,0"}, ",", False),  # decimals of half of the world
        ({"a, b", "b, c", "c, d", "a"}, ",", False),
    ],
)
def test_what_looks_like_several_labels(cells, separator, obvious):
    guess = guess_separator(cells)
    assert (guess.separator, guess.obvious) == (separator, obvious)


@pytest.mark.parametrize(
    "cells",
    [
        {"World", "Sci/Tech", "Sports"},
        {"Science, technology", "Sports", "World"},
        {"pos", "neg", ""},
        {"1", "2", "3"},
        {"DESC:def", "DESC:manner", "HUM:ind"},
        set(),
        {f"a long text, with a comma, number {n} and much more to say than a label would have" for n in range(5)},
    ],
)
def test_what_looks_like_one_label(cells):
    assert guess_separator(cells) is None


@given(st.sets(PART, max_size=5), st.sampled_from([";", "|", ",", "::"]))
def test_splitting_undoes_joining(labels, separator):
    assert split_cell(f" {separator} ".join(sorted(labels)), separator) == tuple(sorted(labels))


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_cells_with_a_separator_are_found_and_said(tmp_path, separator):
    path = write_csv(tmp_path / "a.csv", TEXTS, [separator.join(one) for one in SETS])
    dataset = load_dataset(path)
    assert all_sets(dataset) == dict(zip(TEXTS, SETS, strict=True))
    assert (dataset.task, dataset.labels, dataset.label_separator) == ("multi_label", NAMES, separator)
    told = "\n".join(dataset.notes)
    assert f"split at '{separator}'" in told
    assert "--label-separator none" in told
    assert f"{SETS.count(()):,} of 60 texts have no label" in told


def test_they_can_be_taken_as_one_label(tmp_path):
    path = write_csv(tmp_path / "a.csv", TEXTS, [";".join(one) or "none" for one in SETS])
    dataset = load_dataset(path, label_separator="none")
    assert dataset.task == "single_label"
    assert "billing;refund" in dataset.labels
    assert not any("several" in note for note in dataset.notes)


def test_what_is_in_doubt_is_one_label_and_said(tmp_path):
    labels = ["sales, EU", "support, US", "sales, US"] * 20
    dataset = load_dataset(write_csv(tmp_path / "a.csv", TEXTS, labels))
    assert dataset.task == "single_label"
    assert any("--label-separator ','" in note for note in dataset.notes)
    assert load_dataset(tmp_path / "a.csv", label_separator=",").labels == ("EU", "US", "sales", "support")


def test_lists_are_always_several_labels(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"text": text, "labels": list(one)} for text, one in zip(TEXTS, SETS, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert all_sets(load_dataset(path)) == dict(zip(TEXTS, SETS, strict=True))
    with pytest.raises(DataError, match="holds lists"):
        load_dataset(path, label_separator="none")


def test_lists_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": TEXTS, "label": [list(one) for one in SETS]}), tmp_path / "a.parquet")
    assert all_sets(load_dataset(tmp_path / "a.parquet")) == dict(zip(TEXTS, SETS, strict=True))


def bits_csv(path, values=lambda reached: int(reached)):
    rows = [[str(values(name in one)) for name in NAMES] for one in SETS]
    lines = [f"{at},{text},{','.join(row)}" for at, (text, row) in enumerate(zip(TEXTS, rows, strict=True))]
    path.write_text("\n".join(["id,comment_text,billing,login,refund", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("values", [int, float, bool])
@pytest.mark.parametrize("label", [None, "billing,login,refund", "refund, login"])
def test_columns_of_0_and_1(tmp_path, label, values):
    dataset = load_dataset(bits_csv(tmp_path / "a.csv", values), label=label)
    names = NAMES if label is None else ("login", "refund")
    if label == "billing,login,refund":
        names = NAMES
    wanted = {text: tuple(name for name in one if name in names) for text, one in zip(TEXTS, SETS, strict=True)}
    assert all_sets(dataset) == wanted
    assert (dataset.text, dataset.label_separator) == ("comment_text", "columns")
    assert any("columns" in note for note in dataset.notes)


def test_one_of_the_columns_is_one_label(tmp_path):
    dataset = load_dataset(bits_csv(tmp_path / "a.csv"), text="comment_text", label="refund")
    assert (dataset.task, dataset.labels) == ("single_label", ("0", "1"))


def test_a_missing_column_and_a_wrong_value_are_named(tmp_path):
    path = bits_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"no column 'refunds'.*Did you mean 'refund'"):
        load_dataset(path, label="billing,refunds")
    path.write_text(path.read_text(encoding="utf-8") + "99,one more text,0,7,1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"Row 61 of a.csv .all. has '7' in the column 'login'"):
        load_dataset(path, label="billing,login,refund")


def test_an_empty_cell_has_no_labels_and_a_missing_one_is_left_out(tmp_path):
    rows = [{"text": text, "label": ";".join(one)} for text, one in zip(TEXTS, SETS, strict=True)]
    rows += [{"text": "nobody has labelled this", "label": None}, {"text": "nor this"}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    dataset = load_dataset(path)
    assert sum(map(len, dataset.splits.values())) == 60
    assert any("Left out 2 rows without a label" in note for note in dataset.notes)
    assert () in set(all_sets(dataset).values())


def test_a_table_is_read_as_in_training(tmp_path):
    path = write_csv(tmp_path / "a.csv", ["a text", "another"], ["billing", "login"])
    assert load_table(path, label_separator=";").labels == [("billing",), ("login",)]
    assert load_table(path).labels == ["billing", "login"]


def test_one_label_in_all_texts_cannot_be_learnt(tmp_path):
    path = write_csv(tmp_path / "a.csv", TEXTS, ["billing" if one else "" for one in SETS])
    with pytest.raises(DataError, match="only one label"):
        load_dataset(path, label_separator=";")


def test_rare_labels_stay_in_train_and_splits_do_not_depend_on_order(tmp_path):
    labels = [";".join((*one, "rare")) if at in (3, 40) else ";".join(one) for at, one in enumerate(SETS)]
    one = load_dataset(write_csv(tmp_path / "a.csv", TEXTS, labels))
    assert any("rare" in label for label in one.splits["train"].labels)
    other = load_dataset(write_csv(tmp_path / "b.csv", TEXTS[::-1], labels[::-1]))
    for name in ("train", "dev", "test"):
        pairs = [sorted(zip(each.splits[name].texts, each.splits[name].labels, strict=True)) for each in (one, other)]
        assert pairs[0] == pairs[1]
