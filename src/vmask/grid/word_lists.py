"""Word lists of an experiment that stand in files: results name them by their digest, and do not repeat them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmask._core.files import sha256
from vmask._core.parsing import read_words
from vmask.errors import ConfigError, DataError, FileMissing

WORD_LISTS = ("hide_words", "only_words")
"""Options that are lists of words."""


class WordLists:
    """Reads the files that options name, `only_words: "@lists/mine.txt"`, each once.

    Args:
        folder: folder of the experiment's file, which paths are relative to.
        made_by: the command that makes the files, for the error about a missing one; may be empty.

    Attributes:
        words: digest of each file -> its words.
    """

    def __init__(self, folder: Path, made_by: str = "") -> None:
        self.folder, self.made_by = folder, made_by
        self.words: dict[str, tuple[str, ...]] = {}
        self._known: dict[str, dict[str, Any]] = {}

    def named(self, options: Mapping[str, Any], **names: object) -> dict[str, Any]:
        """Options in which the number of words and the digest stand for a file.

        Args:
            options: as in the experiment's file.
            names: what `{dataset}`, `{model}` and `{seed}` in a file's name stand for.

        Raises:
            ConfigError: for a file that cannot be read.
        """
        found = dict(options)
        for option in WORD_LISTS:
            value = options.get(option)
            if isinstance(value, str) and value.startswith("@"):
                for name, meant in names.items():
                    value = value.replace(f"{{{name}}}", str(meant))
                found[option] = self._read(value[1:])
        return found

    def _read(self, name: str) -> dict[str, Any]:
        if name not in self._known:
            path = self.folder / name
            try:
                words = read_words(path)
            except FileMissing:
                fix = f"Make it with: {self.made_by}" if self.made_by else "Its path is relative to this file."
                raise ConfigError(f"there is no word list {name}. {fix}") from None
            except (DataError, OSError) as error:
                raise ConfigError(f"{error} Give a text file with a word a line after the @.") from None
            digest = sha256(path)
            self.words[digest] = words
            self._known[name] = {"words": len(words), "sha256": digest}
        return self._known[name]


def spelled_out(options: Mapping[str, Any], words: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Options of `WordLists.named` with the words themselves, by their digests."""
    lists = {name: options[name] for name in WORD_LISTS if isinstance(options.get(name), Mapping)}
    found = {name: words[value["sha256"]] for name, value in lists.items() if value.get("sha256") in words}
    return {**options, **found}
