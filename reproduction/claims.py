"""What the paper claims about accuracy and AOPC, with what our results say of it; and all its claims together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reproduction.bands import share_band
from reproduction.claim import (
    Cell,
    Claim,
    ClaimVerdict,
    Sides,
    cell_title,
    cells_of,
    compared,
    of_all,
    scored,
    sides,
)
from reproduction.claims_words import claims_about_words
from reproduction.early import Early, early, settled
from reproduction.published import Published
from reproduction.results import DATASETS, TITLES, Results, ScoreKey

NEARLY = 0.02
"""A difference of AOPC that still counts as nearly equal."""


def all_claims(results: Results, published: Published) -> list[Claim]:
    """Every claim of the paper that our results can speak to, in its order."""
    return [
        _more_accurate(results, published),
        _no_constant_gain(results, published),
        _iba_above_l2x(results, published),
        _as_earlier_papers(results, published),
        _aopc_higher(results, published),
        _aopc_trec(results, published),
        *claims_about_words(results),
    ]


def _accuracies(results: Results, published: Published, first: str, second: str, cells: Sequence[Cell]) -> Sides:
    """How the accuracies of two masks compare, here and in the paper."""

    def paper(cell: Cell) -> float | None:
        dataset, model = cell
        return _printed(published, ("accuracy", model, second, dataset), ("accuracy", model, first, dataset))

    return sides(cells, lambda cell: results.trained(*cell, first), lambda cell: results.trained(*cell, second), paper)


def _printed(published: Published, second: tuple[str, ...], first: tuple[str, ...]) -> float | None:
    """The difference of two numbers that the paper prints in percent, as a share; None where it does not."""
    if second[0] not in published.tables:
        return None
    a, b = published.number(*first), published.number(*second)
    return None if a is None or b is None else (b - a) / 100


def _more_accurate(results: Results, published: Published) -> Claim:
    title = "VMASK minus base"
    found = _accuracies(results, published, "base", "vmask", cells_of())
    kept = early(results, found.differences)
    control = _accuracies(results, published, "base", "word_dropout", cells_of())
    rest = _accuracies(results, published, "base", "vmask", _without(found, kept))
    lines = (*_where_late(title, rest, kept), f"Control, word dropout minus base: {control.words()}")
    sentence = "Models trained with VMASK are more accurate than base models."
    return settled(compared("accuracy", sentence, {title: found}, lines), kept)


def _without(found: Sides, kept: Early) -> list[Cell]:
    return [cell for cell in found.differences if cell not in kept.cells]


def _where_late(title: str, rest: Sides, kept: Early) -> tuple[str, ...]:
    """The same over the cells where no training was kept early, where that leaves some out."""
    shown = kept.cells and rest.differences
    return (f"{title}, cells without a training that was kept so early: {rest.words()}",) if shown else ()


def _no_constant_gain(results: Results, published: Published) -> Claim:
    found = {name: _accuracies(results, published, "base", name, cells_of()) for name in ("l2", "iba", "l2x")}
    run = {name: one for name, one in found.items() if one.differences}
    constant = [name for name, one in run.items() if one.higher == len(one.differences)]
    verdict: ClaimVerdict = "not run" if not run else "does not hold" if constant else "holds"
    evidence = tuple(f"{TITLES[name]} minus base: {one.words()}" for name, one in run.items())
    return Claim("others", "l2, IBA and L2X do not improve accuracy everywhere.", verdict, evidence)


def _iba_above_l2x(results: Results, published: Published) -> Claim:
    found = _accuracies(results, published, "l2x", "iba", cells_of())
    return compared("iba_l2x", "IBA is more accurate than L2X.", {"IBA minus L2X": found})


def _as_earlier_papers(results: Results, published: Published) -> Claim:
    """Base models against the span of earlier results, widened by the 95% band of one run on the test set."""
    where: dict[str, list[str]] = {"in": [], "above": [], "below": []}
    for dataset, model in cells_of():
        papers = published.table("previous").rows.get(model, {}).values()
        earlier = sorted(float(paper[dataset]) for paper in papers if dataset in paper)
        ours = list(results.trained(dataset, model, "base").values())
        size = published.number("datasets", dataset, "test")
        if earlier and ours and size:
            mean = 100 * sum(ours) / len(ours)
            low, high = share_band(earlier[0], size)[0], share_band(earlier[-1], size)[1]
            side = "below" if mean < low else "above" if mean > high else "in"
            found = " to ".join(f"{share:.1f}" for share in dict.fromkeys((earlier[0], earlier[-1])))
            title = cell_title(results, (dataset, model))
            where[side].append(f"{title} {mean:.1f} (band {low:.1f} to {high:.1f}, of {found})")
    total = sum(map(len, where.values()))
    verdict = of_all(total - len(where["below"]), total)
    shown = tuple(
        f"{side.capitalize()} the 95% band of earlier results: {', '.join(cells)}"
        for side, cells in where.items()
        if cells
    )
    sentence = "Base models are as accurate as in earlier papers, or more."
    return Claim("earlier", sentence, verdict, shown)


def _aopc(
    results: Results, published: Published, title: str, cells: Sequence[Cell], mask: str = "vmask", metric: str = "aopc"
) -> dict[str, Sides]:
    """A mask minus base by both explainers, each under a title that says so."""

    def paper(by: str) -> Callable[[Cell], float | None]:
        return lambda cell: _printed(
            published, (metric, by, cell[1], mask, cell[0]), (metric, by, cell[1], "base", cell[0])
        )

    return {
        f"{title}, {TITLES[by]}": sides(
            cells,
            scored(results, "base", "local", ScoreKey(metric, by, "remove")),
            scored(results, mask, "local", ScoreKey(metric, by, "remove")),
            paper(by),
        )
        for by in ("lime", "shapley")
    }


def _aopc_higher(results: Results, published: Published) -> Claim:
    title = "VMASK minus base"
    cells = cells_of([one for one in DATASETS if one != "trec"])
    found = _aopc(results, published, title, cells)
    lime = next(iter(found.values()))
    kept = early(results, lime.differences, "local")
    lines: list[str] = []
    for name, rest in _aopc(results, published, title, _without(lime, kept)).items():
        lines += _where_late(name, rest, kept)
    beside = _aopc(results, published, f"NAOPC, {title}", cells, metric="naopc")
    beside |= _aopc(results, published, "Control, word dropout minus base", cells, "word_dropout")
    lines += [f"{name}: {one.words()}" for name, one in beside.items() if one.differences]
    sentence = "AOPC of LIME and SampleShapley is higher for VMASK than for base, on all datasets but TREC."
    return settled(compared("aopc", sentence, found, lines), kept)


def _aopc_trec(results: Results, published: Published) -> Claim:
    found = _aopc(results, published, "VMASK minus base", cells_of(("trec",)))
    kept = early(results, next(iter(found.values())).differences, "local")
    sentence = "On TREC, AOPC of VMASK and base are nearly equal (within 2 points)."
    return settled(compared("aopc_trec", sentence, found, limit=NEARLY), kept)
