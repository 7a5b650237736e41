"""Names of cells, and what tells one request from another."""

from __future__ import annotations

from vmask.grid.cell import Cell, Combination, identity, short_name


def test_a_key_says_what_a_cell_is():
    assert Cell(Combination("trec", "cnn", "vmask"), 3).key == "trec--cnn--vmask--s3"
    assert Combination("trec", "cnn", "base", "glove100").key == "trec--cnn--base--glove100"


def test_paths_have_short_names_in_keys():
    assert short_name("../examples/hotels.csv") == "hotels"
    assert short_name("/data/My Reviews/") == "my-reviews"
    assert Combination("a/b.jsonl", "sentence-transformers/all-MiniLM", "base").key == "b--all-minilm--base"


def test_a_record_names_the_parts_of_its_cell():
    cell = Cell(Combination("x/hotels.csv", "cnn", "l2", "wide", {"epochs": 3}), 1)
    assert cell.to_dict() == {"dataset": "hotels", "model": "cnn", "mask": "l2", "variant": "wide", "seed": 1}


def test_identity_hangs_on_values_and_not_on_their_order():
    assert identity({"a": 1, "b": [2.5, {"c": 0, "d": 1}]}) == identity({"b": [2.5, {"d": 1, "c": 0}], "a": 1})
    assert identity({"a": 1}) != identity({"a": 2})
    assert identity({"a": 1}) != identity({"a": "1"})


def test_identity_is_what_it_was_when_results_were_written():
    """Files in the world have it: another digest would make all of them work to do."""
    asked = {"dataset": "trec", "model": "cnn", "mask": "vmask", "variant": "", "seed": 0, "options": {"epochs": 4}}
    assert identity(asked) == "40b56489bb7dd3a0"


def test_options_tell_combinations_apart():
    one, other = (Combination("trec", "cnn", "base", "", {"epochs": epochs}) for epochs in (1, 2))
    assert one != other
    assert len({one, other, Combination("trec", "cnn", "base", "", {"epochs": 1})}) == 2
