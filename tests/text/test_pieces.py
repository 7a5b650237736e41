"""Pieces of tokenizers and the words they belong to: the same words whatever the tokenizer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from tiny_encoders import tokenizer
from vmask.errors import ConfigError, ModelFolderError
from vmask.text.pieces import MERGING, PieceTokenizer, mean_over_pieces, overlaps
from vmask.text.words import WHOLE_WORDS, whole_characters

KINDS = ["wordpiece", "bytes", "unigram"]
LONG = 10_000
TEXTS = [
    "a lovely film about a small town",
    "it 's n't -lrb- don't",
    "Isn\u2019t it \u2019ve",
    "cafe\u0301 naïve e\u0301\u0302\u0303",
    "👩‍💻👍🏽 🇩🇪🇫🇷❤️",
    "東京タワーa",
    "nospacesatallinthistext",
    "a[SEP]b [SEP] c",
    "x</s>y <mask> <pad>z <s>",
    "  leading and trailing \n\n lines\there \n",
    "qwertz ☃ ½",
    "x\ud83dy",
    "",
    " \n ",
]


def make(kind, max_tokens=LONG):
    return PieceTokenizer.of(tokenizer(kind), max_tokens)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def words_of(text, pieces):
    return [text[start:end] for start, end in pieces.spans]


def pieces_of(pieces, word):
    """Positions of the pieces of a word."""
    return pieces.owners[pieces.owners[:, 1] == word, 0].tolist()


# From characters to words ---------------------------------------------------------------------------------


@st.composite
def words_and_pieces(draw):
    """Words that do not overlap, ascending, and pieces anywhere, some of them empty."""
    cuts = sorted(draw(st.sets(st.integers(0, 20), max_size=10)))
    words = list(zip(cuts[::2], cuts[1::2], strict=False))
    starts = draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=8))
    return [(start, start + length) for start, length in starts], words


@given(words_and_pieces())
@settings(max_examples=examples(300))
def test_a_piece_belongs_to_every_word_it_shares_a_character_with(case):
    pieces, words = case
    expected = [
        [i, j]
        for i, (start, end) in enumerate(pieces)
        for j, (first, last) in enumerate(words)
        if set(range(start, end)) & set(range(first, last))
    ]
    found = overlaps(np.array(pieces, np.int32).reshape(-1, 2), np.array(words, np.int32).reshape(-1, 2))
    assert found.tolist() == expected
    assert found.shape == (len(expected), 2)


def test_the_value_of_a_word_is_the_mean_over_its_pieces():
    values = np.array([9, 0.2, 0.4, 1.0, 0.5], np.float32)
    owners = np.array([[1, 0], [2, 0], [3, 1], [3, 2], [4, 2]], np.int32)
    means = mean_over_pieces(values, owners, 4)
    assert means.tolist() == pytest.approx([0.3, 1.0, 0.75, 0.0])  # the fourth has no piece
    assert means.dtype == np.float32
    assert mean_over_pieces(values, np.zeros((0, 2), np.int32), 2).tolist() == [0, 0]
    assert mean_over_pieces(values[:0], np.zeros((0, 2), np.int32), 0).shape == (0,)


def test_the_rule_of_merging_names_its_parts():
    assert WHOLE_WORDS in MERGING
    assert "mean" in MERGING


# Words do not depend on the tokenizer ---------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_every_tokenizer_gives_a_text_the_same_words(text):
    first, *others = [make(kind).encode([text])[0] for kind in KINDS]
    assert all(other.spans.tolist() == first.spans.tolist() for other in others)
    assert all(pieces.unseen == 0 for pieces in (first, *others))


@given(st.text(max_size=20) | st.text(st.sampled_from("aB '\u2019\u0301東👍🏽🇩-[SEP]</s> \n")))
@settings(max_examples=examples(60))
def test_every_tokenizer_gives_any_text_the_same_words(text):
    spans = [make(kind).encode([text])[0].spans.tolist() for kind in KINDS]
    assert spans[0] == spans[1] == spans[2]


@pytest.mark.parametrize("text", [text for text in TEXTS if "\ud83d" not in text])  # BERT drops half characters
def test_every_word_has_pieces_and_added_tokens_belong_to_none(kind, text):
    (pieces,) = make(kind).encode([text])
    assert set(pieces.owners[:, 1].tolist()) == set(range(len(pieces.spans)))
    assert not {0, len(pieces.ids) - 1} & set(pieces.owners[:, 0].tolist())
    assert (np.diff(pieces.owners[:, 0]) >= 0).all()


def test_a_word_of_several_pieces_owns_them_all(kind):
    (pieces,) = make(kind).encode(["a filmtown"])
    tokens = tokenizer(kind).convert_ids_to_tokens(pieces.ids[pieces_of(pieces, 1)].tolist())
    assert len(tokens) > 1
    assert "".join(token.strip("Ġ▁#") for token in tokens) == "filmtown"


def test_a_typed_special_token_is_read_as_the_token_and_is_no_word_to_a_mask():
    piece_tokenizer = make("wordpiece")
    text = "film [SEP] film"
    (pieces,) = piece_tokenizer.encode([text])
    separator = tokenizer("wordpiece").sep_token_id
    assert pieces.ids.tolist().count(separator) == 2  # the typed one and the last
    assert words_of(text, pieces) == ["film", "[", "SEP", "]", "film"]
    assert pieces_of(pieces, 1) == pieces_of(pieces, 2) == pieces_of(pieces, 3)
    assert pieces.ids[pieces_of(pieces, 1)[0]] == separator
    assert separator in piece_tokenizer.special


@pytest.mark.parametrize(("kind", "text"), [("wordpiece", "☃"), ("unigram", "☃")])
def test_an_unknown_word_is_a_word_and_special_tokens_are_not(kind, text):
    piece_tokenizer, theirs = make(kind), tokenizer(kind)
    (pieces,) = piece_tokenizer.encode([text])
    assert theirs.unk_token_id in pieces.ids.tolist()
    assert words_of(text, pieces) == ["☃"]
    assert theirs.unk_token_id not in piece_tokenizer.special
    named = {theirs.pad_token_id, theirs.cls_token_id, theirs.sep_token_id, theirs.mask_token_id}
    assert set(piece_tokenizer.special) == named
    assert piece_tokenizer.pad == theirs.pad_token_id


def test_upper_case_is_told_apart_by_some():
    assert [make(kind).uncased for kind in KINDS] == [True, False, False]
    assert len(make("wordpiece")) == len(tokenizer("wordpiece"))


# The tokenizer's own numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [3, 5, 9, LONG])
def test_ids_are_those_of_transformers(kind, limit):
    texts = whole_characters(TEXTS)
    expected = tokenizer(kind)(texts, truncation=True, max_length=limit)["input_ids"]
    whole = tokenizer(kind)(texts)["input_ids"]
    for text, pieces, ids, everything in zip(texts, make(kind, limit).encode(TEXTS), expected, whole, strict=True):
        assert pieces.ids.tolist() == ids, text
        assert pieces.ids.dtype == np.int32
        assert pieces.total == len(everything)


@pytest.mark.parametrize("limit", [3, 4, 5, 9, 12])
def test_words_behind_the_limit_are_counted(kind, limit):
    text = "a lovely film [SEP] </s> about a small town, superb!"
    (whole,), (cut,) = make(kind).encode([text]), make(kind, limit).encode([text])
    assert len(cut.ids) == limit < cut.total == whole.total == len(whole.ids)
    assert len(cut.spans) + cut.unseen == len(whole.spans)
    assert cut.unseen > 0
    assert cut.spans.tolist() == whole.spans[: len(cut.spans)].tolist()
    kept = whole.owners[whole.owners[:, 0] < limit - 1]  # the last id is the one that ends a text
    assert cut.owners.tolist() == kept.tolist()
    assert len(cut.spans) == kept[:, 1].max(initial=-1) + 1


def test_a_text_that_fits_exactly_is_not_cut(kind):
    (whole,) = make(kind).encode([TEXTS[0]])
    (fitting,) = make(kind, len(whole.ids)).encode([TEXTS[0]])
    assert (fitting.total, fitting.unseen) == (whole.total, 0)
    assert fitting.ids.tolist() == whole.ids.tolist()
    (cut,) = make(kind, len(whole.ids) - 1).encode([TEXTS[0]])
    assert cut.total == whole.total
    assert len(cut.ids) == len(whole.ids) - 1


def test_company_and_order_change_nothing(kind):
    piece_tokenizer = make(kind, 9)
    together, turned = piece_tokenizer.encode(TEXTS), piece_tokenizer.encode(TEXTS[::-1])[::-1]
    for text, pieces, reverse in zip(TEXTS, together, turned, strict=True):
        (alone,) = piece_tokenizer.encode([text])
        for field in ("ids", "spans", "owners", "total", "unseen"):
            assert np.array_equal(getattr(pieces, field), getattr(alone, field)), text
            assert np.array_equal(getattr(pieces, field), getattr(reverse, field)), text
    assert piece_tokenizer.encode([]) == []


def test_more_texts_than_a_chunk_keep_their_order(kind):
    piece_tokenizer = make(kind)
    texts = [f"film {i}" for i in range(1_500)]
    encoded = piece_tokenizer.encode(texts)
    assert len(encoded) == 1_500
    assert encoded[1_234].ids.tolist() == piece_tokenizer.encode([texts[1_234]])[0].ids.tolist()


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_limit_without_room_for_a_word_is_refused(kind, limit):
    with pytest.raises(ConfigError, match="2 special tokens"):
        make(kind, limit)


def test_the_callers_tokenizer_is_left_as_it_was(kind):
    theirs = tokenizer(kind)
    before = theirs.backend_tokenizer.to_str()
    make(kind, 5).encode(TEXTS)
    assert theirs.backend_tokenizer.to_str() == before
    assert len(theirs(TEXTS[0])["input_ids"]) > 5


def test_a_tokenizer_without_padding_pads_with_its_end():
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizer("bytes").backend_tokenizer, eos_token="</s>")
    piece_tokenizer = PieceTokenizer.of(theirs, 20)
    assert piece_tokenizer.pad == theirs.eos_token_id
    assert piece_tokenizer.settings == {"eos_token": "</s>"}


# Saving ---------------------------------------------------------------------------------------------------


def test_a_saved_tokenizer_comes_back(kind, tmp_path):
    piece_tokenizer = make(kind, 9)
    piece_tokenizer.encode(TEXTS)
    piece_tokenizer.save(tmp_path / "tokenizer.json")
    facts = json.loads(json.dumps(piece_tokenizer.facts()))
    loaded = PieceTokenizer.read((tmp_path / "tokenizer.json").read_text(encoding="utf-8"), facts)
    for before, after in zip(piece_tokenizer.encode(TEXTS), loaded.encode(TEXTS), strict=True):
        assert before.ids.tolist() == after.ids.tolist()
        assert before.owners.tolist() == after.owners.tolist()
    assert loaded.facts() == piece_tokenizer.facts()
    assert loaded.to_json() == piece_tokenizer.to_json()


def test_the_limit_is_not_written_and_holds_after_writing(kind):
    piece_tokenizer = make(kind, 5)
    stored = json.loads(piece_tokenizer.to_json())
    assert stored["truncation"] is None
    assert stored["padding"] is None
    assert len(piece_tokenizer.encode([TEXTS[0]])[0].ids) == 5
    assert piece_tokenizer.to_json() == make(kind, 9).to_json()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}'])
def test_a_file_that_is_no_tokenizer_is_said(text):
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json cannot be read.*Copy the folder again"):
        PieceTokenizer.read(text, make("bytes").facts())
