"""Files of explanations, a line of JSON each: read them, or write one that can be gone on with when it is cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from vmask._core.files import sync, to_json, write_text
from vmask._core.locks import lock
from vmask._core.parsing import read_json, read_json_lines
from vmask.data.readers import existing
from vmask.errors import DataError, OutputExists, VmaskError
from vmask.explain.contract import Explanation
from vmask.text.words import readable


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
    for number, value in read_json_lines(path):
        try:
            explanation = Explanation.from_dict(value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(
                f"Line {number} of '{path}' is not an explanation: {what}. Remove it, or make the file anew."
            ) from None
        yield explanation


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
        goes_on: whether the same was asked before, and cut off.

    Raises:
        OutputExists: where the file is there, or an unfinished one that was asked for otherwise.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], overwrite: bool = False) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.side = side_of(path)
        self.asked = json.loads(json.dumps(asked))
        self.overwrite = overwrite
        if path.is_dir():
            raise OutputExists(f"{path} is a folder. Name a file.")
        if self.part.exists():
            with self._alone():  # only a look; it is let go at once
                pass
        self.source, self.done = self._there_already()
        same = not overwrite and self._asked_before() == self.asked
        self.goes_on = same and (self.done > 0 or not path.exists() or self.source == path)
        if self.source == self.part and self.done:
            self._check_asked()
        elif path.exists() and not overwrite and not self.goes_on:  # with lines in the part, replacing it was begun
            raise OutputExists(f"{path} exists. Choose another file, or add --overwrite to replace it.")

    def _there_already(self) -> tuple[Path, int]:
        """The file that has explanations to begin with, and how many; all of them where only the end was cut off."""
        if self.overwrite:
            return self.part, 0
        if self.part.exists():
            return self.part, _lines(self.part)
        return (self.path, _lines(self.path)) if self.path.exists() and self.side.exists() else (self.part, 0)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from writing, where the system can.

        Raises:
            OutputExists: where another process is writing, or was until now.
        """
        with self.part.open("ab") as stream:
            free = lock(stream.fileno())
            with suppress(FileNotFoundError):  # the other may have renamed it
                free = free and os.path.samestat(self.part.stat(), os.fstat(stream.fileno()))
            if not free or not self.part.exists():
                raise OutputExists(
                    f"Another process is writing {self.part}. Wait until it is done, or choose another file."
                )
            yield

    def _asked_before(self) -> dict[str, Any] | None:
        """What the explanations that are there were asked for, None where that cannot be read."""
        try:
            return dict(read_json(self.side))
        except (OSError, VmaskError, ValueError, TypeError):
            return None

    def _check_asked(self) -> None:
        """Refuse to go on with explanations of another kind."""
        way_out = f"Choose another file than {self.path}, or add --overwrite to start anew."
        before = self._asked_before()
        if before is None:
            raise OutputExists(
                f"{self.part} holds {self.done:,} explanations, and {self.side.name}, which said what they are, cannot "
                f"be read. {way_out}"
            )
        names = [name for name in {**before, **self.asked} if before.get(name) != self.asked.get(name)]
        if names:
            what = "; ".join(f"{name} {_short(before.get(name))}, now {_short(self.asked.get(name))}" for name in names)
            raise OutputExists(
                f"{self.part} holds {self.done:,} explanations that were asked otherwise: {what}. {way_out}"
            )

    def filled(
        self,
        texts: Iterable[str],
        explain: Callable[[Iterator[str]], Iterable[Explanation]],
        at_once: int,
        through: Callable[[Iterator[Explanation]], Iterator[Explanation]] = iter,
    ) -> Iterator[Explanation]:
        """All explanations in order: those that are there, then new ones, each written before it is given on.

        Args:
            texts: what is explained, from the first text on.
            explain: explains texts.
            at_once: number of texts that it works on together. Their company may decide the last digit of a score, so
                it is started at a multiple of this and the file ends up the same, byte by byte, as one never cut off.
            through: what they pass on their way, such as a page that shows them; the file gets its name after that, so
                that both are made again where this is cut off.

        Raises:
            DataError: where the texts are not those that are there, or a line is damaged.
        """
        rest = iter(texts)
        if self.source == self.path:  # whole; only the end was cut off
            yield from through(self._there(rest))
            if next(rest, None) is not None:
                raise DataError(
                    f"{self.path} holds {self.done:,} explanations, but the input has more texts. Give the same texts, "
                    "or add --overwrite to start anew."
                )
            self.side.unlink()
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._alone():
            if (self.source, self.done) != self._there_already():
                raise OutputExists(
                    f"Another process has written {self.path} since this one was started. Run the command again."
                )
            yield from through(self._added(rest, explain, at_once))
            sync(self.part)
            self.part.replace(self.path)
            sync(self.path.parent)
            self.side.unlink()

    def _there(self, texts: Iterator[str]) -> Iterator[Explanation]:
        """The explanations that are there, while their texts are taken from `texts`."""
        if not self.done:
            return
        way_out = f"Give the same texts to go on, or add --overwrite to start {self.path} anew."
        for number, explanation in enumerate(islice(read_explanations(self.source), self.done), 1):
            text = next(texts, None)
            if text is None:
                raise DataError(
                    f"{self.source} holds {self.done:,} explanations, but the input has {number - 1:,} texts. {way_out}"
                )
            if readable([text]) != [explanation.text]:
                raise DataError(f"Line {number} of {self.source} explains another text than the input has. {way_out}")
            yield explanation

    def _added(
        self, texts: Iterator[str], explain: Callable[[Iterator[str]], Iterable[Explanation]], at_once: int
    ) -> Iterator[Explanation]:
        """Those that are there, then new ones, which are added to the part."""
        again: list[str] = []
        for explanation in self._there(texts):
            again = [*again, explanation.text] if len(again) + 1 < at_once else []
            yield explanation
        with self.part.open("a+b") as stream:
            _drop_torn(stream, keep=self.done)
            write_text(self.side, to_json(self.asked))  # after lines that were asked otherwise are gone
            try:
                for explanation in islice(explain(chain(again, texts)), len(again), None):
                    stream.write(f"{explanation.to_json()}\n".encode())
                    stream.flush()  # a process that is killed loses nothing that was given on
                    yield explanation
            except BaseException:
                if not stream.tell():  # nothing to go on with, so leave nothing behind
                    self.side.unlink()
                    self.part.unlink()
                raise


def side_of(path: Path) -> Path:
    """The file beside explanations in the making that says what was asked; it goes when all is done."""
    return path.with_name(f"{path.name}.part.json")


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
