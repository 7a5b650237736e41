"""What the gradient methods share: the way to captum, and from positions at the seam to words."""

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
    """A method that follows the gradient of the target's probability back to what the classifier sees at the seam.

    Attributes:
        kind: name of the method in `captum.attr`.
        baseline: what the vectors of words are compared with; empty where with nothing.

    Raises:
        MissingExtra: where captum is not installed.
    """

    hides = False
    needs = "at_seam"
    kind: ClassVar[str]
    baseline: ClassVar[str] = "zero"
    of_pieces = "sum over its pieces, a shared one in equal parts"

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.captum()  # a missing library is reported before the first text is looked at

    def captum(self) -> Any:
        """The class of the method in captum."""
        try:
            return getattr(import_module("captum.attr"), self.kind)
        except ImportError:
            raise MissingExtra(f"method={self.name}", "gradients") from None

    def attribute(self, seam: AtSeam, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, T) scores of positions for the classes (B,), and details: a value a text (B,) each."""
        raise NotImplementedError

    def explain_batch(
        self, predictor: Any, docs: Sequence[Doc], targets: Sequence[int] | None, seed: int, hide: str
    ) -> Iterator[Explanation]:
        """Explain a few texts, in batches of like length."""
        found: list[Explanation | None] = [None] * len(docs)
        for seam in predictor.at_seam(docs):
            probabilities = seam.probabilities.cpu().numpy()
            asked = None if targets is None else [targets[row] for row in seam.rows]
            chosen = classes_of(probabilities, asked)
            values, details = self.attribute(seam, torch.tensor(chosen, device=seam.z.device))
            scores = values.detach().cpu().numpy().astype(np.float64)
            for at, (row, target) in enumerate(zip(seam.rows.tolist(), chosen, strict=True)):
                found[row] = self._explanation(
                    predictor,
                    docs[row],
                    scores[at],
                    target,
                    probabilities[at, target],
                    {name: float(one[at]) for name, one in details.items()},
                )
        for explanation in found:
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
    ) -> Explanation:
        made = self.finished(predictor, doc, per_word(values, doc, self.signed), target, probability, **details)
        return replace(made, options={**made.options, "baseline": self.baseline}) if self.baseline else made


def per_word(values: NDArray[np.float64], doc: Doc, signed: bool) -> NDArray[np.float64]:
    """(W,) scores of words from those of positions (T,), which may have padding behind; 0 for a word without pieces.

    Args:
        values: scores of positions.
        doc: the text.
        signed: a word gets the sum over its pieces, and several words share a piece equally, so that the scores of a
            text keep their sum. Else it gets the highest of its pieces.
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
