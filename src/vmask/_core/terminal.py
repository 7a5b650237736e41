"""Remove control characters of texts, labels and names from terminal output; files and pipes keep them.

A terminal obeys them: a text could clear the screen, set the clipboard, or fake another line. `safe_streams` cleans
the standard streams for every writer. Rich writes control characters itself, so `make_console` makes its consoles:
they clean their input and bypass the cleaned stream.
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

# All of ASCII and Latin-1 except tab and line feed, and those that change the writing direction.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STAND_IN = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    r"""Replace every control character by a visible one; tabs and line feeds stay.

    >>> clean("a\tb\x1b[2J")
    'a\tb�[2J'
    """
    return _CONTROL.sub(STAND_IN, text)


class Cleaned:
    """A stream to a terminal that cleans what is written to it.

    A carriage return at the start of a write stays, for progress bars of libraries: it overwrites nothing before it.

    Attributes:
        rich_proxied_file: the original stream, under the name that rich looks for.
    """

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a cleaned text."""
        cleaned = "\r" + clean(text[1:]) if text.startswith("\r") else clean(text)
        return int(self.rich_proxied_file.write(cleaned))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write cleaned lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class Lasting:
    """A stream that drops output after an error, such as a reader that has left or a full disk, and never fails.

    Args:
        stream: the stream to write to.
        errors: the errors to ignore.
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
        """Flush the stream, or drop its buffer."""
        try:
            self._stream.flush()
        except self._errors:
            drop_output(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drop_output(stream: Any) -> None:
    """Redirect a stream to the null device, its buffer included: Python would fail at exit when it flushes it."""
    with suppress(OSError, ValueError, AttributeError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def safe_streams(keep_working: bool = False) -> Iterator[None]:
    """Make the standard streams safe to use.

    A closed stream is replaced by the null device. Output to a terminal is cleaned. Errors of standard error are
    ignored.

    Args:
        keep_working: also ignore that the reader of standard output leaves, for commands whose result is files.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    with ExitStack() as stack:
        stdin, stdout, stderr = (
            stack.enter_context(open(os.devnull, mode, encoding="utf-8")) if stream is None else stream  # noqa: PTH123
            for stream, mode in zip(before, ("r", "w", "w"), strict=True)
        )
        if keep_working:
            stdout = Lasting(stdout, BrokenPipeError)
        sys.stdin = stdin
        sys.stdout, sys.stderr = (
            Cleaned(stream) if is_terminal(stream) else stream for stream in (stdout, Lasting(stderr, OSError))
        )
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal."""
    return stream is not None and bool(stream.isatty())


def make_console(**named: Any) -> Console:
    """A rich console that cleans what it shows; its own colours and cursor movements still reach the terminal.

    Args:
        named: arguments of `rich.console.Console`.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class CleanedConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            segments = super().render(renderable, options)
            if not is_terminal(self.file):
                return segments
            return (segment if segment.control else Segment(clean(segment.text), segment.style) for segment in segments)

        def on_broken_pipe(self) -> None:  # rich would exit with code 1; the command line handles it
            raise BrokenPipeError

    return CleanedConsole(**named)


def tell(text: str) -> None:
    """Print a line on standard error; it is cleaned on a terminal, even while a progress bar of rich replaces it."""
    print(clean(text) if is_terminal(sys.stderr) else text, file=sys.stderr)  # noqa: T201
