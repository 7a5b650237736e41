"""Split texts into words, with offsets into the original text.

There are two cleanings for models of words. `paper` is the regular-expression cleaning of Kim's CNN (2014), which gives
the paper's vocabulary sizes; it is for English and drops other characters. `gentle` is for a user's own texts and drops
nothing but white space.

Both are ordinary `tokenizers` pipelines (normalisers, then one regular expression that matches words), so
the rules are stored in a model's `tokenizer.json` and run in compiled code on all cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmask.errors import UnknownName
from vmask.text.segmenters import Segmenter, spaced

PAD, UNK = 0, 1
"""Ids of padding and of unknown words, in every vocabulary."""
SPECIALS = ("<pad>", "<unk>")
"""The words at `PAD` and `UNK`. No text contains them as a word: both cleanings split off `<` and `>`."""

CLEANINGS = ("paper", "gentle")
LONGEST_TEXT = 1_000_000
"""Characters of a text that are read, far more than a model uses. The compiled tokenizer fails on a word of several
million letters, and takes half a kilobyte per word."""
TOKENIZED_AT_ONCE = 4 * LONGEST_TEXT
"""Characters that are passed to the compiled tokenizer at a time, or one text if it is longer."""

# paper: after the first step only these characters and spaces are left
_PAPER_DROPPED = r"[^A-Za-z0-9(),!?'`]"
_PAPER_BREAK = r"n't|'(?:s|ve|re|d|ll)"  # a word ends before these at any position, as in Kim's code
_PAPER_WORD = rf"[(),!?]|(?:{_PAPER_BREAK}|[a-z0-9'`])(?:(?!{_PAPER_BREAK})[a-z0-9'`])*"

# Parts of the symbol before them: accents, emoji variants, skin tones, the letters of flags of regions.
_AFTER = r"[\p{M}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]*"
_SPACE = r"\s\x1c-\x1f"  # as Python's str.isspace
_SYMBOL = rf"[^{_SPACE}]{_AFTER}(?:\u200d[^{_SPACE}\p{{L}}\p{{N}}]{_AFTER})*"
_FLAG = r"[\x{1F1E6}-\x{1F1FF}]{2}"
_APOSTROPHE = "['\u2019]"


class _Words(NamedTuple):
    """Regular expressions of a word.

    Attributes:
        gentle: of the cleaning of that name.
        whole: for encoders, whose pieces seldom end inside of these; `don't` stays whole, as their pieces are
            `don ' t`.
    """

    gentle: str
    whole: str


@cache
def _words(segmenter: Segmenter | None = None) -> _Words:
    # Scripts written without spaces, in which each character is a word of its own, unless a segmenter put spaces there.
    scripts = () if segmenter is None else segmenter.scripts
    alone = ("" if "Han" in scripts else r"\p{Han}") + ("" if "Kana" in scripts else r"\p{Hiragana}\p{Katakana}")
    # Letters, their marks, digits; and the invisible joiners that Persian and Indian scripts write inside words.
    letter = r"[\p{L}\p{M}\p{N}\u200c\u200d\u00ad]"
    letter = rf"[{letter}&&[^{alone}]]" if alone else letter
    contraction = rf"(?:n't|'(?:s|ve|re|d|ll|m))(?!{letter})"
    letters = rf"{letter}(?:(?!{contraction})(?:{letter}|'(?={letter})))*"
    whole = rf"{letter}(?:{letter}|{_APOSTROPHE}(?={letter}))*"
    ending = rf"{_APOSTROPHE}(?:s|t|ve|re|d|ll|m)(?!{letter})"  # a word in tokenised text: it 's
    return _Words(f"{contraction}|{letters}|{_FLAG}|{_SYMBOL}", f"{ending}|{whole}|{_FLAG}|{_SYMBOL}")


WHOLE_WORDS = "letters with inner apostrophes; each ideograph, punctuation mark and symbol"
"""The words of `whole_words`, as results record it."""


def make_tokenizer(
    cleaning: str, vocabulary: Mapping[str, int] | None = None, segmenter: Segmenter | None = None
) -> Any:
    """A `tokenizers.Tokenizer` that splits texts into words.

    `paper`: characters other than ASCII letters, digits and ``( ) , ! ? ' ` `` become spaces; a word ends
    before `'s 've n't 're 'd 'll`; `, ! ( ) ?` are words; lower case.

    `gentle`: every character that is not white space belongs to exactly one word.
        * Letters of every script are kept and lower-cased; accents are composed (NFC), a typographic
          apostrophe becomes a plain one. `WordTokenizer` gives offsets into the original text.
        * English contractions are split as above, and also `'m`. Other apostrophes inside a word stay:
          `o'clock`.
        * A hyphen is a word of its own: `well-made` is `well - made`. Word vectors seldom have the compound
          and nearly always have its parts.
        * Each ideograph and kana, punctuation mark, symbol and emoji is a word. Thai, Lao, Khmer and Burmese,
          written without spaces, are not split further: a run of letters is one word.
        * With a segmenter, the words of its scripts are those between the spaces of `spaced`.

    Args:
        cleaning: "paper" or "gentle".
        vocabulary: id of each word, with `SPECIALS` at 0 and 1; without it every word is `<unk>`.
        segmenter: by which `spaced` prepares the texts that the tokenizer is given.

    Raises:
        UnknownName: for another cleaning.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    if cleaning == "paper":
        steps = [normalizers.Replace(Regex(_PAPER_DROPPED), " "), normalizers.Lowercase()]
        word = _PAPER_WORD
    elif cleaning == "gentle":
        steps = [normalizers.NFC(), normalizers.Replace("\u2019", "'"), normalizers.Lowercase()]
        word = _words(segmenter).gentle
    else:
        raise UnknownName("cleaning", cleaning, CLEANINGS)
    if vocabulary is None:
        vocabulary = {word: id for id, word in enumerate(SPECIALS)}
    # `<unk>` and `<pad>` are only in the vocabulary, not "added tokens": those would be found in raw text.
    tokenizer = Tokenizer(models.WordLevel(dict(vocabulary), unk_token=SPECIALS[UNK]))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(word), behavior="removed", invert=True)
    return tokenizer


def whole_words(texts: Sequence[str], segmenter: Segmenter | None = None) -> list[NDArray[np.int32]]:
    """(n, 2) start and end of every word of each text, by a rule that is independent of tokenizers.

    Like the `gentle` cleaning, but English contractions stay whole: `don't` is one word. Every character that is not
    white space belongs to exactly one word.

    >>> [[text[a:b] for a, b in spans] for text in ["Isn't it 4-ever?"] for spans in whole_words([text])]
    [["Isn't", 'it', '4', '-', 'ever', '?']]
    """
    from tokenizers import Regex, pre_tokenizers

    splitter = pre_tokenizers.Split(Regex(_words(segmenter).whole), behavior="removed", invert=True)
    return [
        text.in_original(np.array([span for _, span in splitter.pre_tokenize_str(text.text)], np.int32).reshape(-1, 2))
        for text in spaced(readable(texts), segmenter)
    ]


def count_words(texts: Iterable[str], cleaning: str, segmenter: Segmenter | None = None) -> Counter[str]:
    """Count each word of `texts`, which may be a stream: 2,000 are in memory at a time.

    >>> count_words(["Good, good!", "It isn't."], "paper")["good"]
    2
    """
    from tokenizers import trainers

    counts: Counter[str] = Counter()
    for raw in chunks(texts, 2_000, TOKENIZED_AT_ONCE):
        chunk = [text.text for text in spaced(raw, segmenter)]
        # The trainer collects the distinct words, a second pass counts them: both compiled, on all cores.
        tokenizer = make_tokenizer(cleaning, segmenter=segmenter)
        trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
        tokenizer.train_from_iterator(chunk, trainer)
        ids = chain.from_iterable(encoding.ids for encoding in tokenizer.encode_batch_fast(chunk))
        frequency = np.bincount(np.fromiter(ids, np.int64), minlength=tokenizer.get_vocab_size())
        counts.update({word: int(frequency[id]) for word, id in tokenizer.get_vocab().items()})
    return counts


def chunks(texts: Iterable[str], size: int, characters: int | None = None) -> Iterator[list[str]]:
    """Lists of `size` texts that the compiled tokenizer accepts; fewer if they have `characters` already."""
    chunk: list[str] = []
    length = 0
    for text in texts:
        chunk.append(text)
        length += min(len(text), LONGEST_TEXT)
        if len(chunk) == size or (characters is not None and length >= characters):
            yield readable(chunk)
            chunk, length = [], 0
    if chunk:
        yield readable(chunk)


def readable(texts: Sequence[str]) -> list[str]:
    """The texts without lone surrogates, cut to `LONGEST_TEXT` characters."""
    return whole_characters([text[:LONGEST_TEXT] for text in texts])


def whole_characters(texts: Sequence[str]) -> list[str]:
    r"""Replace lone surrogates (half a character, as from a cut JSON escape) by U+FFFD; offsets stay the same.

    >>> whole_characters(["a\ud83d!"])
    ['a�!']
    """
    try:
        "".join(texts).encode()
        return list(texts)
    except UnicodeEncodeError:
        return ["".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text) for text in texts]
