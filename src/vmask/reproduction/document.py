"""The report as a document: what was run, what holds, the paper's tables and figures; in Markdown and HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from vmask.grid.published import Published
from vmask.reproduction import check, formats
from vmask.reproduction._texts import NAMES as TEXTS
from vmask.reproduction.claim import RULE, Claim
from vmask.reproduction.examples import Example, examples_html, examples_markdown
from vmask.reproduction.figures import Picture
from vmask.reproduction.results import Results, titled
from vmask.reproduction.table import Table

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
        vectors: the table of word vectors, where they were compared.
    """

    results: Results
    published: Published | None
    tables: Sequence[Table]
    claims: Sequence[Claim]
    pictures: Sequence[Picture]
    examples: Sequence[Example]
    vectors: Table | None = None

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
            "is made from the files of results by one command; what was not run says so."
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
            rows = [f"| {c.sentence} | **{c.verdict}** | {_cell('<br>'.join(c.lines()))} |" for c in self.claims]
            parts += ["## The paper's claims", RULE]
            parts += ["| the paper | here | evidence |\n|---|---|---|\n" + "\n".join(rows)]
        tables = [*self.tables, *([self.vectors] if self.vectors else [])]
        for table in tables:
            parts += [f"## {_title(table)}", formats.markdown(table)]
        if self.examples:
            parts += ["## Explained texts", examples_markdown(self.examples)]
        for one in self.pictures:
            parts += [f"## {one.title}", f"![{one.title}]({figures}/{one.name}.png)", one.caption]
        return "\n\n".join(parts) + "\n"

    def html(self, figures: Path) -> str:
        """The document as one HTML file that needs nothing from outside; `figures` is the folder of the pictures."""
        from vmask.report.page import CLOSING, opening

        parts = [opening(self.title, self.lead()), formats.STYLE]
        held = "".join(f"<p>{escape(one)}</p>" for one in self._held())
        if counts := self._counts():
            held += _html_table("counts", COUNTED, [map(escape, _counted(count)) for count in counts])
            held += f'<p class="under">{escape(check.LEGEND)}</p>'
        parts.append(_section("What holds", held))
        if self.claims:
            rows = [(escape(c.sentence), f"<b>{c.verdict}</b>", _paragraphs(c)) for c in self.claims]
            claims = _html_table("claims", ("the paper", "here", "evidence"), rows)
            parts.append(_section("The paper's claims", f"<p>{escape(RULE)}</p>{claims}"))
        for table in [*self.tables, *([self.vectors] if self.vectors else [])]:
            parts.append(_section(_title(table), formats.html(table)))
        if self.examples:
            parts.append(_section("Explained texts", examples_html(self.examples)))
        for one in self.pictures:
            if one.name in TEXTS.values():
                continue  # they stand above, as text
            data = base64.b64encode((figures / f"{one.name}.png").read_bytes()).decode()
            picture = f'<img alt="{escape(one.title)}" src="data:image/png;base64,{data}">'
            parts.append(_section(one.title, f"{picture}<p>{escape(one.caption)}</p>"))
        return "\n".join(parts) + CLOSING


def _counted(count: check.Count) -> tuple[str, ...]:
    return (count.title, str(count.numbers), *(count.of(one) for one in check.VERDICTS))


def _html_table(name: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of HTML; `name` is its class."""
    lines = [[f"<th>{head}</th>" for head in heads], *([f"<td>{one}</td>" for one in row] for row in rows)]
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f'<table class="{name}">{body}</table>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _title(table: Table) -> str:
    return table.title if table.number is None else f"{table.title} (table {table.number} of the paper)"


def _paragraphs(claim: Claim) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in claim.lines())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
