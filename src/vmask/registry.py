"""Names of plug-ins, read from file names and first docstring lines, so that listing them imports nothing.

A room such as `vmask.masks` holds one file per plug-in. The file's name is the plug-in's name, the first line of its
docstring is the description, and `@MASKS.register("name")` on its class makes the link. `contract.py` and files that
start with an underscore are not plug-ins. Other packages add theirs by an entry point in the group of the room, e.g.
`[project.entry-points."vmask.masks"] mine = "my_package.mine:Mine"`; a notebook calls `MASKS.register` itself.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar

from vmask.errors import UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """The plug-ins of one room.

    Args:
        kind: what one of them is called in messages, e.g. "mask".
        package: the room, e.g. "vmask.masks"; also the entry-point group.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._folder = Path(__file__).parent.joinpath(*package.split(".")[1:])
        self._loaded: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator that files the class under `name`."""

        def keep(cls: type[T]) -> type[T]:
            self._loaded[name] = cls
            return cls

        return keep

    def _files(self) -> dict[str, Path]:
        return {
            path.stem: path
            for path in sorted(self._folder.glob("*.py"))
            if path.stem != "contract" and not path.stem.startswith("_")
        }

    def _entry_points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.package)}

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted({*self._files(), *self._loaded, *self._entry_points()})

    def describe(self, name: str) -> str:
        """One line about `name`, read without importing it where it is one of our own files."""
        return self.document(name).partition("\n")[0]

    def document(self, name: str) -> str:
        """All that the docstring of its file, or else of its class, says about `name`; read likewise."""
        files = self._files()
        if name in files and name not in self._loaded:
            return ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or ""
        cls = self.get(name)
        module_doc = importlib.import_module(cls.__module__).__doc__ if name in files else None
        return inspect.cleandoc(module_doc or cls.__doc__ or "")

    def get(self, name: str) -> type[T]:
        """The class filed under `name`.

        Raises:
            UnknownName: with the nearest known name.
        """
        if name not in self._loaded:
            if name in self._files():
                importlib.import_module(f"{self.package}.{name}")
            elif name in (points := self._entry_points()):
                self._loaded[name] = points[name].load()
        if name not in self._loaded:
            raise UnknownName(self.kind, name, self.names())
        return self._loaded[name]
