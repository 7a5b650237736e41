from __future__ import annotations

import json
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from thoroughness import examples
from vmask.config import DataConfig
from vmask.errors import ConfigError, ModelFolderError, UnknownName
from vmask.text.vocabulary import PAD, UNK, WordTokenizer, choose_words

WORDS = ["good", "film", "n't", "is", "été", "a"]
TRICKY = "e\u0301\u0327 aA'\u2019n-日が\u3099\u1112\u1161\u11ab👍🏽\u200d❤\ufe0f\n"
UNICODE = st.text(max_size=40) | st.text(st.sampled_from(TRICKY))


def vectors_of(*words: str) -> list[str]:
    return list(words)


@pytest.mark.parametrize("cleaning", ["paper", "gentle"])
@given(text=UNICODE)
@example(text="cafe\u0301 e\u0301te\u0301!")
@example(text="\u1112\u1161\u11ab x")
@settings(max_examples=examples(300))
def test_spans_ascend_do_not_overlap_and_lie_in_the_text(cleaning, text):
    tokens = WordTokenizer.build(WORDS, cleaning, 1000).encode([text])[0]
    flat = tokens.spans.ravel()
    assert (np.diff(flat) >= 0).all()
    assert (tokens.spans[:, 1] > tokens.spans[:, 0]).all()
    assert len(flat) == 0 or (flat[0] >= 0 and flat[-1] <= len(text))
    assert tokens.spans.shape == (len(tokens), 2)
    assert len(tokens) == tokens.total


@given(UNICODE)
@example("e\u0301te\u0301 \u0301 x")
@example("İstanbul ŉ ǰ")
@settings(max_examples=examples(300))
def test_gentle_gives_every_character_that_is_no_space_to_one_word(text):
    tokens = WordTokenizer.build(WORDS, "gentle", 1000).encode([text])[0]
    owners = Counter(at for start, end in tokens.spans for at in range(start, end) if not text[at].isspace())
    assert owners == Counter(at for at, char in enumerate(text) if not char.isspace())


@given(st.lists(UNICODE, max_size=6), st.integers(1, 5))
@settings(max_examples=examples(50))
def test_other_texts_and_cutting_change_nothing(texts, max_words):
    whole, cut = (WordTokenizer.build(WORDS, "gentle", n) for n in (1000, max_words))
    for text, tokens in zip(texts, cut.encode(texts), strict=True):
        alone = whole.encode([text])[0]
        assert tokens.total == alone.total == len(alone)
        assert len(tokens) == min(max_words, alone.total)
        assert (tokens.ids == alone.ids[:max_words]).all()
        assert (tokens.spans == alone.spans[:max_words]).all()


def test_ids_words_and_spans_agree():
    tokenizer = WordTokenizer.build(WORDS, "gentle", 5)
    text = "Isn\u2019t THAT a good film? Été"
    tokens = tokenizer.encode([text])[0]
    assert [tokenizer.words[i] for i in tokens.ids] == ["is", "n't", "<unk>", "a", "good"]
    assert [text[a:b] for a, b in tokens.spans] == ["Is", "n\u2019t", "THAT", "a", "good"]
    assert (tokens.total, tokens.ids.dtype, tokens.spans.dtype) == (8, np.int32, np.int32)
    assert tokenizer.words[:3] == ["<pad>", "<unk>", "good"]
    assert (tokenizer.id_of("good"), tokenizer.id_of("nope"), len(tokenizer)) == (2, UNK, 8)


def test_composed_and_decomposed_accents_are_the_same_word():
    tokenizer = WordTokenizer.build(WORDS, "gentle", 5)
    decomposed = unicodedata.normalize("NFD", "été film")
    tokens = tokenizer.encode([decomposed])[0]
    assert [tokenizer.words[i] for i in tokens.ids] == ["été", "film"]
    assert [decomposed[a:b] for a, b in tokens.spans] == [unicodedata.normalize("NFD", "été"), "film"]


@pytest.mark.parametrize("cleaning", ["paper", "gentle"])
def test_typed_specials_are_not_the_special_ids(cleaning):
    tokenizer = WordTokenizer.build(["pad", "good"], cleaning, 50)
    ids = tokenizer.encode(["<pad> <PAD> good <unk>"])[0].ids
    assert PAD not in ids
    assert tokenizer.id_of("pad") in ids


def test_empty_and_wordless_texts_have_no_words():
    for tokens in WordTokenizer.build(WORDS, "paper", 5).encode(["", " \n", "…", "\ud83d"]):
        assert (len(tokens), tokens.total, tokens.spans.shape) == (0, 0, (0, 2))
    assert WordTokenizer.build(WORDS, "paper", 5).encode([]) == []


@pytest.mark.parametrize("cleaning", ["paper", "gentle"])
def test_saved_and_loaded_is_the_same_and_an_ordinary_tokenizers_file(cleaning, tmp_path):
    before = WordTokenizer.build(WORDS, cleaning, 3)
    before.save(tmp_path / "tokenizer.json")
    after = WordTokenizer.load(tmp_path / "tokenizer.json", cleaning, 3)
    texts = ["A good film, isn't it?", "日本 été 👍🏽", ""]
    assert after.words == before.words
    for a, b in zip(before.encode(texts), after.encode(texts), strict=True):
        assert (a.ids == b.ids).all()
        assert (a.spans == b.spans).all()
        assert a.total == b.total
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).get_vocab()["film"] == before.id_of("film")
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_damaged_tokenizer_files_are_named(tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(ModelFolderError, match=r"has no file .*train the model again"):
        WordTokenizer.load(path, "paper", 3)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json.*cannot be read"):
        WordTokenizer.load(path, "paper", 3)
    WordTokenizer.build(["x"], "paper", 3).save(path)
    other = json.loads(path.read_text(encoding="utf-8"))
    other["model"]["vocab"] = {"x": 0, "<unk>": 1, "<pad>": 2}
    path.write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="not a word tokenizer of vmask"):
        WordTokenizer.load(path, "paper", 3)
    with pytest.raises(UnknownName, match="Did you mean 'paper'"):
        WordTokenizer.load(path, "papr", 3)


def test_wrong_vocabularies_are_refused():
    for words in (["a", "a"], ["<unk>"]):
        with pytest.raises(ConfigError, match="each word once"):
            WordTokenizer.build(words, "paper", 3)
    with pytest.raises(ConfigError, match="above 0"):
        WordTokenizer.build(["a"], "paper", 0)


TRAIN = Counter({"film": 3, "good": 3, "rare": 1})
ALL = TRAIN + Counter({"later": 2, "rare": 1})


def choose(all_counts=None, vectors=None, **options) -> list[str]:
    return choose_words(TRAIN, all_counts, vectors, DataConfig(**options))


def test_vocabulary_train_is_by_count_then_alphabet():
    assert choose(vocabulary="train", vectors=vectors_of("other")) == ["film", "good", "rare"]
    assert choose(vocabulary="train", min_count=2) == ["film", "good"]


def test_vocabulary_paper_counts_all_splits_where_they_are_given():
    assert choose(ALL, vocabulary="paper") == ["film", "good", "rare", "later"]
    assert choose(ALL, vocabulary="paper", min_count=2) == ["film", "good", "rare", "later"]
    assert choose(None, vocabulary="paper", min_count=2) == ["film", "good"]
    assert choose(ALL, vocabulary="train", min_count=2) == ["film", "good"]


def test_vocabulary_vectors_adds_the_first_words_of_the_vectors():
    vectors = vectors_of("zebra", "good", "rare", "new_york", "Paris", "été", "apple")
    assert choose(vectors=vectors) == ["film", "good", "rare", "zebra", "été", "apple"]
    assert choose(vectors=vectors, vector_words=1) == ["film", "good", "rare", "zebra"]
    assert choose(vectors=vectors, min_count=2, vector_words=2) == ["film", "good", "zebra", "rare"]
    assert choose(vectors=vectors, cleaning="paper") == ["film", "good", "rare", "zebra", "apple"]
    assert choose(vectors=vectors, vector_words=0) == choose(vectors=None) == ["film", "good", "rare"]


def test_no_word_left_says_what_to_lower():
    with pytest.raises(ConfigError, match="Lower min_count"):
        choose(vocabulary="train", min_count=9)
