"""Shared by the gradient methods: access to captum, and word scores from scores of positions at the seam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.errors import MissingExtra
from vmask.explain.contract import Explainer, Explanation, classes_of
from vmask.inference.contract import Doc

if TYPE_CHECKING:
    from vmask.inference.gradients import AtSeam


class GradientExplainer(Explainer):
    """A method that uses the gradient of the target's probability at what the classifier sees at the seam.

    Attributes:
        kind: name of the method in `captum.attr`.
        baseline: name of the baseline of the word vectors, where the mask brings none; empty if the method has none.

    Raises:
        MissingExtra: if captum is not installed.
    """

    hides = False
    needs = "at_seam"
    kind: ClassVar[str]
    baseline: ClassVar[str] = "zero"
    of_pieces = "sum over its pieces, a shared one in equal parts"

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.captum()  # reports a missing library before the first text

    def captum(self) -> Any:
        """The class of the method in captum."""
        try:
            return getattr(import_module("captum.attr"), self.kind)
        except ImportError:
            raise MissingExtra(f"method={self.name}", "gradients") from None

    def attribute(self, seam: AtSeam, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, T) scores of positions for the classes (B,), and details with one value per text (B,)."""
        raise NotImplementedError

    def explain_batch(
        self, predictor: Any, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain texts, in batches of similar length."""
        explanations: list[Explanation | None] = [None] * len(docs)
        for seam in predictor.at_seam(docs):
            probabilities = seam.probabilities.cpu().numpy()
            chosen = classes_of(probabilities, None if targets is None else [targets[row] for row in seam.rows])
            values, details = self.attribute(seam, torch.tensor(chosen, device=seam.z.device))
            start = "mask" if self.baseline and bool(seam.baseline.any()) else self.baseline
            scores = values.detach().cpu().numpy().astype(np.float64)
            for at, (row, target) in enumerate(zip(seam.rows.tolist(), chosen, strict=True)):
                explanations[row] = self._explanation(
                    predictor,
                    docs[row],
                    scores[at],
                    target,
                    probabilities[at, target],
                    {name: float(values_of[at]) for name, values_of in details.items()},
                    start,
                )
        for explanation in explanations:
            assert explanation is not None
            yield explanation

    def _explanation(
        self,
        predictor: Any,
        doc: Doc,
        values: NDArray[np.float64],
        target: int,
        probability: float,
        details: dict[str, Any],
        baseline: str,
    ) -> Explanation:
        scores = per_word(values, doc, self.signed)
        explanation = self.finished(predictor, doc, scores, target, probability, **details)
        if not baseline:
            return explanation
        return replace(explanation, options={**explanation.options, "baseline": baseline})


def per_word(values: NDArray[np.float64], doc: Doc, signed: bool) -> NDArray[np.float64]:
    """(W,) scores of words from scores of positions (T,), padding ignored; 0 for a word without pieces.

    Args:
        values: scores of positions.
        doc: the text.
        signed: True to sum over the pieces of a word, with a piece of several words divided equally, which preserves
            the sum of a text; False for the maximum over its pieces.
    """
    if doc.owners is None:
        return values[: len(doc.spans)]
    position, word = doc.owners.T
    scores = np.zeros(len(doc.spans))
    if signed:
        np.add.at(scores, word, values[position] / np.bincount(position)[position])
    else:
        np.maximum.at(scores, word, values[position])
    return scores
