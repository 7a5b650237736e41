from __future__ import annotations

import subprocess
import sys

import pytest

from vmask.config import DataConfig
from vmask.data.card import Card, card_names, load_card, override
from vmask.errors import DataError, UnknownName

PAPER = ["agnews", "imdb", "sst1", "sst2", "subj", "trec", "yelp"]
OTHERS = ["movies", "reviews", "sst_trees"]


def test_there_is_a_card_for_each_dataset_of_the_paper_and_for_the_others():
    assert card_names() == sorted([*PAPER, *OTHERS])


@pytest.mark.parametrize("name", [*PAPER, *OTHERS])
def test_cards_agree_with_themselves(name):
    card = load_card(name)
    assert card.name == name
    assert card.title
    assert card.citation
    assert card.licence
    assert len(set(card.labels)) == len(card.labels) >= 2
    DataConfig(**card.defaults)
    if name in PAPER:
        assert card.paper is not None
        assert card.paper.classes == len(card.labels)
        assert card.hub_source
        held = [card.split.dev_rows or 0, card.split.test_rows or 0]
        if card.split.of_rows:
            assert sum(held) + card.paper.train == card.split.of_rows
            assert card.split.dev_rows == card.paper.dev
    else:
        assert (card.paper, card.hub_source) == (None, None)


def test_the_trees_have_the_labels_and_numbers_of_sst1():
    trees, sst1 = load_card("sst_trees"), load_card("sst1")
    assert (trees.labels, trees.defaults) == (sst1.labels, sst1.defaults)
    assert (trees.format, sst1.format) == ("trees", "table")


@pytest.mark.parametrize(
    ("name", "vocabulary", "threshold", "length"),
    [
        ("imdb", 29571, 5, 250),
        ("sst1", 17838, 0, 50),
        ("sst2", 16190, 0, 50),
        ("yelp", 45674, 10, 150),
        ("agnews", 21838, 5, 50),
        ("trec", 8026, 0, 15),
        ("subj", 9965, 1, 25),
    ],
)
def test_cards_have_the_papers_numbers(name, vocabulary, threshold, length):
    card = load_card(name)
    assert (card.paper.vocabulary, card.threshold, card.max_words) == (vocabulary, threshold, length)
    assert card.defaults == {"cleaning": "paper", "max_words": length, "min_count": threshold + 1}


def test_unknown_card_names_the_near_one():
    with pytest.raises(UnknownName, match="Did you mean 'sst2'"):
        load_card("sst22")


def test_override_changes_only_what_it_names(tmp_path):
    path = tmp_path / "card.yaml"
    path.write_text("standin: true\nnote: other rows\nsplit: {dev_rows: 7}\nlabels: [no, yes]\n", encoding="utf-8")
    with pytest.raises(DataError, match="Put quotes around"):
        override(load_card("imdb"), path)
    path.write_text("standin: true\nnote: other rows\nsplit: {dev_rows: 7}\nlabels: [bad, 1]\n", encoding="utf-8")
    old, new = load_card("imdb"), override(load_card("imdb"), path)
    assert (new.standin, new.note, new.labels) == (True, "other rows", ("bad", "1"))
    assert (new.split.dev_rows, new.split.of_rows) == (7, 25000)
    assert (new.title, new.paper, new.hub_source) == (old.title, old.paper, old.hub_source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("max_word: 5", r"no field 'max_word'\. Did you mean 'max_words'"),
        ("hub_source: {id: a/b}", "no field 'hub_source'.*Did you mean 'source'|Known:.*hub"),
        ("split: {dev_row: 5}", r"no field 'split\.dev_row'\. Did you mean 'dev_rows'"),
        ("max_words: many", "'max_words' is 'many'; it must be of type int"),
        ("max_words: true", "'max_words' is True"),
        ("max_words: 0", "above 0"),
        ("cleaning: strong", "cleaning is 'strong'. Choose one of: paper, gentle"),
        ("format: tree", "format is 'tree'. Choose one of: table, trees"),
        ("labels: pos", "'labels' is 'pos'; it must be of type list"),
        ("paper: {classes: 2}", r"'paper\.average_length' is missing"),
        ("split: 5", "'split' must be a mapping"),
        ("- a\n- b", "not a list of fields"),
        ("a: [", "is not YAML"),
    ],
)
def test_wrong_cards_name_the_file_and_the_field(content, message, tmp_path):
    path = tmp_path / "card.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        override(Card(name="mine"), path)
    assert str(path) in str(caught.value)


def test_cards_are_read_without_heavy_packages():
    code = (
        "import sys; from vmask.data.card import card_names, load_card; [load_card(n) for n in card_names()];"
        "print([m for m in ('torch', 'sklearn', 'pyarrow', 'tokenizers', 'datasets', 'numpy') if m in "
        "sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("wrong", ["dev_rows: 0", "test_rows: -1", "of_rows: 0", "seed: -1", f"dev_rows: {10**12}"])
def test_rows_to_hold_out_are_a_number_that_can_be(tmp_path, wrong):
    path = tmp_path / "card.yaml"
    path.write_text(f"split: {{{wrong}}}\n")
    with pytest.raises(DataError, match=f"split.{wrong.partition(':')[0]} is .*it must be from"):
        override(Card(name="a"), path)
