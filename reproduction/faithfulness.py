"""Are the words that a mask ranks highest the words that its model uses? By the rule of `faithfulness.yaml`."""

from __future__ import annotations

from dataclasses import replace

from reproduction.effect import Cell
from reproduction.entries import paired_by_seed, scaled
from reproduction.results import Results, ScoreKey, titled
from reproduction.table import Entry, Row, Table
from vmask.report.grid.results import signature

STAGE = "faithfulness"
CELL: Cell = ("sst2", "cnn")
SELECTS = ("select:select-0.5", "select:select-0.25")
METHODS = ("base", "vmask", "iba", "random_mask", *SELECTS)
NAOPC = ScoreKey("naopc", hide="remove")
SCORES = {
    "sufficiency": ScoreKey("sufficiency", hide="remove", part="mean"),
    "comprehensiveness": ScoreKey("comprehensiveness", hide="remove", part="mean"),
    "NAOPC": NAOPC,
}
RANKED_BY = ("mask", "lime")
TWO_WORDS = ScoreKey("post_hoc_accuracy", hide="remove", part="k=2")
COMPARED = (
    *((select, "vmask", "mask") for select in SELECTS),
    *((method, "base", "lime") for method in (*SELECTS, "vmask")),
)
"""Two methods and what ranks the words of both."""
RULE = (
    "The rule of faithfulness.yaml, written before the run: NAOPC decides, paired by seed; a method is above or below "
    "the other where the 95% interval is on one side of 0."
)
NOTES = (
    "Sufficiency is better where it is lower, the others where they are higher. Sufficiency and comprehensiveness of "
    "two models do not compare, as each has limits of its own; NAOPC is normalised by them.",
    "Post-hoc accuracy is the share of texts whose class stays the same when the model reads the two words alone that "
    "its mask ranks highest; of base, VMASK's mask of the same seed.",
)


def faithfulness_tables(results: Results | None) -> list[Table]:
    """Scores of every method, by its mask and by LIME; and the differences in NAOPC."""
    dataset, model = CELL
    of = f"{titled(model)} on {titled(dataset)}"
    found = [] if results is None else [results.stage(*CELL, method, STAGE) for method in METHODS]
    told = signature(found) if any(found) else ""
    return [
        Table(
            name=STAGE,
            title=f"Masks beside what their models use, {of}",
            heads=("method",),
            columns=(
                *(f"{score}, {titled(by)}" for by in RANKED_BY for score in SCORES),
                *("post-hoc accuracy, two words", "test accuracy"),
            ),
            rows=[] if results is None else [Row((titled(method),), _entries(results, method)) for method in METHODS],
            signature=told,
            notes=NOTES,
            unit="percent",
        ),
        Table(
            name=f"{STAGE}_differences",
            title=f"Differences in NAOPC, {of}",
            heads=("difference", "words ranked by"),
            columns=("NAOPC",),
            rows=[] if results is None else [_difference(results, *pair) for pair in COMPARED],
            signature=told,
            notes=(RULE,),
            unit="percent",
        ),
    ]


def _entries(results: Results, method: str) -> tuple[Entry, ...]:
    """The row of a method."""
    entries = []
    for by in RANKED_BY:
        for key in SCORES.values():
            found = results.score(*CELL, method, STAGE, replace(key, by=by))
            entries.append(Entry(text="no mask") if (method, by) == ("base", "mask") else Entry(scaled(found)))
    ranked_by = "ranking" if method == "base" else "mask"
    two_words = results.score(*CELL, method, STAGE, replace(TWO_WORDS, by=ranked_by))
    return (*entries, Entry(scaled(two_words)), Entry(scaled(results.accuracy(*CELL, method))))


def _difference(results: Results, first: str, second: str, by: str) -> Row:
    """The difference in NAOPC, paired by seed."""
    a, b = (results.scored(*CELL, method, STAGE, replace(NAOPC, by=by)) for method in (first, second))
    return Row((f"{titled(first)} minus {titled(second)}", titled(by)), (Entry(scaled(paired_by_seed(a, b))),))
