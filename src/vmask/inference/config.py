"""Options of predictions that are written beside a table."""

from __future__ import annotations

from dataclasses import dataclass

from vmask.config import check_positive, option


@dataclass(frozen=True)
class PredictConfig:
    """The columns that predictions add to a table."""

    probabilities: bool = option(False, "a column with the probability of each class")
    explain: bool = option(False, "two columns with the words that speak most for and against the label")
    explain_method: str = option("occlusion", "how the words are found, see `vmask ls explainers`")
    explain_words: int = option(5, "words in each of these columns, at most", most=1_000)
    prefix: str = option("", "what the names of the columns begin with")

    def __post_init__(self) -> None:
        check_positive(self, "explain_words", minimum=1)
