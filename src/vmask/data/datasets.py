"""Load a dataset by name, file or folder: texts and labels in train, dev and test.

A name is looked up in this order: a file, or several by a pattern; a folder; a folder of that name in `data_dir` (or in
the variable VMASK_DATA); the download `reviews`; the package that has the card; the Hugging Face hub.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from vmask._core.parsing import read_text
from vmask.config import MULTI_LABEL, SINGLE_LABEL, SplitConfig, make
from vmask.data import label_sets
from vmask.data.card import CARD, Card, card_folder, card_names, load_card, override
from vmask.data.config import ReadConfig
from vmask.data.duplicates import conflict_notes, copies_note, near_note
from vmask.data.label_columns import NONE
from vmask.data.labels import Source, read_source
from vmask.data.patterns import files_of, is_pattern, read_files
from vmask.data.rationales import read_trees
from vmask.data.readers import HEADED, TABLES, Row, existing, read_rows, table_kind
from vmask.data.splits import Split, complete, fingerprint, shared_texts
from vmask.data.targets import LabelBins, to_number
from vmask.errors import AssetError, DataError, FileMissing, UnknownName, short

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
    """The column with the labels, or several with commas between; empty if there is none."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """What the card says about the fields of `DataConfig`; empty for a user's own file."""
    reading: ReadConfig = field(default_factory=ReadConfig)
    """How its files were read."""
    split: SplitConfig = SplitConfig(duplicates="ignore")
    """How missing splits were held out."""
    label_bins: LabelBins | None = None
    """Ranges of numbers that the labels were made of; without edges, labels that were taken as they are."""
    weights: list[float] | None = None
    """Weight of each row of train in the loss, if a column has them."""
    label_separator: str = NONE
    """How several labels of a text are written, see `vmask.data.label_columns`; `none` for one label a text."""

    @property
    def task(self) -> str:
        """How many labels a text has."""
        return SINGLE_LABEL if self.label_separator == NONE else MULTI_LABEL


def load_dataset(
    name_or_path: str | Path,
    *,
    data_dir: str | Path | None = None,
    text: str | None = None,
    label: str | None = None,
    require_labels: bool = True,
    split: SplitConfig | None = None,
    label_bins: int | LabelBins | None = None,
    weight: str | None = None,
    label_separator: str | None = None,
    **reading: Any,
) -> Dataset:
    """Load a dataset.

    Of a user's own data the dev and test splits that are missing are drawn so that a text and its copies are in one
    split (see `SplitConfig`). Datasets with a card are drawn row by row: their splits are fixed.

    Args:
        name_or_path: a file (`vmask.data.readers` lists the formats), several by a pattern (`reviews-*.csv`), a folder
            with train, dev and test files, the name of a card (`vmask.data.card.card_names()`), or `owner/name` on
            the Hugging Face hub.
        data_dir: a folder with a folder for each dataset; by default the variable VMASK_DATA.
        text: the column with the texts; guessed by default.
        label: the column with the labels; several columns of 0 and 1, commas between; guessed by default.
        require_labels: False to accept data without labels; then nothing is split.
        split: which rows stay together where splits are held out.
        label_bins: number of classes to make of a column of numbers, see `LabelConfig`; or the classes themselves.
        weight: column with the weight of each row in training.
        label_separator: what stands between the labels of a text that may have several; `none` to take each cell as
            one label; guessed by default. An empty cell is then a text without labels.
        **reading: `encoding` and `sheet`, see `vmask.config.ReadConfig`.

    Raises:
        FileMissing: if a path does not exist.
        UnknownName: for a name that is neither a card nor a file nor a hub id.
        DataError: for data that cannot be used.
        AssetError: if a download fails.
    """
    files = _Files(_reading(reading))
    as_table = partial(files.table, name_or_path, text, label, require_labels)
    source = _resolve(str(name_or_path), data_dir, files, as_table)
    how = split or SplitConfig()
    how = dataclasses.replace(how, duplicates=how.duplicates or ("ignore" if source.card else "exact"))
    columns = [name for name in (how.group, how.time, weight) if name is not None]
    read = read_source(
        source,
        text or source.text,
        label or source.label,
        require_labels,
        columns=columns,
        quantities=label_bins is not None,
        separator=label_separator,
    )
    splits, notes, labels = read.splits, (*files.notes, *read.notes), read.labels
    bins = LabelBins(()) if label_bins == 0 else label_bins
    if labels:
        given = read.splits
        strata = partial(_strata, bins, read.splits)
        splits, held_out = complete(given, source.card.split if source.card else None, how, strata)
        notes += held_out
        if isinstance(bins, int):
            bins = _learnt(bins, splits["train"])
        if bins is not None and bins.edges:
            splits = {name: binned(part, bins) for name, part in splits.items()}
            labels = bins.names
            notes += (f"Classes were made of the numbers in '{read.label}': {', '.join(labels)}.",)
        looked_at = source.card is None or how.duplicates != "ignore"
        if looked_at:
            notes += copies_note(text for part in splits.values() for text in part.texts)
        notes += shared_texts(splits)
        if weight is not None:
            notes += (f"Rows weigh in training what '{weight}' says.",)
        if looked_at:
            notes += near_note(splits, len(given) < len(splits), how.duplicates == "near") + conflict_notes(splits)
    if source.card and source.card.note:
        prefix = "Stand-in data: " if source.card.standin else ""
        notes = (f"{prefix}{source.card.note}", *notes)
    return Dataset(
        name=source.name,
        splits=splits,
        labels=labels,
        card=source.card,
        notes=notes,
        fingerprint=fingerprint(splits),
        text=read.text,
        label=read.label,
        defaults=source.card.defaults if source.card else {},
        reading=files.reading,
        split=how,
        label_bins=bins if isinstance(bins, LabelBins) else None,
        weights=None if weight is None else weights_of(splits["train"], weight),
        label_separator=read.label_separator,
    )


def weights_of(part: Split, column: str) -> list[float]:
    """The numbers in a column, as weights of the rows.

    Raises:
        DataError: for a value that is no number, or negative; the message names the row.
    """
    weights = []
    for id, value in zip(part.ids, part.columns[column], strict=True):
        number = to_number(str(value))
        if number is None or number < 0:
            raise DataError(f"--weight: '{column}' of row {id} is {short(value)}; it must be a number, 0 or more.")
        weights.append(number)
    return weights


def _strata(bins: int | LabelBins | None, splits: Mapping[str, Split], part: Split) -> list[str]:
    """What is kept in proportion where splits are drawn: the classes; of numbers, ranges of those of all rows."""
    if bins is None or label_sets.are_sets(part.labels):
        return list(label_sets.strata(part.labels))
    whole = splits.get("train") or splits["all"]
    count = bins if isinstance(bins, int) else bins.count
    if isinstance(bins, int) or (count and all(to_number(label) is not None for label in whole.labels)):
        bins = _learnt(count, whole)
    return bins.apply(part.labels, part.ids)


def _learnt(bins: int, part: Split) -> LabelBins:
    return LabelBins.learn(part.labels, part.ids, bins)


def binned(part: Split, bins: LabelBins) -> Split:
    """The same rows with classes in the place of numbers."""
    return dataclasses.replace(part, labels=bins.apply(part.labels, part.ids))


def load_table(
    path: str | Path,
    text: str | None = None,
    label: str | None = None,
    require_labels: bool = True,
    label_bins: LabelBins | None = None,
    label_separator: str | None = None,
    **reading: Any,
) -> Split:
    """Load all rows of a file, or of several by a pattern, without splitting them, such as to score a model on them.

    Rows without a text, or without a label if labels are required, are left out and counted in `notes`. With
    `label_bins`, those of a model, numbers become its classes.
    """
    files = _Files(_reading(reading))
    source = files.table(path, text, label, require_labels)
    label = label or source.label
    read = read_source(source, text or source.text, label, require_labels, to_learn=False, separator=label_separator)
    (split,) = read.splits.values()
    split = dataclasses.replace(split, notes=(*files.notes, *read.notes))
    return split if label_bins is None or not split.labels else binned(split, label_bins)


def is_dataset_folder(path: str | Path) -> bool:
    """Whether this is a folder with a file for each split, or with a card."""
    folder = Path(path)
    return folder.is_dir() and (bool(_split_files(folder)) or (folder / CARD).is_file())


def _reading(options: Mapping[str, Any]) -> ReadConfig:
    sheet = options.get("sheet")
    return make(ReadConfig, {**options, "sheet": str(sheet)} if isinstance(sheet, int) else options)


@dataclass(frozen=True)
class _Files:
    """Opens files, and keeps what there is to say about how they were read."""

    reading: ReadConfig
    _notes: dict[str, None] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def rows(self, path: Path, quoted: bool | None = None) -> Iterator[Row]:
        return read_rows(path, quoted, self.reading, self._note)

    def table(self, path: str | Path, text: str | None, label: str | None, want_label: bool) -> Source:
        """One table of a file, or of several by a pattern."""
        paths = files_of(path)
        rows, text, label = read_files(paths, text, label, want_label, self.reading, self._note)
        headed = all(table_kind(path) in HEADED for path in paths)
        return Source(Path(path).name, {"all": rows}, text=text, label=label, header_row=headed)

    def _note(self, note: str) -> None:
        self._notes[note] = None


# Look-up -----------------------------------------------------------------------------------------------


def _resolve(name: str, data_dir: str | Path | None, files: _Files, as_table: Callable[[], Source]) -> Source:
    path, root = Path(name), data_dir or os.environ.get("VMASK_DATA")
    local = Path(root).expanduser() / name if root else None
    if name in card_names() and local is not None and local.is_dir():
        return _folder(local, load_card(name), files)  # before a folder of that name in the current folder
    if path.is_file() or is_pattern(name):
        return as_table()
    for folder in (path, local):
        if folder is not None and is_dataset_folder(folder):
            return _folder(folder, None, files)
    if name in card_names():
        return _with_card(name, local, files)
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


def _with_card(name: str, missing: Path | None, files: _Files) -> Source:
    """A dataset with a card for which the user has no folder."""
    if name == "reviews":
        return _reviews()
    card, folder = load_card(name), card_folder(name)
    if folder is not None and (_split_files(folder) or any((folder / file).is_file() for file in card.files.values())):
        return _folder(folder, card, files)  # the package of the card has the files too
    return _hub(name, card, missing)


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


def _folder(folder: Path, card: Card | None, files: _Files) -> Source:
    overrides = folder / CARD
    if card is None and overrides.is_file():
        own = override(Card(name=folder.name, cleaning="gentle"), overrides)
        card = load_card(own.name) if own.name in card_names() else Card(name=own.name, cleaning="gentle")
    if card is not None and overrides.is_file():
        card = override(card, overrides)
    trees = card is not None and card.format == "trees"
    paths = {} if trees else _split_files(folder)
    if card is not None:
        paths = {**paths, **{split: folder / name for split, name in card.files.items() if (folder / name).is_file()}}
        if "train" not in paths and "all" not in paths:
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
        splits={split: read_trees(path) if trees else files.rows(path, quoted) for split, path in paths.items()},
        card=card,
        names=names,
        text=card.text if card else None,
        label=card.label if card else None,
        header_row=all(table_kind(path) in HEADED for path in paths.values()),
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
