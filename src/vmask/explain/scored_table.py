"""Predictions beside the rows of a table: label, probability and the words that decided."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.wording import unused_name
from vmask.data.label_columns import BETWEEN
from vmask.data.table_chunks import TableChunk
from vmask.data.writers import Columns
from vmask.explain.contract import Explanation
from vmask.explain.shards import ExplainWork
from vmask.inference.answers_file import Answers, AnswersFile
from vmask.inference.config import PredictConfig
from vmask.inference.decisions import leading, predicted_labels
from vmask.inference.work import Map, PredictWork, Shard

DIGITS = 6
"""Digits of a probability behind the point: those that depend on neither company nor machine."""


@dataclass(frozen=True)
class AnswerWork:
    """Predict the texts of shards, and find the words that decided.

    Attributes:
        explain: how the words are found; None if they are not asked for.
        words: number of words for and against.
    """

    explain: ExplainWork | None = None
    words: int = PredictConfig.explain_words

    def begin(self, models: Sequence[Any]) -> Callable[[Shard], Answers]:
        """Answer by the first model."""
        predict = PredictWork().begin(models)
        how = self.explain

        def answer(shard: Shard) -> Answers:
            probabilities = predict(shard)
            if how is None:
                return Answers(probabilities)
            words = [strongest(one, self.words) for one in how.explain(models[0], shard.texts)]
            return Answers(probabilities, words)

        return answer


def strongest(explanation: Explanation, most: int) -> tuple[str, str]:
    """The words with the highest scores above and below zero, strongest first, with spaces between; each once."""
    total: dict[str, float] = {}
    for word, score in zip(explanation.words, explanation.scores, strict=True):
        word = word.lower()
        if abs(score) > abs(total.get(word, 0.0)):
            total[word] = float(score)
    ranked = sorted(total, key=lambda word: (-abs(total[word]), word))
    above, below = ([word for word in ranked if sign * total[word] > 0] for sign in (1, -1))
    return " ".join(above[:most]), " ".join(below[:most])


class AnswerColumns:
    """The columns that predictions add to a table.

    Args:
        labels: the classes, in the order of the probabilities.
        config: which columns.
        taken: the columns of the input; a new column of the same name gets `_predicted` behind its name.
        threshold: probability of the predicted class below which there is no label; None for always.
        thresholds: (C,) probability from which each label is predicted, where a text may have several; else None.

    Attributes:
        names: names of the columns by what is in them.
        types: their types by their names, in order.
    """

    def __init__(
        self,
        labels: Sequence[Any],
        config: PredictConfig,
        taken: Columns,
        threshold: float | None = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        self._labels, self._config, self._threshold = labels, config, threshold
        self._thresholds = None if thresholds is None else np.array(thresholds)
        kind = type(labels[0]) if len({type(label) for label in labels}) == 1 else float
        kind = kind if thresholds is None else str
        kinds: dict[str, Any] = {"label": kind, "probability": float}
        if config.probabilities:
            kinds |= dict.fromkeys((f"probability_{label}" for label in labels), float)
        if config.explain:
            kinds |= {"words_for": str, "words_against": str}
        self.names: dict[str, str] = {}
        used = set(taken)
        for what in kinds:
            name = f"{config.prefix}{what}"
            self.names[what] = unused_name(f"{name}_predicted" if name in used else name, used, "_")
            used.add(self.names[what])
        self.types: Columns = {self.names[what]: kind for what, kind in kinds.items()}

    @property
    def renamed(self) -> dict[str, str]:
        """The names that would be those of columns of the input, and what they are instead."""
        wanted = {what: f"{self._config.prefix}{what}" for what in self.names}
        return {wanted[what]: name for what, name in self.names.items() if wanted[what] != name}

    def of(self, texts: Sequence[str | None], answers: Answers) -> dict[str, list[Any]]:
        """The values of the columns for some rows; None where the text is missing."""
        rows = answers.probabilities.astype(float).round(DIGITS)
        best = leading(answers.probabilities, self._thresholds)
        values: list[list[Any]] = [self._predicted(answers, best), rows[range(len(rows)), best].tolist()]
        if self._config.probabilities:
            values += rows.T.tolist()
        if self._config.explain:
            words = answers.words or []
            values += [[of_text[side] for of_text in words] for side in (0, 1)]
        present = [text is not None for text in texts]
        return {name: _spread(column, present) for name, column in zip(self.types, values, strict=True)}

    def _predicted(self, answers: Answers, best: NDArray[np.int64]) -> list[Any]:
        """The label of each text, or all of them."""
        if self._thresholds is None:
            sure = answers.probabilities.max(1) >= np.float32(self._threshold or 0.0)
            return [self._labels[i] if here else None for i, here in zip(best, sure, strict=True)]
        names = [str(label) for label in self._labels]
        return [BETWEEN.join(predicted_labels(row, names, self._thresholds)) for row in answers.probabilities]


def _spread(values: Sequence[Any], present: Sequence[bool]) -> list[Any]:
    """The values in the places where `present`, None in the others."""
    if len(values) == len(present):
        return list(values)
    ahead = iter(values)
    return [next(ahead) if here else None for here in present]


def answered(
    chunks: Iterable[TableChunk], file: AnswersFile, share: Map, work: AnswerWork
) -> Iterator[tuple[TableChunk, Answers]]:
    """Every chunk with its answers: those that the file has, then new ones, which are appended to it."""
    rest = iter(chunks)
    for chunk in rest:
        found = file.next(chunk.texts)
        if found is None:
            rest = chain([chunk], rest)
            break
        yield chunk, found
    else:
        file.check_end()
        return
    waiting: deque[TableChunk] = deque()

    def shards() -> Iterator[Shard]:
        first = file.rows
        for chunk in rest:
            waiting.append(chunk)
            yield Shard(first, [text for text in chunk.texts if text is not None])
            first += len(chunk)

    for answers in share(work, shards()):
        chunk = waiting.popleft()
        file.add(chunk.texts, answers)
        yield chunk, answers
