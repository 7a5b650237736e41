"""What the paper claims about accuracy and AOPC, with what our results say of it; and all its claims together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vmask.experiments.published import Published
from vmask.reproduction.bands import share_band
from vmask.reproduction.claim import (
    Cell,
    Claim,
    ClaimVerdict,
    Sides,
    Values,
    cell_title,
    cells_of,
    of_all,
    scored,
    sides,
    together,
)
from vmask.reproduction.claims_words import claims_about_words
from vmask.reproduction.results import DATASETS, TITLES, Key, Results

NEARLY = 0.02
"""A difference of AOPC that still counts as nearly equal."""


def all_claims(results: Results, published: Published) -> list[Claim]:
    """Every claim of the paper that our results can speak to, in its order."""
    return [
        _more_accurate(results),
        _no_constant_gain(results),
        _iba_above_l2x(results),
        _as_earlier_papers(results, published),
        _aopc_higher(results),
        _aopc_trec(results),
        *claims_about_words(results),
    ]


def _accuracy(results: Results, mask: str) -> Callable[[Cell], Values]:
    return lambda cell: results.trained(*cell, mask)


def _more_accurate(results: Results) -> Claim:
    found = sides(cells_of(), _accuracy(results, "base"), _accuracy(results, "vmask"))
    control = sides(cells_of(), _accuracy(results, "base"), _accuracy(results, "word_dropout"))
    evidence = (f"VMASK minus base: {found.words()}", f"Control, word dropout minus base: {control.words()}")
    return Claim("accuracy", "Models trained with VMASK are more accurate than base models.", found.verdict(), evidence)


def _no_constant_gain(results: Results) -> Claim:
    found = {
        name: sides(cells_of(), _accuracy(results, "base"), _accuracy(results, name)) for name in ("l2", "iba", "l2x")
    }
    run = {name: one for name, one in found.items() if one.differences}
    constant = [name for name, one in run.items() if one.higher == len(one.differences)]
    verdict: ClaimVerdict = "not run" if not run else "does not hold" if constant else "holds"
    evidence = tuple(f"{TITLES[name]} minus base: {one.words()}" for name, one in run.items())
    return Claim("others", "l2, IBA and L2X do not improve accuracy everywhere.", verdict, evidence)


def _iba_above_l2x(results: Results) -> Claim:
    found = sides(cells_of(), _accuracy(results, "l2x"), _accuracy(results, "iba"))
    return Claim("iba_l2x", "IBA is more accurate than L2X.", found.verdict(), (f"IBA minus L2X: {found.words()}",))


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


def _aopc_cells(results: Results, datasets: Sequence[str], mask: str, metric: str = "aopc") -> dict[str, Sides]:
    return {
        by: sides(
            cells_of(datasets),
            scored(results, "base", "local", Key(metric, by, "remove")),
            scored(results, mask, "local", Key(metric, by, "remove")),
        )
        for by in ("lime", "shapley")
    }


def _aopc_higher(results: Results) -> Claim:
    others = [one for one in DATASETS if one != "trec"]
    found = _aopc_cells(results, others, "vmask")
    lines = _by_explainer("VMASK minus base", found)
    lines += _by_explainer("NAOPC, VMASK minus base", _aopc_cells(results, others, "vmask", "naopc"))
    lines += _by_explainer("Control, word dropout minus base", _aopc_cells(results, others, "word_dropout"))
    return Claim(
        "aopc",
        "AOPC of LIME and SampleShapley is higher for VMASK than for base, on all datasets but TREC.",
        together([one.verdict() for one in found.values()]),
        lines,
    )


def _by_explainer(title: str, found: Mapping[str, Sides]) -> tuple[str, ...]:
    return tuple(f"{title}, {TITLES[by]}: {one.words()}" for by, one in found.items() if one.differences)


def _aopc_trec(results: Results) -> Claim:
    found = _aopc_cells(results, ("trec",), "vmask")
    differences = [abs(value) for one in found.values() for value in one.differences.values()]
    near = sum(one <= NEARLY for one in differences)
    verdict = of_all(near, len(differences))
    sentence = "On TREC, AOPC of VMASK and base are nearly equal (within 2 points)."
    return Claim("aopc_trec", sentence, verdict, _by_explainer("VMASK minus base", found))
