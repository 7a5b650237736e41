"""Damaged and forged folders and files: none runs code, hangs, eats memory, shows a secret, or passes for whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos import folders_config, folders_damage, folders_encoders, folders_files, folders_tokenizers, folders_weights
from chaos.harness import Case
from chaos.originals import make


@contextmanager
def suite(work: Path, seed: int) -> Iterator[list[Case]]:
    """All cases; the originals are made first."""
    originals = make(work)
    rooms = (folders_damage, folders_config, folders_weights, folders_tokenizers, folders_encoders, folders_files)
    yield [case for room in rooms for case in room.cases(originals, seed)]
