"""The input of metrics of explanations: a batch of explained texts, and cached queries to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.data.rationales import Spans
from vmask.explain.contract import Explanation
from vmask.inference.contract import Doc, Predictor
from vmask.inference.decisions import predictions, thresholds_of


class Questions:
    """Cached queries to the model about a batch of texts with words hidden in one way.

    Args:
        predictor: the model.
        docs: the texts.
        hide: how words are hidden; empty if there will be no queries.

    Attributes:
        memo: results of metrics for these texts that do not depend on the explanation method.
    """

    def __init__(self, predictor: Predictor, docs: Sequence[Doc], hide: str) -> None:
        self.predictor = predictor
        self.docs = docs
        self.hide = hide
        self.memo: dict[Any, Any] = {}
        self._known: list[dict[bytes, NDArray[np.float32]]] = [{} for _ in docs]

    def ask_once(self, keep: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
        """The same as `ask`, for rows that no other metric needs: they are neither looked up nor cached."""
        return self.predictor.predict_kept(self.docs, keep, self.hide)

    def ask(self, keep: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i)."""
        keys = [[_key(row) for row in rows] for rows in keep]
        new = [
            {key: row for row, key in enumerate(row_keys) if key not in known}
            for row_keys, known in zip(keys, self._known, strict=True)
        ]
        if any(new):
            unknown = [rows[list(rows_of.values())] for rows, rows_of in zip(keep, new, strict=True)]
            for known, rows_of, answers in zip(
                self._known, new, self.predictor.predict_kept(self.docs, unknown, self.hide), strict=True
            ):
                known.update(zip(rows_of, answers, strict=True))
        classes = len(self.predictor.labels)
        return [
            np.stack([known[key] for key in row_keys]) if row_keys else np.zeros((0, classes), np.float32)
            for row_keys, known in zip(keys, self._known, strict=True)
        ]


def _key(row: NDArray[Any]) -> bytes:
    """Key of a row; booleans are packed into an eighth of their bytes."""
    return np.packbits(row).tobytes() if row.dtype == np.bool_ else b"scaled" + row.tobytes()


@dataclass(frozen=True)
class Case:
    """A batch of texts explained by one method, with words hidden in one way.

    Attributes:
        questions: queries to the model with words hidden.
        explanations: one per text.
        targets: number of the explained class of each text.
        rank: whether words are ranked by `signed` or by `absolute` scores.
        rationales: for each text the spans that people marked; None without rationales.
        again: explains the same texts by the same method with another seed; None if the method is not random.
        others: explain the same texts for the same classes with models of other training seeds.
        seed: the seed of these explanations.
        labels: (N,) number of the true class of each text; with several labels a text (N, C) whether it has each; None
            without labels.
        randomized: explains the same texts for the same classes with the same seed, but the model's weights randomized,
            by depth; None if the weights are not known.
    """

    questions: Questions
    explanations: Sequence[Explanation]
    targets: Sequence[int]
    rank: str = "signed"
    rationales: Sequence[Spans] | None = None
    again: Callable[[int], Sequence[Explanation]] | None = None
    others: Sequence[Callable[[], Sequence[Explanation]]] = field(default_factory=tuple)
    seed: int = 0
    labels: NDArray[Any] | None = None
    randomized: Callable[[], Mapping[str, Sequence[Explanation]]] | None = None

    @property
    def docs(self) -> Sequence[Doc]:
        """The texts."""
        return self.questions.docs

    @cached_property
    def scores(self) -> list[NDArray[np.float64]]:
        """(W_i,) scores that words are ranked by."""
        return self.scores_of(self.explanations)

    def scores_of(self, explanations: Sequence[Explanation]) -> list[NDArray[np.float64]]:
        """(W_i,) scores that words are ranked by, of other explanations of these texts."""
        scores = [np.array(explanation.scores, np.float64) for explanation in explanations]
        return [np.abs(values) for values in scores] if self.rank == "absolute" else scores

    @cached_property
    def orders(self) -> list[NDArray[np.int64]]:
        """(W_i,) positions of the words, the highest score first, ties to the earlier position."""
        return [np.argsort(-scores, kind="stable") for scores in self.scores]

    def whole(self) -> NDArray[np.float64]:
        """(N,) probability of the explained class of each whole text."""
        return np.array([rows[0] for rows in self.without_top([[0]] * len(self.docs))], np.float64)

    def without_top(self, counts: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """(S_i,) probability of the explained class with the top words hidden, for each number in `counts`."""
        return self._of_target(self.ask_top(counts, hidden=True))

    def only_top(self, counts: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """(S_i,) probability of the explained class with all but the top words hidden."""
        return self._of_target(self.ask_top(counts, hidden=False))

    def ask_top(self, counts: Sequence[Sequence[int]], hidden: bool) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities with the top words hidden, or with all others hidden."""
        return self.questions.ask(self.top_rows(counts, hidden))

    def top_rows(self, counts: Sequence[Sequence[int]], hidden: bool) -> list[NDArray[np.bool_]]:
        """(S_i, W_i) which words are kept with the top words hidden, or with all others hidden."""
        keep = []
        for order, wanted in zip(self.orders, counts, strict=True):
            rows = np.full((len(wanted), len(order)), hidden)
            for row, count in zip(rows, wanted, strict=True):
                row[order[:count]] = not hidden
            keep.append(rows)
        return keep

    def decisions(self, answers: NDArray[Any]) -> NDArray[Any]:
        """(N, S) number of the predicted class, given probabilities (N, S, C) of each text.

        With several labels a text: whether the explained label of each is predicted.
        """
        found = predictions(self.questions.predictor, answers)
        return found if found.ndim == 2 else found[np.arange(len(found)), :, list(self.targets)]

    @property
    def several(self) -> bool:
        """Whether a text may have several labels."""
        return thresholds_of(self.questions.predictor) is not None

    def _of_target(self, answers: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float64]]:
        return [rows[:, target].astype(np.float64) for rows, target in zip(answers, self.targets, strict=True)]
