"""Registries of plug-ins, read from file names and docstrings, so that listing them imports nothing.

A room such as `vmask.masks` holds one file per plug-in. The file's name is the plug-in's name, the first line of its
docstring is the description, and `@MASKS.register("name")` on its class makes the link. Files without that line are
not plug-ins. Other packages add theirs by an entry point in the group of the room, e.g.
`[project.entry-points."vmask.masks"] mine = "my_package.mine:Mine"`; a notebook calls `MASKS.register` itself.

A plug-in of another package may be broken. `Registry.get` then raises a `PluginError` that names the package, and
`Registry.working` leaves it out and logs a warning.
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
GROUPS = ("vmask.masks", "vmask.models", "vmask.explain", "vmask.metrics", "vmask.trackers", "vmask.datasets")
"""Groups of entry points by which other packages add to vmask."""

log = logging.getLogger(__name__)
_warned: set[str] = set()


@lru_cache
def _plugin_files(folder: Path) -> dict[str, Path]:
    """The files of a room that register a plug-in of the same name, by name."""
    files = {path.stem: path for path in sorted(folder.glob("*.py"))}
    return {name: path for name, path in files.items() if f'.register("{name}")' in path.read_text(encoding="utf-8")}


class Registry(Generic[T]):
    """The plug-ins of one room.

    Args:
        kind: what a plug-in is called in messages, e.g. "mask".
        package: the room, e.g. "vmask.masks"; also the entry-point group.
        contract: name of the class in the room's `contract.py` that every plug-in derives from. If that file has a
            function `check_plugin`, it is called with the name of each plug-in of another package and raises if the
            plug-in is wrong.
    """

    def __init__(self, kind: str, package: str, contract: str) -> None:
        self.kind = kind
        self.package = package
        self.contract = contract
        self._folder = Path(__file__).parent.joinpath(*package.split(".")[1:])
        self._loaded: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator that registers the class under `name`.

        Raises:
            PluginError: if vmask itself has a plug-in of that name.
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
        return entry_points_by_name(self.package, self.kind, self.own())

    def names(self) -> list[str]:
        """All names, sorted; those of other packages may turn out to be broken."""
        return sorted({*self.own(), *self._loaded, *self._points()})

    def working(self) -> list[str]:
        """All names but those of broken plug-ins, which are logged; plug-ins of other packages are imported."""
        own = self.own()
        return [name for name in self.names() if name in own or loads(partial(self.get, name))]

    def describe(self, name: str) -> str:
        """One line about `name`; vmask's own plug-ins are not imported for it."""
        return self.document(name).partition("\n")[0]

    def document(self, name: str) -> str:
        """The docstring of the file of `name`; vmask's own plug-ins are not imported for it.

        For a plug-in of another package whose file has another name, the docstring of the class is preferred.
        """
        files = self._files()
        if name in files and name not in self._loaded:
            return ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or ""
        cls = self.get(name)
        module = sys.modules.get(cls.__module__)
        docstrings = [module.__doc__ if module else None, cls.__doc__]
        if cls.__module__.rpartition(".")[2] != name:
            docstrings.reverse()
        return inspect.cleandoc(next(filter(None, docstrings), ""))

    def get(self, name: str) -> type[T]:
        """The class registered under `name`.

        Raises:
            UnknownName: with the nearest known name.
            PluginError: if a plug-in of another package cannot be used.
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
        """Import and check a plug-in of another package."""
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
            raise plugin_error(self.kind, point, error) from error


def entry_points_by_name(group: str, kind: str, own: Collection[str]) -> dict[str, EntryPoint]:
    """The entry points of a group by name; if a name is taken, a later one is logged and left out.

    Args:
        group: the group of entry points.
        kind: what a plug-in is called in messages.
        own: names of vmask's own plug-ins.
    """
    points: dict[str, EntryPoint] = {}
    for point in sorted(
        _entry_points(entry_points, group, tuple(sys.path)),
        key=lambda point: (point.name, package_of(point), point.value),
    ):
        if point.name in own or (point.name in points and points[point.name].value != point.value):
            first = "vmask" if point.name in own else f"the package {package_of(points[point.name])}"
            warn_once(
                f"The package {package_of(point)} has a {kind} '{point.name}', and so has {first}, whose is used. "
                "Uninstall one of them, or ask its makers for another name."
            )
            continue
        points[point.name] = point
    return points


def installed_plugins() -> list[EntryPoint]:
    """The entry points of all plug-ins of other packages."""
    return [point for group in GROUPS for point in _entry_points(entry_points, group, tuple(sys.path))]


@lru_cache
def _entry_points(
    find: Callable[..., Iterable[EntryPoint]], group: str, path: tuple[str, ...]
) -> tuple[EntryPoint, ...]:
    """The entry points of a group, cached: searching all installed packages is slow, and a grid asks for every cell."""
    return tuple(find(group=group))


def package_of(point: EntryPoint) -> str:
    """The name of the package that an entry point comes from."""
    return point.dist.name if point.dist is not None else point.value.partition(".")[0].partition(":")[0]


def plugin_error(kind: str, point: EntryPoint, error: BaseException) -> PluginError:
    """The error for a plug-in that cannot be used, in one line."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return PluginError(
        f"The {kind} '{point.name}' of the package {package_of(point)} cannot be used: {reason}. "
        "Update that package, or uninstall it."
    )


def loads(load: Callable[[], object]) -> bool:
    """Whether a plug-in can be loaded; if not, the reason is logged once."""
    try:
        load()
    except PluginError as error:
        warn_once(str(error))
        return False
    return True


def warn_once(message: str) -> None:
    """Log a warning, once per process."""
    if message not in _warned:
        _warned.add(message)
        log.warning("%s", message)
