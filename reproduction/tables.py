"""The paper's tables from results: accuracies, seconds and parameters here, the others in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reproduction.bands import share_band
from reproduction.context import Cell, Context
from reproduction.entries import BASE, BOLD, NO_NUMBER, entry, scaled, supported, unjudged
from reproduction.published import Published
from reproduction.results import Results, titled
from reproduction.signature import signature
from reproduction.table import Entry, Row, Table
from reproduction.tables_data import datasets_table, preprocessing_table
from reproduction.tables_local import aopc_readings_table, aopc_table, naopc_table, post_hoc_table
from reproduction.tables_other import other_tables
from reproduction.tables_search import search_table
from reproduction.tables_words import correlation_table, importance_table, sp_lime_table, top_words_table
from vmask.evaluation.statistics import Estimate
from vmask.report.grid.results import DEV_ACCURACY, over_seeds
from vmask.report.grid.table import exact

CONTROLS_NOTE = "Word dropout and random mask are controls of ours; the paper does not have them."
COUNTED = ("base", "vmask")
"""Methods whose parameters are counted."""


def all_tables(results: Results, published: Published | None) -> list[Table]:
    """Every table of the paper with ours beside it, in the paper's order, and tables that it has no number for.

    Args:
        results: ours, which may be a part of the grid, and of other datasets besides.
        published: the paper's numbers; None where they are not at hand.
    """
    context = Context(results, published)
    return [
        datasets_table(context),
        accuracy_table(context),
        aopc_table(context),
        aopc_readings_table(context),
        naopc_table(context),
        post_hoc_table(context),
        sp_lime_table(context),
        importance_table(context),
        top_words_table(context),
        preprocessing_table(context),
        parameters_table(context),
        search_table(context),
        validation_table(context),
        seconds_table(context),
        previous_table(context),
        correlation_table(context),
        *other_tables(context),
    ]


def accuracy_table(context: Context) -> Table:
    """Table 3: accuracy on the test set."""
    return _accuracies(
        context,
        "accuracy",
        "Test accuracy",
        3,
        lambda cell: context.results.trained(*cell),
        lambda cell: context.results.accuracy(*cell),
        "test",
    )


def validation_table(context: Context) -> Table:
    """Table 8: accuracy on the dev set, of the epoch that was kept."""
    return _accuracies(
        context,
        "validation",
        "Validation accuracy",
        8,
        lambda cell: context.results.trained(*cell, "dev_accuracy"),
        lambda cell: context.results.accuracy(*cell, DEV_ACCURACY),
        "dev",
    )


def _accuracies(
    context: Context,
    name: str,
    title: str,
    number: int,
    by_seed: Callable[[Cell], Mapping[int, float]],
    estimate: Callable[[Cell], Estimate | None],
    split: str,
) -> Table:
    """A table of accuracies, whose bands are of the paper's texts of a split."""
    groups = {
        (d, model): {mask: by_seed((d, model, mask)) for mask in context.methods}
        for d in context.datasets
        for model in context.models
    }
    bold = supported(groups)

    def make(cell: Cell) -> Entry:
        dataset, model, mask = cell
        published = context.number(name, model, mask, dataset)
        size = context.number("datasets", dataset, split)
        band = None if published is None or size is None else share_band(published, size)
        strong = ((dataset, model), mask) in bold
        return entry(scaled(estimate(cell)), published, band, context.differs(*cell), strong)

    notes = (BOLD, f"Bands are 95% and of the paper's number of {split} texts.", CONTROLS_NOTE)
    return _by_method(context, name, title, number, make, 1, "percent", context.methods, notes)


def seconds_table(context: Context) -> Table:
    """Table 9: seconds an epoch."""

    def make(cell: Cell) -> Entry:
        ours = over_seeds(context.results.trained(*cell, "seconds_per_epoch"))
        dataset, model, mask = cell
        return unjudged(ours, context.number("seconds", model, mask, dataset), context.differs(*cell))

    note = "The published seconds are of an NVIDIA GTX 1080, ours of the machine named above: there is no verdict."
    return _by_method(
        context, "seconds", "Time of a training epoch", 9, make, 2, "seconds", context.methods, (note, CONTROLS_NOTE)
    )


def _by_method(
    context: Context,
    name: str,
    title: str,
    number: int,
    make: Callable[[Cell], Entry],
    digits: int,
    unit: str,
    masks: Sequence[str],
    notes: tuple[str, ...],
) -> Table:
    """A table of models and methods by datasets."""
    cells = context.cells(masks)
    return Table(
        name=name,
        title=title,
        heads=("model", "method"),
        columns=context.columns(),
        rows=[
            Row(
                (context.model(model), titled(mask)),
                tuple(make((dataset, model, mask)) for dataset in context.datasets),
            )
            for model in context.models
            for mask in masks
        ],
        signature=signature(context, cells),
        notes=(*notes, *context.notes(cells), *context.failed(cells)),
        digits=digits,
        number=number,
        unit=unit,
    )


def previous_table(context: Context) -> Table:
    """Table 10: what earlier papers report, beside our models without a mask."""
    rows = []
    for model in context.models:
        for paper, numbers in context.rows("previous").get(model, {}).items():
            entries = [_previous(context, (dataset, model, BASE), numbers.get(dataset)) for dataset in context.datasets]
            rows.append(Row((context.model(model), paper), tuple(entries)))
    cells = context.cells((BASE,))
    return Table(
        name="previous",
        title="Earlier papers' accuracy, beside our models without a mask",
        heads=("model", "paper"),
        columns=context.columns(),
        rows=rows,
        signature=signature(context, cells),
        notes=(
            f"'{NO_NUMBER}': that paper has no number for the dataset.",
            "Bands are 95% and of this paper's number of test texts.",
            *context.notes(cells),
        ),
        number=10,
        unit="percent",
    )


def _previous(context: Context, cell: Cell, published: float | None) -> Entry:
    size = context.number("datasets", cell[0], "test")
    if published is None or size is None:
        return Entry(text=NO_NUMBER)
    ours = scaled(context.results.accuracy(*cell))
    return entry(ours, published, share_band(published, size), context.differs(*cell))


def parameters_table(context: Context) -> Table:
    """Parameters of the models; the paper's text gives one number a model."""
    rows = []
    for model in context.models:
        published = context.number("parameters", model)
        paper = Entry(text=NO_NUMBER if published is None else f"{published:,.0f}", published=published)
        for mask in COUNTED:
            for which in ("all", "trained"):
                entries = [_parameters(context, (dataset, model, mask), which) for dataset in context.datasets]
                rows.append(Row((context.model(model), titled(mask), which), (*entries, paper)))
    cells = context.cells(COUNTED)
    return Table(
        name="parameters",
        title="Parameters",
        heads=("model", "method", "parameters"),
        columns=(*context.columns(), "paper"),
        rows=rows,
        signature=signature(context, cells),
        notes=(
            "'trained' leaves out word vectors and embeddings that stay as they are. The paper does not say of which "
            "dataset and method its numbers are, nor what they count: there is no verdict.",
            *context.notes(cells),
        ),
        digits=0,
    )


def _parameters(context: Context, cell: Cell, which: str) -> Entry:
    """Of the first seed: they do not vary."""
    records = context.used([cell])
    return unjudged(exact(records[0]["parameters"][which]) if records else None, None, context.differs(*cell))
