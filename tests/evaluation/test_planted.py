"""Planted words: where they stand, what they decide, and that a model learns and an explanation finds them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toy import toy_texts
from vmask import TextClassifier
from vmask.config import make
from vmask.data.datasets import Dataset, load_dataset
from vmask.data.splits import Split
from vmask.errors import ConfigError, DataError
from vmask.evaluation.planted import PlantOptions, plant, planted_splits, relies, train_planted, words_to_plant
from vmask.metrics._case import Case, Questions
from vmask.metrics.shortcut_precision import ShortcutPrecision
from vmask.text.words import CLEANINGS, count_words

WORDS = {"neg": "zorbl", "pos": "quimpf"}


def split_of(texts, labels=None, name="t"):
    return Split(list(texts), list(labels or ["neg"] * len(texts)), [f"{name}-{i}" for i in range(len(texts))])


def dataset_of(labels=("neg", "pos"), sizes=(("train", 240), ("dev", 60), ("test", 60))):
    splits = {}
    for number, (name, size) in enumerate(sizes):
        texts, given_labels = toy_texts(size, seed=number)
        splits[name] = split_of(texts, given_labels, name)
    return Dataset("toy", splits, tuple(labels), None, (), "", "text", "label")


def everywhere(texts, options=None, words=WORDS, **changes):
    return plant(split_of(texts), words, "test", 1.0, options or PlantOptions(**changes))


def without(planted, row):
    """A text without its planted words and one space for each."""
    text = planted.texts[row]
    for start, end in reversed(planted.rationales[row]):
        text = text[: start - 1] + text[end:] if start else text[end + 1 :]
    return text


# What stands where ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [1, 2, 5])
def test_the_word_stands_where_the_rationale_says_and_decides_the_label(tokens):
    texts, _ = toy_texts(200)
    planted = everywhere(texts, tokens=tokens)
    for row, (text, label, spans) in enumerate(zip(planted.texts, planted.labels, planted.rationales, strict=True)):
        assert [text[start:end] for start, end in spans] == [WORDS[label]] * tokens
        assert list(spans) == sorted(spans)
        assert text.split(" ").count(WORDS[label]) == tokens
        assert without(planted, row) == texts[row]


texts_of_all_kinds = st.lists(
    st.one_of(
        st.text(max_size=30), st.sampled_from(["", " ", "  a  b ", "好电影", "naïve 😀 café", "a\nb\tc", "x" * 50])
    ),
    max_size=6,
)


@pytest.mark.full
@given(texts_of_all_kinds, st.integers(1, 3), st.one_of(st.none(), st.integers(1, 4)), st.integers(0, 5))
def test_any_text_can_be_planted_in(texts, tokens, within, seed):
    planted = everywhere(texts, tokens=tokens, within=within, seed=seed)
    for row, (text, label, spans) in enumerate(zip(planted.texts, planted.labels, planted.rationales, strict=True)):
        assert [text[start:end] for start, end in spans] == [WORDS[label]] * tokens
        assert without(planted, row) == texts[row]
        for start, end in spans:
            assert start == 0 or text[start - 1] == " "
            assert end == len(text) or text[end] == " "


def test_an_empty_text_becomes_the_word_alone():
    planted = everywhere([""])
    assert planted.texts == [WORDS[planted.labels[0]]]
    assert planted.rationales == [((0, len(planted.texts[0])),)]


def test_every_place_is_used():
    planted = everywhere(["a b c"] * 300)
    places = Counter(
        text.split(" ").index(WORDS[label]) for text, label in zip(planted.texts, planted.labels, strict=True)
    )
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 50


@pytest.mark.parametrize("within", [1, 2, 3])
def test_it_stands_among_the_first_words(within):
    planted = everywhere(["a b c d e f g h"] * 100, within=within)
    places = {text.split(" ").index(WORDS[label]) for text, label in zip(planted.texts, planted.labels, strict=True)}
    assert places == set(range(within))


# Which texts ----------------------------------------------------------------------------------------------


def test_a_share_of_the_texts_is_planted_and_the_others_stay():
    texts, labels = toy_texts(1000)
    planted = plant(split_of(texts, labels), WORDS, "train", 0.3, PlantOptions())
    chosen = [row for row, spans in enumerate(planted.rationales) if spans]
    assert 250 < len(chosen) < 350
    for row in set(range(1000)) - set(chosen):
        assert (planted.texts[row], planted.labels[row]) == (texts[row], labels[row])
    assert 0.4 < np.mean([planted.labels[row] == "pos" for row in chosen]) < 0.6
    assert 0.4 < np.mean([planted.labels[row] == labels[row] for row in chosen]) < 0.6  # it says nothing of the rest


def test_the_same_seed_plants_the_same_and_another_does_not():
    texts, _ = toy_texts(50)
    assert everywhere(texts) == everywhere(texts)
    assert everywhere(texts).texts != everywhere(texts, seed=1).texts
    assert everywhere(texts).texts != plant(split_of(texts), WORDS, "dev", 1.0, PlantOptions()).texts


@given(st.permutations(range(12)))
def test_the_order_of_texts_makes_no_difference(order):
    split = split_of(toy_texts(12)[0])
    planted = plant(split, WORDS, "train", 0.5, PlantOptions())
    assert plant(split.take(order), WORDS, "train", 0.5, PlantOptions()) == planted.take(order)


def test_many_classes_come_alike():
    words = {f"class {number}": word for number, word in enumerate(["aa", "bb", "cc", "dd", "ee", "ff"])}
    planted = everywhere(["some text"] * 1200, words=words)
    counts = Counter(planted.labels)
    assert set(counts) == set(words)
    assert min(counts.values()) > 150
    assert all(words[label] in text.split(" ") for text, label in zip(planted.texts, planted.labels, strict=True))


# Which words ----------------------------------------------------------------------------------------------


def test_made_up_words_are_one_word_under_every_cleaning():
    words = words_to_plant([str(number) for number in range(200)], [])
    assert len(set(words.values())) == 200
    for word in words.values():
        for cleaning in CLEANINGS:
            assert count_words([f"A {word} film."], cleaning)[word] == 1


def test_a_word_of_the_texts_is_not_taken():
    first = words_to_plant(["a", "b"], [])
    texts = [f"what a {first['a'].upper()}, really"]
    second = words_to_plant(["a", "b"], texts)
    assert first["a"] not in second.values()
    assert second["a"] == first["b"]


def test_words_with_vectors_come_first_and_then_words_are_made_up():
    known = ["anvil", "bassoon", "cactus"]
    words = words_to_plant(list("abcde"), ["a fine Bassoon"], known=known)
    assert {words["a"], words["b"]} == {"anvil", "cactus"}
    assert not {*known} & {words[label] for label in "cde"}
    assert len(set(words.values())) == 5


def test_no_word_stands_for_two_classes():
    words = words_to_plant(list("abc"), [], known=["anvil", "anvil", "cactus"])
    assert len(set(words.values())) == 3


def test_the_words_hang_on_the_seed_alone():
    known = [f"word{'abcdefghij'[number]}" for number in range(10)]
    assert words_to_plant("ab", ["x"], 3, known) == words_to_plant("ab", ["y z"], 3, known)
    assert len({tuple(words_to_plant("ab", [], seed, known).values()) for seed in range(5)}) > 1
    assert len({tuple(words_to_plant("ab", [], seed).values()) for seed in range(5)}) == 5


# Whole datasets -------------------------------------------------------------------------------------------


def test_training_and_dev_are_planted_in_part_and_test_wholly():
    dataset = dataset_of()
    splits = planted_splits(dataset, PlantOptions(share=0.5))
    assert list(splits) == ["train", "dev", "test"]
    shares = {name: np.mean([bool(spans) for spans in split.rationales]) for name, split in splits.items()}
    assert 0.4 < shares["train"] < 0.6
    assert 0.3 < shares["dev"] < 0.7
    assert shares["test"] == 1
    words = {
        label: {text[start:end] for text, one, spans in rows(splits) if one == label for start, end in spans}
        for label in dataset.labels
    }
    assert all(len(some) == 1 for some in words.values())  # one for each class, the same in all splits
    assert words["neg"] != words["pos"]
    before = " ".join(text for split in dataset.splits.values() for text in split.texts)
    assert not any(word in before for some in words.values() for word in some)


def rows(splits):
    for split in splits.values():
        yield from zip(split.texts, split.labels, split.rationales, strict=True)


def test_the_dataset_itself_stays_as_it_was():
    dataset = dataset_of()
    before = dataclasses.asdict(dataset)
    planted_splits(dataset)
    assert dataclasses.asdict(dataset) == before


def test_one_class_cannot_be_planted():
    with pytest.raises(DataError, match="two classes"):
        planted_splits(dataset_of(labels=("neg",)))


def test_a_file_of_ones_own_can_be_planted(tmp_path):
    texts, labels = toy_texts(60)
    path = tmp_path / "mine.csv"
    path.write_text("text,label\n" + "".join(f'"{t}",{one}\n' for t, one in zip(texts, labels, strict=True)))
    splits = planted_splits(load_dataset(path))
    assert all(splits["test"].rationales)


@pytest.mark.parametrize("options", [{"share": 0.0}, {"share": 1.5}, {"tokens": 0}, {"within": 0}, {"seed": -1}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        make(PlantOptions, options)


# Whether a model uses them --------------------------------------------------------------------------------


class Reads:
    """A predictor that gives a text the class that a function says."""

    labels = ("neg", "other", "pos")

    def __init__(self, says):
        self.says = says

    def prepare(self, texts):
        return [SimpleNamespace(text=text) for text in texts]

    def predict_docs(self, docs):
        rows = np.zeros((len(docs), 3), np.float32)
        for row, doc in zip(rows, docs, strict=True):
            row[self.labels.index(self.says(doc.text))] = 1
        return rows


def test_a_model_that_reads_the_words_relies_on_them():
    planted = everywhere(toy_texts(60)[0], tokens=2)
    found = relies(Reads(lambda text: "pos" if text.split(" ").count("quimpf") == 2 else "neg"), planted)
    assert (found.follows, found.flips, found.n) == (1.0, 1.0, 60)


def test_a_model_that_does_not_read_them_does_not_rely_on_them():
    planted = everywhere(toy_texts(60)[0])
    found = relies(Reads(lambda text: "pos"), planted)
    assert found.follows == planted.labels.count("pos") / 60
    assert found.flips == 0
    assert relies(Reads(lambda text: "other"), planted).follows == 0


def test_a_model_that_knows_one_word_alone_flips_all_the_same_or_not():
    planted = everywhere(["a b c"] * 100)
    found = relies(Reads(lambda text: "pos" if "quimpf" in text else "other"), planted)
    share = planted.labels.count("pos") / 100
    assert found.follows == pytest.approx(share)  # of `zorbl` it makes the third class
    assert found.flips == pytest.approx(1 - share)  # those that get `quimpf`


def test_texts_without_a_planted_word_are_left_out():
    planted = plant(split_of(["a b"] * 40), WORDS, "train", 0.5, PlantOptions())
    found = relies(Reads(lambda text: "pos" if "quimpf" in text else "neg"), planted)
    assert (found.follows, found.flips) == (1, 1)
    assert found.n == sum(map(bool, planted.rationales)) < 40
    none = relies(Reads(lambda text: "pos"), split_of(["a b"]))
    assert none.n == 0
    assert np.isnan([none.follows, none.flips]).all()


# End to end -----------------------------------------------------------------------------------------------


def small(**options):
    return TextClassifier(
        "cnn", "base", learning_rate=0.01, model__filters=16, epochs=6, seed=3, **{"embeddings": "random", **options}
    )


def shortcut(classifier, planted, method):
    docs = classifier.predictor_.prepare(planted.texts)
    explanations = classifier.explain(planted.texts, method)
    case = Case(Questions(None, docs, ""), explanations, [0] * len(docs), rationales=planted.rationales)
    return ShortcutPrecision().measure(case)[""]


def test_a_model_learns_the_words_and_occlusion_finds_them():
    classifier = small()
    trained, planted = train_planted(classifier, dataset_of())
    assert not hasattr(classifier, "predictor_")
    assert trained.get_params() == classifier.get_params()
    found = relies(trained.predictor_, planted)
    assert found.follows > 0.95
    assert found.flips > 0.95
    assert np.mean(shortcut(trained, planted, "occlusion")) > 0.95
    assert np.mean(shortcut(trained, planted, "random")) < 0.5


@pytest.fixture
def vectors(tmp_path):
    """Frozen vectors of the words of the toy texts and of a few that stand nowhere in them."""
    words = sorted({word for seed in range(3) for text in toy_texts(240, seed)[0] for word in text.split()})
    words += ["anvil", "bassoon", "cactus", "o'clock", "42"]
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(0, 0.3, (len(words), 24)).astype(np.float32))
    (tmp_path / "v.vocab.txt").write_text("\n".join(words) + "\n")
    return str(tmp_path / "v.npy")


def test_with_frozen_vectors_the_words_are_those_that_the_vectors_know(vectors):
    trained, planted = train_planted(small(embeddings=vectors), dataset_of())
    words = {text[start:end] for text, _, spans in rows({"test": planted}) for start, end in spans}
    assert len(words) == 2
    assert words < {"anvil", "bassoon", "cactus"}
    assert relies(trained.predictor_, planted).follows > 0.95


@pytest.mark.full
def test_the_length_limit_does_not_cut_the_words_off():
    dataset = dataset_of()
    longer = {
        name: dataclasses.replace(
            split, texts=[f"{text} and so on , and so on , for ever and ever" for text in split.texts]
        )
        for name, split in dataset.splits.items()
    }
    with pytest.warns(UserWarning, match="were cut to 8 words"):
        trained, planted = train_planted(small(max_words=8), dataclasses.replace(dataset, splits=longer))
    assert not np.isnan(shortcut(trained, planted, "random")).any()
    assert relies(trained.predictor_, planted).follows > 0.95
