"""What the paper claims about accuracy and AOPC, with what our results say of it; and all claims together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from reproduction.bands import share_band
from reproduction.claim import Claim, cell_title, cells_of, scored
from reproduction.claims_words import claims_about_words
from reproduction.effect import Cell, Effect, Region, lowest, paired
from reproduction.plausibility import plausible
from reproduction.published import Published
from reproduction.results import DATASETS, TITLES, Results, ScoreKey

NEARLY = 0.02
"""A difference of AOPC that still counts as nearly equal."""
AS_ACCURATE = 0.01
"""How far below earlier papers an accuracy may lie and still be called as high."""
READINGS = {"k=5": "drop at five words", "equal confidence": "at equal confidence", "second softmax": "second softmax"}
"""Other readings of AOPC than the mean over k, by their part."""


def all_claims(results: Results, published: Published, marked: Results | None = None) -> list[Claim]:
    """Every claim of the paper that our results can speak to, in its order; then our own.

    Args:
        results: of the paper's grid.
        published: the paper's numbers.
        marked: of `plausibility.yaml`, if there are any.
    """
    return [
        _more_accurate(results, published),
        _no_constant_gain(results, published),
        _iba_above_l2x(results, published),
        _as_earlier_papers(results, published),
        _aopc_higher(results, published),
        _aopc_trec(results, published),
        *claims_about_words(results, published),
        plausible(marked),
    ]


def _accuracy(results: Results, published: Published, first: str, second: str) -> Effect:
    """The second method's accuracy minus the first's, here and in the paper."""
    values = paired(cells_of(), lambda cell: results.trained(*cell, first), lambda cell: results.trained(*cell, second))
    paper = {
        cell: difference
        for cell in values
        if (difference := printed(published, ("accuracy", cell[1]), first, second, cell[0])) is not None
    }
    return Effect(f"{TITLES[second]} minus {TITLES[first]}", values, paper=paper)


def printed(published: Published, table: tuple[str, ...], first: str, second: str, dataset: str) -> float | None:
    """The difference of two numbers that the paper prints in percent, as a share; None where it does not."""
    if table[0] not in published.tables:
        return None
    a, b = (published.number(*table, mask, dataset) for mask in (first, second))
    return None if a is None or b is None else (b - a) / 100


def _more_accurate(results: Results, published: Published) -> Claim:
    control = _accuracy(results, published, "base", "word_dropout")
    return Claim(
        "accuracy",
        "Models trained with VMASK are more accurate than base models.",
        (_accuracy(results, published, "base", "vmask"),),
        (f"Control, {control.title}: {control.words()}",),
    )


def _no_constant_gain(results: Results, published: Published) -> Claim:
    effects = []
    for mask in ("l2", "iba", "l2x"):
        found = _accuracy(results, published, "base", mask)
        effect = lowest(found.title, found.values, found.paper)
        cell = next((cell_title(results, cell) for cell in effect.values), "")
        effects.append(replace(effect, title=f"{effect.title}, lowest cell: {cell}"))
    return Claim("others", "l2, IBA and L2X do not improve accuracy everywhere.", tuple(effects))


def _iba_above_l2x(results: Results, published: Published) -> Claim:
    return Claim("iba_l2x", "IBA is more accurate than L2X.", (_accuracy(results, published, "l2x", "iba"),))


def _as_earlier_papers(results: Results, published: Published) -> Claim:
    """Base models against the mean of earlier results; beside it the band of a single run on the test set."""
    values: dict[Cell, list[float]] = {}
    where: dict[str, list[str]] = {"in": [], "above": [], "below": []}
    for dataset, model in cells_of():
        papers = published.table("previous").rows.get(model, {}).values()
        earlier = sorted(float(paper[dataset]) for paper in papers if dataset in paper)
        ours = list(results.trained(dataset, model, "base").values())
        size = published.number("datasets", dataset, "test")
        if earlier and ours and size:
            values[dataset, model] = [one - fmean(earlier) / 100 for one in ours]
            mean = 100 * fmean(ours)
            low, high = share_band(earlier[0], size)[0], share_band(earlier[-1], size)[1]
            side = "below" if mean < low else "above" if mean > high else "in"
            span = " to ".join(f"{share:.1f}" for share in dict.fromkeys((earlier[0], earlier[-1])))
            title = cell_title(results, (dataset, model))
            where[side].append(f"{title} {mean:.1f} (band {low:.1f} to {high:.1f}, of {span})")
    shown = tuple(
        f"{side.capitalize()} the 95% band of earlier results: {', '.join(cells)}"
        for side, cells in where.items()
        if cells
    )
    sentence = "Base models are as accurate as in earlier papers, or more (here: at most one point below their mean)."
    return Claim("earlier", sentence, (Effect("base minus earlier papers", values, Region(-AS_ACCURATE)),), shown)


def aopc_effect(
    results: Results,
    published: Published,
    by: str,
    cells: Sequence[Cell],
    mask: str = "vmask",
    metric: str = "aopc",
    part: str = "",
    region: Region | None = None,
) -> Effect:
    """A method minus base by one explainer."""
    key = ScoreKey(metric, by, "remove", part)
    values = paired(cells, scored(results, "base", "local", key), scored(results, mask, "local", key))
    paper = {}
    if not part:
        found = {cell: printed(published, (metric, by, cell[1]), "base", mask, cell[0]) for cell in values}
        paper = {cell: difference for cell, difference in found.items() if difference is not None}
    title = f"{TITLES[mask]} minus base, {TITLES[by]}"
    return Effect(title, values, paper=paper) if region is None else Effect(title, values, region, paper)


def _aopc_higher(results: Results, published: Published) -> Claim:
    cells = cells_of([name for name in DATASETS if name != "trec"])
    effects = tuple(aopc_effect(results, published, by, cells) for by in ("lime", "shapley"))
    beside = {}
    for by in ("lime", "shapley"):
        for part, reading in READINGS.items():
            beside[f"{reading}, {TITLES[by]}"] = aopc_effect(results, published, by, cells, part=part)
        beside[f"NAOPC, {TITLES[by]}"] = aopc_effect(results, published, by, cells, metric="naopc")
        control = aopc_effect(results, published, by, cells, "word_dropout")
        beside[f"Control, {control.title}"] = control
    lines = tuple(f"{title}: {effect.words()}" for title, effect in beside.items() if effect.values)
    sentence = "AOPC of LIME and SampleShapley is higher for VMASK than for base, on all datasets but TREC."
    return Claim("aopc", sentence, effects, lines)


def _aopc_trec(results: Results, published: Published) -> Claim:
    cells, nearly = cells_of(("trec",)), Region(-NEARLY, NEARLY)
    effects = tuple(aopc_effect(results, published, by, cells, region=nearly) for by in ("lime", "shapley"))
    return Claim("aopc_trec", "On TREC, AOPC of VMASK and base are nearly equal (within 2 points).", effects)
