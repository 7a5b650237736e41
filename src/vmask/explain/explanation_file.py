"""Files of explanations in JSON lines: read them, or write one that can be resumed after an interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from vmask._core.files import sync, to_json, write_text
from vmask._core.locks import only_writer_of
from vmask._core.parsing import read_json, read_json_lines
from vmask.data.readers import existing
from vmask.errors import DataError, OutputExists, VmaskError
from vmask.explain.contract import Explanation
from vmask.text.words import readable


def read_explanations(path: str | Path) -> Iterator[Explanation]:
    """Read the explanations of a file that `vmask explain --out` wrote, one by one.

    Args:
        path: the file; blank lines are ignored.

    Raises:
        FileMissing: if the file does not exist.
        DataError: for a line that is not an explanation, with file and line.
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
    """A file of explanations that is being written.

    Lines are appended to `PATH.part`, and `PATH.part.json` records the request. At the end the first is renamed to
    `PATH` and the second removed. An interrupted file is resumed if the request and the texts are the same.

    Args:
        path: the final file.
        asked: the request: all that determines the explanations of a text, as flat JSON values.
        overwrite: discard an existing file, finished or not.

    Attributes:
        done: number of explanations that exist already.
        goes_on: whether the same request was interrupted before.

    Raises:
        OutputExists: if the file exists, or an unfinished one of another request.
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
            with only_writer_of(self.part):  # raises if another process is writing
                pass
        self.source, self.done = self._existing()
        same = not overwrite and self._asked_before() == self.asked
        self.goes_on = same and (self.done > 0 or not path.exists() or self.source == path)
        if self.source == self.part and self.done:
            self._check_asked()
        elif path.exists() and not overwrite and not self.goes_on:  # lines in the part mean a replacement was begun
            raise OutputExists(f"{path} exists. Choose another file, or add --overwrite to replace it.")

    def _existing(self) -> tuple[Path, int]:
        """The file to start from and its number of explanations; the whole file if only the clean-up is missing."""
        if self.overwrite:
            return self.part, 0
        if self.part.exists():
            return self.part, _lines(self.part)
        return (self.path, _lines(self.path)) if self.path.exists() and self.side.exists() else (self.part, 0)

    def _asked_before(self) -> dict[str, Any] | None:
        """The request of the existing explanations; None if it cannot be read."""
        try:
            return dict(read_json(self.side))
        except (OSError, VmaskError, ValueError, TypeError):
            return None

    def _check_asked(self) -> None:
        """Refuse to resume explanations of another request."""
        way_out = f"Choose another file than {self.path}, or add --overwrite to start anew."
        before = self._asked_before()
        if before is None:
            raise OutputExists(
                f"{self.part} holds {self.done:,} explanations, and {self.side.name}, which said what they are, cannot "
                f"be read. {way_out}"
            )
        changes = [
            f"{name} {_short(before.get(name))}, now {_short(self.asked.get(name))}"
            for name in {**before, **self.asked}
            if before.get(name) != self.asked.get(name)
        ]
        if changes:
            what = "; ".join(changes)
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
        """All explanations in order: existing ones, then new ones, each written before it is yielded.

        Args:
            texts: all texts, from the first one on.
            explain: explains texts.
            at_once: batch size of `explain`. The batch may change the last digit of a score, so `explain` resumes at a
                multiple of this, and the file is the same, byte by byte, as one that was never interrupted.
            through: a step that the explanations pass, such as writing a page; the file gets its final name afterwards,
                so that both are made again after an interruption.

        Raises:
            DataError: if the texts are not those of the existing explanations, or a line is damaged.
        """
        rest = iter(texts)
        if self.source == self.path:  # complete, only the clean-up is missing
            yield from through(self._resumed(rest))
            if next(rest, None) is not None:
                raise DataError(
                    f"{self.path} holds {self.done:,} explanations, but the input has more texts. Give the same texts, "
                    "or add --overwrite to start anew."
                )
            self.side.unlink()
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer_of(self.part):
            if (self.source, self.done) != self._existing():
                raise OutputExists(
                    f"Another process has written {self.path} since this one was started. Run the command again."
                )
            yield from through(self._added(rest, explain, at_once))
            sync(self.part)
            self.part.replace(self.path)
            sync(self.path.parent)
            self.side.unlink()

    def _resumed(self, texts: Iterator[str]) -> Iterator[Explanation]:
        """The existing explanations; consumes their texts from `texts`."""
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
        """Existing explanations, then new ones, which are appended to the part."""
        again: list[str] = []  # texts of the last, incomplete batch
        for explanation in self._resumed(texts):
            again = [*again, explanation.text] if len(again) + 1 < at_once else []
            yield explanation
        with self.part.open("a+b") as stream:
            _drop_torn(stream, keep=self.done)
            write_text(self.side, to_json(self.asked))  # after lines of another request are gone
            try:
                for explanation in islice(explain(chain(again, texts)), len(again), None):
                    stream.write(f"{explanation.to_json()}\n".encode())
                    stream.flush()  # a killed process loses nothing that was yielded
                    yield explanation
            except BaseException:
                if not stream.tell():  # nothing to resume, so leave nothing behind
                    self.side.unlink()
                    self.part.unlink()
                raise


def side_of(path: Path) -> Path:
    """The file that records the request of unfinished explanations; removed at the end."""
    return path.with_name(f"{path.name}.part.json")


def _lines(path: Path) -> int:
    """Number of explanations in a file, without a last line that was not written completely."""
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") and bool(line.strip()) for line in lines)


def _drop_torn(stream: IO[bytes], keep: int) -> None:
    """Truncate a file to its first `keep` lines, which also drops an incomplete line, and seek to its end."""
    stream.seek(0)
    end = 0
    while keep and (line := stream.readline()):
        end += len(line)
        keep -= bool(line.strip())
    stream.truncate(end)
    stream.seek(end)


def _short(value: Any) -> str:
    """A value for a message; only the first digits of a digest."""
    text = "none" if value is None else str(value)
    return text if len(text) < 40 else f"{text[:12]}…"
