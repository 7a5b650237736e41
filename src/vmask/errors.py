"""All errors that users can meet. Each message says what happened, what was given, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 100
"""Characters of the longest name for which a near one is suggested."""


class VmaskError(Exception):
    """Base of all errors that the user can fix; the CLI prints them without a traceback, exit code 2."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors are sent from one process to another with their message, whatever the arguments of their class."""
        return _same_error, (type(self), self.args)


class VmaskWarning(UserWarning):
    """Something that the user should know, though the work goes on."""


class TrackerWarning(VmaskWarning):
    """A tracker failed; the training goes on without it."""


class ConfigError(VmaskError, ValueError):
    """An option has a value that cannot work."""


class DataError(VmaskError, ValueError):
    """A dataset, file, column or label cannot be used."""


class FileMissing(VmaskError, FileNotFoundError):
    """A file or folder that was named does not exist."""

    def __str__(self) -> str:
        """The message alone: OSError would print an errno that we do not have."""
        return str(self.args[0])


class AssetError(VmaskError, RuntimeError):
    """A download that is needed is not available."""


class ModelFolderError(VmaskError, RuntimeError):
    """A model folder is missing, damaged, or in another format."""


class ExportError(VmaskError, RuntimeError):
    """A model cannot be exported."""


class OutputExists(VmaskError, FileExistsError):
    """The output would overwrite something."""

    def __str__(self) -> str:
        """The message alone: OSError would print an errno that we do not have."""
        return str(self.args[0])


class TrainingDiverged(VmaskError, ArithmeticError):
    """The loss became NaN or infinite."""


class ProcessLost(VmaskError, RuntimeError):
    """Another process of a training has ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "Another process of this training has ended or cannot be reached; what it printed says why. The same "
            f"command with --resume goes on from the last epoch. ({' '.join(reason.split()):.150})"
        )


class WorkFailed(VmaskError, RuntimeError):
    """Some tasks of a grid failed, or a part of the work of a cluster did; the others are done."""


class NoWordScores(VmaskError, TypeError):
    """The model has no ranking of words."""

    def __init__(self) -> None:
        super().__init__(
            "This model was trained by a method that gives words no importance (base, l2 and word_dropout do not). "
            "Train with `--mask vmask` to see which words it uses."
        )


class MissingExtra(VmaskError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the '{extra}' extra. Run: pip install 'vmask[{extra}]'")


class MissingPackage(VmaskError, ImportError):
    """A package that belongs to no extra, needed for a rare feature, is not installed."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}. Run: pip install {package}")


class PluginError(VmaskError, ValueError):
    """A plug-in of another package cannot be used."""


class UnknownName(VmaskError, LookupError):
    """A name is not registered; the message gives the nearest one that is.

    >>> print(UnknownName("mask", "vmsk", ["base", "vmask"]))
    Unknown mask 'vmsk'. Did you mean 'vmask'? Available: base, vmask.
    """

    def __init__(self, kind: str, name: str, available: Iterable[str]) -> None:
        names = sorted(available)
        super().__init__(f"Unknown {kind} {name!r}.{did_you_mean(str(name), names)} Available: {', '.join(names)}.")


def _same_error(kind: type[VmaskError], args: tuple[Any, ...]) -> VmaskError:
    """An error of a class with these `args`, without calling the class, which may take other arguments."""
    error = kind.__new__(kind)
    error.args = args
    return error


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"`, or an empty string if nothing is near."""
    near = difflib.get_close_matches(name, list(names), n=1) if len(name) <= LONGEST_NAME else []  # quadratic time
    return f" Did you mean '{near[0]}'?" if near else ""


def short(value: object, most: int = 80) -> str:
    """The repr of a value for a message, cut if it is long.

    >>> short("abc"), short("a" * 100, 10), short(10**5000)
    ("'abc'", "'aaaaaaaa…", 'a number of more than 1,500 digits')
    """
    if isinstance(value, int) and value.bit_length() > 5000:  # Python writes out no more than 4,300 digits
        return "a number of more than 1,500 digits"
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
