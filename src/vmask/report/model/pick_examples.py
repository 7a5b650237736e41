"""Which texts are shown: by a rule that knows nothing of how they look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream

KINDS = {"right": 7, "wrong": 7, "unsure": 6}
"""How many texts of each kind are shown, where there are so many."""
RULE = (
    "The texts are chosen by a fixed rule. All {texts} {split} texts are put in a random order (seed 0). Shown are the "
    "first {right} that the model classifies correctly, the first {wrong} that it gets wrong and, of all others, the "
    "{unsure} whose predicted class has the lowest probability. No text is shown twice."
)


def rule(split: str, texts: int) -> str:
    """How texts are chosen, in words."""
    return RULE.format(split=split, texts=f"{texts:,}", **KINDS)


def choose(texts: Sequence[str], right: NDArray[np.bool_], sure: NDArray[Any]) -> list[tuple[str, int]]:
    """Kind and number of the texts that are shown, see `RULE`; fewer where there are fewer.

    Args:
        texts: all texts.
        right: (N,) whether the predicted class of each is right.
        sure: (N,) probability of the predicted class.
    """
    order = numpy_stream(0, "model_report").permutation(len(texts)).tolist()
    by_doubt = sorted(range(len(texts)), key=lambda row: (float(sure[row]), row))
    rows = {
        "right": [row for row in order if right[row]],
        "wrong": [row for row in order if not right[row]],
        "unsure": by_doubt,
    }
    chosen: list[tuple[str, int]] = []
    taken: set[str] = set()
    for kind, most in KINDS.items():
        found = 0
        for row in rows[kind]:
            if found < most and texts[row] not in taken:
                chosen.append((kind, row))
                taken.add(texts[row])
                found += 1
    return chosen
