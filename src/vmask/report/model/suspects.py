"""Rows whose label the model contradicts, and texts with more than one label: on the page, and as files to correct."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vmask._core.files import write_text
from vmask.data.datasets import Dataset
from vmask.data.duplicates import conflicts
from vmask.data.label_sets import label_text
from vmask.persistence.model_folder import LISTS
from vmask.report.model.content import Content, LabelledRow, Suspect
from vmask.report.model.test_scores import Predicted, predict_split

SUSPECTS, CONFLICTS = LISTS
SPLITS = ("dev", "test")


def suspects(predictor: Any, dataset: Dataset, measured: Predicted, private: bool) -> tuple[Suspect, ...]:
    """The dev and test rows whose label the model contradicts, those where it is surest first.

    Args:
        predictor: the model.
        dataset: its data.
        measured: its predictions for the split that the report measures.
        private: leave the texts out.
    """
    found: list[Suspect] = []
    if measured.subject.several:  # no label stands against another
        return ()
    for name in SPLITS:
        if not len(dataset.splits.get(name) or ()):
            continue
        split = measured if name == measured.measured.split else predict_split(predictor, dataset, name)
        assert split.subject.labels is not None
        for row in (~split.right).nonzero()[0].tolist():
            label = int(split.subject.labels[row])
            if label >= len(predictor.labels):  # a label that it does not know
                continue
            text = "" if private else split.split.texts[row]
            predicted = split.names[split.subject.predicted[row]]
            found.append(
                Suspect(split.split.ids[row], name, text, split.names[label], predicted, float(split.sure[row]))
            )
    return tuple(sorted(found, key=lambda one: -one.confidence))


def conflicting(dataset: Dataset, private: bool) -> tuple[LabelledRow, ...]:
    """The rows of all texts that have more than one label, those of a text behind each other."""
    return tuple(
        LabelledRow(number, id, name, "" if private else dataset.splits[name].texts[row], label_text(label))
        for number, conflict in enumerate(conflicts(dataset.splits), 1)
        for name, row, id, label in conflict.rows
    )


def write_lists(content: Content, page: Path) -> list[Path]:
    """Write the lists beside a page; files of an earlier page are replaced, or removed if there is nothing to list."""
    private = content.private
    tables: dict[str, tuple[Sequence[str], Iterator[Sequence[Any]]]] = {
        SUSPECTS: (
            ("row", "split", "text", "label", "model_label", "confidence"),
            ((s.id, s.split, s.text, s.label, s.predicted, f"{s.confidence:.4f}") for s in content.suspects),
        ),
        CONFLICTS: (
            ("number", "row", "split", "text", "label"),
            ((c.number, c.id, c.split, c.text, c.label) for c in content.conflicting),
        ),
    }
    written = []
    for path, (header, rows) in zip(lists_beside(page), tables.values(), strict=True):
        table = [header, *rows]
        if private:
            at = header.index("text")
            table = [[*row[:at], *row[at + 1 :]] for row in table]
        if len(table) == 1:
            path.unlink(missing_ok=True)
            continue
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(table)
        write_text(path, stream.getvalue())
        written.append(path)
    return written


def lists_beside(page: Path) -> list[Path]:
    """Where the lists of a page are: beside `report.html` under their names, beside `x.html` with `x-` before them."""
    prefix = "" if page.stem == "report" else f"{page.stem}-"
    return [page.with_name(prefix + name) for name in (SUSPECTS, CONFLICTS)]
