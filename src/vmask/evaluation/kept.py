"""Explanations that an evaluation keeps in files: one that was cut off, or asks for more, need not make them again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vmask.data.words import whole_characters
from vmask.errors import DataError, OutputExists
from vmask.evaluation.run import Explain
from vmask.evaluation.texts import digest_of
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
        asked = json.loads(json.dumps({**self.models[model], **asked, "texts": digest_of(texts)}))
        same = _read(side) == asked
        if path.exists() and same:
            return self._there(path, texts)
        if (side.exists() or path.exists()) and not same and not self.overwrite:
            raise OutputExists(
                f"{path} holds explanations of another model, of other texts or by other options. Choose another "
                "folder for --out, or add --overwrite to replace them."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        file = ExplanationsFile(path, asked, overwrite=not same)
        path.unlink(missing_ok=True)  # before the side file says that what is there was asked for in this way
        write_text(side, to_json(asked))
        return file.filled(texts, explain, at_once)

    def _there(self, path: Path, texts: list[str]) -> Iterator[Explanation]:
        there = 0
        for explanation, text in zip(read_explanations(path), whole_characters(texts), strict=False):
            if explanation.text != text:
                raise DataError(f"Line {there + 1} of {path} explains another text. Remove the file to start anew.")
            there += 1
            yield explanation
        if there < len(texts):
            raise DataError(
                f"{path} is damaged: it has {there:,} explanations of {len(texts):,}. Remove it to start anew."
            )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
