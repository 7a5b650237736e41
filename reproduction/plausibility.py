"""Our own claim: does the mask's ranking of words agree with people better than explanations of a model without one?"""

from __future__ import annotations

from statistics import fmean

from reproduction.claim import Claim, scored
from reproduction.effect import Cell, Effect, paired
from reproduction.results import TITLES, Results, ScoreKey

STAGE = "plausibility"
METRIC = "token_f1"
CELLS: tuple[Cell, ...] = (("sst_trees", "cnn"), ("sst_trees", "lstm"), ("movies", "cnn"))
"""Datasets in which people marked words, with the models that are trained on them."""
BASE = ("base", "lime")
"""What the mask is held against: a training method and an explainer."""
OTHERS = (
    ("vmask", "lime"),
    ("vmask", "shapley"),
    ("base", "shapley"),
    ("iba", "mask"),
    ("random_mask", "mask"),
    ("base", "random"),
)
SENTENCE = (
    "Ours, not the paper's: words that VMASK's mask ranks highest are words that people marked, more often than those "
    "of LIME on a base model (token F1, as many words as people marked)."
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
        return Effect(f"{_title(mask, by)} minus LIME of base", paired(CELLS, first, second))

    controls = [minus_base(*pair) for pair in OTHERS]
    lines = [f"{effect.title}: {effect.words()}" for effect in controls if effect.values]
    for dataset, model in CELLS:
        shown = {
            _title(*pair): list(results.scored(dataset, model, pair[0], STAGE, ScoreKey(METRIC, pair[1])).values())
            for pair in (("vmask", "mask"), BASE, *OTHERS)
        }
        numbers = ", ".join(f"{title} {100 * fmean(values):.1f}" for title, values in shown.items() if values)
        if numbers:
            lines.append(f"{results.title(model)} {results.title(dataset)}: {numbers}")
    return Claim(STAGE, SENTENCE, (minus_base("vmask", "mask"),), tuple(lines), of_paper=False)


def _title(mask: str, by: str) -> str:
    """What ranks the words, in words."""
    if by == "random":
        return "random order"
    return f"{TITLES[mask]}'s mask" if by == "mask" else f"{TITLES[by]} of {TITLES[mask]}"
