"""The command that applies an edit of the page to a model folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence


def edit_command(folder: str, hide: Sequence[str], show: Sequence[str]) -> str:
    """Return the call of `vmask edit`, quoted for a shell; empty if there is nothing to edit.

    Words that a list with commas cannot hold are given by a pattern that matches nothing else.

    Args:
        folder: name of the model folder.
        hide: words that the model must not see.
        show: words that it sees as they are.

    >>> print(edit_command("cnn", ["he", "she", ","], ["refund"]))
    vmask edit cnn cnn-edited --hide=he,she '--hide-pattern=^,$' --show=refund
    """
    folder = f"./{folder}" if folder.startswith("-") else folder
    options = [option for verb, words in (("hide", hide), ("show", show)) for option in _options(verb, words)]
    return shlex.join(["vmask", "edit", folder, f"{folder}-edited", *options]) if options else ""


def _options(verb: str, words: Sequence[str]) -> list[str]:
    listed = [word for word in words if _fits_in_list(word)]
    patterns = [f"--{verb}-pattern=^{re.escape(word)}$" for word in words if not _fits_in_list(word)]
    return [f"--{verb}={','.join(listed)}", *patterns] if listed else patterns


def _fits_in_list(word: str) -> bool:
    """Whether a word can stand in a list such as `he,she`, where `@` begins the name of a file."""
    return "," not in word and not word.startswith("@") and word == word.strip()
