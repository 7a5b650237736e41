"""Dataset cards: what is known about a dataset before any of it is read. They are YAML files in `cards/`.

Other packages add theirs by an entry point in the group `vmask.datasets`, e.g. `[project.entry-points."vmask.datasets"]
mine = "my_package.mine"`: a folder of the package with a `card.yaml` and, if they may be distributed, the files that it
names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from vmask._core.parsing import read_yaml
from vmask.errors import DataError, UnknownName, did_you_mean, short
from vmask.registry import entry_points_by_name, loads, plugin_error

CARD = "card.yaml"
MOST_ROWS = 10**9
_CARDS = Path(__file__).parent / "cards"
T = TypeVar("T")


@dataclass(frozen=True)
class PaperRow:
    """The row of the dataset in the paper's two tables of datasets."""

    classes: int
    average_length: int
    train: int
    dev: int
    test: int
    vocabulary: int


@dataclass(frozen=True)
class SplitRule:
    """Rows to hold out if a split has no file of its own. They are drawn from train, or from all rows."""

    dev_rows: int | None = None
    """Rows of dev if there are `of_rows`; for another size, the same share."""
    test_rows: int | None = None
    of_rows: int | None = None
    """Rows of the original dataset, from which dev and test are drawn."""
    seed: int = 0
    stratified: bool = True

    def __post_init__(self) -> None:
        for name in ("dev_rows", "test_rows", "of_rows"):
            rows = getattr(self, name)
            if rows is not None and not 1 <= rows <= MOST_ROWS:
                raise DataError(f"split.{name} is {short(rows)}; it must be from 1 to {MOST_ROWS:,}.")
        if not 0 <= self.seed <= MOST_ROWS:
            raise DataError(f"split.seed is {short(self.seed)}; it must be from 0 to {MOST_ROWS:,}.")


@dataclass(frozen=True)
class Hub:
    """The dataset on the Hugging Face hub, and what differs there."""

    id: str
    text: str = "text"
    label: str = "label"
    labels: dict[str, str] = field(default_factory=dict)
    """The hub's name of a label to ours; a label without an entry keeps its name."""


@dataclass(frozen=True)
class Card:
    """What is known about a dataset."""

    name: str
    title: str = ""
    source: str = ""
    """Its authors and the paper that describes it."""
    hub_source: Hub | None = None
    files: dict[str, str] = field(default_factory=dict)
    """Split to file name. `all` is a file from which dev and test are drawn."""
    format: str = "table"
    """Format of the files: `table`, by their ending, or `trees`, one bracketed tree per line."""
    text: str = "text"
    label: str = "label"
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of their codes 0, 1, ..."""
    cleaning: str = "paper"
    threshold: int = 0
    """The paper's low-frequency threshold: words with a higher count are kept."""
    max_words: int = 256
    vocabulary_over: str = "train"
    """The splits in which the paper counts words: `train` or `all`."""
    split: SplitRule = field(default_factory=SplitRule)
    paper: PaperRow | None = None
    vocabulary_note: str = ""
    """What is known about how the paper counted its vocabulary, if our count differs."""
    licence: str = ""
    citation: str = ""
    standin: bool = False
    """Whether the data is a stand-in for the paper's; `note` describes it."""
    note: str = ""

    def __post_init__(self) -> None:
        for name, choices in (
            ("format", ("table", "trees")),
            ("cleaning", ("paper", "gentle")),
            ("vocabulary_over", ("train", "all")),
        ):
            if getattr(self, name) not in choices:
                raise DataError(f"{name} is {getattr(self, name)!r}. Choose one of: {', '.join(choices)}.")
        if not 1 <= self.max_words <= MOST_ROWS or not 0 <= self.threshold <= MOST_ROWS:
            raise DataError("max_words must be above 0 and threshold at least 0, and neither above 1,000,000,000.")

    @property
    def defaults(self) -> dict[str, Any]:
        """What the card says about the fields of `DataConfig`."""
        return {"cleaning": self.cleaning, "max_words": self.max_words, "min_count": self.threshold + 1}


def card_names() -> list[str]:
    """The names of all cards, sorted; those of other packages may turn out to be broken."""
    return sorted({*own_cards(), *_points()})


def own_cards() -> list[str]:
    """The names of vmask's own cards, sorted."""
    return sorted(path.stem for path in _CARDS.glob("*.yaml"))


def working_cards() -> dict[str, Card]:
    """The cards by name, without broken ones of other packages, which are logged."""
    own = own_cards()
    return {name: load_card(name) for name in card_names() if name in own or loads(partial(load_card, name))}


def load_card(name: str) -> Card:
    """The card of a dataset.

    Raises:
        UnknownName: with the nearest name.
        PluginError: if a card of another package cannot be used.
    """
    if name in own_cards():
        return override(Card(name=name), _CARDS / f"{name}.yaml")
    folder = card_folder(name)
    if folder is None:
        raise UnknownName("dataset", name, card_names())
    try:
        return override(Card(name=name), folder / CARD)
    except (DataError, OSError) as error:
        raise plugin_error("dataset", _points()[name], error) from error


def card_folder(name: str) -> Path | None:
    """The folder of another package with the card of a dataset, and perhaps its files; None for other names.

    Raises:
        PluginError: if that package has no such folder.
    """
    point = _points().get(name)
    if point is None:
        return None
    try:
        spec = find_spec(point.value)
    except (Exception, SystemExit) as error:
        raise plugin_error("dataset", point, error) from error
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if Path(place, CARD).is_file():
            return Path(place)
    raise plugin_error("dataset", point, FileNotFoundError(f"'{point.value}' is no folder with a {CARD}"))


def _points() -> dict[str, EntryPoint]:
    return entry_points_by_name("vmask.datasets", "dataset", own_cards())


def override(card: Card, path: str | Path) -> Card:
    """The card with the fields of a YAML file in place of its own.

    Raises:
        DataError: for a file that is not YAML, an unknown field (with the nearest), or a wrong value.
    """
    path = Path(path)
    try:
        values = read_yaml(path) or {}
    except DataError as error:
        raise DataError(f"The card {error} Or remove it.") from None
    if not isinstance(values, dict):
        raise DataError(
            f"The card '{path}' is not a list of fields such as `text: sentence`. Correct it, or remove it."
        )
    try:
        return _replace(card, values)
    except DataError as error:
        raise DataError(f"The card '{path}' cannot be used: {error}") from None


def _replace(old: T, values: Mapping[str, Any], prefix: str = "") -> T:
    """A copy of a frozen dataclass with some fields set from YAML, strictly."""
    cls: Any = type(old)
    return cls(**{**_fields_of(old), **_checked(cls, values, prefix, old)})  # type: ignore[no-any-return]


def _fields_of(value: Any) -> dict[str, Any]:
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}


_NESTED = {"hub_source": Hub, "paper": PaperRow, "split": SplitRule}


def _checked(cls: Any, values: Mapping[str, Any], prefix: str, old: Any = None) -> dict[str, Any]:
    types = {f.name: str(f.type) for f in dataclasses.fields(cls)}
    checked = {}
    for key, value in values.items():
        name = "hub_source" if cls is Card and key == "hub" else key
        if name not in types or (name == "hub_source" and key != "hub"):
            known = ["hub" if field == "hub_source" else field for field in types]
            raise DataError(
                f"there is no field '{prefix}{key}'.{did_you_mean(str(key), known)} Known: {', '.join(known)}."
            )
        if cls is Card and name in _NESTED and value is not None:
            checked[name] = _nested(_NESTED[name], value, f"{key}.", getattr(old, name))
        else:
            checked[name] = _plain(types[name], value, f"{prefix}{key}")
    return checked


def _nested(cls: Any, value: Any, prefix: str, old: Any) -> Any:
    if not isinstance(value, dict):
        raise DataError(f"'{prefix.rstrip('.')}' must be a mapping of its fields.")
    given = {**(_fields_of(old) if old is not None else {}), **_checked(cls, value, prefix)}
    needed = [f.name for f in dataclasses.fields(cls) if f.default is f.default_factory is dataclasses.MISSING]
    if missing := [name for name in needed if name not in given]:
        raise DataError(f"'{prefix}{missing[0]}' is missing; add it.")
    return cls(**given)


def _plain(kind: str, value: Any, name: str) -> Any:
    """Check a value against the annotation of its field, given as source text."""
    if value is None and kind.endswith("| None"):
        return None
    wanted: dict[str, Any] = {"str": str, "int": int, "bool": bool, "dict": dict, "tuple": list}
    base = wanted[kind.removesuffix(" | None").partition("[")[0]]
    if not isinstance(value, base) or (base is int and isinstance(value, bool)):
        raise DataError(f"'{name}' is {value!r}; it must be of type {base.__name__}.")
    items: list[Any] = []
    if base is dict:
        items = [*value, *value.values()]
    elif base is list:
        items = value
    if any(isinstance(item, bool) for item in items):
        raise DataError(
            f"'{name}' has a true or false in it: YAML also reads yes and no as such. Put quotes around them."
        )
    if base is dict:
        return {str(k): str(v) for k, v in value.items()}
    return tuple(str(v) for v in value) if base is list else value
