"""Word lists of the rivals: ranked as their names say, cut off at a budget, the same every time."""

from __future__ import annotations

import shutil
from collections import Counter

import numpy as np
import pytest

from reproduction import rivals
from reproduction.rankings import RANKINGS, Texts, at_random, by_chi2, by_frequency, by_weight, highest_first
from reproduction.rivals import GRID, WANTED, Lists, Maker, main
from toy import BAD, GOOD, toy_texts, write_csv
from vmask._core.parsing import read_words
from vmask.classifier import TextClassifier
from vmask.errors import ConfigError, DataError
from vmask.grid.spec import read_experiment
from vmask.inference.visible_words import visible_counts, visible_share_of
from vmask.training.fit import prepare_data

WORDS = {"cnn": {"embeddings": "random", "epochs": 1, "model__filters": 4}}


def read_texts(texts, labels, model="cnn", **options):
    plan = TextClassifier(model, "base", **options).plan()
    return Texts.of(prepare_data(plan, texts, labels, (texts, labels), 0.1))


@pytest.fixture(scope="module")
def texts():
    return read_texts(*toy_texts(60), embeddings="random")


@pytest.fixture
def reviews(tmp_path):
    return str(write_csv(tmp_path / "reviews.csv", *toy_texts(60)))


def test_words_that_tell_the_class_come_first(texts):
    telling = {*GOOD, *BAD}
    for ranking in (by_chi2, by_weight):
        assert set(ranking(texts, 0)[:4]) <= telling, ranking
    assert set(by_frequency(texts, 0)[:2]).isdisjoint(telling)


def test_frequent_words_come_first_and_ties_by_alphabet(texts):
    counts = Counter(word for text in toy_texts(60)[0] for word in text.split())
    ranking = by_frequency(texts, 0)
    known = [word for word in ranking if word in counts]
    assert known == sorted(known, key=lambda word: (-counts[word], word))
    assert highest_first(["b", "a", "c"], [1.0, 1.0, 2.0]) == ["c", "a", "b"]


def test_random_orders_differ_by_seed_alone(texts):
    assert at_random(texts, 0) == at_random(texts, 0) != at_random(texts, 1)
    assert sorted(at_random(texts, 0)) == texts.vocabulary


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("budget", [0.5, 0.25])
def test_a_list_keeps_to_the_budget_and_the_next_word_would_not(texts, ranking, budget):
    ranked = RANKINGS[ranking](texts, 0)
    words = texts.cut(ranked, budget)
    assert texts.share(words) <= 0.98 * budget < texts.share(ranked[: len(words) + 1])


def test_a_model_sees_the_share_that_was_counted(texts, toy):
    words = texts.cut(by_chi2(texts, 0), 0.25)
    given = toy_texts(60)
    classifier = TextClassifier("cnn", "base", embeddings="random", epochs=1, only_words=words)
    classifier.fit(*given, dev=toy)
    assert visible_share_of(classifier.predictor_, given[0]) == pytest.approx(texts.share(words))
    assert sorted(visible_counts(classifier.predictor_)) == sorted(words)


def test_a_word_that_is_not_in_the_texts_costs_nothing(texts):
    assert texts.cut(["xylophone", *texts.vocabulary], 1e-9) == ["xylophone"]
    assert texts.cut(texts.vocabulary, 1.0 / 0.98) == texts.vocabulary


def test_the_pieces_of_an_encoder_count_where_they_stand(encoder_folder):
    model = str(encoder_folder("bert"))
    texts = read_texts(*toy_texts(60), model=model)
    assert "superb" in texts.vocabulary
    words = texts.cut(by_chi2(texts, 0), 0.25)
    ids = np.unique(np.concatenate([texts.finder.ids_of(word) for word in words]))
    assert texts.counts[ids].sum() / texts.counts.sum() == pytest.approx(texts.share(words))
    assert 0 < texts.share(words) <= 0.245


@pytest.mark.filterwarnings("ignore:The masks of all words are near")
def test_lists_are_written_for_every_ranking_seed_and_budget(reviews, tmp_path):
    lists = Lists(reviews, "cnn", budgets=(0.5, 0.25))
    maker = Maker(WORDS, None, None, tmp_path / "models")
    made = {}
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        shown = list(maker.write(lists, tmp_path / name))
        assert len(shown) == len(list(lists.names())) == 2 * (3 + 2 * 2)
        made[name] = {path.name: path.read_text() for path in (tmp_path / name).iterdir()}
    assert made["one"] == made["other"]
    assert len(list((tmp_path / "models").glob("reviews*vmask-s*"))) == 2  # not trained again
    half, few = (made["one"][f"reviews-cnn-vmask-{budget}-s0.txt"].splitlines() for budget in ("0.5", "0.25"))
    assert few == half[: len(few)]
    assert made["one"]["reviews-cnn-vmask-0.5-s0.txt"] != made["one"]["reviews-cnn-vmask-0.5-s1.txt"]


def test_a_list_without_words_is_an_error(reviews, tmp_path):
    maker = Maker(WORDS, None, None, tmp_path)
    with pytest.raises(DataError, match="would be empty: its first word alone is more than the budget"):
        list(maker.write(Lists(reviews, "cnn", ("frequency",), (1e-6,)), tmp_path))


def test_the_command_writes_the_lists_of_the_grid(reviews, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rivals, "WANTED", (Lists(reviews, "cnn", ("chi2",)),))
    monkeypatch.setattr(rivals, "read_yaml", lambda path: {"models": WORDS})
    assert main(["--out", str(tmp_path / "lists")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert read_words(tmp_path / "lists" / "reviews-cnn-chi2-0.5.txt")
    monkeypatch.setattr(rivals, "WANTED", (Lists(str(tmp_path / "none.csv"), "cnn"),))
    assert main(["--out", str(tmp_path / "lists")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_the_grid_names_exactly_these_lists(tmp_path):
    shutil.copy(GRID, tmp_path / "curves.yaml")
    with pytest.raises(ConfigError, match=r"Make it with: python -m reproduction\.rivals --data-dir DATA"):
        read_experiment(tmp_path / "curves.yaml")
    (tmp_path / "lists").mkdir()
    names = [name for lists in WANTED for name, *_ in lists.names()]
    for name in names:
        (tmp_path / "lists" / name).write_text(f"{name}\nword\n")
    experiment = read_experiment(tmp_path / "curves.yaml")
    assert {words[0] for words in experiment.word_lists.values()} == set(names)
    count = Counter((c.combination.dataset, c.combination.model) for c in experiment.cells)
    of_words = 5 + 2 * 3 * 5 + 4 * 3 * 2  # base, select and chi-squared with five seeds, the others with two
    assert count == {
        **dict.fromkeys([("sst2", "cnn"), ("trec", "cnn"), ("subj", "cnn"), ("sst2", "lstm")], of_words),
        ("trec", "minilm"): 5,
    }
