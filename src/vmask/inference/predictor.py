"""A trained classifier with its vocabulary: probabilities, mask scores and a ranking of words."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.config import HIDES
from vmask.errors import ConfigError, ModelFolderError, NoWordScores, UnknownName
from vmask.inference import many_texts
from vmask.inference.abstention import DevAnswers
from vmask.inference.cached_reader import cached_reader
from vmask.inference.calibration import Calibration
from vmask.inference.contract import MULTI_LABEL, BasePredictor, Doc
from vmask.inference.gradients import MAX_POSITIONS, AtSeam, look
from vmask.inference.output import to_probabilities
from vmask.inference.perturb import Rows, Spelling, answers, as_kept
from vmask.inference.randomize import cascade
from vmask.inference.visibility import visible_ids, with_hidden
from vmask.inference.word_importance import WordImportance, by_count, ranked
from vmask.models.contract import MaskedClassifier
from vmask.text.batches import Batch, collate, make_batch, sorted_buckets
from vmask.text.pieces import mean_over_pieces
from vmask.text.vocabulary import WordTokenizer
from vmask.text.words import PAD, UNK

if TYPE_CHECKING:
    from typing_extensions import Self

VECTORS = "encoder.embedding.weight"
"""Name of the word vectors among the weights of a model of words."""
SPECIAL_WORDS = 2
"""Rows of the word table that are not words: padding and unknown."""


class TextPredictor(BasePredictor):
    """A masked classifier. The prediction of a text does not depend on the other texts.

    Args:
        model: the classifier.
        labels: the classes, in the order of the logits.
        device: where to compute.
        pad_length: pad every text to this length, for models that are affected by padding.

    Attributes:
        calibration: what is done to logits before they become probabilities; None for nothing.
        dev_answers: its answers to the dev texts, by which thresholds are found; None if they are not known.
        abstain_below: probability below which its prediction is no answer; None if it answers always.
    """

    pad: int = PAD
    """Id of padding."""
    batch_rows: int = 512
    """Maximum number of texts computed at a time."""
    has_gradients = True

    def __init__(
        self, model: MaskedClassifier, labels: Sequence[Any], device: torch.device, pad_length: int = 0
    ) -> None:
        self.model = model.to(device).eval()
        self.labels, self.task = tuple(labels), model.task
        self.device = device
        self.pad_length = pad_length
        self.calibration: Calibration | None = None
        self.dev_answers: DevAnswers | None = None
        self.abstain_below: float | None = None
        self.thresholds = np.full(len(self.labels), 0.5) if self.task == MULTI_LABEL else None
        self._visible: tuple[Any, Tensor | None, NDArray[np.bool_] | None] = (None, None, None)

    @property
    def hides(self) -> tuple[str, ...]:  # type: ignore[override]
        """Supported ways of hiding words."""
        return tuple(hide for hide in HIDES if hide in ("remove", "zero") or hide in self.stand_ins())

    @property
    def ranks_words(self) -> bool:  # type: ignore[override]
        """Whether its mask learns an importance of words."""
        return self.model.mask.ranks

    @property
    def visible(self) -> NDArray[np.bool_] | None:
        """(V,) whether the classifier sees anything of each id; None if it sees all of them."""
        model, edits, visible = self._visible
        if model is not self.model or edits is not self.model.edits:
            visible = visible_ids(self.model)
            self._visible = (self.model, self.model.edits, visible)
        return visible

    def edited(self, edits: Tensor | None) -> Self:
        """The same model with other edits (V,), see `MaskedClassifier`; the weights are shared."""
        return self.with_edits(edits)

    def with_edits(self, edits: Tensor | None) -> Self:
        """As `edited`, at once: what is stored of the importance of words stays that of before."""
        clone = copy.copy(self)
        clone.model = MaskedClassifier(self.model.encoder, self.model.mask, self.model.task).eval()
        clone.model.edits = None if edits is None else edits.to(self.device, torch.int8)
        return clone

    def batched(self, rows: int) -> Self:
        """The same model with this maximum number of texts computed at a time."""
        clone = copy.copy(self)
        clone.batch_rows = rows
        return clone

    def calibrated(self, calibration: Calibration | None) -> Self:
        """The same model with another calibration, or without one; the weights are shared."""
        clone = copy.copy(self)
        clone.calibration = calibration
        return clone

    def randomized(self, seed: int) -> dict[str, Self]:
        """The same model with ever more of its weights drawn anew, by depth, see `cascade`."""
        clones = {}
        for depth, model in cascade(self.model, seed):
            clones[depth] = copy.copy(self)
            clones[depth].model = model
        return clones

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words, up to the length limit."""
        raise NotImplementedError

    @property
    def max_length(self) -> int:
        """Maximum number of words or pieces of a text."""
        raise NotImplementedError

    def stored_config(self) -> dict[str, Any]:
        """Its part of the `config.json` of a model folder."""
        raise NotImplementedError

    def stored_tensors(self) -> dict[str, Tensor]:
        """Content of `model.safetensors` in a model folder: weights, and data about words."""
        of_dev = {} if self.dev_answers is None else self.dev_answers.tensors()
        return of_dev | {name: tensor.detach().cpu().contiguous() for name, tensor in self.model.state_dict().items()}

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        raise NotImplementedError

    def ranked_words(self, doc: Doc) -> Sequence[str]:
        """The words of a text as `word_importance` spells them."""
        raise NotImplementedError

    def word_counts(self) -> dict[str, int]:
        """Number of occurrences of each word of the training texts, as `word_importance` spells them."""
        raise NotImplementedError

    def word_importance(self, min_count: int = 1) -> list[WordImportance]:
        """All words seen at least `min_count` times in training, most important first.

        Ties go to the more frequent word, then by alphabet.

        Raises:
            NoWordScores: if the method learns no ranking.
        """
        raise NotImplementedError

    def words_by_count(self) -> list[WordImportance]:
        """All words of the training texts, most frequent first, for a model without a ranking: scores are NaN."""
        raise NotImplementedError

    def predict_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(N, C) probabilities of texts, as `predict_docs` of `prepare`, but quicker: equal texts are read once."""
        return many_texts.predict(self, texts)

    def ids_of(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """The ids of each text, as in `prepare`."""
        return [doc.ids for doc in self.prepare(texts)]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities."""
        return self.predict_ids([doc.ids for doc in docs])

    def predict_ids(self, ids: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """(N, C) probabilities of texts as ids, by running the model on batches of them."""
        return self.checked_output(torch.from_numpy(self.logits(ids)))

    def logits(self, ids: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """(N, C) logits of texts as ids, before any calibration."""
        logits = np.zeros((len(ids), len(self.labels)), dtype=np.float32)
        for rows, batch in self._batches(ids):
            with torch.no_grad():
                logits[rows] = self.model(batch).logits.float().cpu().numpy()
        return logits

    def output(self, logits: Tensor) -> Tensor:
        """(B, C) probabilities from logits (B, C): the one place where a prediction of this model gets them."""
        return to_probabilities(logits, self.calibration, self.task)

    def checked_output(self, logits: Tensor) -> NDArray[np.float32]:
        """(B, C) probabilities from logits (B, C).

        Raises:
            ModelFolderError: if they are not finite.
        """
        probabilities: NDArray[np.float32] = self.output(logits.float()).cpu().numpy()
        if not np.isfinite(probabilities).all():
            raise ModelFolderError("The model's answers are no numbers: its weights are too large. Train it again.")
        return probabilities

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text with some of its words hidden.

        Args:
            docs: the texts.
            keep: for each text (S_i, W_i), one row per perturbation: if each word is kept; with `zero` also how much.
            hide: `remove` closes the gap; `zero` sets the vector to zero, or to the baseline of a mask that has one;
                `unk` and `mask` insert that token instead.

        Raises:
            ConfigError: for a way of hiding that this model does not have.
        """
        stand_in = self._stand_in(hide)
        rows = [as_kept(doc_keep, scaled=hide == "zero") for doc_keep in keep]
        by_baseline = hide == "zero" and self.model.mask.baseline is not None
        cached = not by_baseline and all(kept.dtype == np.bool_ for kept in rows)
        reader = cached_reader(self, [doc.ids for doc in docs], stand_in) if cached else None
        if reader is None:
            spelling = Spelling(self.pad, hide == "remove", stand_in)
            return answers(docs, rows, spelling, len(self.labels), self._answer)
        # Padding is a vector of zeros, so it can replace a zeroed word.
        spelling = Spelling(self.pad, hide == "remove", self.pad if hide == "zero" else stand_in)
        alone = reader.answer_zeroed if hide == "zero" and reader.zero_reader is not None else None
        return answers(docs, rows, spelling, len(self.labels), reader.answer, alone)

    @torch.no_grad()
    def _answer(self, rows: Rows) -> NDArray[np.float32]:
        """(R, C) probabilities, by running the model on every row."""
        probabilities = np.zeros((len(rows.ids), len(self.labels)), np.float32)
        for chosen in sorted_buckets(rows.lengths, max_rows=self.batch_rows, tight=True):
            width = max(int(rows.lengths[chosen].max(initial=0)), self.pad_length, 1)
            ids = np.full((len(chosen), width), self.pad, np.int64)
            keep = None if rows.keep is None else np.ones(ids.shape, np.float32)
            here = min(width, rows.ids.shape[1])
            ids[:, :here] = rows.ids[chosen, :here]
            if keep is not None and rows.keep is not None:
                keep[:, :here] = rows.keep[chosen, :here]
            batch = make_batch(ids, rows.lengths[chosen]).to(self.device)
            kept = None if keep is None else torch.from_numpy(keep).to(self.device)
            probabilities[chosen] = self.checked_output(self.model(batch, kept).logits)
        return probabilities

    def _stand_in(self, hide: str) -> int | None:
        """The id that replaces a hidden word."""
        if hide not in HIDES:
            raise UnknownName("way of hiding", hide, HIDES)
        if hide in ("remove", "zero"):
            return None
        if (id := self.stand_ins().get(hide)) is None:
            alternative = "unk" if hide == "mask" and "unk" in self.stand_ins() else "remove"
            raise ConfigError(f"This model has no token to hide a word by '{hide}'. Use hide={alternative}.")
        return id

    def stand_ins(self) -> Mapping[str, int]:
        """Ids of the tokens that can replace a word, by way of hiding."""
        return {"unk": UNK}

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Importance of every word of every text.

        Raises:
            NoWordScores: if the method learns no ranking.
        """
        if not self.ranks_words:
            raise NoWordScores
        docs = [
            doc if doc.text_ids is None else replace(doc, ids=doc.text_ids) for doc in docs
        ]  # of words, seen or not
        scores: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(docs)
        for rows, batch in self._batches([doc.ids for doc in docs]):
            with torch.no_grad():
                masked = self.model.masked(self.model.encoder.embedded(batch), batch.ids)
            values = masked.scores.float().cpu().numpy()
            for position, row in enumerate(rows):
                scores[row] = _per_word(values[position, : len(docs[row].ids)], docs[row])
        return scores

    def at_seam(self, docs: Sequence[Doc]) -> Iterator[AtSeam]:
        """What the classifier sees of the texts, in batches small enough for gradients."""
        lengths = np.array([max(len(doc.ids), self.pad_length) for doc in docs], dtype=np.int64)
        for rows in sorted_buckets(lengths, MAX_POSITIONS, self.batch_rows):
            batch = collate([docs[i].ids for i in rows], length=self.pad_length, pad=self.pad).to(self.device)
            most = max(min(MAX_POSITIONS // batch.ids.shape[1], self.batch_rows), len(rows))
            yield look(self.model, self.output, batch, rows, [docs[i] for i in rows], most)

    def _batches(self, ids: Sequence[NDArray[np.int32]]) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Batches of texts of similar length, with their row numbers."""
        lengths = np.array([len(text) for text in ids], dtype=np.int64)
        for rows in sorted_buckets(lengths, max_rows=self.batch_rows):
            yield rows, collate([ids[i] for i in rows], length=self.pad_length, pad=self.pad).to(self.device)


def _per_word(values: NDArray[np.float32], doc: Doc) -> NDArray[np.float32]:
    """(W,) scores of words from those of their pieces (T,)."""
    return values if doc.owners is None else mean_over_pieces(values, doc.owners, len(doc.spans))


class WordPredictor(TextPredictor):
    """A masked classifier over words.

    Args:
        model: the classifier.
        tokenizer: splits texts into words.
        labels: the classes, in the order of the logits.
        counts: (V,) number of occurrences of each word in the training texts.
        known: (V,) whether each word has a pretrained vector.
        device: where to compute.
        pad_length: pad every text to this length, for models that are affected by padding.
    """

    quick = True

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
        """Split texts into words, up to the length limit."""
        docs = [
            Doc(text, tuple(map(tuple, tokens.spans.tolist())), tokens.ids, tokens.total - len(tokens.ids))
            for text, tokens in zip(texts, self.tokenizer.encode(texts), strict=True)
        ]
        return with_hidden(docs, self.visible)

    def ids_of(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """The ids of each text, as in `prepare`, without looking for where its words stand."""
        ids, visible = self.tokenizer.ids(texts), self.visible
        if visible is None:
            return ids
        same = np.int32(np.flatnonzero(~visible)[0])
        return [np.where(visible[text], text, same) for text in ids]

    @property
    def max_length(self) -> int:
        """Maximum number of words of a text."""
        return self.tokenizer.max_words

    def stored_config(self) -> dict[str, Any]:
        """Rules of the tokenizer."""
        return self.tokenizer.facts()

    def stored_tensors(self) -> dict[str, Tensor]:
        """Weights, and the count of each word and whether it has a pretrained vector."""
        tensors = super().stored_tensors()
        half = tensors[VECTORS].half()
        if not self.model.get_parameter(VECTORS).requires_grad and torch.equal(half.float(), tensors[VECTORS]):
            tensors[VECTORS] = half  # frozen vectors were rounded to float16, unless a first stage trained them
        tensors["words.count"] = torch.from_numpy(self.counts)
        tensors["words.known"] = torch.from_numpy(self.known.astype(np.uint8))
        return tensors

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        self.tokenizer.save(path)

    def ranked_words(self, doc: Doc) -> Sequence[str]:
        """The words of a text as in the vocabulary; unknown words are its unknown token."""
        return [self.tokenizer.words[id] for id in (doc.ids if doc.text_ids is None else doc.text_ids)]

    def word_counts(self) -> dict[str, int]:
        """Number of occurrences of each word of the vocabulary that occurs in the training texts."""
        ids = np.flatnonzero(self.counts[SPECIAL_WORDS:]) + SPECIAL_WORDS
        return {self.tokenizer.words[id]: int(self.counts[id]) for id in ids}

    def word_importance(self, min_count: int = 1) -> list[WordImportance]:
        """All words seen at least `min_count` times in training, most important first.

        Padding and the unknown token are left out. Ties go to the more frequent word, then by alphabet.

        Raises:
            NoWordScores: if the method learns no ranking.
        """
        scores = self.word_scores()
        return ranked(
            WordImportance(word, float(scores[i]), int(self.counts[i]), bool(self.known[i]))
            for i, word in enumerate(self.tokenizer.words)
            if i >= SPECIAL_WORDS and self.counts[i] >= min_count
        )

    def words_by_count(self) -> list[WordImportance]:
        """All words of the training texts, most frequent first, for a model without a ranking: scores are NaN."""
        return by_count(
            WordImportance(self.tokenizer.words[i], math.nan, int(self.counts[i]), bool(self.known[i]))
            for i in np.flatnonzero(self.counts[SPECIAL_WORDS:]) + SPECIAL_WORDS
        )

    @torch.no_grad()
    def word_scores(self) -> NDArray[np.float32]:
        """(V,) importance of every word of the vocabulary: the mask run once over the word vectors."""
        ids = torch.arange(len(self.tokenizer), device=self.device)
        parts = [self.model.mask.scores_of(self.model.encoder.vectors(chunk)) for chunk in torch.split(ids, 16_384)]
        scores: NDArray[np.float32] = torch.cat(parts).float().cpu().numpy()
        if self.model.edits is None:
            return scores
        edits = self.model.edits.cpu().numpy()
        return np.where(edits == 0, scores, (edits > 0).astype(np.float32))
