"""Explanations that an evaluation keeps in files: one that was cut off, or asks for more, need not make them again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vmask._core.files import remove_folder, sha256, sweep, to_json, write_text
from vmask._core.parsing import read_json
from vmask.errors import DataError, OutputExists, VmaskError
from vmask.evaluation.run import Explain
from vmask.evaluation.subjects import digest_of
from vmask.explain.contract import Explanation
from vmask.explain.explanation_file import ExplanationsFile, read_explanations, side_of
from vmask.text.words import readable

FOLDER, NEW = "explanations", "new"
"""The folder of the files, and one inside of it for those that will replace others."""
DIGEST = "sha256"
"""In a side file: the digest of its explanations, where these replaced others."""


class KeptExplanations:
    """A folder with a file of explanations for each model and method.

    Beside each file a small one says what was asked. A file that was asked for in the same way is read or gone on with.
    One that was asked for otherwise stays until `finish`; the explanations that replace it are made in a folder `new`.

    Args:
        folder: where the evaluation is written.
        models: for each model what tells it from others, such as digests of its files.
        overwrite: replace files that were asked for otherwise.
    """

    def __init__(self, folder: Path, models: Sequence[Mapping[str, Any]], overwrite: bool = False) -> None:
        self.folder = folder / FOLDER
        self.models, self.overwrite = models, overwrite
        self._replacing: dict[str, dict[str, Any]] = {}

    def __call__(self, model: int, asked: Mapping[str, Any], explain: Explain, at_once: int) -> Explain:
        """What explains texts, by the file where it has them."""
        return lambda texts: self._explained(model, asked, list(texts), explain, at_once)

    def _explained(
        self, model: int, asked: Mapping[str, Any], texts: list[str], explain: Explain, at_once: int
    ) -> Iterator[Explanation]:
        stem = asked["method"] if len(self.models) == 1 else f"{asked['method']}-{model}"
        wanted: dict[str, Any] = json.loads(json.dumps({**self.models[model], **asked, "texts": digest_of(texts)}))
        path, side = self.folder / f"{stem}.jsonl", self.folder / f"{stem}.json"
        if (side.exists() or path.exists()) and not _same(path, side, wanted):
            if not self.overwrite:
                raise OutputExists(
                    f"{path} holds explanations of another model, of other texts or by other options. Choose another "
                    "folder for --out, or add --overwrite to replace them."
                )
            self._replacing[stem] = wanted
            path, side = self.folder / NEW / path.name, self.folder / NEW / side.name
        same = _same(path, side, wanted)
        if path.exists() and same and not side_of(path).exists():
            return self._there(path, texts)
        path.parent.mkdir(parents=True, exist_ok=True)
        file = ExplanationsFile(path, wanted, overwrite=not same)
        if not same:
            path.unlink(missing_ok=True)  # before the side file says that what is there was asked for in this way
            write_text(side, to_json(wanted))
        return file.filled(texts, explain, at_once)

    def finish(self) -> None:
        """Put the new explanations in the place of those that they replace: the evaluation made of them is saved."""
        for stem, asked in self._replacing.items():
            new, path = self.folder / NEW / f"{stem}.jsonl", self.folder / f"{stem}.jsonl"
            # By its digest the side file tells the new explanations from the old ones, until they have its name.
            write_text(self.folder / f"{stem}.json", to_json({**asked, DIGEST: sha256(new)}))
            new.replace(path)
        self._replacing = {}
        remove_folder(self.folder / NEW)
        sweep(self.folder)

    def _there(self, path: Path, texts: list[str]) -> Iterator[Explanation]:
        there = 0
        for explanation, text in zip(read_explanations(path), readable(texts), strict=False):
            if explanation.text != text:
                raise DataError(f"Line {there + 1} of {path} explains another text. Remove the file to start anew.")
            there += 1
            yield explanation
        if there < len(texts):
            raise DataError(
                f"{path} is damaged: it has {there:,} explanations of {len(texts):,}. Remove it to start anew."
            )


def _same(path: Path, side: Path, asked: Mapping[str, Any]) -> bool:
    """Whether the explanations of a file, if they are there, were asked for in this way."""
    try:
        before = dict(read_json(side))
    except (OSError, VmaskError, ValueError, TypeError):
        return False
    digest = before.pop(DIGEST, None)
    return before == asked and (digest is None or not path.exists() or digest == sha256(path))
