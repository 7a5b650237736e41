"""A trained classifier with its words: from texts to probabilities, mask scores and a ranking of words."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.data.batches import Batch, collate, sorted_buckets
from vmask.data.pieces import merged
from vmask.data.vocabulary import WordTokenizer
from vmask.data.words import PAD, UNK
from vmask.errors import ConfigError, NoWordScores, UnknownName
from vmask.explain.contract import HIDES, Doc
from vmask.kept import Spelling, answers
from vmask.models.contract import MaskedClassifier

if TYPE_CHECKING:
    from typing_extensions import Self

SPECIAL_WORDS = 2
"""Rows of the word table that are no words: padding and unknown."""


@dataclass(frozen=True)
class WordImportance:
    """How much the classifier sees of a word, wherever it stands.

    Attributes:
        word: the word.
        score: E[R], between 0 and 1.
        count: how often it stands in the training texts.
        known: whether the word vectors know it; the score of a word they do not know means little.
    """

    word: str
    score: float
    count: int
    known: bool


class TextPredictor:
    """A masked classifier. Answers depend on neither the order of texts nor their company.

    Args:
        model: the classifier.
        labels: the classes, in the order of the logits.
        device: where to compute.
        pad_length: pad every text to this length, for models in which padding counts.
    """

    pad: int = PAD
    """Id of padding."""
    batch_rows: int = 512
    """Texts that are computed at a time, at most."""

    def __init__(
        self, model: MaskedClassifier, labels: Sequence[Any], device: torch.device, pad_length: int = 0
    ) -> None:
        self.model = model.to(device).eval()
        self.labels = tuple(labels)
        self.device = device
        self.pad_length = pad_length

    def batched(self, rows: int) -> Self:
        """The same model, computing at most so many texts at a time."""
        other = copy.copy(self)
        other.batch_rows = rows
        return other

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words, up to the length limit."""
        raise NotImplementedError

    def word_importance(self, min_count: int = 1) -> list[WordImportance]:
        """All words seen at least `min_count` times in training, most important first.

        Ties go to the more frequent word, then by alphabet.

        Raises:
            NoWordScores: where the method learns no ranking.
        """
        raise NotImplementedError

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""
        probabilities = np.zeros((len(docs), len(self.labels)), dtype=np.float32)
        for rows, batch in self._batches(docs):
            with torch.no_grad():
                logits = self.model(batch).logits
            probabilities[rows] = torch.softmax(logits.float(), 1).cpu().numpy()
        return probabilities

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text with some of its words hidden.

        Args:
            docs: the texts.
            keep: for each text (S_i, W_i), a row a perturbation: whether each word is kept; with `zero` also how much.
            hide: `remove` closes the gap; `zero` sets the vector to zero; `unk` and `mask` put that token in its place.

        Raises:
            ConfigError: for a way of hiding that this model does not have.
        """
        spelling = Spelling(hide, self.pad, self._stand_in(hide))
        rows = [np.asarray(one, np.float32) for one in keep]
        return answers(docs, rows, spelling, len(self.labels), self._run, self.batch_rows)

    def _run(self, batch: Batch, keep: Tensor | None) -> NDArray[np.float32]:
        with torch.no_grad():
            logits = self.model(batch.to(self.device), None if keep is None else keep.to(self.device)).logits
        probabilities: NDArray[np.float32] = torch.softmax(logits.float(), 1).cpu().numpy()
        return probabilities

    def _stand_in(self, hide: str) -> int | None:
        """The id that takes the place of a hidden word."""
        if hide not in HIDES:
            raise UnknownName("way of hiding", hide, HIDES)
        if hide in ("remove", "zero"):
            return None
        if (id := self.stand_ins().get(hide)) is None:
            other = "unk" if hide == "mask" and "unk" in self.stand_ins() else "remove"
            raise ConfigError(f"This model has no token to hide a word by '{hide}'. Use hide={other}.")
        return id

    def stand_ins(self) -> Mapping[str, int]:
        """Ids of the tokens that can take the place of a word, by way of hiding."""
        return {"unk": UNK}

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Importance of every word of every text.

        Raises:
            NoWordScores: where the method learns no ranking.
        """
        if not self.model.mask.ranks:
            raise NoWordScores
        scores: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(docs)
        for rows, batch in self._batches(docs):
            with torch.no_grad():
                masked = self.model.mask(self.model.encoder.embedded(batch))
            values = masked.scores.float().cpu().numpy()
            for position, row in enumerate(rows):
                scores[row] = _per_word(values[position, : len(docs[row].ids)], docs[row])
        return scores

    def _batches(self, docs: Sequence[Doc]) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Texts of like length together, with their row numbers."""
        lengths = np.array([len(doc.ids) for doc in docs], dtype=np.int64)
        for rows in sorted_buckets(lengths, max_rows=self.batch_rows):
            yield rows, collate([docs[i].ids for i in rows], length=self.pad_length, pad=self.pad).to(self.device)


def ranked(words: Iterable[WordImportance]) -> list[WordImportance]:
    """Most important first; ties go to the more frequent word, then by alphabet."""
    return sorted(words, key=lambda w: (-w.score, -w.count, w.word))


def _per_word(values: NDArray[np.float32], doc: Doc) -> NDArray[np.float32]:
    """(W,) scores of words from those of their pieces (T,)."""
    return values if doc.owners is None else merged(values, doc.owners, len(doc.spans))


class WordPredictor(TextPredictor):
    """A masked classifier over words.

    Args:
        model: the classifier.
        tokenizer: cuts texts into words.
        labels: the classes, in the order of the logits.
        counts: (V,) how often each word stands in the training texts.
        known: (V,) whether the word vectors know the word.
        device: where to compute.
        pad_length: pad every text to this length, for models in which padding counts.
    """

    def __init__(
        self,
        model: MaskedClassifier,
        tokenizer: WordTokenizer,
        labels: Sequence[Any],
        counts: NDArray[np.int64],
        known: NDArray[np.bool_],
        device: torch.device,
        pad_length: int = 0,
    ) -> None:
        super().__init__(model, labels, device, pad_length)
        self.tokenizer = tokenizer
        self.counts = counts
        self.known = known

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Cut texts into words, up to the length limit."""
        return [
            Doc(text, tuple(map(tuple, tokens.spans.tolist())), tokens.ids, tokens.total - len(tokens.ids))
            for text, tokens in zip(texts, self.tokenizer.encode(texts), strict=True)
        ]

    def word_importance(self, min_count: int = 1) -> list[WordImportance]:
        """All words seen at least `min_count` times in training, most important first.

        Padding and the stand-in for unknown words are left out. Ties go to the more frequent word, then by alphabet.

        Raises:
            NoWordScores: where the method learns no ranking.
        """
        scores = self.word_scores()
        return ranked(
            WordImportance(word, float(scores[i]), int(self.counts[i]), bool(self.known[i]))
            for i, word in enumerate(self.tokenizer.words)
            if i >= SPECIAL_WORDS and self.counts[i] >= min_count
        )

    @torch.no_grad()
    def word_scores(self) -> NDArray[np.float32]:
        """(V,) importance of every word of the vocabulary: the mask run once over the word vectors."""
        ids = torch.arange(len(self.tokenizer), device=self.device)
        parts = [self.model.mask.scores_of(self.model.encoder.vectors(chunk)) for chunk in torch.split(ids, 16_384)]
        scores: NDArray[np.float32] = torch.cat(parts).float().cpu().numpy()
        return scores
