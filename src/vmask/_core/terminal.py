"""What is written to a terminal has no control characters of texts, labels or names in it; files and pipes keep them.

A terminal obeys them: a text could clear the screen, write to the clipboard, or show another line than it is. Streams
are cleaned as a whole (`safe_streams`), whoever writes to them. Rich writes control characters of its own, so its
consoles are made here (`make_console`): they clean what they are given and write past the cleaned stream.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# All of ASCII and Latin-1 but tab and line feed, and what turns the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STAND_IN = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    r"""The text with every control character replaced by one that is seen; tabs and line feeds stay.

    >>> clean("a\tb\x1b[2J")
    'a\tb�[2J'
    """
    return _CONTROL.sub(STAND_IN, text)


class Cleaned:
    """A stream to a terminal that cleans what is written to it.

    A carriage return that begins a write stays, for progress bars of libraries: nothing of a line is before it.

    Attributes:
        rich_proxied_file: the stream itself, where consoles of rich look for it.
    """

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, cleaned."""
        start = "\r" * text.startswith("\r")
        return int(self.rich_proxied_file.write(start + clean(text[len(start) :])))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, cleaned."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class Lasting:
    """A stream whose errors end no work: once its reader has left, or its disk is full, what is written is dropped.

    Args:
        stream: what is written to.
        errors: those that do not matter.
    """

    def __init__(self, stream: Any, errors: type[OSError]) -> None:
        self._stream, self._errors = stream, errors

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            return int(self._stream.write(text))
        except self._errors:
            drop_output(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write out what waits, or drop it."""
        try:
            self._stream.flush()
        except self._errors:
            drop_output(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drop_output(stream: Any) -> None:
    """Let what waits in a stream, and all that comes, go nowhere: Python would fail over it when it ends."""
    with suppress(OSError, ValueError, AttributeError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def safe_streams(keep_working: bool = False) -> Iterator[None]:
    """Standard streams that are there, that no text commands, and whose readers may leave.

    A stream that was closed is empty, or goes nowhere. What is written to a terminal is cleaned. Errors of standard
    error never end the work.

    Args:
        keep_working: whether a reader of standard output that leaves makes no difference either: what the command is
            run for are files.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    with ExitStack() as stack:
        given, out, err = (
            stack.enter_context(open(os.devnull, mode, encoding="utf-8")) if stream is None else stream  # noqa: PTH123
            for stream, mode in zip(before, ("r", "w", "w"), strict=True)
        )
        out = Lasting(out, BrokenPipeError) if keep_working else out
        err = Lasting(err, OSError)
        sys.stdin = given
        sys.stdout, sys.stderr = (Cleaned(stream) if is_terminal(stream) else stream for stream in (out, err))
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


def is_terminal(stream: Any) -> bool:
    """Whether a person reads what is written."""
    return stream is not None and bool(stream.isatty())


def make_console(**named: Any) -> Console:
    """A console of rich whose colours and movements reach a terminal, and nothing of the kind in what it shows.

    Args:
        named: as `rich.console.Console` takes them.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class CleanedConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            segments = super().render(renderable, options)
            if not is_terminal(self.file):
                return segments
            return (one if one.control else Segment(clean(one.text), one.style) for one in segments)

        def on_broken_pipe(self) -> None:  # rich would leave with code 1; the command line knows better
            raise BrokenPipeError

    return CleanedConsole(**named)


def tell(text: str) -> None:
    """A line on standard error, cleaned where that is a terminal, even while a progress bar of rich listens there."""
    print(clean(text) if is_terminal(sys.stderr) else text, file=sys.stderr)  # noqa: T201
