"""The paper's figures from result files, and some of our own: what is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.available import WORDS, datasets, models
from reproduction.curves import Curves
from reproduction.figure_clouds import clouds
from reproduction.figure_curves import controls, post_hoc
from reproduction.figure_faithfulness import faithfulness
from reproduction.figure_levels import second_softmax
from reproduction.figure_scatter import scatter
from reproduction.figure_shares import shares
from reproduction.figure_texts import NAMES, texts
from reproduction.published import Published
from reproduction.results import Results
from vmask.report.figures.style import Picture, check_extra, save

__all__ = [
    "Picture",
    "all_figures",
    "clouds",
    "controls",
    "faithfulness",
    "post_hoc",
    "save",
    "scatter",
    "second_softmax",
    "shares",
    "texts",
]

PREFERRED = ("lstm", "cnn")
"""Models whose words are scattered, the first that has results: the paper shows LSTM."""


def all_figures(
    results: Results, published: Published | None = None, curves: Curves | None = None
) -> Iterator[Picture]:
    """Every figure that there are results for, in the order of the paper; ours follow the one they belong to.

    Raises:
        MissingExtra: without matplotlib or wordcloud.
    """
    check_extra()
    for draw in (post_hoc, controls, faithfulness):
        if (picture := draw(results)) is not None:
            yield picture
    if (picture := second_softmax(results, published)) is not None:
        yield picture
    if (picture := shares(curves)) is not None:
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
