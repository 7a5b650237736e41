"""Our own claim: does the mask's ranking of words agree with people better than explanations of a model without one?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from reproduction.claim import Claim, cell_title, scored
from reproduction.effect import Cell, Effect, paired
from reproduction.entries import paired_by_seed, scaled
from reproduction.results import TITLES, Results, ScoreKey, titled
from reproduction.table import Entry, Row, Table
from vmask.report.grid.results import signature

STAGE = "plausibility"
METRIC = "token_f1"
CELLS: tuple[Cell, ...] = (("sst_trees", "cnn"), ("sst_trees", "lstm"), ("movies", "cnn"))
"""Datasets in which people marked words, with the models that are trained on them."""
Ranking = tuple[str, str]
"""What ranks words: a training method and an explainer."""
MASK: Ranking = ("vmask", "mask")
BASE: Ranking = ("base", "lime")
"""What the mask is held against."""
OTHERS: tuple[Ranking, ...] = (
    ("vmask", "lime"),
    ("vmask", "shapley"),
    ("base", "shapley"),
    ("iba", "mask"),
    ("random_mask", "mask"),
    ("base", "random"),
)
SELECTS: tuple[Ranking, ...] = (("select:select-0.5", "mask"), ("select:select-0.25", "mask"))
LINEAR: Ranking = ("linear", "mask")
SIMPLE: tuple[Ranking, ...] = (LINEAR, ("frequency", "mask"), ("frequency", "random"))
"""Rankings without a neural model, by `simple_rankings.py`."""
NAMES: dict[Ranking, str] = {
    SELECTS[0]: "select's mask, 50% visible",
    SELECTS[1]: "select's mask, 25% visible",
    ("random_mask", "mask"): "random mask",
    ("base", "random"): "random order",
    LINEAR: "weights of a linear model",
    ("frequency", "mask"): "frequency in the training texts",
    ("frequency", "random"): "random order",
}
WORDS = "words"
"""Their model in the results, see `simple_rankings.MODEL`."""
ROWS: tuple[Ranking, ...] = (
    *(MASK, *SELECTS, ("iba", "mask"), ("random_mask", "mask")),
    *(BASE, ("base", "shapley"), ("vmask", "lime"), ("vmask", "shapley")),
    *SIMPLE,
)
COMPARED = ((MASK, BASE), *((select, MASK) for select in SELECTS), (MASK, LINEAR))
"""Two rankings, whose difference is shown."""
SCORES = {
    "token F1": ScoreKey(METRIC),
    "average precision": ScoreKey("auprc", part="average precision"),
}
SENTENCE = (
    "Ours, not the paper's: words that VMASK's mask ranks highest are words that people marked, more often than those "
    "of LIME on a base model (token F1, as many words as people marked)."
)
NOTES = (
    "Words of a text are ranked by a mask, by explanations of its prediction, or by one ranking of all words of the "
    "training texts, without a neural model. CNN and LSTM read the same words: such a ranking has one number for both.",
    "SampleShapley has 25 permutations on SST trees, and five on movies, whose texts have 700 words.",
    "Differences are paired by seed. The rule of plausibility.yaml, written before the run: a method is above or below "
    "the other where the 95% interval is on one side of 0.",
)


def plausible(results: Results | None) -> Claim:
    """The claim, from the results of `plausibility.yaml`."""
    if results is None:
        return Claim(STAGE, SENTENCE, (Effect("VMASK's mask minus LIME of base", {}),), of_paper=False)

    def minus_base(mask: str, by: str) -> Effect:
        """Token F1 of a training method and an explainer minus that of LIME on base."""
        first, second = (
            scored(results, *pair, ScoreKey(METRIC, explainer))
            for pair, explainer in (
                ((BASE[0], STAGE), BASE[1]),
                ((mask, STAGE), by),
            )
        )
        return Effect(f"{_title((mask, by))} minus LIME of base", paired(CELLS, first, second))

    controls = [minus_base(*pair) for pair in OTHERS]
    lines = [f"{effect.title}: {effect.words()}" for effect in controls if effect.values]
    for cell in CELLS:
        shown = {_title(ranking): _by_seed(results, cell, ranking) for ranking in (MASK, BASE, *OTHERS)}
        numbers = ", ".join(f"{title} {100 * fmean(one.values()):.1f}" for title, one in shown.items() if one)
        if numbers:
            lines.append(f"{cell_title(results, cell)}: {numbers}")
    return Claim(STAGE, SENTENCE, (minus_base(*MASK),), tuple(lines), of_paper=False)


def plausibility_table(results: Results | None) -> Table:
    """How far every ranking agrees with people, and the differences that `plausibility.yaml` names."""
    rows = [] if results is None else [*_score_rows(results), *_difference_rows(results)]
    places = dict.fromkeys((*_place(cell, ranking), ranking[0]) for cell in CELLS for ranking in ROWS)
    found = [] if results is None else [results.stage(*place, STAGE) for place in places]
    return Table(
        name=STAGE,
        title="Rankings of words beside the words that people marked",
        heads=("score", "words ranked by"),
        columns=tuple(f"{titled(dataset)} {titled(model)}" for dataset, model in CELLS),
        rows=rows,
        signature=signature(found) if any(found) else "",
        notes=NOTES,
        digits=1,
        unit="percent",
    )


def _score_rows(results: Results) -> Iterator[Row]:
    for score, key in SCORES.items():
        for ranking in ROWS:
            mask, by = ranking
            found = [results.score(*_place(cell, ranking), mask, STAGE, replace(key, by=by)) for cell in CELLS]
            yield Row((score, _title(ranking)), tuple(Entry(scaled(one)) for one in found))


def _difference_rows(results: Results) -> Iterator[Row]:
    for first, second in COMPARED:
        entries = []
        for cell in CELLS:
            a, b = (_by_seed(results, cell, ranking) for ranking in (first, second))
            if second in SIMPLE and b:  # without seeds, so the same for all
                b = dict.fromkeys(a, b[0])
            entries.append(Entry(scaled(paired_by_seed(a, b))))
        yield Row(("difference in token F1", f"{_title(first)} minus {_title(second)}"), tuple(entries))


def _by_seed(results: Results, cell: Cell, ranking: Ranking) -> dict[int, float]:
    """Token F1 of every seed."""
    mask, by = ranking
    return results.scored(*_place(cell, ranking), mask, STAGE, ScoreKey(METRIC, by))


def _place(cell: Cell, ranking: Ranking) -> Cell:
    """Where the results of a ranking lie."""
    return (cell[0], WORDS) if ranking in SIMPLE else cell


def _title(ranking: Ranking) -> str:
    """What ranks the words, in words."""
    mask, by = ranking
    return NAMES.get(ranking) or (f"{TITLES[mask]}'s mask" if by == "mask" else f"{TITLES[by]} of {TITLES[mask]}")
