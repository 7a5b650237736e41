"""Exchange hidden words for other hidden words and see whether any probability moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.data.label_sets import comparable
from vmask.errors import ConfigError
from vmask.export.hidden import ExportReader
from vmask.inference.contract import Doc
from vmask.inference.decisions import leading, predicted_labels
from vmask.inference.predictor import TextPredictor
from vmask.inference.visibility import claimed_ids, hidden_words

Answer: TypeAlias = Callable[[list[str]], NDArray[np.float32]]
"""(N, C) probabilities of texts."""
BATCH = 200
"""Texts that are asked at a time."""
HIDES_NOTHING = (
    "This model hides no word: it sees something of each. Train one with --mask select, or hide words with vmask edit."
)
TRIES = 8
"""Draws of other words for a text, of which the first that is cut into the same words is taken."""


@dataclass(frozen=True)
class Verification:
    """What came out of exchanging hidden words.

    Attributes:
        exchanges: number of hidden words that were exchanged for another one.
        moved: number of texts whose probabilities moved by more than the tolerance.
        texts: number of texts with exchanged words that were asked.
        greatest: greatest change of a probability.
        tolerance: the largest change that counts as none.
        visible_types: number of word types of the training texts that are visible; of an export, of these texts.
        types: number of word types of the training texts; of an export, of these texts.
        visible_share: share of the running words of these texts that is visible.
        running: number of these running words.
        accuracy: share of these texts that is classified rightly; None without labels.
        kept: number of texts without a hidden word, or in which no exchange gave the same words around it.
        example: a text whose probabilities moved, before and after; None if there is none.
    """

    exchanges: int
    moved: int
    texts: int
    greatest: float
    tolerance: float
    visible_types: int
    types: int
    visible_share: float
    running: int
    accuracy: float | None
    kept: int
    example: tuple[str, str] | None

    @property
    def holds(self) -> bool:
        """Whether nothing moved."""
        return self.moved == 0 and self.exchanges > 0


def verify(
    predictor: TextPredictor,
    texts: Sequence[str],
    labels: Sequence[object] | None = None,
    *,
    exchanges: int = 10_000,
    seed: int = 0,
    answer: Answer | None = None,
    tolerance: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Exchange every hidden word of the texts for other hidden words at random, again and again.

    A word counts as hidden if the model says so: its importance is below 0.5 where the mask shows or hides, or a person
    has hidden it. Encoders get words of as many pieces.

    Args:
        predictor: the model.
        texts: texts to exchange words in.
        labels: their classes, for the accuracy.
        exchanges: at least this many words are exchanged, over as many rounds as it takes.
        seed: of the draws.
        answer: what is asked; by default the model itself.
        tolerance: the largest change of a probability that counts as none.
        progress: is told how many more words were exchanged.

    Raises:
        ConfigError: if the model hides no word, or none of them stands in the texts.
    """
    claimed = claimed_ids(predictor.model)
    if claimed is None:
        raise ConfigError(HIDES_NOTHING)
    pool = _Pool(predictor.prepare, claimed, list(predictor.word_counts()))
    ask = answer or (lambda asked: predictor.predict_docs(predictor.prepare(asked)))
    return _verified(
        pool, ask, predictor.labels, texts, labels, exchanges, seed, tolerance, progress, predictor.thresholds
    )


def verify_export(
    reader: ExportReader,
    answer: Answer,
    texts: Sequence[str],
    labels: Sequence[object] | None = None,
    *,
    exchanges: int = 10_000,
    seed: int = 0,
    tolerance: float = 1e-6,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """The same for an export, without the model that it was made from; words come from the texts themselves.

    Args:
        reader: reads texts as the export does, and has the list of its hidden tokens.
        answer: asks the export.
        texts: texts to exchange words in.
        labels: their classes, for the accuracy.
        exchanges: as in `verify`.
        seed: of the draws.
        tolerance: the largest change of a probability that counts as none.
        progress: is told how many more words were exchanged.

    Raises:
        ConfigError: if none of its hidden words stands in the texts.
    """
    words = dict.fromkeys(word for doc in reader.prepare(list(texts)) for word in doc.words)
    pool = _Pool(reader.prepare, reader.claimed, list(words))
    return _verified(
        pool, answer, reader.labels, texts, labels, exchanges, seed, tolerance, progress, reader.thresholds
    )


def _verified(
    pool: _Pool,
    ask: Answer,
    classes: Sequence[object],
    texts: Sequence[str],
    labels: Sequence[object] | None,
    exchanges: int,
    seed: int,
    tolerance: float,
    progress: Callable[[int], None] | None,
    thresholds: NDArray[np.float64] | None,
) -> Verification:
    rng = numpy_stream(seed, "verify")
    docs = pool.prepare(list(texts))
    hidden = pool.hidden(docs)
    running = sum(len(doc.spans) for doc in docs)
    visible = running - sum(int(one.sum()) for one in hidden)
    within = [number for number, one in enumerate(hidden) if one.any()]
    if not within:
        raise ConfigError("None of these texts has a hidden word. Give texts like those of the training.")
    done = moved = asked = kept = 0
    greatest, example = 0.0, None
    original: dict[int, NDArray[np.float32]] = {}  # by batch: in another one, answers may differ by rounding
    first = True
    while done < exchanges:
        before = done
        for start in range(0, len(within), BATCH):
            numbers = within[start : start + BATCH]
            old = [docs[number].text for number in numbers]
            new, counts = pool.exchanged([docs[number] for number in numbers], [hidden[n] for n in numbers], rng)
            if start not in original:
                original[start] = ask(old)
            change = np.abs(ask(new).astype(np.float64) - original[start]).max(1)
            over = ~(change <= tolerance)  # NaN too
            if over.any() and example is None:
                example = (old[int(over.argmax())], new[int(over.argmax())])
            moved, greatest = moved + int(over.sum()), max(greatest, float(change.max()))
            asked, kept = asked + sum(count > 0 for count in counts), kept + (counts.count(0) if first else 0)
            done += sum(counts)
            if progress is not None:
                progress(sum(counts))
            if done >= exchanges and not first:
                break
        first = False
        if done == before:
            raise ConfigError(
                "No hidden word of these texts can be exchanged for another. Hide a second word, or give more texts."
            )
    accuracy = None
    if labels is not None:
        rows = np.concatenate([ask(list(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)])
        best = leading(rows) if thresholds is None else rows
        right = [
            comparable(classes[one] if thresholds is None else predicted_labels(one, classes, thresholds))
            == comparable(label)
            for one, label in zip(best, labels, strict=True)
        ]
        accuracy = sum(right) / len(right)
    kept += len(docs) - len(within)
    return Verification(
        exchanges=done,
        moved=moved,
        texts=asked,
        greatest=greatest,
        tolerance=tolerance,
        visible_types=pool.types[0],
        types=pool.types[1],
        visible_share=visible / max(running, 1),
        running=running,
        accuracy=accuracy,
        kept=kept,
        example=example,
    )


class _Pool:
    """The words that a model says it does not see.

    Args:
        prepare: reads texts as the model does.
        claimed: (V,) whether the model says that it sees an id.
        words: words to exchange hidden ones for, if they are hidden too.

    Attributes:
        types: number of visible ones of these words, and of all.
        by_size: number of ids -> the hidden words that have as many.
    """

    def __init__(self, prepare: Callable[[list[str]], list[Doc]], claimed: NDArray[np.bool_], words: list[str]) -> None:
        self.prepare, self._claimed = prepare, claimed
        self._special = len(prepare([""])[0].ids)  # tokens that stand around any text
        docs = prepare(words)
        alone = [number for number, doc in enumerate(docs) if doc.words == (words[number],)]
        hidden = self.hidden([docs[number] for number in alone])
        self.types = sum(not one.all() for one in hidden), len(alone)
        self.by_size: dict[int, list[str]] = {}
        for number, one in zip(alone, hidden, strict=True):
            if one.all():
                self.by_size.setdefault(len(docs[number].ids) - self._special, []).append(words[number])
        if not self.by_size:
            raise ConfigError(HIDES_NOTHING)

    def hidden(self, docs: Sequence[Doc]) -> list[NDArray[np.bool_]]:
        """For each text (W,) whether the model says that it does not see a word."""
        return [hidden_words(doc, self._claimed) for doc in docs]

    def exchanged(
        self, docs: Sequence[Doc], hidden: Sequence[NDArray[np.bool_]], rng: np.random.Generator
    ) -> tuple[list[str], list[int]]:
        """Texts with other hidden words in place of theirs, and how many were exchanged in each."""
        texts, counts = [doc.text for doc in docs], [0] * len(docs)
        todo = list(range(len(docs)))
        for _ in range(TRIES):
            drawn = [self._drawn(docs[number], hidden[number], rng) for number in todo]
            read = self.prepare([text for text, _ in drawn])
            left = []
            for number, (text, count), doc, now in zip(todo, drawn, read, self.hidden(read), strict=True):
                if count and len(doc.ids) == len(docs[number].ids) and np.array_equal(now, hidden[number]):
                    texts[number], counts[number] = text, count
                else:
                    left.append(number)
            todo = left
            if not todo:
                break
        return texts, counts

    def _drawn(self, doc: Doc, hidden: NDArray[np.bool_], rng: np.random.Generator) -> tuple[str, int]:
        """A text with hidden words drawn anew, and their number."""
        sizes = np.ones(len(doc.spans), np.int64)
        if doc.owners is not None:
            sizes = np.bincount(doc.owners[:, 1], minlength=len(doc.spans))
        parts, at, count = [], 0, 0
        for (start, end), is_hidden, size in zip(doc.spans, hidden, sizes, strict=True):
            others = self.by_size.get(int(size), []) if is_hidden else []
            drawn = others[int(rng.integers(len(others)))] if others else ""
            if drawn and drawn.casefold() != doc.text[start:end].casefold():  # a word for itself is no exchange
                parts += [doc.text[at:start], drawn]
                at, count = end, count + 1
        return "".join([*parts, doc.text[at:]]), count
