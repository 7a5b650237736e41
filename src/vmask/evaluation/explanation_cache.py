"""Files of the explanations of an evaluation, so that one that is resumed or extended need not compute them again."""

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
"""The folder of the files, and its subfolder for files that will replace others."""
DIGEST = "sha256"
"""Key in a side file: the digest of its explanations, if they replaced others."""


class KeptExplanations:
    """A folder with a file of explanations for each model and method.

    A side file beside each file records the request: model, method, options and texts. A file of the same request is
    read or continued. A file of another request stays until `finish`; its replacement is written to a folder `new`.

    Args:
        folder: the output folder of the evaluation.
        models: for each model values that identify it, such as digests of its files.
        overwrite: replace files of other requests.
    """

    def __init__(self, folder: Path, models: Sequence[Mapping[str, Any]], overwrite: bool = False) -> None:
        self.folder = folder / FOLDER
        self.models, self.overwrite = models, overwrite
        self._replacing: dict[str, dict[str, Any]] = {}

    def __call__(self, model: int, request: Mapping[str, Any], explain: Explain, at_once: int) -> Explain:
        """A function that explains texts, and takes explanations from the file if it has them."""
        return lambda texts: self._explanations(model, request, list(texts), explain, at_once)

    def _explanations(
        self, model: int, request: Mapping[str, Any], texts: list[str], explain: Explain, at_once: int
    ) -> Iterator[Explanation]:
        stem = request["method"] if len(self.models) == 1 else f"{request['method']}-{model}"
        whole: dict[str, Any] = json.loads(json.dumps({**self.models[model], **request, "texts": digest_of(texts)}))
        path, side = self.folder / f"{stem}.jsonl", self.folder / f"{stem}.json"
        if (side.exists() or path.exists()) and not _same_request(path, side, whole):
            if not self.overwrite:
                raise OutputExists(
                    f"{path} holds explanations of another model, of other texts or by other options. Choose another "
                    "folder for --out, or add --overwrite to replace them."
                )
            self._replacing[stem] = whole
            path, side = self.folder / NEW / path.name, self.folder / NEW / side.name
        same = _same_request(path, side, whole)
        if path.exists() and same and not side_of(path).exists():
            return self._read(path, texts)
        path.parent.mkdir(parents=True, exist_ok=True)
        file = ExplanationsFile(path, whole, overwrite=not same)
        if not same:
            path.unlink(missing_ok=True)  # before the side file claims that its content is of this request
            write_text(side, to_json(whole))
        return file.filled(texts, explain, at_once)

    def finish(self) -> None:
        """Replace old explanations by new ones, after the evaluation of the new ones was saved."""
        for stem, request in self._replacing.items():
            new, path = self.folder / NEW / f"{stem}.jsonl", self.folder / f"{stem}.jsonl"
            # The digest tells the new explanations from the old ones until the rename is done.
            write_text(self.folder / f"{stem}.json", to_json({**request, DIGEST: sha256(new)}))
            new.replace(path)
        self._replacing = {}
        remove_folder(self.folder / NEW)
        sweep(self.folder)

    def _read(self, path: Path, texts: list[str]) -> Iterator[Explanation]:
        """The explanations of a finished file, checked against the texts."""
        count = 0
        for explanation, text in zip(read_explanations(path), readable(texts), strict=False):
            if explanation.text != text:
                raise DataError(f"Line {count + 1} of {path} explains another text. Remove the file to start anew.")
            count += 1
            yield explanation
        if count < len(texts):
            raise DataError(
                f"{path} is damaged: it has {count:,} explanations of {len(texts):,}. Remove it to start anew."
            )


def _same_request(path: Path, side: Path, request: Mapping[str, Any]) -> bool:
    """Whether the side file records this request, and the explanations, if any, belong to it."""
    try:
        before = dict(read_json(side))
    except (OSError, VmaskError, ValueError, TypeError):
        return False
    digest = before.pop(DIGEST, None)
    return before == request and (digest is None or not path.exists() or digest == sha256(path))
