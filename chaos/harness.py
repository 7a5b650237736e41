"""Run a case in a fork of a process that has already imported vmask, within limits of time and memory."""

from __future__ import annotations

import faulthandler
import io
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60.0
"""A case that takes longer hangs."""
MEMORY_MB = 3000
"""What a case may allocate beyond what its parent has."""
LINES = 2
"""Lines of an error message, at most."""
NOTE = b"\0failure\0"


@dataclass(frozen=True)
class Case:
    """An attack.

    Attributes:
        name: unique in its suite; the same in every run.
        run: does it, in an empty folder of its own that is the current one. Returns what is wrong, None where all is
            well. An exception is a failure too.
        seconds: time limit.
        memory_mb: memory limit, beyond what the parent process has.
    """

    name: str
    run: Callable[[Path], str | None]
    seconds: float = SECONDS
    memory_mb: int = MEMORY_MB


@dataclass(frozen=True)
class Outcome:
    """What came of a case: its name, what failed (None: nothing), and the seconds that it took."""

    name: str
    failure: str | None
    seconds: float


@dataclass(frozen=True)
class Result:
    """What a command answered."""

    code: int
    out: str
    err: str


def run_case(case: Case) -> Outcome:
    """Run a case in a fork, and end it with everything that it started."""
    folder = Path(tempfile.mkdtemp(prefix="vmask-chaos-"))
    started = time.perf_counter()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(case, folder, writer)
    with suppress(OSError):  # it may have done so itself
        os.setpgid(child, child)
    os.close(writer)
    note, late = _read(reader, case.seconds)
    os.close(reader)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    failure = f"hangs: longer than {case.seconds:g} s" if late else _failure(note, status)
    return Outcome(case.name, failure, time.perf_counter() - started)


def sample(cases: Sequence[Case], share: float, seed: int) -> list[Case]:
    """Some of the cases, in their order, the same for the same seed."""
    drawn = random.Random(seed).sample(range(len(cases)), max(1, round(share * len(cases))))
    return [cases[i] for i in sorted(drawn)]


def command(*words: str, stdin: bytes = b"") -> Result:
    """Run `vmask WORDS` in this process, which must be a fork of its own, with standard streams in files.

    `SystemExit`, as argparse leaves, is an exit code like another.
    """
    from vmask.cli import main

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        saved = [os.dup(number) for number in range(3)]
        for number, stream in enumerate((given, out, err)):
            os.dup2(stream.fileno(), number)
        streams = sys.stdin, sys.stdout, sys.stderr
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(
            io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True
        )
        try:
            code = main(list(words))
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        except BaseException:  # what gets through `main` is a traceback on the screen and code 1
            traceback.print_exc()
            code = 1
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, copy in enumerate(saved):
                os.dup2(copy, number)
                os.close(copy)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Result(code, *texts)


def wrong(result: Result, codes: Sequence[int] = (0, 2)) -> str | None:
    """What is wrong with an answer: another exit code, a traceback, an error of more than two lines; None if nothing.

    Warnings and talk may stand before the error.
    """
    if result.code not in codes:
        return f"exit code {result.code}: {result.err[-300:]}"
    if "Traceback (most recent call last)" in result.err + result.out:
        return f"traceback: {result.err[-300:]}"
    if result.code == 2:
        lines = result.err.splitlines()
        start = max((i for i, line in enumerate(lines) if line.startswith("error: ")), default=None)
        if start is None:
            return f"exit code 2 without an error message: {result.err[-300:]}"
        if len(lines) - start > LINES:
            return f"an error of {len(lines) - start} lines: {result.err[-300:]}"
    return None


def _in_child(case: Case, folder: Path, writer: int) -> None:
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        faulthandler.disable()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = _address_space() + (case.memory_mb << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        failure = case.run(folder)
    except MemoryError:
        failure = f"asks for more than {case.memory_mb} MB"
    except BaseException:
        failure = traceback.format_exc(limit=-4)
    try:
        os.write(writer, NOTE + (failure or "").encode("utf-8", "replace")[:4000])
    finally:
        os._exit(0)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _read(reader: int, seconds: float) -> tuple[bytes, bool]:
    """The note of a child, and whether it was too late."""
    end, note = time.monotonic() + seconds, b""
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return note, True
        block = os.read(reader, 1 << 16)
        note += block
        if not block or note.startswith(NOTE):
            return note, False


def _failure(note: bytes, status: int) -> str | None:
    if note.startswith(NOTE):
        return note.removeprefix(NOTE).decode("utf-8", "replace") or None
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)}"
    return f"left without an answer, exit code {os.waitstatus_to_exitcode(status)}"
