"""Dataset cards: what is known about a dataset before any of it is read. They are YAML files in `cards/`.

Other packages add theirs by an entry point in the group `vmask.datasets`, e.g. `[project.entry-points."vmask.datasets"]
mine = "my_package.mine"`: a folder of the package with a `card.yaml` and, where they can be passed on, the files that
it names.
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
from vmask.registry import broken, points_of, works

CARD = "card.yaml"
MOST_ROWS = 10**9
_CARDS = Path(__file__).parent / "cards"
T = TypeVar("T")


@dataclass(frozen=True)
class PaperRow:
    """The dataset in the paper's two tables of datasets."""

    classes: int
    average_length: int
    train: int
    dev: int
    test: int
    vocabulary: int


@dataclass(frozen=True)
class SplitRule:
    """Rows to hold out where a split has no file of its own. They are drawn from train, or from all rows."""

    dev_rows: int | None = None
    """Rows of dev, for a train set of `of_rows`; of another size, the same share."""
    test_rows: int | None = None
    of_rows: int | None = None
    """Rows that dev and test are drawn from, as in the original dataset."""
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
    """Where the Hugging Face hub has the dataset, and what differs there."""

    id: str
    text: str = "text"
    label: str = "label"
    labels: dict[str, str] = field(default_factory=dict)
    """Their name of a label to ours; without an entry it is the same name."""


@dataclass(frozen=True)
class Card:
    """What is known about a dataset."""

    name: str
    title: str = ""
    source: str = ""
    """Who made it and where it is described."""
    hub_source: Hub | None = None
    files: dict[str, str] = field(default_factory=dict)
    """Split to file name. `all` is a split that dev and test are taken from."""
    format: str = "table"
    """What the files are: `table`, by their ending, or `trees`, one bracketed tree a line."""
    text: str = "text"
    label: str = "label"
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of their codes 0, 1, ..."""
    cleaning: str = "paper"
    threshold: int = 0
    """The paper's low-frequency threshold: words seen more often than this are kept."""
    max_words: int = 256
    vocabulary_over: str = "train"
    """Where the paper counts words: `train` or `all` splits."""
    split: SplitRule = field(default_factory=SplitRule)
    paper: PaperRow | None = None
    vocabulary_note: str = ""
    """What is known about how the paper counted its vocabulary, where ours differs."""
    licence: str = ""
    citation: str = ""
    standin: bool = False
    """The data is not the paper's but something like it; `note` says what."""
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
    """The datasets that have a card, sorted; those of other packages may turn out to be broken."""
    return sorted({*own_cards(), *_points()})


def own_cards() -> list[str]:
    """The datasets that vmask itself has a card of, sorted."""
    return sorted(path.stem for path in _CARDS.glob("*.yaml"))


def working_cards() -> dict[str, Card]:
    """The cards by name, without those of other packages that are broken, which are said."""
    own = own_cards()
    return {name: load_card(name) for name in card_names() if name in own or works(partial(load_card, name))}


def load_card(name: str) -> Card:
    """The card of a dataset.

    Raises:
        UnknownName: with the nearest name.
        PluginError: if another package's card cannot be used.
    """
    if name in own_cards():
        return override(Card(name=name), _CARDS / f"{name}.yaml")
    folder = card_folder(name)
    if folder is None:
        raise UnknownName("dataset", name, card_names())
    try:
        return override(Card(name=name), folder / CARD)
    except (DataError, OSError) as error:
        raise broken("dataset", _points()[name], error) from error


def card_folder(name: str) -> Path | None:
    """The folder in which another package has the card of a dataset, and perhaps its files; None for other names.

    Raises:
        PluginError: if that package has no such folder.
    """
    point = _points().get(name)
    if point is None:
        return None
    try:
        spec = find_spec(point.value)
    except (Exception, SystemExit) as error:
        raise broken("dataset", point, error) from error
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if Path(place, CARD).is_file():
            return Path(place)
    raise broken("dataset", point, FileNotFoundError(f"'{point.value}' is no folder with a {CARD}"))


def _points() -> dict[str, EntryPoint]:
    return points_of("vmask.datasets", "dataset", own_cards())


def override(card: Card, path: str | Path) -> Card:
    """The card with the fields that a YAML file gives in place of its own.

    Raises:
        DataError: for a file that is not YAML, a field that does not exist (with the nearest), or a wrong
            value.
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
    """A frozen dataclass with some fields set from YAML, strictly."""
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
            known = ["hub" if known == "hub_source" else known for known in types]
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
    """Check a value against the annotation of its field, as it is written."""
    if value is None and kind.endswith("| None"):
        return None
    wanted: dict[str, Any] = {"str": str, "int": int, "bool": bool, "dict": dict, "tuple": list}
    base = wanted[kind.removesuffix(" | None").partition("[")[0]]
    if not isinstance(value, base) or (base is int and isinstance(value, bool)):
        raise DataError(f"'{name}' is {value!r}; it must be of type {base.__name__}.")
    inner = [*value, *value.values()] if base is dict else value if base is list else []
    if any(isinstance(one, bool) for one in inner):
        raise DataError(f"'{name}' has a true or false in it: YAML reads yes and no so. Put quotes around them.")
    if base is dict:
        return {str(k): str(v) for k, v in value.items()}
    return tuple(str(v) for v in value) if base is list else value
