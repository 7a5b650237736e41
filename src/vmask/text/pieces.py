"""Texts as the word pieces of an encoder's tokenizer, with the words they belong to.

Words are found by a separate rule (`whole_words`), so that a text has the same words with every tokenizer. A piece
belongs to every word with which it shares a character; markers such as `##` and `Ġ` are not used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import to_json, write_text
from vmask.errors import ConfigError
from vmask.text.segmenters import Segmenter
from vmask.text.tokenizer_file import encode_batch, guarded, read_tokenizer
from vmask.text.words import TOKENIZED_AT_ONCE, WHOLE_WORDS, chunks, whole_words

JOINING = f"words: {WHOLE_WORDS}; pieces by character offsets"
"""How pieces become words, as results record it."""
MEAN = "; score of a word: mean over its pieces"
MERGING = f"{JOINING}{MEAN}"
"""The same with the rule for scores of words, for masks that score pieces."""


@dataclass(frozen=True)
class Pieces:
    """One text as numbers."""

    ids: NDArray[np.int32]
    """(T,) ids of the pieces, including special tokens of the tokenizer; at most `max_tokens`."""
    spans: NDArray[np.int32]
    """(W, 2) start and end in the original text of each word that is not cut off."""
    owners: NDArray[np.int32]
    """(n, 2) pairs of a piece's position and the index of a word that it belongs to, ascending."""
    total: int
    """Number of pieces before the text was cut, special tokens included."""
    unseen: int
    """Number of words of which no piece is left after the cut."""


class PieceTokenizer:
    """The tokenizer of an encoder, applied to the raw text.

    Args:
        backend: a `tokenizers.Tokenizer`.
        settings: the special tokens by name (`cls_token`: `[CLS]`), for export.
        pad: id of padding.
        special: ids that are never words: all special tokens except the one for unknown words.
        max_tokens: largest number of tokens of a text, special ones included.
        segmenter: finds the words in scripts without spaces.
    """

    def __init__(
        self,
        backend: Any,
        settings: dict[str, str],
        pad: int,
        special: Sequence[int],
        max_tokens: int,
        segmenter: Segmenter | None = None,
    ) -> None:
        self.backend = backend
        self.settings = settings
        self.pad = pad
        self.special = sorted(special)
        self.max_tokens = max_tokens
        self.segmenter = segmenter
        with guarded("The tokenizer cannot be used"):
            added = backend.num_special_tokens_to_add(False)
        if max_tokens <= added:
            raise ConfigError(f"max_words leaves no room: the tokenizer adds {added} special tokens to every text.")
        backend.no_padding()
        backend.enable_truncation(max_tokens)

    @classmethod
    def of(cls, tokenizer: Any, max_tokens: int, segmenter: Segmenter | None = None) -> PieceTokenizer:
        """From a fast tokenizer of `transformers`."""
        from tokenizers import Tokenizer

        named = {
            name: getattr(tokenizer, f"{name}_token_id") for name in ("unk", "bos", "eos", "sep", "cls", "pad", "mask")
        }
        unknown = named.pop("unk")
        special = {id for id in tokenizer.all_special_ids if id != unknown} | {
            id for id in named.values() if id is not None
        }
        pad = next((named[name] for name in ("pad", "eos") if named[name] is not None), 0)
        # A copy: limits set on it must not change the caller's tokenizer.
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        settings = {f"{name}_token": getattr(tokenizer, f"{name}_token") for name in (*named, "unk")}
        settings = {name: str(token) for name, token in settings.items() if token is not None}
        return cls(backend, settings, pad, sorted(special), max_tokens, segmenter)

    def __len__(self) -> int:
        return int(self.backend.get_vocab_size())

    def named(self, name: str) -> int | None:
        """Id of the special token of a name such as `mask`; None if there is none."""
        token = self.settings.get(f"{name}_token")
        id: int | None = self.backend.token_to_id(token) if token else None
        return id

    @property
    def uncased(self) -> bool:
        """Whether the encoder ignores case."""
        normalizer = self.backend.normalizer
        return normalizer is not None and normalizer.normalize_str("A") == "a"

    @property
    def joining(self) -> str:
        """How pieces become words, as results record it."""
        if self.segmenter is None:
            return JOINING
        return f"{JOINING}; words of scripts without spaces: {self.segmenter.name} ({self.segmenter.version})"

    @property
    def merging(self) -> str:
        """The same with the rule for scores of words."""
        return f"{self.joining}{MEAN}"

    def encode(self, texts: Sequence[str]) -> list[Pieces]:
        """Split texts into pieces and words; the result of a text does not depend on the others."""
        result = []
        for chunk in chunks(texts, 1_000, TOKENIZED_AT_ONCE):
            encodings = encode_batch(self.backend, chunk)
            with guarded("The tokenizer of the model gives numbers that cannot be used"):
                for encoding, spans in zip(encodings, whole_words(chunk, self.segmenter), strict=True):
                    result.append(_pieces(encoding, spans))
        return result

    def to_json(self) -> str:
        """The content of `tokenizer.json`, without the length limit."""
        return to_json({**json.loads(self.backend.to_str()), "truncation": None})

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        write_text(path, self.to_json())

    def facts(self) -> dict[str, Any]:
        """The arguments of `read` besides the text of `to_json`."""
        return {
            "settings": self.settings,
            "pad": self.pad,
            "special": self.special,
            "max_tokens": self.max_tokens,
        }

    @classmethod
    def read(cls, text: str, facts: dict[str, Any], segmenter: Segmenter | None = None) -> PieceTokenizer:
        """Restore a tokenizer from the results of `to_json` and `facts`.

        Raises:
            ModelFolderError: if the text is not a tokenizer.
        """
        return cls(read_tokenizer(text), **facts, segmenter=segmenter)


def _pieces(encoding: Any, spans: NDArray[np.int32]) -> Pieces:
    total = len(encoding) + sum(len(rest) - sum(rest.special_tokens_mask) for rest in encoding.overflowing)
    offsets = np.array(encoding.offsets, np.int32).reshape(-1, 2)
    owners = overlaps(offsets, spans)
    seen = len(spans)
    if encoding.overflowing:
        seen = int(owners[:, 1].max(initial=-1)) + 1
    return Pieces(np.array(encoding.ids, np.int32), spans[:seen], owners, total, len(spans) - seen)


def overlaps(pieces: NDArray[np.int32], words: NDArray[np.int32]) -> NDArray[np.int32]:
    """(n, 2) all pairs of a piece and a word that share a character.

    Args:
        pieces: (T, 2) start and end of each piece; added special tokens have an empty span.
        words: (W, 2) start and end of each word, ascending.
    """
    first = np.searchsorted(words[:, 1], pieces[:, 0], side="right")  # words that end after the piece's start
    last = np.searchsorted(words[:, 0], pieces[:, 1], side="left")  # words that begin before its end
    count = np.where(pieces[:, 1] > pieces[:, 0], np.maximum(last - first, 0), 0)
    positions = np.repeat(np.arange(len(pieces)), count)
    within = np.arange(len(positions)) - np.repeat(np.cumsum(count) - count, count)
    return np.stack([positions, first[positions] + within], 1).astype(np.int32)


def mean_over_pieces(values: NDArray[np.float32], owners: NDArray[np.int32], words: int) -> NDArray[np.float32]:
    """(W,) mean of the values (T,) of each word's pieces; 0 for a word without pieces."""
    count = np.bincount(owners[:, 1], minlength=words)
    total = np.bincount(owners[:, 1], weights=values[owners[:, 0]], minlength=words)
    means: NDArray[np.float32] = (total / np.maximum(count, 1)).astype(np.float32)
    return means
