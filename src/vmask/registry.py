"""Names of plug-ins, read from file names and first docstring lines, so that listing them imports nothing.

A room such as `vmask.masks` holds one file per plug-in. The file's name is the plug-in's name, the first line of its
docstring is the description, and `@MASKS.register("name")` on its class makes the link. Files without that line are
no plug-ins. Other packages add theirs by an entry point in the group of the room, e.g.
`[project.entry-points."vmask.masks"] mine = "my_package.mine:Mine"`; a notebook calls `MASKS.register` itself.

What another package adds may be broken. Then whoever asks for it gets a `PluginError` that names the package, and
whoever goes over all there is (`Registry.working`) gets the others, and a line in the log.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from vmask.errors import PluginError, UnknownName

T = TypeVar("T")
GROUPS = ("vmask.masks", "vmask.models", "vmask.explain", "vmask.metrics", "vmask.datasets")
"""Groups of entry points by which other packages add to vmask."""

log = logging.getLogger(__name__)
_said: set[str] = set()


@lru_cache
def _plugin_files(folder: Path) -> dict[str, Path]:
    """By name, the files of a room that register a plug-in of their own name."""
    files = {path.stem: path for path in sorted(folder.glob("*.py"))}
    return {name: path for name, path in files.items() if f'.register("{name}")' in path.read_text(encoding="utf-8")}


class Registry(Generic[T]):
    """The plug-ins of one room.

    Args:
        kind: what one of them is called in messages, e.g. "mask".
        package: the room, e.g. "vmask.masks"; also the entry-point group.
        contract: name of the class in the room's `contract.py` that every plug-in derives from. Where that file has a
            function `check_plugin`, it is called with the name of a plug-in of another package, and says what is wrong.
    """

    def __init__(self, kind: str, package: str, contract: str) -> None:
        self.kind = kind
        self.package = package
        self.contract = contract
        self._folder = Path(__file__).parent.joinpath(*package.split(".")[1:])
        self._loaded: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator that files the class under `name`.

        Raises:
            PluginError: if vmask itself has one of that name.
        """

        def keep(cls: type[T]) -> type[T]:
            if name in self.own() and cls.__module__ != f"{self.package}.{name}":
                raise PluginError(f"vmask has a {self.kind} '{name}' of its own. Choose another name for yours.")
            self._loaded[name] = cls
            return cls

        return keep

    def own(self) -> list[str]:
        """The names of vmask's own plug-ins, sorted."""
        return sorted(self._files())

    def _files(self) -> dict[str, Path]:
        return _plugin_files(self._folder)

    def _points(self) -> dict[str, EntryPoint]:
        return points_of(self.package, self.kind, self.own())

    def names(self) -> list[str]:
        """All names, sorted; those of other packages may turn out to be broken."""
        return sorted({*self.own(), *self._loaded, *self._points()})

    def working(self) -> list[str]:
        """All names but those of broken plug-ins, which are said; plug-ins of other packages are imported."""
        own = self.own()
        return [name for name in self.names() if name in own or works(partial(self.get, name))]

    def describe(self, name: str) -> str:
        """One line about `name`, read without importing it where it is one of our own files."""
        return self.document(name).partition("\n")[0]

    def document(self, name: str) -> str:
        """All that the docstring of its file says about `name`, which is read likewise.

        Of another package's plug-in whose file has another name, the docstring of the class comes first.
        """
        files = self._files()
        if name in files and name not in self._loaded:
            return ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or ""
        cls = self.get(name)
        module = sys.modules.get(cls.__module__)
        found = [module.__doc__ if module else None, cls.__doc__]
        if cls.__module__.rpartition(".")[2] != name:
            found.reverse()
        return inspect.cleandoc(next(filter(None, found), ""))

    def get(self, name: str) -> type[T]:
        """The class filed under `name`.

        Raises:
            UnknownName: with the nearest known name.
            PluginError: if another package's plug-in cannot be used.
        """
        if name not in self._loaded:
            if name in self._files():
                importlib.import_module(f"{self.package}.{name}")
            elif name in (points := self._points()):
                self._load(points[name])
        if name not in self._loaded:
            raise UnknownName(self.kind, name, self.names())
        return self._loaded[name]

    def _load(self, point: EntryPoint) -> None:
        """Import another package's plug-in, and see that it is one."""
        contract = importlib.import_module(f"{self.package}.contract")
        base = getattr(contract, self.contract)
        check = getattr(contract, "check_plugin", None)
        try:
            cls: Any = point.load()
            if not isinstance(cls, type) or not issubclass(cls, base):
                raise TypeError(f"'{point.value}' is no subclass of {base.__module__}.{base.__name__}")
            if not dataclasses.is_dataclass(getattr(cls, "Options", None)):
                raise TypeError(f"'{point.value}' has no dataclass `Options`")
            self._loaded[point.name] = cls
            if check is not None:
                check(point.name)
        except (Exception, SystemExit) as error:
            self._loaded.pop(point.name, None)
            raise broken(self.kind, point, error) from error


def points_of(group: str, kind: str, own: Collection[str]) -> dict[str, EntryPoint]:
    """The entry points of a group by name; of a name that is taken, the others are said and left out.

    Args:
        group: of entry points.
        kind: what one of them is called in messages.
        own: names that vmask has itself.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(
        _found(entry_points, group, tuple(sys.path)), key=lambda one: (one.name, package_of(one), one.value)
    ):
        if point.name in own or (point.name in found and found[point.name].value != point.value):
            first = "vmask" if point.name in own else f"the package {package_of(found[point.name])}"
            say_once(
                f"The package {package_of(point)} has a {kind} '{point.name}', and so has {first}, whose is used. "
                "Uninstall one of them, or ask its makers for another name."
            )
            continue
        found[point.name] = point
    return found


def added() -> list[EntryPoint]:
    """All that other packages add."""
    return [point for group in GROUPS for point in _found(entry_points, group, tuple(sys.path))]


@lru_cache
def _found(find: Callable[..., Iterable[EntryPoint]], group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of a group. Looking through all that is installed takes long, and a grid asks for every cell."""
    return tuple(find(group=group))


def package_of(point: EntryPoint) -> str:
    """The name of the package that an entry point is from."""
    return point.dist.name if point.dist is not None else point.value.partition(".")[0].partition(":")[0]


def broken(kind: str, point: EntryPoint, error: BaseException) -> PluginError:
    """The error for a plug-in that cannot be used, in one line."""
    what = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return PluginError(
        f"The {kind} '{point.name}' of the package {package_of(point)} cannot be used: {what}. Update that package, or "
        "uninstall it."
    )


def works(load: Callable[[], object]) -> bool:
    """Whether a plug-in can be had; what is wrong with it is said once."""
    try:
        load()
    except PluginError as error:
        say_once(str(error))
        return False
    return True


def say_once(message: str) -> None:
    """Log a warning, once in the life of a process."""
    if message not in _said:
        _said.add(message)
        log.warning("%s", message)
