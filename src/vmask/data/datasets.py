"""Load a dataset by name, file or folder: texts and labels in train, dev and test.

A name is looked up in this order: a file; a folder; a folder of that name in `data_dir` (or the variable VMASK_DATA);
the download `reviews`; the package that has the card; the Hugging Face hub.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from vmask._core.parsing import read_text
from vmask.data.card import CARD, Card, card_folder, card_names, load_card, override
from vmask.data.labels import Source, read_source
from vmask.data.rationales import read_trees
from vmask.data.readers import TABLES, Row, existing, read_rows, table_kind
from vmask.data.splits import Split, complete, fingerprint, shared_texts
from vmask.errors import AssetError, DataError, FileMissing, UnknownName

__all__ = ["Dataset", "Split", "load_dataset", "load_table"]

_STEMS = {
    "train": ("train",),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test",),
    "all": ("all",),
}
_SPLIT_OF = {stem: split for split, stems in _STEMS.items() for stem in stems}


@dataclass(frozen=True)
class Dataset:
    """Texts and labels, ready to train on."""

    name: str
    splits: dict[str, Split]
    """`train`, `dev` and `test`, and further splits of the source."""
    labels: tuple[str, ...]
    """All labels, in the order of the card, else as sorted numbers, else alphabetically."""
    card: Card | None
    notes: tuple[str, ...]
    """What the user should know: rows left out, splits held out, stand-in data."""
    fingerprint: str
    """sha256 over ids, labels, texts and, if any, rationales."""
    text: str
    """The column with the texts."""
    label: str
    """The column with the labels; empty if there is none."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """What the card says about the fields of `DataConfig`; empty for a user's own file."""


def load_dataset(
    name_or_path: str | Path,
    *,
    data_dir: str | Path | None = None,
    text: str | None = None,
    label: str | None = None,
    require_labels: bool = True,
) -> Dataset:
    """Load a dataset.

    Args:
        name_or_path: a file (.csv .tsv .jsonl .json .parquet), a folder with train, dev and test files, the
            name of a card (`vmask.data.card.card_names()`), or `owner/name` on the Hugging Face hub.
        data_dir: a folder with a folder for each dataset; by default the variable VMASK_DATA.
        text: the column with the texts; guessed by default.
        label: the column with the labels; guessed by default.
        require_labels: False to accept data without labels; then nothing is split.

    Raises:
        FileMissing: if a path does not exist.
        UnknownName: for a name that is neither a card nor a file nor a hub id.
        DataError: for data that cannot be used.
        AssetError: if a download fails.
    """
    source = _resolve(str(name_or_path), data_dir)
    read = read_source(source, text or source.text, label or source.label, require_labels)
    splits, notes = read.splits, read.notes
    if read.labels:
        splits, held_out = complete(splits, source.card.split if source.card else None)
        notes += held_out + shared_texts(splits)
    if source.card and source.card.note:
        prefix = "Stand-in data: " if source.card.standin else ""
        notes = (f"{prefix}{source.card.note}", *notes)
    return Dataset(
        name=source.name,
        splits=splits,
        labels=read.labels,
        card=source.card,
        notes=notes,
        fingerprint=fingerprint(splits),
        text=read.text,
        label=read.label,
        defaults=source.card.defaults if source.card else {},
    )


def load_table(
    path: str | Path, text: str | None = None, label: str | None = None, require_labels: bool = True
) -> Split:
    """Load all rows of one file without splitting them, for example to score a model on them.

    Rows without a text, or without a label if labels are required, are left out and counted in `notes`.
    """
    read = read_source(_file(existing(path)), text, label, require_labels, to_learn=False)
    (split,) = read.splits.values()
    return dataclasses.replace(split, notes=read.notes)


def is_dataset_folder(path: str | Path) -> bool:
    """Whether this is a folder with a file for each split, or with a card."""
    folder = Path(path)
    return folder.is_dir() and (bool(_split_files(folder)) or (folder / CARD).is_file())


# Look-up -----------------------------------------------------------------------------------------------


def _resolve(name: str, data_dir: str | Path | None) -> Source:
    path, root = Path(name), data_dir or os.environ.get("VMASK_DATA")
    local = Path(root).expanduser() / name if root else None
    if name in card_names() and local is not None and local.is_dir():
        return _folder(local, load_card(name))  # before a folder of that name in the current folder
    if path.is_file():
        return _file(path)
    for folder in (path, local):
        if folder is not None and is_dataset_folder(folder):
            return _folder(folder, None)
    if name in card_names():
        return _with_card(name, local)
    if path.is_dir():
        raise DataError(
            f"The folder '{name}' has no train file. Put in train.csv (or {' '.join(TABLES[1:])}), and "
            "dev and test files if you have them."
        )
    is_path = table_kind(name) or path.is_absolute() or name.count("/") > 1
    if is_path or ("/" in name and path.parent.is_dir()):
        existing(path)  # raises, with a near name
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return _hub(name, None, local)
    unknown = UnknownName("dataset", name, card_names())
    unknown.args = (f"{unknown} Or give a file, a folder, or owner/name on the Hugging Face hub.",)
    raise unknown


def _with_card(name: str, missing: Path | None) -> Source:
    """A dataset with a card for which the user has no folder."""
    if name == "reviews":
        return _reviews()
    card, folder = load_card(name), card_folder(name)
    if folder is not None and (_split_files(folder) or any((folder / file).is_file() for file in card.files.values())):
        return _folder(folder, card)  # the package of the card has the files too
    return _hub(name, card, missing)


def _file(path: Path) -> Source:
    header = table_kind(path) in (".csv", ".tsv")
    return Source(path.name, {"all": read_rows(path)}, header_row=header)


def _split_files(folder: Path) -> dict[str, Path]:
    """The tables of a folder that are named like a split; empty if there is neither train nor all."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        kind = table_kind(path)
        split = _SPLIT_OF.get(path.name.lower().partition(".")[0])
        if kind and split and path.is_file():
            if split in files:
                raise DataError(
                    f"The folder '{folder}' has two files for {split}: {files[split].name} and {path.name}. "
                    "Move one of them away."
                )
            files[split] = path
    return files if "train" in files or "all" in files else {}


def _folder(folder: Path, card: Card | None) -> Source:
    overrides = folder / CARD
    if card is None and overrides.is_file():
        own = override(Card(name=folder.name, cleaning="gentle"), overrides)
        card = load_card(own.name) if own.name in card_names() else Card(name=own.name, cleaning="gentle")
    if card is not None and overrides.is_file():
        card = override(card, overrides)
    trees = card is not None and card.format == "trees"
    files = {} if trees else _split_files(folder)
    if card is not None:
        files = {**files, **{split: folder / name for split, name in card.files.items() if (folder / name).is_file()}}
        if "train" not in files and "all" not in files:
            wanted = card.files.get("train") or card.files.get("all") or "train.csv"
            raise FileMissing(
                f"The folder '{folder}' has no file '{wanted}' for the dataset {card.name}. Put it there, "
                "or name the files in a card.yaml in that folder: files: {train: ..., test: ...}"
            )
    names = card.labels if card else ()
    classes = folder / "classes.txt"
    if not names and classes.is_file():
        names = tuple(line.strip() for line in read_text(classes, 1 << 20).split("\n") if line.strip())
    # Files that cards describe are not quoted: their quotes belong to the texts.
    quoted = None if card is None else False
    return Source(
        name=card.name if card else folder.name,
        splits={split: read_trees(path) if trees else read_rows(path, quoted) for split, path in files.items()},
        card=card,
        names=names,
        text=card.text if card else None,
        label=card.label if card else None,
        header_row=all(table_kind(path) in (".csv", ".tsv") for path in files.values()),
    )


def _reviews() -> Source:
    from vmask.data.downloads import fetch

    card = load_card("reviews")
    return Source("reviews", {"all": _review_rows(fetch("reviews"))}, card, card.labels, text="text", label="label")


def _review_rows(path: Path) -> Iterator[Row]:
    """Lines of number, mean rating and sentence; a rating of exactly zero has no label."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            id, rating, text = line.rstrip("\r\n").split("\t")
            if float(rating) != 0:
                yield {"id": f"reviews-{id}", "text": text, "label": "positive" if float(rating) > 0 else "negative"}


def _hub(name: str, card: Card | None, missing: Path | None) -> Source:
    from vmask.data.hub import hub_rows

    hub = card.hub_source if card else None
    no_folder = f" There is no folder '{missing}' either." if missing else ""
    if card and hub is None:
        raise AssetError(
            f"vmask cannot download the dataset {name}.{no_folder} Get it from its authors ({card.source}), put "
            f"{', '.join(card.files.values())} in a folder '{name}', and point --data-dir (or VMASK_DATA) at "
            "its parent folder."
        )
    try:
        rows = hub_rows(hub or name)
    except AssetError as error:
        raise AssetError(f"{error}{no_folder}") from None
    splits: dict[str, Iterator[Row]] = {_SPLIT_OF.get(split, split): part for split, part in rows.items()}
    if "train" not in splits or (card and "all" in card.files):  # such a card has its own splits
        splits = {"all": chain.from_iterable(splits.values())}
    return Source(
        name,
        splits,
        card,
        card.labels if card else (),
        renamed=hub.labels if hub else {},
        text=hub.text if hub else None,
        label=hub.label if hub else None,
    )
