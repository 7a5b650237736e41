"""The report as a document: what was run, what holds, the paper's tables and figures; in Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction import check
from reproduction.claim import HEADS, Claim, claim_rows
from reproduction.curves import Curves
from reproduction.effect import RULE
from reproduction.examples import Example, examples_markdown, examples_view
from reproduction.figure_texts import NAMES as TEXTS
from reproduction.figures import Picture
from reproduction.published import Published
from reproduction.results import Results, titled
from reproduction.table import Table
from reproduction.templating import environment
from vmask.report.grid import formats
from vmask.report.templating import image_data

SEEDS = 5
"""Trainings of a cell that the count of accuracies asks for."""
COUNTED = ("published numbers in", "all", *check.VERDICTS)


@dataclass(frozen=True)
class Document:
    """All that a report shows.

    Attributes:
        results: what it is made of.
        published: the paper's numbers, if they are at hand.
        tables: in their order.
        claims: of the paper, with verdicts.
        pictures: figures that were written beside the document, in their order.
        examples: explained texts.
        comparisons: tables of what was compared: word vectors and VMASK's schedule on dev, accuracies with a share of
            the words, rankings beside people and beside what models use, VMASK's first version.
        curves: results with a share of the words, which are drawn; None where there are none.
    """

    results: Results
    published: Published | None
    tables: Sequence[Table]
    claims: Sequence[Claim]
    pictures: Sequence[Picture]
    examples: Sequence[Example]
    comparisons: tuple[Table, ...] = ()
    curves: Curves | None = None

    @property
    def title(self) -> str:
        """The heading."""
        return "Reproduction of the paper's experiments" if self.results.of_paper else "Results of a grid"

    def lead(self) -> str:
        """One paragraph: what this is and what was run."""
        seconds = sum(one["seconds"] for by_seed in self.results.records.values() for one in by_seed.values())
        seconds += sum(trial["seconds"] for one in self.results.searches.values() for trial in one["trials"])
        trained = sum(len(by_seed) for key, by_seed in self.results.records.items() if key[3] == "train")
        trials = sum(len(one["trials"]) for one in self.results.searches.values())
        measured = sum(len(by_seed) for key, by_seed in self.results.records.items() if key[3] != "train")
        failed = f" {len(self.results.failed)} pieces of work failed." if self.results.failed else ""
        return (
            f"{trained} trainings, {trials} trials of hyperparameters on dev and {measured} measurements of "
            f"explanations and words, {seconds / 3600:.1f} hours of one core: {self.covered()}.{failed} Every number "
            f"is made from the files of results by one command; what was not run says so."
        )

    def covered(self) -> str:
        """Which models were run on which datasets: verdicts are about these."""
        runs: dict[str, list[str]] = {}
        for dataset, model in self.results.ran:
            runs.setdefault(titled(model), []).append(self.results.title(dataset))
        return "; ".join(f"{model} on {', '.join(datasets)}" for model, datasets in runs.items())

    def checked(self) -> list[str]:
        """What holds, in lines."""
        return [*self._held(), *(count.words() for count in self._counts())]

    def _held(self) -> list[str]:
        """What holds, in sentences."""
        if self.published is None:
            return ["The published numbers are not at hand, so nothing is held against them."]
        if not self.results.of_paper:
            return ["No dataset of the paper was run, so there is nothing to hold against its numbers."]
        accuracy = next((table for table in self.tables if table.name == "accuracy"), None)
        return [] if accuracy is None else [check.reached(accuracy, SEEDS).words()]

    def _counts(self) -> list[check.Count]:
        """How many published numbers hold, table by table."""
        return check.summary(self.tables) if self.published is not None and self.results.of_paper else []

    def markdown(self, figures: str) -> str:
        """The document as Markdown; `figures` is the folder of the pictures, from where the file is."""
        parts = [f"# {self.title}", self.lead(), "## What holds", *self._held()]
        if counts := self._counts():
            lines = [COUNTED, ("---", *["---:"] * (len(COUNTED) - 1)), *map(_counted, counts)]
            parts += ["\n".join(f"| {' | '.join(line)} |" for line in lines), check.LEGEND]
        if self.claims:
            parts += ["## The paper's claims", RULE, claims_markdown(self.claims)]
            parts += ["### The evidence for each claim", *(_evidence(claim) for claim in self.claims)]
        for table in self.every_table():
            parts += [f"## {_title(table)}", formats.markdown(table)]
        if self.examples:
            parts += ["## Explained texts", examples_markdown(self.examples)]
        for one in self.pictures:
            parts += [f"## {one.title}", f"![{one.title}]({figures}/{one.name}.png)", one.caption]
        return "\n\n".join(parts) + "\n"

    def html(self, figures: Path) -> str:
        """The document as one HTML file that needs nothing from outside; `figures` is the folder of the pictures."""
        shown = [picture for picture in self.pictures if picture.name not in TEXTS.values()]  # texts are text here
        counts = self._counts()
        return (
            environment()
            .get_template("reproduction.html")
            .render(
                title=self.title,
                lead=self.lead(),
                held=self._held(),
                counts=[COUNTED, *map(_counted, counts)] if counts else [],
                counts_legend=check.LEGEND,
                claims=self.claims,
                claims_rule=RULE,
                claims_heads=HEADS,
                claims_rows=claim_rows(self.claims),
                tables=[(_title(table), table) for table in self.every_table()],
                examples=examples_view(self.examples),
                pictures=[(picture, image_data(figures / f"{picture.name}.png")) for picture in shown],
            )
        )

    def every_table(self) -> list[Table]:
        """Those of the paper and ours, and those of what was compared beforehand."""
        return [*self.tables, *self.comparisons]


def claims_markdown(claims: Sequence[Claim]) -> str:
    """A table with a row for each effect of each claim: effect, interval, the paper's, verdict, power."""
    rows = [HEADS, ("---",) * len(HEADS), *claim_rows(claims)]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows)


def _evidence(claim: Claim) -> str:
    return "\n".join(
        [f"**{claim.sentence}** {claim.verdict.capitalize()}.", "", *(f"- {line}" for line in claim.lines())]
    )


def _counted(count: check.Count) -> tuple[str, ...]:
    return (count.title, str(count.numbers), *(count.of(one) for one in check.VERDICTS))


def _title(table: Table) -> str:
    return table.title if table.number is None else f"{table.title} (table {table.number} of the paper)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
