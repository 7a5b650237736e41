"""A trained encoder over the pieces of its tokenizer, with scores of words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.errors import ModelFolderError, NoWordScores
from vmask.inference.contract import Doc
from vmask.inference.predictor import TextPredictor
from vmask.inference.visibility import with_hidden
from vmask.inference.word_importance import WordImportance, by_count, ranked
from vmask.models.contract import MaskedClassifier
from vmask.pretrained.encoders import plain_config
from vmask.text.pieces import PieceTokenizer
from vmask.text.segmenters import recorded
from vmask.text.words import chunks

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class WordTable:
    """The words of the training texts.

    Attributes:
        words: the distinct words; in lower case for an uncased encoder.
        counts: (W,) number of occurrences in the training texts.
        scores: (W,) mean importance over these occurrences; zeros if the method learns no ranking.
    """

    words: list[str]
    counts: NDArray[np.int64]
    scores: NDArray[np.float32]


class PiecePredictor(TextPredictor):
    """A masked classifier over the pieces of an encoder's tokenizer, with results by word.

    Args:
        model: the classifier.
        tokenizer: splits texts into pieces and words.
        labels: the classes, in the order of the logits.
        table: the words of the training texts.
        device: where to compute.
        pad_length: pad every text to this length, for models that are affected by padding.
    """

    def __init__(
        self,
        model: MaskedClassifier,
        tokenizer: PieceTokenizer,
        labels: Sequence[Any],
        table: WordTable | None,
        device: torch.device,
        pad_length: int = 0,
    ) -> None:
        super().__init__(model, labels, device, pad_length)
        self.tokenizer = tokenizer
        self.pad = tokenizer.pad
        self.table = table or WordTable([], np.zeros(0, np.int64), np.zeros(0, np.float32))

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into pieces and words, up to the length limit."""
        encoded = self.tokenizer.encode(texts)
        rows = len(self.model.encoder.is_word)  # type: ignore[arg-type]
        if any(pieces.ids.max(initial=0) >= rows for pieces in encoded):
            raise ModelFolderError("The tokenizer of the model has pieces that it has no vectors for. Train it again.")
        joining = self.tokenizer.joining
        docs = [
            Doc(text, tuple(map(tuple, pieces.spans.tolist())), pieces.ids, pieces.unseen, pieces.owners, joining)
            for text, pieces in zip(texts, encoded, strict=True)
        ]
        return with_hidden(docs, self.visible)

    @property
    def network(self) -> Any:
        """The model of `transformers`."""
        return self.model.encoder.network

    @property
    def max_length(self) -> int:
        """Maximum number of pieces of a text."""
        return self.tokenizer.max_tokens

    def stored_config(self) -> dict[str, Any]:
        """Rules of the tokenizer, and the configuration of the encoder as plain data."""
        cut = recorded(self.tokenizer.segmenter)
        return {"tokenizer": self.tokenizer.facts(), "encoder": plain_config(self.network.config.to_dict()), **cut}

    def stored_tensors(self) -> dict[str, Tensor]:
        """Weights, and the words of the training texts."""
        text = "\n".join(self.table.words).encode("utf-8", "surrogatepass")  # no word has a line break in it
        return {
            **super().stored_tensors(),
            "words.text": torch.from_numpy(np.frombuffer(text, np.uint8).copy()),
            "words.count": torch.from_numpy(self.table.counts),
            "words.score": torch.from_numpy(self.table.scores),
        }

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        self.tokenizer.save(path)

    def stand_ins(self) -> Mapping[str, int]:
        """Ids of the tokens that can replace a piece, by way of hiding."""
        ids = {hide: self.tokenizer.named(hide) for hide in ("unk", "mask")}
        return {hide: id for hide, id in ids.items() if id is not None}

    def ranked_words(self, doc: Doc) -> Sequence[str]:
        """The words of a text, in lower case for an uncased encoder."""
        return [word.lower() for word in doc.words] if self.tokenizer.uncased else doc.words

    def word_counts(self) -> dict[str, int]:
        """Number of occurrences of each word of the training texts."""
        return dict(zip(self.table.words, self.table.counts.tolist(), strict=True))

    def word_importance(self, min_count: int = 1) -> list[WordImportance]:
        """All words seen at least `min_count` times in training, most important first.

        The importance of a word is the mean over its occurrences in the training texts. With the mask on the word
        vectors it is the same for all, except for tokenizers that split a word differently at the start of a text.

        Raises:
            NoWordScores: if the method learns no ranking.
        """
        if not self.ranks_words:
            raise NoWordScores
        rows = zip(self.table.words, self.table.scores.tolist(), self.table.counts.tolist(), strict=True)
        return ranked(WordImportance(word, score, count, True) for word, score, count in rows if count >= min_count)

    def words_by_count(self) -> list[WordImportance]:
        """All words of the training texts, most frequent first, for a model without a ranking: scores are NaN."""
        return by_count(WordImportance(word, math.nan, count, True) for word, count in self.word_counts().items())

    def edited(self, edits: Tensor | None) -> Self:
        """The same model with other edits; the importance of words that have such a piece is that of the word alone."""
        clone = self.with_edits(edits)
        if clone.model.edits is not None and self.ranks_words and len(self.table.words):
            changed = clone.model.edits.cpu().numpy() != 0
            scores = self.table.scores.copy()
            pieces = self.tokenizer.encode(self.table.words)
            rows = [row for row, one in enumerate(pieces) if changed[one.ids].any()]
            docs = clone.prepare([self.table.words[row] for row in rows])
            for row, values in zip(rows, clone.mask_scores(docs), strict=True):
                scores[row] = values.mean() if len(values) else 0.0
            clone.table = replace(self.table, scores=scores)
        return clone

    def tabulate(self, texts: Iterable[str]) -> WordTable:
        """Count the words of texts and average their importance, in memory bounded by the number of distinct words."""
        counts: dict[str, int] = {}
        totals: dict[str, float] = {}
        ranks = self.ranks_words
        for chunk in chunks(texts, 2_000):
            docs = self.prepare(chunk)
            scores = self.mask_scores(docs) if ranks else [np.zeros(len(doc.spans), np.float32) for doc in docs]
            for doc, values in zip(docs, scores, strict=True):
                for word, value in zip(self.ranked_words(doc), values.tolist(), strict=True):
                    counts[word] = counts.get(word, 0) + 1
                    totals[word] = totals.get(word, 0.0) + value
        words = sorted(counts, key=lambda word: (-counts[word], word))
        return WordTable(
            words,
            np.array([counts[word] for word in words], np.int64),
            np.array([totals[word] / counts[word] for word in words], np.float32),
        )
