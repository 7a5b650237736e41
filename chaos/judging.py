"""What is wanted of the answer to a bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaos.harness import Case, Result, command, wrong

SMALL = ("--embeddings", "random", "--epochs", "1", "--batch-size", "16", "--model.filters", "2", "--report", "none")
"""Options of a training that takes a second."""
FAULT = "This looks like a fault in vmask"


def judged(result: Result, *, whole: bool = False) -> str | None:
    """What is wrong with an answer; with `whole`, also that it was given at all."""
    if failure := wrong(result, (0,) if whole else (0, 2)):
        return failure
    return f"a fault: {result.err[-500:]}" if FAULT in result.err else None


def command_case(name: str, *words: object, stdin: bytes = b"", before: Callable[[Path], None] | None = None) -> Case:
    """A command that is run in a folder where `before` put something."""

    def run(folder: Path) -> str | None:
        if before is not None:
            before(folder)
        return judged(command(*map(str, words), stdin=stdin))

    return Case(name, run)
