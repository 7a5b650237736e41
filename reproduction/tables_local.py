"""The tables about explanations: AOPC of single texts, and predictions from the words that matter to a whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reproduction.bands import mean_band, text_deviation
from reproduction.context import Cell, Context
from reproduction.entries import BOLD, entry, scaled, supported
from reproduction.results import TITLES, ScoreKey, titled
from reproduction.signature import signature
from reproduction.table import Entry, Row, Table

LOCAL, WORDS = "local", "words"
EXPLAINERS = ("lime", "shapley")
FLOOR = "random"
FLOOR_TITLE = "random order"
COMPARED = ("base", "vmask", "word_dropout")
"""Methods of the tables of explanations; others that were measured come behind them."""
LIMITS = {"upper": "upper limit", "lower": "lower limit"}
KEPT = (1, 2, 5, 10)
"""Words that a text is cut down to."""
ABOUT = 5.0
"""'About 80%' is taken as 75 to 85."""
RANKED = {
    "VMASK": ("vmask", "mask"),
    "IBA": ("iba", "mask"),
    "random mask": ("random_mask", "mask"),
    "base by VMASK's words": ("base", "ranking"),
    "word dropout by VMASK's words": ("word_dropout", "ranking"),
    "VMASK by random words": ("vmask", "random"),
    "VMASK by frequent words": ("vmask", "frequency"),
    "VMASK by tf-idf": ("vmask", "tfidf"),
    "majority class": ("vmask", "majority"),
}
"""Rows of post-hoc accuracy: whose model is asked, and by what its words are ranked."""


def aopc_table(context: Context) -> Table:
    """Table 4: drop in probability as the words that matter most are deleted."""
    masks = _masks(context)
    bold = _bold(context, "aopc", masks)

    def make(by: str, cell: Cell) -> Entry:
        dataset, model, mask = cell
        key = ScoreKey("aopc", by)
        published = context.number("aopc", by, model, mask, dataset)
        band = None
        size = _explained(context, dataset)
        deviation = text_deviation(context.used([cell], LOCAL), key)
        if published is not None and size is not None and deviation is not None:
            band = mean_band(published, 100 * deviation, size)
        ours = scaled(context.results.score(*cell, LOCAL, key))
        return entry(ours, published, band, context.differs(*cell), ((by, dataset, model), mask) in bold)

    rows = list(_rows(context, masks, make))
    band_note = (
        "The 95% band of a published AOPC is made of the standard deviation over texts of our own values and the "
        "number of texts that the paper explains."
    )
    notes = (BOLD, f"'{FLOOR_TITLE}' is the floor: AOPC of words in random order.", band_note, *_level(rows))
    return _table(context, "aopc", "AOPC of LIME and SampleShapley", masks, rows, notes, 4)


def _level(rows: list[Row]) -> tuple[str, ...]:
    """A note where published AOPCs lie below our floor: then their level says nothing about ours."""
    floors = {row.heads[1:]: row.entries for row in rows if row.heads[0] == FLOOR_TITLE}
    pairs = [
        (one.published, floor.ours.value)
        for row in rows
        for one, floor in zip(row.entries, floors[row.heads[1:]], strict=True)
        if one.published is not None and one.ours is not None and floor.ours is not None
    ]
    below = sum(published < floor for published, floor in pairs)
    if not below:
        return ()
    return (
        f"{below} of {len(pairs)} published numbers are below what words in random order give here. The level of AOPC "
        "hangs on how sharp a model's probabilities are and on how words are deleted, which the paper does not say: "
        "differences between methods can be compared with the paper's, levels cannot.",
    )


READINGS = {
    "": "mean over k",
    "k=5": "drop at five words",
    "equal confidence": "mean over k, at equal confidence",
    "second softmax": "mean over k, through a second softmax",
}
"""Readings of AOPC by the part of the score."""


def aopc_readings_table(context: Context) -> Table:
    """AOPC of the same explanations in four readings."""
    masks = _masks(context)
    rows = []
    for part, reading in READINGS.items():
        for by in EXPLAINERS:
            for model in context.models:
                for mask in masks:
                    key = ScoreKey("aopc", by, part=part)
                    cells = [(dataset, model, mask) for dataset in context.datasets]
                    ours = [scaled(context.results.score(*cell, LOCAL, key)) for cell in cells]
                    entries = [
                        entry(one, differs=context.differs(*cell)) for one, cell in zip(ours, cells, strict=True)
                    ]
                    rows.append(Row((f"{reading}, {TITLES[by]}", context.model(model), titled(mask)), tuple(entries)))
    notes = (
        "Equal confidence: probabilities of the method are sharpened or flattened by a temperature, fitted so that its "
        "mean confidence on dev is that of base with the same seed; a model that is more confident has more to lose.",
        "Second softmax: probabilities pass through a softmax once more, as where an evaluation takes them for logits.",
    )
    return _table(context, "aopc_readings", "AOPC in four readings", masks, rows, notes, None)


def naopc_table(context: Context) -> Table:
    """AOPC of all words between its limits, which differ from model to model."""
    masks = _masks(context)
    bold = _bold(context, "naopc", masks)

    def make(by: str, cell: Cell) -> Entry:
        ours = scaled(context.results.score(*cell, LOCAL, ScoreKey("naopc", by)))
        return entry(ours, differs=context.differs(*cell), bold=((by, *cell[:2]), cell[2]) in bold)

    rows = list(_rows(context, masks, make))
    for part, title in LIMITS.items():
        for model in context.models:
            for mask in masks:
                cells = [(dataset, model, mask) for dataset in context.datasets]
                found = [scaled(context.results.score(*cell, LOCAL, ScoreKey("naopc", part=part))) for cell in cells]
                entries = [entry(one, differs=context.differs(*cell)) for one, cell in zip(found, cells, strict=True)]
                rows.append(Row((title, context.model(model), titled(mask)), tuple(entries)))
    limits_note = (
        "NAOPC deletes all words, one by one; 0 is the worst order of a text's words and 100 the best. The limits are "
        "the AOPC of these orders: of the model, whatever explains it. The paper has AOPC alone, whose limits are not "
        "the same for two models."
    )
    return _table(context, "naopc", "AOPC between its limits (NAOPC)", masks, rows, (BOLD, limits_note), None)


def _rows(context: Context, masks: tuple[str, ...], make: Callable[[str, Cell], Entry]) -> Iterator[Row]:
    for by in (*EXPLAINERS, FLOOR):
        title = TITLES.get(by, FLOOR_TITLE)
        for model in context.models:
            for mask in masks:
                entries = tuple(make(by, (dataset, model, mask)) for dataset in context.datasets)
                yield Row((title, context.model(model), titled(mask)), entries)


def _table(
    context: Context,
    name: str,
    title: str,
    masks: tuple[str, ...],
    rows: list[Row],
    notes: tuple[str, ...],
    number: int | None,
) -> Table:
    cells = context.cells(masks)
    return Table(
        name=name,
        title=title,
        heads=("explainer", "model", "method"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells, LOCAL),
        notes=(*notes, *context.notes(cells), *context.failed(cells, LOCAL)),
        number=number,
        unit="percent",
    )


def _masks(context: Context) -> tuple[str, ...]:
    measured = {
        mask for dataset, _, mask, stage in context.results.records if stage == LOCAL and dataset in context.datasets
    }
    return (*COMPARED, *sorted(mask for mask in measured if mask not in COMPARED))


def _bold(context: Context, metric: str, masks: tuple[str, ...]) -> set[tuple[tuple[str, str, str], str]]:
    """Which methods are bold, by explainer, dataset and model."""
    return supported(
        {
            (by, d, model): {
                mask: context.results.scored(d, model, mask, LOCAL, ScoreKey(metric, by)) for mask in masks
            }
            for by in EXPLAINERS
            for d in context.datasets
            for model in context.models
        }
    )


def _explained(context: Context, dataset: str) -> float | None:
    """How many texts the paper explains: all test texts, at most a thousand."""
    most, size = context.number("text", "aopc_texts", "value"), context.number("datasets", dataset, "test")
    return None if most is None or size is None else min(most, size)


def post_hoc_table(context: Context) -> Table:
    """Figure 3 as a table: how often a model predicts the same from a text's most important words alone."""
    few = context.number("text", "post_hoc_few", "value")
    rows = []
    for k in KEPT:
        for model in context.models:
            for title, (mask, by) in RANKED.items():
                published = None
                if k == few and model != "bert" and title == "VMASK":
                    published = context.number("text", "post_hoc_few_percent", "value")
                key = ScoreKey("post_hoc_accuracy", by, part=f"k={k}")
                entries = [_post_hoc(context, (dataset, model, mask), key, published) for dataset in context.datasets]
                rows.append(Row((f"k = {k}", context.model(model), title), tuple(entries)))
    cells = context.cells(list(dict.fromkeys(mask for mask, _ in RANKED.values())))
    return Table(
        name="post_hoc_accuracy",
        title="Post-hoc accuracy from the k most important words of a text",
        heads=("words kept", "model", "method"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells, WORDS),
        notes=(
            "Words are ranked by the model's own importance of words, or as the row says: VMASK's is that of the same "
            "model and seed. The last four rows of each model are floors.",
            "The paper has a figure; its text says about 80% for CNN and LSTM with two words, taken as 75 to 85.",
            *context.notes(cells),
            *context.failed(cells, WORDS),
        ),
        unit="percent",
    )


def _post_hoc(context: Context, cell: Cell, key: ScoreKey, published: float | None) -> Entry:
    ours = scaled(context.results.score(*cell, WORDS, key))
    band = None if published is None else (published - ABOUT, published + ABOUT)
    return entry(ours, published, band, context.differs(*cell))
