"""A report of any grid: tables, curves, words, texts and what failed, in Markdown, HTML, CSV and LaTeX."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask._core.files import write_text
from vmask._core.folders import replacing_folder
from vmask.errors import MissingPackage
from vmask.grid.store import TRAIN
from vmask.report.figures.style import Picture, save
from vmask.report.grid import formats
from vmask.report.grid.curves import FIELDS as CURVE_FIELDS
from vmask.report.grid.curves import Curves, all_curves, draw_curves
from vmask.report.grid.examples import LEGEND as EXAMPLES_LEGEND
from vmask.report.grid.examples import Example, examples_markdown, explained_examples
from vmask.report.grid.metric_tables import MetricTable, choose_baseline, methods_of, metric_tables
from vmask.report.grid.optuna_tables import importance_table, optuna_table
from vmask.report.grid.overview_tables import dataset_table, search_table, trainings_table, word_table
from vmask.report.grid.results import GridResults, Measurement
from vmask.report.grid.table import Table
from vmask.report.templating import image_data, render

if TYPE_CHECKING:
    from pandas import DataFrame

TITLE = "Results of a grid"
TABLES, FIGURES, PAGES = "tables", "figures", ("report.md", "report.html")
"""What a report is made of: two folders and two pages."""
SCORES, CURVES = "scores.csv", "curves.csv"
"""Files in `tables`: every number of every training, and the points of all curves."""
LONGEST = 80
"""Characters of a file's name."""


@dataclass(frozen=True)
class GridReport:
    """A report of the results in a folder.

    Attributes:
        results: what it is made of.
        baseline: the method that others are compared with.
    """

    results: GridResults
    baseline: str

    @classmethod
    def read(cls, folder: str | Path, baseline: str | None = None) -> GridReport:
        """Read a folder that `vmask grid` wrote.

        Args:
            folder: of the results.
            baseline: the method that others are compared with; None for `base`, or the first where there is none.

        Raises:
            DataError: where there are no results, or one is damaged.
            UnknownName: for a baseline without results.
        """
        results = GridResults.read(folder)
        methods = list(dict.fromkeys(setting.mask for setting in results.settings))
        return cls(results, choose_baseline(methods, baseline) if methods or baseline else "")

    @cached_property
    def tables(self) -> Sequence[Table[Any]]:
        """Every table that there are results for: metrics first, then words, searches, and what was run."""
        tables: list[Table[Any]] = [
            *metric_tables(self.results, self.baseline),
            word_table(self.results),
            search_table(self.results),
            optuna_table(self.results),
            importance_table(self.results),
            dataset_table(self.results),
            trainings_table(self.results, self.baseline),
        ]
        names = _file_names([table.name for table in tables])
        named = [dataclasses.replace(table, name=name) for table, name in zip(tables, names, strict=True)]
        return [table for table in named if table.rows]

    def table(self, name: str) -> Table[Any]:
        """A table by its name, such as `test_accuracy`.

        Raises:
            KeyError: where there is none.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)

    @cached_property
    def curves(self) -> Sequence[Curves]:
        """Dev accuracy over epochs, and metrics over parts that are numbers."""
        curves = all_curves(self.results)
        names = _file_names([kind.name for kind in curves])
        return [dataclasses.replace(kind, name=name) for kind, name in zip(curves, names, strict=True)]

    @cached_property
    def examples(self) -> Sequence[Example]:
        """Texts with the words marked that matter most."""
        return explained_examples(self.results)

    def to_dataframe(self) -> DataFrame:
        """Every number of every training as a row; the columns are those of `Measurement`.

        Raises:
            MissingPackage: without pandas.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingPackage("A data frame", "pandas") from None
        return DataFrame(self.results.measurements, columns=list(Measurement._fields))

    def lead(self) -> str:
        """One paragraph: what was run."""
        records = self.results.records
        trained = sum(len(by_seed) for (_, stage), by_seed in records.items() if stage == TRAIN)
        measured = sum(len(by_seed) for (_, stage), by_seed in records.items() if stage != TRAIN)
        trials = sum(len(search["trials"]) for search in self.results.searches.values())
        seconds = sum(record.get("seconds", 0) for by_seed in records.values() for record in by_seed.values())
        seconds += sum(trial["seconds"] for search in self.results.searches.values() for trial in search["trials"])
        parts = [f"{trained} trainings", f"{measured} measurements", f"{trials} trials of hyperparameters"]
        failed = f" {len(self.results.failed)} failed." if self.results.failed else ""
        return f"{', '.join(parts)}; {seconds / 3600:.1f} hours in all.{failed}"

    def failures(self) -> list[tuple[str, str]]:
        """What failed, and why."""
        return [
            (
                " ".join(str(record["cell"].get(name, "")) for name in ("dataset", "model", "mask", "variant")).strip()
                + f", seed {record['cell'].get('seed')}, {record.get('stage')}",
                str(record.get("error", "")),
            )
            for record in self.results.failed
        ]

    def markdown(self, pictures: Sequence[Picture] = ()) -> str:
        """The report as Markdown; pictures are in the folder `figures` beside it."""
        text = formats.markdown_text
        parts = [f"# {TITLE}", text(self.lead())]
        if failures := self.failures():
            parts += ["## What failed", "\n".join(f"- {text(what)}: {text(why)}" for what, why in failures)]
        for table in self.tables:
            parts += [f"## {text(table.title)}", formats.markdown(table)]
        for picture in pictures:
            parts += [f"## {text(picture.title)}", f"![{text(picture.title)}]({FIGURES}/{picture.name}.png)"]
            parts.append(text(picture.caption))
        if self.examples:
            parts += ["## Explained texts", examples_markdown(list(self.examples))]
        return "\n\n".join(parts) + "\n"

    def html(self, pictures: Sequence[tuple[Picture, Path]] = ()) -> str:
        """The report as one page that needs nothing from outside; pictures with their PNG files."""
        return render(
            "grid.html",
            title=TITLE,
            lead=self.lead(),
            failures=self.failures(),
            metrics=[table for table in self.tables if isinstance(table, MetricTable)],
            others=[table for table in self.tables if not isinstance(table, MetricTable)],
            pictures=[(picture, image_data(path)) for picture, path in pictures],
            examples=self.examples,
            examples_legend=EXAMPLES_LEGEND,
        )

    def write(self, out: str | Path, figures: bool = True) -> list[Picture]:
        """Write `report.html`, `report.md`, `tables` and `figures` to a folder, which it takes the place of as a whole.

        Args:
            out: the folder.
            figures: whether curves are drawn.

        Returns:
            The figures.

        Raises:
            MissingExtra: where what draws figures is not installed.
        """
        pictures: list[Picture] = []
        with filling(Path(out)) as folder:
            if figures:
                pictures = self._draw(folder / FIGURES)
            formats.write_tables(folder / TABLES, self.tables)
            formats.write_csv(folder / TABLES / SCORES, [Measurement._fields, *self.results.measurements])
            rows = [row for curves in self.curves for row in curves.rows()]
            formats.write_csv(folder / TABLES / CURVES, [CURVE_FIELDS, *rows])
            write_text(folder / PAGES[0], self.markdown(pictures))
            paths = [(picture, folder / FIGURES / f"{picture.name}.png") for picture in pictures]
            write_text(folder / PAGES[1], self.html(paths))
        return pictures

    def _draw(self, folder: Path) -> list[Picture]:
        methods = list(dict.fromkeys(row[1:] for row in methods_of(self.results, self.baseline)))
        pictures = [draw_curves(curves, methods) for curves in self.curves]
        for picture in pictures:
            save(picture, folder)
        return pictures


@contextmanager
def filling(out: Path) -> Iterator[Path]:
    """The folder to write a report to: a new one that takes the place of the old one as a whole.

    Tables and figures that are not made anew stay. A folder that holds other things than a report, or that somebody is
    in, is written to file by file.
    """
    here = Path.cwd()
    ours = not out.exists() or {path.name for path in out.iterdir()} <= {TABLES, FIGURES, *PAGES}
    if not ours or Path(os.path.realpath(out)) in (here, *here.parents):
        out.mkdir(parents=True, exist_ok=True)
        yield out
        return
    with replacing_folder(out, last=PAGES[-1]) as folder:
        yield folder
        for name in (TABLES, FIGURES):
            for old in (out / name).glob("*"):
                if not (folder / name / old.name).exists():
                    (folder / name).mkdir(exist_ok=True)
                    (shutil.copytree if old.is_dir() else shutil.copy2)(old, folder / name / old.name)


def _file_names(names: Sequence[str]) -> list[str]:
    """Names as files may have them, each one once."""
    taken: set[str] = {Path(SCORES).stem, Path(CURVES).stem}
    safe_names = []
    for name in names:
        safe = re.sub(r"[^\w.+-]+", "-", name, flags=re.ASCII).strip("-.")[:LONGEST] or "table"
        while safe.lower() in taken:
            safe += "-2"
        taken.add(safe.lower())
        safe_names.append(safe)
    return safe_names
