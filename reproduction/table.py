"""A table of the paper: entries with our number, the published one, and what holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from vmask.evaluation.statistics import Estimate
from vmask.report.grid import table as grid
from vmask.report.grid.table import COUNTED, NOT_RUN, ONE_SEED, Mark, estimate_fields, plain, sentence

Verdict = Literal["ok", "close", "off", "not run", ""]
"""`ok`: our mean lies in the published number's 95% band; `close`: our interval and the band overlap; empty: there is
nothing to compare with."""
SIGNS = {"ok": "✓", "close": "≈", "above": "↑", "below": "↓"}
"""Of verdicts; `off` is `above` or `below`."""
MEANINGS = {"ok": "in it", "close": "our interval meets it", "above": "above it", "below": "below it"}
"""Against the band of the published number."""
COUNT_MEANINGS = {"ok": "the same after rounding", "close": "within 5%", "above": "more", "below": "fewer"}


@dataclass(frozen=True)
class Entry(grid.Entry):
    """One number of a table.

    Attributes:
        published: the paper's number; None where it prints none.
        band: 95% band of the published number, where one can be given.
        verdict: what holds.
        differs: in what ours was measured otherwise than the paper's, such as `vectors`; empty where in nothing.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        *("ours", "low", "high", "n", "interval", "published", "band_low", "band_high"),
        *("verdict", "side", "differs", "bold", "text", "note"),
    )

    published: float | None = None
    band: tuple[float, float] | None = None
    verdict: Verdict = ""
    differs: tuple[str, ...] = ()

    @property
    def ours(self) -> Estimate | None:
        """What we found, in the table's unit; None where it was not run."""
        return self.estimate

    @property
    def side(self) -> Literal["above", "below", ""]:
        """On which side of the published number ours is off; empty where it is not off."""
        if self.verdict != "off" or self.ours is None or self.published is None:
            return ""
        return "above" if self.ours.value > self.published else "below"

    def beside(self) -> str:
        """The published number, with the digits that the paper prints."""
        return "" if self.published is None or self.text else f"/ {self.published:,.10g}"

    @property
    def mark(self) -> Mark | None:
        """The sign of the verdict."""
        word = self.side or self.verdict
        return Mark(SIGNS[word], word, self.verdict) if word in SIGNS else None

    @property
    def hint(self) -> str:
        """How the interval was made, the band of the published number, and in what ours differs."""
        parts = [super().hint]
        if self.band is not None:
            parts.append(f"published band {self.band[0]:.4g} to {self.band[1]:.4g}")
        if self.differs:
            parts.append(f"differs in {', '.join(self.differs)}")
        return "; ".join(filter(None, parts))

    def fields(self) -> tuple[str, ...]:
        """The values of `FIELDS`; what there is not is empty."""
        verdict = self.verdict or (NOT_RUN if self.absent else "")
        return (
            *(*estimate_fields(self.ours), plain(self.published), *map(plain, self.band or (None, None))),
            *(verdict, self.side, "; ".join(self.differs), "bold" if self.bold else "", self.text, self.note),
        )


Row = grid.Row[Entry]
"""A row: its heads, such as model and method, and its entries."""


@dataclass(frozen=True)
class Table(grid.Table[Entry]):
    """A table beside the paper's.

    Attributes:
        number: in the paper, if it is there.
    """

    FIELDS: ClassVar[tuple[str, ...]] = Entry.FIELDS

    number: int | None = field(default=None, kw_only=True)

    def legend(self) -> str:
        """What the signs in the cells mean, those that this table has."""
        if any(entry.ours or entry.published is not None for entry in self.entries):
            return sentence([*self.legend_of_numbers(), *self.legend_of_signs()])
        return "Words." if any(entry.text for entry in self.entries) else "Nothing was run."

    def legend_of_signs(self) -> list[str]:
        """What a dash and a dagger mean, where there are such."""
        return [f"{part}; without it over seeds" if ONE_SEED in part else part for part in super().legend_of_signs()]

    def legend_of_numbers(self) -> list[str]:
        """What a number is, and what is said of it against the published one."""
        parts = [f"In {self.unit}: ours" if self.unit else "Ours"]
        if any(entry.half_width is not None for entry in self.entries):
            parts[0] += " ± 95% interval"
        if any(entry.published is not None and not entry.text for entry in self.entries):
            parts[0] += " / published"
        judged = [entry for entry in self.entries if entry.mark]
        if judged:
            counts = all(entry.ours is not None and entry.ours.how == COUNTED for entry in judged)
            meanings = COUNT_MEANINGS if counts else MEANINGS
            words = {entry.mark.word for entry in judged if entry.mark}
            against = "" if counts else "against the published number's band: "
            parts.append(against + ", ".join(f"{SIGNS[word]} {meanings[word]}" for word in SIGNS if word in words))
        return parts
