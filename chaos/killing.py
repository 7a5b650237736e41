"""Kill a process right before its Nth file operation, and see what the operations are.

Operations are seen by an audit hook: files opened for writing, renamed, removed, linked, cut; folders made and removed.
Calls that write from compiled code, or that force files to the disk, are wrapped. A file that is opened for writing
gives two points: before, and right after, when it is empty; a file written by compiled code a third, when half of it is
there.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
REMOVES = ("os.remove", "os.rmdir")
MOVES = ("os.rename", "os.link", "os.symlink")
NATIVE = ("safetensors.torch", "safetensors.numpy")
"""Modules whose `serialize_file` writes from compiled code."""


@dataclass(frozen=True)
class Point:
    """A moment at which a process can be killed.

    Attributes:
        number: of the operation, from 0 on.
        kind: what is about to be done, such as `rename`; `opened` and `half written` are right after it has begun.
        path: what it is done to, from the watched folder on, without what is drawn at random in the names of files.
    """

    number: int
    kind: str
    path: str

    def __str__(self) -> str:
        return f"point {self.number:03} {self.kind} {self.path}"


def points_of(work: Callable[[], None], folder: Path) -> list[Point]:
    """The points of what is done in a folder, by doing it once, in a fork.

    Raises:
        RuntimeError: where it fails.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            try:
                watch = _Watch(folder)
                watch.begin()
                work()
                watch.end()
                stream.write("".join(f"{one.number}\t{one.kind}\t{one.path}\n" for one in watch.points))
                code = 0
            except BaseException:
                traceback.print_exc()
                code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError(f"It fails without being killed: code {code}.")
    return [Point(int(number), kind, path) for number, kind, path in rows]


def killed_at(point: Point, work: Callable[[], None], folder: Path) -> str | None:
    """Do it in a fork that is killed at a point. Returns what is wrong where it ended otherwise."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            _Watch(folder, point).begin()
            work()
        os._exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == -signal.SIGKILL else f"was not killed: it ended with code {code} before {point}"


class _Watch:
    """Numbers the operations under a folder, from `begin` to `end`, and kills its process at one of them."""

    def __init__(self, folder: Path, kill: Point | None = None) -> None:
        self.folder = folder.resolve()
        self.kill = kill
        self.points: list[Point] = []
        self.number, self.on = 0, False

    def begin(self) -> None:
        self._wrap_native()
        sys.addaudithook(self._hook)
        self.on = True

    def end(self) -> None:
        self.on = False

    def _hook(self, event: str, args: tuple) -> None:
        if not self.on:
            return
        if event == "open":
            self._open(*args)
        elif event in REMOVES:
            self._see(event, args[0], args[1])
        elif event in MOVES:
            self._see(event, args[1], args[-1])
        elif event in ("os.mkdir", "os.truncate"):
            self._see(event, args[0], args[2] if event == "os.mkdir" else -1)

    def _open(self, path: object, mode: str | None, flags: int) -> None:
        if not flags & WRITES or flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
            return
        if (inside := self._inside(path, -1)) is None:
            return

        def begun() -> None:
            os.close(os.open(inside, (flags | os.O_CREAT) & ~os.O_CLOEXEC, 0o600))

        self._pass("open", inside, opened=begun)

    def _see(self, event: str, path: object, parent: int) -> None:
        if (inside := self._inside(path, parent)) is not None:
            self._pass(event.removeprefix("os."), inside)

    def _inside(self, path: object, parent: int) -> str | None:
        """The absolute path of an operation under the folder; None elsewhere."""
        if isinstance(path, int):
            return None
        name = Path(os.fsdecode(path))
        if parent is not None and parent >= 0:  # a file of an open folder
            name = Path(f"/proc/self/fd/{parent}").readlink() / name
        full = name.parent.resolve() / name.name
        return str(full) if full.is_relative_to(self.folder) and full != self.folder else None

    def _pass(self, kind: str, path: str, **then: Callable[[], None]) -> None:
        """Give an operation its number; `then` are moments after it has begun, each with what brings it about."""
        self.on = False  # what is done here is none of the work
        shown = _plain(os.path.relpath(path, self.folder))
        for what in (kind, *then):
            point = Point(self.number, what.replace("_", " "), shown)
            if self.kill is not None and (self.kill.number, self.kill.kind) == (point.number, point.kind):
                if what in then:
                    then[what]()
                os.kill(os.getpid(), signal.SIGKILL)
            self.points.append(point)
        self.number += 1
        self.on = True

    def _wrap_native(self) -> None:
        sync = os.fsync

        def fsync(file) -> None:
            number = file if isinstance(file, int) else file.fileno()
            if self.on and (inside := self._inside(Path(f"/proc/self/fd/{number}").readlink(), -1)) is not None:
                self._pass("sync folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "sync", inside)
            sync(file)

        os.fsync = fsync
        for name in NATIVE:
            self._wrap_serialize(importlib.import_module(name))

    def _wrap_serialize(self, module) -> None:
        write = module.serialize_file

        def serialize_file(tensors, path, *rest, **more) -> None:
            def half() -> None:
                write(tensors, path, *rest, **more)
                os.truncate(path, Path(path).stat().st_size // 2)

            if self.on and (inside := self._inside(path, -1)) is not None:
                self._pass("write", inside, half_written=half)
            write(tensors, path, *rest, **more)

        module.serialize_file = serialize_file


def _plain(path: str) -> str:
    """A path without what is drawn at random, or the number of a process, in the names of temporary files."""
    return re.sub(r"\.[0-9a-f]{8}-\d+-\w+\.(tmp|old)(?=[./]|$)", r".*.\1", path)
