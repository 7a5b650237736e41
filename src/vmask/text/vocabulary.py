"""The vocabulary of a model, and texts as word ids."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import write_text
from vmask._core.parsing import read_json
from vmask.errors import ConfigError, DataError, FileMissing, ModelFolderError, UnknownName
from vmask.text.segmenters import Segmenter, recorded, spaced
from vmask.text.tokenizer_file import LIMIT_BYTES
from vmask.text.words import CLEANINGS, PAD, SPECIALS, TOKENIZED_AT_ONCE, UNK, chunks, make_tokenizer

if TYPE_CHECKING:
    from vmask.config import DataConfig

__all__ = ["PAD", "SPECIALS", "UNK", "Tokens", "WordTokenizer", "choose_words"]


@dataclass(frozen=True)
class Tokens:
    """One text as numbers."""

    ids: NDArray[np.int32]
    """(T,) ids of the words, at most `max_words`."""
    spans: NDArray[np.int32]
    """(T, 2) start and end of each word in the original text."""
    total: int
    """Number of words before the text was cut; `total - len(ids)` were cut off."""

    def __len__(self) -> int:
        return len(self.ids)


class WordTokenizer:
    """Convert texts to word ids and back, by a `tokenizers` pipeline.

    >>> tokenizer = WordTokenizer.build(["good", "film"], "gentle", max_words=3)
    >>> tokens = tokenizer.encode(["A GOOD film, good!"])[0]
    >>> [tokenizer.words[id] for id in tokens.ids], tokens.total
    (['<unk>', 'good', 'film'], 6)
    """

    def __init__(self, tokenizer: Any, cleaning: str, max_words: int, segmenter: Segmenter | None = None) -> None:
        if max_words < 1:
            raise ConfigError(f"max_words is {max_words}; it must be above 0.")
        self._tokenizer = tokenizer
        self._ids: dict[str, int] = tokenizer.get_vocab()
        self.cleaning = cleaning
        self.max_words = max_words
        self.segmenter = segmenter
        self.words: list[str] = sorted(self._ids, key=self._ids.__getitem__)
        """Every known word, at the index of its id; the first two are `<pad>` and `<unk>`."""

    @classmethod
    def build(
        cls, words: Sequence[str], cleaning: str, max_words: int, segmenter: Segmenter | None = None
    ) -> WordTokenizer:
        """A tokenizer for `words` (without the specials), whose ids start at 2 in that order."""
        vocabulary = {word: id for id, word in enumerate([*SPECIALS, *words])}
        if len(vocabulary) != len(words) + len(SPECIALS):
            raise ConfigError(
                "The vocabulary has a word twice, or <pad> or <unk>. Give each word once, and no specials."
            )
        return cls(make_tokenizer(cleaning, vocabulary, segmenter), cleaning, max_words, segmenter)

    def __len__(self) -> int:
        return len(self.words)

    def id_of(self, word: str) -> int:
        """The id of a word in the spelling of the vocabulary; `UNK` for an unknown one."""
        return self._ids.get(word, UNK)

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into words and look up their ids, on all cores; texts longer than `max_words` are cut.

        Args:
            texts: any strings; an empty one has no words.

        Returns:
            One `Tokens` per text, in order. The result of a text does not depend on the others.
        """
        result = []
        for chunk in chunks(texts, 2_000, TOKENIZED_AT_ONCE):  # the library's result is large: free it early
            texts_spaced = spaced(chunk, self.segmenter)
            encodings = self._tokenizer.encode_batch([text.text for text in texts_spaced])
            for one, encoding in zip(texts_spaced, encodings, strict=True):
                total = len(encoding)
                composed = self.cleaning == "gentle" and not unicodedata.is_normalized("NFC", one.text)
                spans = _spans_to_next_word(one.text, encoding.offsets) if composed else None
                if total > self.max_words:
                    encoding.truncate(self.max_words)
                ids = np.array(encoding.ids, np.int32)
                if spans is None:
                    spans = np.fromiter(chain.from_iterable(encoding.offsets), np.int32).reshape(-1, 2)
                result.append(Tokens(ids, one.in_original(spans[: self.max_words]), total))
        return result

    def ids(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """The ids of `encode` alone, which takes less time: (T,) of each text, at most `max_words`."""
        result = []
        for chunk in chunks(texts, 2_000, TOKENIZED_AT_ONCE):
            for encoding in self._tokenizer.encode_batch_fast([text.text for text in spaced(chunk, self.segmenter)]):
                if len(encoding) > self.max_words:
                    encoding.truncate(self.max_words)
                result.append(np.array(encoding.ids, np.int32))
        return result

    def facts(self) -> dict[str, Any]:
        """What is stored of it beside the file of `save`."""
        return {"max_words": self.max_words, "cleaning": self.cleaning, **recorded(self.segmenter)}

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library can read."""
        write_text(Path(path), self._tokenizer.to_str(pretty=True))

    @classmethod
    def load(cls, path: str | Path, cleaning: str, max_words: int, segmenter: Segmenter | None = None) -> WordTokenizer:
        """Read a file of `save`; the other arguments are stored in the model's config.json.

        Raises:
            ModelFolderError: if the file is missing, damaged, or not written by `save`.
        """
        if cleaning not in CLEANINGS:
            raise UnknownName("cleaning", cleaning, CLEANINGS)
        fix = "Copy the model folder again, or train the model again."
        try:
            stored = read_json(Path(path), LIMIT_BYTES)
            vocabulary = stored["model"]["vocab"]
            ids = set(vocabulary.values())
            whole = len(ids) == len(vocabulary) and ids == set(range(len(ids))) and {type(id) for id in ids} == {int}
        except FileMissing:
            raise ModelFolderError(f"The model folder has no file '{path}'. {fix}") from None
        except (DataError, KeyError, TypeError, AttributeError) as error:
            raise ModelFolderError(f"The tokenizer file '{path}' cannot be read: {error}. {fix}") from None
        if not whole or [vocabulary.get(word) for word in SPECIALS] != [PAD, UNK]:
            raise ModelFolderError(
                f"'{path}' is not a word tokenizer of vmask: ids 0 and 1 are not <pad>, <unk>, or one is missing. {fix}"
            )
        # The rules are built, not read: untrusted ones could take forever or fill the memory.
        tokenizer = make_tokenizer(cleaning, vocabulary, segmenter)
        if _rules(stored) != _rules(json.loads(make_tokenizer(cleaning, segmenter=segmenter).to_str())):
            raise ModelFolderError(f"'{path}' has other rules for splitting texts than '{cleaning}'. {fix}")
        return cls(tokenizer, cleaning, max_words, segmenter)


def _rules(tokenizer: Mapping[str, Any]) -> list[str]:
    """All strings in the rules of a tokenizer, in order: kinds, patterns, replacements."""
    return _strings([tokenizer.get(key) for key in ("normalizer", "pre_tokenizer", "post_processor", "added_tokens")])


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return [value] if isinstance(value, str) else []


def _spans_to_next_word(text: str, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """(T, 2) spans that end at the last character before the next word that is not a space.

    If the normaliser composes a letter and an accent, the library's offsets end after the letter. In the `gentle`
    cleaning every character belongs to a word, so the accent must belong to the word before it.
    """
    starts = [start for start, _ in offsets]
    stops = [*starts[1:], len(text)]
    spans = [(start, start + len(text[start:stop].rstrip())) for start, stop in zip(starts, stops, strict=True)]
    return np.array(spans, np.int32).reshape(-1, 2)


def choose_words(
    train_counts: Mapping[str, int],
    all_counts: Mapping[str, int] | None,
    vector_words: Sequence[str] | None,
    config: DataConfig,
    segmenter: Segmenter | None = None,
) -> list[str]:
    """The words of the vocabulary, by `config.vocabulary`.

    * `vectors`: the training words with a count of at least `min_count`, then at most `vector_words` other words that
      have a vector, so that words that occur only later keep their vector.
    * `train`: the training words alone.
    * `paper`: the words of `all_counts` with a count of at least `min_count`, as the paper counts them.

    Args:
        train_counts: count of each word in training.
        all_counts: count of each word in all splits if the dataset's card counts them so; else None.
        vector_words: the words that have a vector, or None if vectors are random; then `vectors` means `train`.
        config: `cleaning` and `min_count` default to `gentle` and 1 if they are None.
        segmenter: cuts scripts without spaces.

    Returns:
        Training words by descending count, then alphabetically; after them the others in the order of the vectors.

    Raises:
        ConfigError: if no word is left.
    """
    least = config.min_count or 1
    counts = (all_counts or train_counts) if config.vocabulary == "paper" else train_counts
    words = sorted(
        (word for word, count in counts.items() if count >= least), key=lambda w: (-train_counts.get(w, 0), w)
    )
    if config.vocabulary == "vectors" and vector_words is not None and config.vector_words:
        known = set(words)
        others = [word for word in vector_words if word not in known]
        words += list(_single_words(others, config.cleaning or "gentle", segmenter))[: config.vector_words]
    if not words:
        raise ConfigError(
            f"No word occurs {least} times or more in training, so nothing is left to learn from. "
            "Lower min_count, or check the text column and the cleaning (`paper` drops all but ASCII)."
        )
    return words


def _single_words(words: Sequence[str], cleaning: str, segmenter: Segmenter | None) -> Iterator[str]:
    """The words that the cleaning does not change; others, such as phrases, never occur in a cleaned text."""
    tokenizer = WordTokenizer.build(words, cleaning, 2, segmenter)
    for i, (word, tokens) in enumerate(zip(words, tokenizer.encode(words), strict=True)):
        if tokens.total == 1 and tokens.ids[0] == i + len(SPECIALS):
            yield word
