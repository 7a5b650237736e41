"""Which words a model knows, and texts as their numbers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import write_text
from vmask._core.parsing import read_json
from vmask.errors import ConfigError, DataError, FileMissing, ModelFolderError, UnknownName
from vmask.text.tokenizer_file import LIMIT_BYTES
from vmask.text.words import CLEANINGS, PAD, SPECIALS, TOKENIZED_AT_ONCE, UNK, chunks, make_tokenizer

if TYPE_CHECKING:
    from vmask.config import DataConfig

__all__ = ["PAD", "SPECIALS", "UNK", "Tokens", "WordTokenizer", "choose_words"]


@dataclass(frozen=True)
class Tokens:
    """One text as numbers."""

    ids: NDArray[np.int32]
    """(T,) ids of the words, at most `max_words` of them."""
    spans: NDArray[np.int32]
    """(T, 2) start and end of each word in the original text."""
    total: int
    """Words of the text before it was cut; `total - len(ids)` were cut off."""

    def __len__(self) -> int:
        return len(self.ids)


class WordTokenizer:
    """Texts to word ids and back, by an ordinary `tokenizers` pipeline.

    >>> tokenizer = WordTokenizer.build(["good", "film"], "gentle", max_words=3)
    >>> tokens = tokenizer.encode(["A GOOD film, good!"])[0]
    >>> [tokenizer.words[id] for id in tokens.ids], tokens.total
    (['<unk>', 'good', 'film'], 6)
    """

    def __init__(self, tokenizer: Any, cleaning: str, max_words: int) -> None:
        if max_words < 1:
            raise ConfigError(f"max_words is {max_words}; it must be above 0.")
        self._tokenizer = tokenizer
        self._ids: dict[str, int] = tokenizer.get_vocab()
        self.cleaning = cleaning
        self.max_words = max_words
        self.words: list[str] = sorted(self._ids, key=self._ids.__getitem__)
        """Every known word, at the index of its id; the first two are `<pad>` and `<unk>`."""

    @classmethod
    def build(cls, words: Sequence[str], cleaning: str, max_words: int) -> WordTokenizer:
        """A tokenizer that knows `words` (without the specials), in that order from id 2 on."""
        vocabulary = {word: id for id, word in enumerate([*SPECIALS, *words])}
        if len(vocabulary) != len(words) + len(SPECIALS):
            raise ConfigError(
                "The vocabulary has a word twice, or <pad> or <unk>. Give each word once, and no specials."
            )
        return cls(make_tokenizer(cleaning, vocabulary), cleaning, max_words)

    def __len__(self) -> int:
        return len(self.words)

    def id_of(self, word: str) -> int:
        """The id of a word as it is written in the vocabulary; `UNK` for an unknown one."""
        return self._ids.get(word, UNK)

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Cut texts into words and number them, all cores at once; texts longer than `max_words` are cut.

        Args:
            texts: any strings; an empty one has no words.

        Returns:
            One `Tokens` a text, in order. What the other texts are makes no difference.
        """
        result = []
        for chunk in chunks(texts, 2_000, TOKENIZED_AT_ONCE):  # the library's own result is large: drop it early
            for text, encoding in zip(chunk, self._tokenizer.encode_batch(chunk), strict=True):
                total = len(encoding)
                composed = self.cleaning == "gentle" and not unicodedata.is_normalized("NFC", text)
                spans = _up_to_the_next(text, encoding.offsets) if composed else None
                if total > self.max_words:
                    encoding.truncate(self.max_words)
                ids = np.array(encoding.ids, np.int32)
                if spans is None:
                    spans = np.fromiter(chain.from_iterable(encoding.offsets), np.int32).reshape(-1, 2)
                result.append(Tokens(ids, spans[: self.max_words], total))
        return result

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library reads too."""
        write_text(Path(path), self._tokenizer.to_str(pretty=True))

    @classmethod
    def load(cls, path: str | Path, cleaning: str, max_words: int) -> WordTokenizer:
        """Read what `save` wrote; `cleaning` and `max_words` are kept in the model's config.json.

        Raises:
            ModelFolderError: if the file is missing, damaged, or not one of ours.
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
        # The rules are made, not read: those of a stranger could take for ever, or fill the memory.
        tokenizer = make_tokenizer(cleaning, vocabulary)
        if _rules(stored) != _rules(json.loads(make_tokenizer(cleaning).to_str())):
            raise ModelFolderError(f"'{path}' has other rules for cutting texts than '{cleaning}' has here. {fix}")
        return cls(tokenizer, cleaning, max_words)


def _rules(value: Any, of: Sequence[str] = ("normalizer", "pre_tokenizer", "post_processor", "added_tokens")) -> Any:
    """All that is written in the rules of a tokenizer, in order: kinds, patterns, what takes their place."""
    if isinstance(value, dict):
        value = [value.get(key) for key in of] if of else [value[key] for key in sorted(value)]
    if isinstance(value, list):
        return [text for inner in value for text in _rules(inner, ())]
    return [value] if isinstance(value, str) else []


def _up_to_the_next(text: str, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """End each span at the last character before the next word that is no space.

    Where the normaliser composes a letter and an accent, the library's offsets end after the letter. In the
    `gentle` cleaning every character belongs to a word, so the accent can only end the word before it.
    """
    starts = [start for start, _ in offsets]
    nexts = [*starts[1:], len(text)]
    spans = [(start, start + len(text[start:stop].rstrip())) for start, stop in zip(starts, nexts, strict=True)]
    return np.array(spans, np.int32).reshape(-1, 2)


def choose_words(
    train_counts: Mapping[str, int],
    all_counts: Mapping[str, int] | None,
    vector_words: Sequence[str] | None,
    config: DataConfig,
) -> list[str]:
    """The words a model shall know, by `config.vocabulary`.

    * `vectors`: the words of training seen at least `min_count` times, then words that have a vector, at most
      `vector_words` of them, so that words met only later keep their vector.
    * `train`: the words of training alone.
    * `paper`: the words of `all_counts` seen at least `min_count` times in all, as the paper counts them.

    Args:
        train_counts: how often each word occurs in training.
        all_counts: the same over all splits, where the dataset's card counts them so; else None.
        vector_words: the words that have a vector, or None where vectors are random; then `vectors` means `train`.
        config: `cleaning` and `min_count` are taken as `gentle` and 1 where they are None.

    Returns:
        Words of training by falling count, then alphabetically; after them the others in the order of the
        vectors.

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
        words += list(_single_words(others, config.cleaning or "gentle"))[: config.vector_words]
    if not words:
        raise ConfigError(
            f"No word occurs {least} times or more in training, so nothing is left to learn from. "
            "Lower min_count, or check the text column and the cleaning (`paper` drops all but ASCII)."
        )
    return words


def _single_words(words: Sequence[str], cleaning: str) -> Iterable[str]:
    """Those that the cleaning leaves as they are: another, such as a phrase, would never be met in a text."""
    whole = WordTokenizer.build(words, cleaning, max_words=2)
    for i, (word, tokens) in enumerate(zip(words, whole.encode(words), strict=True)):
        if tokens.total == 1 and tokens.ids[0] == i + len(SPECIALS):
            yield word
