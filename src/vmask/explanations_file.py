"""Files of explanations, a line of JSON each: read them, or write one that can be gone on with when it is cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from vmask.data.readers import existing
from vmask.data.words import whole_characters
from vmask.errors import DataError, OutputExists
from vmask.explain.contract import Explanation
from vmask.files import to_json, write_text


def read_explanations(path: str | Path) -> Iterator[Explanation]:
    """The explanations of a file that `vmask explain --out` wrote, one after the other.

    Args:
        path: the file; blank lines in it do not matter.

    Raises:
        FileMissing: where there is no such file.
        DataError: for a line that is no explanation, naming file and line.
    """
    return _read(existing(path))


def _read(path: Path) -> Iterator[Explanation]:
    with path.open("rb") as lines:  # bytes end a line at a line feed only; texts may hold other line ends
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield Explanation.from_dict(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
                raise DataError(
                    f"Line {number} of '{path}' is not an explanation: {what}. Remove it, or make the file anew."
                ) from None


class ExplanationsFile:
    """A file of explanations in the making.

    Lines are added to `PATH.part`; beside it `PATH.part.json` says what was asked. At the end the first is renamed to
    `PATH` and the second removed. One that was cut off is taken up where it stands, if the same is asked of the same
    texts.

    Args:
        path: the file in the end.
        asked: all that decides the explanations of a text, as flat JSON values.
        overwrite: drop what is there, be it finished or not.

    Attributes:
        done: number of explanations that are there already.

    Raises:
        OutputExists: where the file is there, or an unfinished one that was asked for otherwise.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], overwrite: bool = False) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.side = path.with_name(f"{path.name}.part.json")
        self.asked = json.loads(json.dumps(asked))
        if path.is_dir():
            raise OutputExists(f"{path} is a folder. Name a file.")
        if self.part.exists():
            with self.part.open("rb") as stream:
                self._lock(stream)  # only a look; it is let go at once
        self.done = _lines(self.part) if self.part.exists() and not overwrite else 0
        if self.done:
            self._check_asked()
        elif path.exists() and not overwrite:  # with lines in the part, replacing it was begun
            raise OutputExists(f"{path} exists. Choose another file, or add --overwrite to replace it.")

    def _lock(self, stream: IO[bytes]) -> None:
        """Keep others from writing while `stream` is open, where the system can.

        Raises:
            OutputExists: where another process is writing.
        """
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputExists(
                f"Another process is writing {self.part}. Wait until it is done, or choose another file."
            ) from None

    def _check_asked(self) -> None:
        """Refuse to go on with explanations of another kind."""
        way_out = f"Choose another file than {self.path}, or add --overwrite to start anew."
        try:
            before = dict(json.loads(self.side.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise OutputExists(
                f"{self.part} holds {self.done:,} explanations, and {self.side.name}, which said what they are, cannot "
                f"be read. {way_out}"
            ) from None
        names = [name for name in {**before, **self.asked} if before.get(name) != self.asked.get(name)]
        if names:
            what = "; ".join(f"{name} {_short(before.get(name))}, now {_short(self.asked.get(name))}" for name in names)
            raise OutputExists(
                f"{self.part} holds {self.done:,} explanations that were asked otherwise: {what}. {way_out}"
            )

    def filled(
        self, texts: Iterable[str], explain: Callable[[Iterator[str]], Iterable[Explanation]], at_once: int
    ) -> Iterator[Explanation]:
        """All explanations in order: those that are there, then new ones, each written before it is given on.

        Args:
            texts: what is explained, from the first text on.
            explain: explains texts.
            at_once: number of texts that it works on together. Their company may decide the last digit of a score, so
                it is started at a multiple of this and the file ends up the same, byte by byte, as one never cut off.

        Raises:
            DataError: where the texts are not those that are there, or a line is damaged.
        """
        rest = iter(texts)
        again: list[str] = []
        for explanation in self._there(rest):
            again = [*again, explanation.text] if len(again) + 1 < at_once else []
            yield explanation
        yield from self._added(islice(explain(chain(again, rest)), len(again), None))
        self.part.replace(self.path)
        self.side.unlink(missing_ok=True)

    def _there(self, texts: Iterator[str]) -> Iterator[Explanation]:
        """The explanations that are there, while their texts are taken from `texts`."""
        if not self.done:
            return
        way_out = f"Give the same texts to go on, or add --overwrite to start {self.path} anew."
        for number, explanation in enumerate(islice(read_explanations(self.part), self.done), 1):
            text = next(texts, None)
            if text is None:
                raise DataError(
                    f"{self.part} holds {self.done:,} explanations, but the input has {number - 1:,} texts. {way_out}"
                )
            if whole_characters([text]) != [explanation.text]:
                raise DataError(f"Line {number} of {self.part} explains another text than the input has. {way_out}")
            yield explanation

    def _added(self, explanations: Iterable[Explanation]) -> Iterator[Explanation]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.part.open("a+b") as stream:
            self._lock(stream)
            _drop_torn(stream, keep=self.done)
            write_text(self.side, to_json(self.asked))  # after lines that were asked otherwise are gone
            try:
                for explanation in explanations:
                    stream.write(f"{explanation.to_json()}\n".encode())
                    stream.flush()  # a process that is killed loses nothing that was given on
                    yield explanation
            except BaseException:
                if not stream.tell():  # nothing to go on with, so leave nothing behind
                    self.part.unlink()
                    self.side.unlink()
                raise


def _lines(path: Path) -> int:
    """Number of explanations in a file, without a last line that was cut off while it was written."""
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") and bool(line.strip()) for line in lines)


def _drop_torn(stream: IO[bytes], keep: int) -> None:
    """Cut all but the first `keep` lines off a file, a line that was torn among them, and go to its end."""
    stream.seek(0)
    end = 0
    while keep and (line := stream.readline()):
        end += len(line)
        keep -= bool(line.strip())
    stream.truncate(end)
    stream.seek(end)


def _short(value: Any) -> str:
    """A value in a message; a digest by its first digits."""
    text = "none" if value is None else str(value)
    return text if len(text) < 40 else f"{text[:12]}…"
