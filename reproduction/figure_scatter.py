"""How often a word is seen, and how important its mask makes it: the paper's scatter plot, with names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reproduction.available import WORDS, shown
from reproduction.results import Results, ScoreKey
from vmask.report.figures.scatter import NAMED, draw_scatter
from vmask.report.figures.style import Picture, styled
from vmask.report.grid.results import over_seeds


@styled()
def scatter(results: Results, dataset: str, model: str) -> Picture | None:
    """Importance over count of the words of a model trained with VMASK; None where it has no result."""
    found = results.lowest_seed(dataset, model, WORDS, ("vmask",))
    if found is None or found[1][0].get("importance") is None:
        return None
    seed, (record,) = found
    words = record["importance"]
    seen = [(count, score) for count, score in words["drawn"] if count]
    figure = draw_scatter(seen, words["top"][:NAMED], words["frequent"][:NAMED])
    who = f"{shown(model)}-VMASK on {results.title(dataset)}"
    caption = (
        f"Words of {who} (seed {seed}): how often each stands in the training texts, and its importance, the chance "
        f"that its mask keeps it; 0.5 (dashed) is indifferent. Grey: {_drawn(words)}. {_correlation(results, record)}"
    )
    name = re.sub(r"[^\w.+-]+", "-", f"frequency_{dataset}_{model}")  # an encoder's name may hold a slash
    return Picture(name, f"Frequency and importance of words, {who}", caption, figure, 2)


def _drawn(words: Mapping[str, Any]) -> str:
    drawn = len(words["drawn"])
    return f"all {drawn:,} words" if drawn == words["words"] else f"{drawn:,} of {words['words']:,} words, at random"


def _correlation(results: Results, record: Mapping[str, Any]) -> str:
    """The sentence about Pearson's correlation, which the paper gives in a table."""
    of = record["cell"]
    key = ScoreKey("frequency_correlation", part="pearson")
    by_seed = results.scored(of["dataset"], of["model"], "vmask", WORDS, key)
    found = over_seeds(by_seed)
    if found is None:
        return ""
    seeds = f"mean of {len(by_seed)} seeds" if len(by_seed) > 1 else "one seed"
    return f"Pearson's correlation of count and importance, over all words: {found.value:+.3f} ({seeds})."
