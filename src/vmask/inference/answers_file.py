"""The answers to a long table, kept beside the file that is being written, so that the same command can go on."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.locks import only_writer_of
from vmask.errors import OutputExists, short

_LITTLE = np.dtype("<f4")


@dataclass(frozen=True)
class Answers:
    """The answers to some texts.

    Attributes:
        probabilities: (N, C).
        words: for each text the words for and against its label; None if they were not asked for.
    """

    probabilities: NDArray[np.float32]
    words: Sequence[tuple[str, str]] | None = None


class AnswersFile:
    """The answers of an output that is being written, `PATH.part`: the request, then a line of JSON for every chunk.

    A line has the digest of its texts, so that answers are never put beside other texts.

    Args:
        path: the output.
        asked: the request: all that determines the answers to a text, as flat JSON values.
        overwrite: replace an existing output, and answers of another request or to other texts.

    Attributes:
        rows: number of rows whose answers exist already.

    Raises:
        OutputExists: if the output exists, or answers of another request.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], overwrite: bool = False) -> None:
        self.path, self.overwrite = path, overwrite
        self.part = path.with_name(f"{path.name}.part")
        self.asked = json.loads(json.dumps(asked))
        self.rows = 0
        if path.is_dir():
            raise OutputExists(f"{path} is a folder. Name a file.")
        begun = self.part.exists()
        if begun:
            with only_writer_of(self.part):  # raises if another process is writing
                self.rows = self._check_asked()
        if path.exists() and not overwrite and not self.rows:
            raise OutputExists(f"{path} exists. Choose another file, or add --overwrite to replace it.")

    def _check_asked(self) -> int:
        """Number of rows that were answered, by the same request."""
        with self.part.open("rb") as stream:
            before = _read(stream.readline())
            rows = sum(int(line["rows"]) for line in _lines(stream))
        if before == self.asked or not rows:
            return rows
        if self.overwrite:
            return 0
        before = before or {}
        changes = [
            f"{name} {short(before.get(name), 24)}, now {short(self.asked.get(name), 24)}"
            for name in {**before, **self.asked}
            if before.get(name) != self.asked.get(name)
        ]
        raise OutputExists(
            f"{self.part} holds the answers to {rows:,} rows that were asked otherwise: {'; '.join(changes)}. Choose "
            f"another file than {self.path}, or add --overwrite to start anew."
        )

    @contextmanager
    def opened(self) -> Iterator[AnswersFile]:
        """Lock the file and read or append answers; it stays where it is, unless nothing was answered."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer_of(self.part), self.part.open("r+b") as self._stream:
            if _read(self._stream.readline()) != self.asked:
                self._stream.seek(0)
                self._stream.truncate()
                self._put(self.asked)
            first = self._stream.tell()
            try:
                yield self
            finally:
                if self._stream.seek(0, 2) == first and self.part.exists():  # nothing to go on from
                    self.part.unlink()

    def next(self, texts: Sequence[str | None]) -> Answers | None:
        """The answers to the next texts if they exist; after the first None, `add` them.

        Raises:
            OutputExists: if there are answers to other texts.
        """
        start = self._stream.tell()
        line = _read(self._stream.readline())
        if line is not None and line.get("texts") == _digest(texts):
            flat = np.frombuffer(base64.b64decode(line["probabilities"]), _LITTLE).astype(np.float32)
            return Answers(flat.reshape(line["shape"]), line["words"])
        if line is not None:
            self._refuse_others()
        self._stream.seek(start)
        self._stream.truncate()
        return None

    def check_end(self) -> None:
        """Check that no answers are left when all texts have been asked for.

        Raises:
            OutputExists: if there are.
        """
        if _read(self._stream.readline()) is not None:
            self._refuse_others()

    def _refuse_others(self) -> None:
        if not self.overwrite:
            raise OutputExists(
                f"{self.part} holds answers to other texts than the input has. Give the same texts to go on, or add "
                f"--overwrite to start {self.path} anew."
            )

    def add(self, texts: Sequence[str | None], answers: Answers) -> None:
        """Append the answers to the next texts."""
        self._put(
            {
                "rows": len(texts),
                "texts": _digest(texts),
                "shape": answers.probabilities.shape,
                "probabilities": base64.b64encode(answers.probabilities.astype(_LITTLE).tobytes()).decode(),
                "words": answers.words,
            }
        )

    def finish(self) -> None:
        """Remove the file: the output is complete."""
        self.part.unlink(missing_ok=True)  # it is gone if nothing was answered

    def _put(self, line: Any) -> None:
        self._stream.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
        self._stream.flush()  # a killed process loses no answer


def _read(line: bytes) -> dict[str, Any] | None:
    """A line of the file; None for one that was not written completely."""
    try:
        value = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _lines(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    while (line := _read(stream.readline())) is not None:
        yield line


def _digest(texts: Sequence[str | None]) -> str:
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=16).hexdigest()
