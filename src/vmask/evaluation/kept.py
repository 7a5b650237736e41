"""Explanations that an evaluation keeps in files: one that was cut off, or asks for more, need not make them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vmask.errors import DataError, OutputExists
from vmask.evaluation.run import Explain
from vmask.explain.contract import Explanation
from vmask.explanations_file import ExplanationsFile, read_explanations
from vmask.files import to_json, write_text

FOLDER = "explanations"


class KeptExplanations:
    """A folder with a file of explanations for each model and method.

    Beside each file a small one says what was asked. A file that was asked for in the same way is read or gone on with.

    Args:
        folder: where the evaluation is written.
        models: for each model what tells it from others, such as digests of its files.
        overwrite: replace files that were asked for otherwise.
    """

    def __init__(self, folder: Path, models: Sequence[Mapping[str, Any]], overwrite: bool = False) -> None:
        self.folder = folder / FOLDER
        self.models, self.overwrite = models, overwrite

    def __call__(self, model: int, asked: Mapping[str, Any], explain: Explain, at_once: int) -> Explain:
        """What explains texts, by the file where it has them."""
        return lambda texts: self._explained(model, asked, list(texts), explain, at_once)

    def _explained(
        self, model: int, asked: Mapping[str, Any], texts: list[str], explain: Explain, at_once: int
    ) -> Iterator[Explanation]:
        stem = asked["method"] if len(self.models) == 1 else f"{asked['method']}-{model}"
        path, side = self.folder / f"{stem}.jsonl", self.folder / f"{stem}.json"
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        asked = json.loads(json.dumps({**self.models[model], **asked, "texts": digest}))
        same = _read(side) == asked
        if path.exists() and same:
            return self._there(path, len(texts))
        if side.exists() and not same and not self.overwrite:
            raise OutputExists(
                f"{path} holds explanations of another model, of other texts or by other options. Choose another "
                "folder for --out, or add --overwrite to replace them."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        file = ExplanationsFile(path, asked, overwrite=not same)
        write_text(side, to_json(asked))
        return file.filled(texts, explain, at_once)

    def _there(self, path: Path, count: int) -> Iterator[Explanation]:
        there = 0
        for explanation in islice(read_explanations(path), count):
            there += 1
            yield explanation
        if there < count:
            raise DataError(f"{path} is damaged: it has {there:,} explanations of {count:,}. Remove it to start anew.")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
