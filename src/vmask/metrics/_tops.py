"""What metrics have in common that hide a text's top 1, 2, … K words."""

from __future__ import annotations

from dataclasses import dataclass

from vmask.config import check_positive, option


@dataclass(frozen=True)
class TopOptions:
    """How many words are hidden."""

    k: int = option(5, "most words that are hidden")

    def __post_init__(self) -> None:
        check_positive(self, "k", minimum=1)
