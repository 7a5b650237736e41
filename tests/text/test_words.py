from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.errors import UnknownName
from vmask.text.words import (
    LONGEST_TEXT,
    chunks,
    count_words,
    make_tokenizer,
    readable,
    whole_characters,
    whole_words,
)

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")


def words(text: str, cleaning: str) -> list[str]:
    tokenizer = make_tokenizer(cleaning)
    normalised = tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised)]


def kim(text: str) -> list[str]:
    """The cleaning of Kim (2014) as substitutions in turn, but lower-cased before contractions are split."""
    text = re.sub(r"[^A-Za-z0-9(),!?'`]", " ", text).lower()
    for contraction in ("'s", "'ve", "n't", "'re", "'d", "'ll"):
        text = text.replace(contraction, f" {contraction}")
    return re.sub(r"([,!()?])", r" \1 ", text).split()


def shared_texts(name: str) -> list[str]:
    raw = (SHARED / name).read_bytes().decode("utf-8")
    header, *lines = raw.rstrip("\n").split("\n")
    column = header.split("\t").index("text")
    return [line.split("\t")[column] for line in lines]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well-made, isn't it?", "well made , is n't it ?"),
        ("I've (we'll) they'd he's you're", "i 've ( we 'll ) they 'd he 's you 're"),
        ("``quoted'' 3.5 stars!!", "``quoted'' 3 5 stars ! !"),
        ("café — naïve", "caf na ve"),
        ("'some 'very", "'some 'very"),
        ("", ""),
    ],
)
def test_paper_cleaning_by_example(text, expected):
    assert words(text, "paper") == expected.split()


@given(st.text(st.sampled_from("nNtTsSvVeErRdDlLaA'`,!?() .é-1\u212a\u0130")) | st.text(max_size=30))
def test_paper_cleaning_is_kims(text):
    assert words(text, "paper") == kim(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A well-made FILM, isn't it?", ["a", "well", "-", "made", "film", ",", "is", "n't", "it", "?"]),
        ("I\u2019m here; don\u2019t", ["i", "'m", "here", ";", "do", "n't"]),
        ("o'clock 'quoted' y'all're", ["o'clock", "'", "quoted", "'", "y'all", "'re"]),
        ("do n't he 's", ["do", "n't", "he", "'s"]),
        ("Größe ŽLUŤOUČKÝ Привет", ["größe", "žluťoučký", "привет"]),
        ("日本語とカナ", ["日", "本", "語", "と", "カ", "ナ"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("हिन्दी می‌خواهم", ["हिन्दी", "می‌خواهم"]),
        ("👍🏽👩‍💻❤️ 🇩🇪🇫🇷", ["👍🏽", "👩‍💻", "❤️", "🇩🇪", "🇫🇷"]),
        ("<pad> 3.5%", ["<", "pad", ">", "3", ".", "5", "%"]),
        ("a\u2028b\u0085c\x1cd\u00a0e", ["a", "b", "c", "d", "e"]),
        ("cafe\u0301", ["café"]),
    ],
)
def test_gentle_cleaning_by_example(text, expected):
    assert words(text, "gentle") == expected


@pytest.mark.parametrize("cleaning", ["paper", "gentle"])
@given(st.lists(st.text(max_size=20), max_size=5))
@settings(max_examples=examples(50))
def test_counts_are_of_the_words(cleaning, texts):
    whole = whole_characters(texts)
    assert count_words(texts, cleaning) == Counter(word for text in whole for word in words(text, cleaning))


def test_counts_of_a_stream_longer_than_a_chunk():
    assert count_words((f"all w{i % 7}" for i in range(4500)), "gentle")["all"] == 4500
    assert count_words(iter(()), "gentle") == Counter()


def test_unknown_cleaning_names_the_near_one():
    with pytest.raises(UnknownName, match="Did you mean 'gentle'"):
        make_tokenizer("gentl")


def test_lone_surrogates_keep_their_place():
    assert whole_characters(["ok", "x\ud83dy"]) == ["ok", "x\ufffdy"]
    assert count_words(["x \ud83d y"], "gentle") == Counter({"x": 1, "\ufffd": 1, "y": 1})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't go, it's o'clock!", ["Don't", "go", ",", "it's", "o'clock", "!"]),
        ("Isn\u2019t y\u2019all\u2019re", ["Isn\u2019t", "y\u2019all\u2019re"]),
        ("it 's do n't I \u2019ve", ["it", "'s", "do", "n't", "I", "\u2019ve"]),  # tokenised beforehand
        ("-lrb- 'quoted' dogs' 'tis", ["-", "lrb", "-", "'", "quoted", "'", "dogs", "'", "'", "tis"]),
        ("well-made 3.5% <br/>", ["well", "-", "made", "3", ".", "5", "%", "<", "br", "/", ">"]),
        ("a[SEP]b</s>", ["a", "[", "SEP", "]", "b", "<", "/", "s", ">"]),
        ("👍🏽👩‍💻❤️ 🇩🇪🇫🇷", ["👍🏽", "👩‍💻", "❤️", "🇩🇪", "🇫🇷"]),
        ("cafe\u0301 \u0301x e\u0301\u0302", ["cafe\u0301", "\u0301x", "e\u0301\u0302"]),
        ("日本語とカナ한국어", ["日", "本", "語", "と", "カ", "ナ", "한국어"]),
        ("हिन्दी می‌خواهم", ["हिन्दी", "می‌خواهم"]),
        ("nospaceshere", ["nospaceshere"]),
        ("x\ud83dy", ["x", "\ud83d", "y"]),
        (" \n a\u2028b\u0085c\x1cd\u00a0e\t", ["a", "b", "c", "d", "e"]),
        ("", []),
    ],
)
def test_whole_words_by_example(text, expected):
    (spans,) = whole_words([text])
    assert [text[start:end] for start, end in spans] == expected


STRANGE = "aé'\u2019\u0301\u200d\u200c\ufe0f \n\u00a0\u2028\x1f東カ한👍\U0001f3fd🇩🇪-[<\ud83d\udc4d"


@given(st.lists(st.text(st.sampled_from(STRANGE)) | st.text(st.characters(), max_size=30), max_size=3))
@settings(max_examples=examples(200))
def test_every_character_that_is_no_space_is_in_exactly_one_whole_word(texts):
    for text, spans in zip(texts, whole_words(texts), strict=True):
        covered = [place for start, end in spans for place in range(start, end)]
        assert covered == [place for place, char in enumerate(text) if not char.isspace()]
        assert all(start < end for start, end in spans)


@pytest.mark.full
@pytest.mark.parametrize("unit", ["x", "a'", "é", "a\u0301", "👍\u200d"])
def test_a_word_of_millions_of_letters_is_no_panic(unit):
    text = "fine " + unit * (4 * LONGEST_TEXT // len(unit))
    assert count_words([text], "gentle")["fine"] == 1
    (spans,) = whole_words([text])
    assert spans[:, 1].max() <= LONGEST_TEXT


def test_of_a_long_text_the_beginning_is_read():
    assert [len(text) for text in readable(["a" * (LONGEST_TEXT + 1), "b"])] == [LONGEST_TEXT, 1]


def test_chunks_are_full_or_have_enough_characters():
    texts = ["a" * n for n in (5, 5, 1, 1, 1, 20, 1)]
    assert [len(chunk) for chunk in chunks(texts, 3)] == [3, 3, 1]
    assert [len(chunk) for chunk in chunks(texts, 3, characters=10)] == [2, 3, 1, 1]
    assert [text for chunk in chunks(texts, 3, characters=10) for text in chunk] == texts


@pytest.mark.full
@needs_shared
@pytest.mark.parametrize(("name", "expected"), [("sst1", 17_833), ("sst2", 16_186)])
def test_vocabulary_of_sst_is_the_papers_but_for_five(name, expected):
    texts = [text for split in ("train", "dev", "test") for text in shared_texts(f"{name}/{split}.tsv")]
    assert len(count_words(texts, "paper")) == expected
