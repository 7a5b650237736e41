"""Make a report from a folder of results, and write it in four formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.claims import all_claims
from reproduction.context import Context
from reproduction.curves import Curves, curves_tables
from reproduction.document import Document
from reproduction.examples import all_examples
from reproduction.faithfulness import faithfulness_tables
from reproduction.figures import Picture, all_figures, save
from reproduction.first_version import chosen_epochs_table, verdicts_table
from reproduction.plausibility import plausibility_table
from reproduction.published import Published, load_published
from reproduction.recipe import recipe_table
from reproduction.results import Results
from reproduction.tables import all_tables
from reproduction.variants import variants_table
from vmask._core.files import write_text
from vmask.grid.store import CELLS
from vmask.report.grid.formats import write_tables
from vmask.report.grid.report import FIGURES, PAGES, TABLES

HERE = Path(__file__).parent
RESULTS, PUBLISHED = HERE / "results", HERE / "published.yaml"
"""The committed results, and the paper's numbers."""
COMPARISONS = {"vectors": variants_table, "recipe": recipe_table}
"""Folders in the results of what was compared on dev, with their tables."""


def read_document(folder: Path = RESULTS, published: Path | None = PUBLISHED) -> Document:
    """Everything but the pictures, which are drawn when the report is written.

    Raises:
        DataError: where there are no results.
    """
    numbers: Published | None = None if published is None else load_published(published)
    results = Context(Results.read(folder), numbers).named()
    judged = numbers is not None and results.of_paper
    marked = _results(folder / "plausibility")
    claims = all_claims(results, numbers, marked) if numbers is not None and judged else []
    compared = [table(folder / name) for name, table in COMPARISONS.items()]
    curves = Curves.read(folder / "curves")
    compared += [] if curves is None else curves_tables(curves)
    if results.of_paper:
        compared += [plausibility_table(marked), *faithfulness_tables(_results(folder / "faithfulness"))]
    if judged and folder == RESULTS:
        compared += [chosen_epochs_table(results), verdicts_table(claims)]
    return Document(
        results=results,
        published=numbers,
        tables=all_tables(results, numbers),
        claims=claims,
        pictures=(),
        examples=all_examples(results),
        comparisons=tuple(table for table in compared if table is not None),
        curves=curves,
    )


def _results(folder: Path) -> Results | None:
    """The results of another grid than the paper's; None where there are none."""
    return Results.read(folder) if (folder / CELLS).is_dir() else None


def draw(document: Document, folder: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Picture]:
    """Draw the figures into a folder.

    Raises:
        MissingExtra: where what draws them is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = list(all_figures(document.results, document.published, document.curves))
    for picture in pictures:
        save(picture, folder, kinds)
    return pictures


def write_report(document: Document, out: Path) -> None:
    """Write `report.md`, `report.html`, `tables/*.csv`, `tables/*.tex`; the figures are in `figures/` already."""
    write_tables(out / TABLES, document.every_table())
    write_text(out / PAGES[0], document.markdown(FIGURES))
    write_text(out / PAGES[1], document.html(out / FIGURES))
