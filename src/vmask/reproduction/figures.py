"""The paper's figures from result files, and two of our own: what is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from vmask.report.figures.style import Picture, check_extra, save
from vmask.reproduction._clouds import clouds
from vmask.reproduction._curves import controls, post_hoc
from vmask.reproduction._dots import faithfulness
from vmask.reproduction._found import WORDS, datasets, models
from vmask.reproduction._scatter import scatter
from vmask.reproduction._texts import NAMES, texts
from vmask.reproduction.results import Results

__all__ = ["Picture", "all_figures", "clouds", "controls", "faithfulness", "post_hoc", "save", "scatter", "texts"]

PREFERRED = ("lstm", "cnn")
"""Models whose words are scattered, the first that has results: the paper shows LSTM."""


def all_figures(results: Results) -> Iterator[Picture]:
    """Every figure that there are results for, in the order of the paper; ours follow the one they belong to.

    Raises:
        MissingExtra: without matplotlib or wordcloud.
    """
    check_extra()
    for draw in (post_hoc, controls, faithfulness):
        if (picture := draw(results)) is not None:
            yield picture
    for dataset in datasets(results, WORDS):
        found = models(results, dataset, WORDS)
        chosen = next((model for model in PREFERRED if model in found), found[0])
        if (picture := scatter(results, dataset, chosen)) is not None:
            yield picture
    for which in ("top", "top_seen_5"):
        if (picture := clouds(results, which)) is not None:
            yield picture
    for group in NAMES:
        if (picture := texts(results, group)) is not None:
            yield picture
