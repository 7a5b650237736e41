"""The numbers that the paper prints, to hold ours against. They are typed in, in a YAML file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from vmask._core.parsing import read_yaml
from vmask.errors import DataError, FileMissing, UnknownName, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """The paper that the numbers are from."""

    title: str
    authors: list[str]
    venue: str
    year: int


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper, or numbers that its text gives together."""

    label: str
    """Its LaTeX label; that of the section for numbers of the text."""
    title: str
    unit: str
    rows: dict[str, Any]
    """Mappings in mappings down to numbers or words, and lists where a word can come twice."""
    number: int | None = None
    """Table 3 is 3; None for numbers of the text."""
    note: str = ""


@dataclass(frozen=True)
class Published:
    """What the paper printed."""

    source: Source
    tables: Mapping[str, PublishedTable]

    def table(self, name: str) -> PublishedTable:
        """A table by its name in the file, such as `accuracy`.

        Raises:
            UnknownName: with the nearest name.
        """
        if name not in self.tables:
            raise UnknownName("published table", name, self.tables)
        return self.tables[name]

    def number(self, table: str, *keys: str) -> float | None:
        """A number of a table, or None where the paper prints none.

        Args:
            table: its name in the file, such as `accuracy`.
            keys: the way to the number, such as `cnn`, `vmask`, `imdb`. Places in a list are "0", "1", ...

        Raises:
            UnknownName: for a table that is not there.
            DataError: where the way ends before a number.
        """
        node: Any = self.table(table).rows
        for key in keys:
            node = _inside(node).get(key)
        if inside := _inside(node):
            raise DataError(f"'{' '.join((table, *keys))}' is more than one number. Add one of: {', '.join(inside)}.")
        return None if node is None or isinstance(node, str) else float(node)

    def cells(self, table: str) -> Iterator[tuple[tuple[str, ...], float]]:
        """Every number of a table with its keys, as `number` takes them, in the order of the file.

        Raises:
            UnknownName: for a table that is not there.
        """
        return _numbers(self.table(table).rows, ())


def load_published(path: Path) -> Published:
    """Read the file of published numbers.

    Raises:
        FileMissing: where there is no such file.
        DataError: for a file that is not YAML or lacks something, and for a value that is no number and no word.
    """
    try:
        values = read_yaml(path)
    except FileMissing:
        raise FileMissing(f"There is no file '{path}'. Name the file of published numbers.") from None
    try:
        top = _checked(values, {"source": "dict", "tables": "dict"}, {"source", "tables"}, "")
        _check_values(top["tables"], "tables")
        tables = {name: _build(PublishedTable, table, f"tables.{name}.") for name, table in top["tables"].items()}
        return Published(source=_build(Source, top["source"], "source."), tables=tables)
    except DataError as error:
        raise DataError(f"The published numbers in '{path}' cannot be used: {error}") from None


def _inside(node: Any) -> dict[str, Any]:
    """What a node holds by key; nothing for a number or a word."""
    if isinstance(node, list):
        return {str(place): value for place, value in enumerate(node)}
    return node if isinstance(node, dict) else {}


def _numbers(node: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    for key, value in _inside(node).items():
        yield from _numbers(value, (*keys, key))
    if isinstance(node, (int, float)):
        yield keys, float(node)


def _build(cls: type[T], values: Any, prefix: str) -> T:
    """A dataclass from a mapping of the file, strictly."""
    known = fields(cls)  # type: ignore[arg-type]
    needed = {f.name for f in known if f.default is MISSING}
    return cls(**_checked(values, {f.name: str(f.type) for f in known}, needed, prefix))


def _checked(values: Any, types: Mapping[str, str], needed: set[str], prefix: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        what = f"'{prefix.rstrip('.')}'" if prefix else "the file"
        raise DataError(f"make {what} a mapping with {', '.join(types)}.")
    for name, value in values.items():
        if name not in types:
            near = did_you_mean(str(name), types)
            raise DataError(f"there is no field '{prefix}{name}'.{near} Known: {', '.join(types)}.")
        base = {"str": str, "int": int, "dict": dict, "list": list}[types[name].removesuffix(" | None").split("[")[0]]
        if not isinstance(value, base) or isinstance(value, bool):
            raise DataError(f"'{prefix}{name}' is {value!r}; make it of type {base.__name__}.")
        if not value and not isinstance(value, int):
            raise DataError(f"'{prefix}{name}' is empty; fill it in.")
    if missing := [name for name in types if name in needed and name not in values]:
        raise DataError(f"'{prefix}{missing[0]}' is missing; add it.")
    return values


def _check_values(node: Any, where: str) -> None:
    """Every key is a word, and every value at the end of the keys is a number or a text."""
    for key, value in _inside(node).items():
        if not isinstance(key, str):
            raise DataError(f"'{where}' has the key {key!r}, which is no word. Put quotes around it.")
        _check_values(value, f"{where}.{key}")
    if node is None:
        raise DataError(f"'{where}' is empty. Leave out what the paper does not print; quote a text with a comma.")
    if isinstance(node, bool):
        raise DataError(f"'{where}' is true or false: YAML reads yes and no so. Put quotes around it.")
    number = not isinstance(node, float) or math.isfinite(node)
    if not isinstance(node, (dict, list, str, int, float)) or not number or _like_a_number(node):
        raise DataError(f"'{where}' is {node!r}; write numbers in full, such as 89.06, 20000 or 0.0001.")


def _like_a_number(node: Any) -> bool:
    """Whether a text was meant as a number: YAML reads 20K and 1e-4 as words."""
    return isinstance(node, str) and re.fullmatch(r"[-+.]*\d\S*", node) is not None
