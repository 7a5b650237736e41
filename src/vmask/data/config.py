"""How files of texts are read: options of every command that reads them. This file imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from vmask._core.encodings import is_encoding
from vmask.config import option
from vmask.errors import ConfigError, did_you_mean, short

ENCODINGS = (
    *("utf-8", "utf-16", "windows-1252", "latin-1", "windows-1250", "windows-1251"),
    *("shift_jis", "euc_kr", "gb18030", "big5"),
)
"""Encodings that messages name; all of Python's are known."""


@dataclass(frozen=True)
class ReadConfig:
    """How files of texts are read."""

    encoding: str | None = option(
        None,
        "encoding of text files, such as windows-1252 or shift_jis; by default UTF-8 or UTF-16 as the file shows, "
        "else windows-1252, and that is said",
    )
    sheet: str | None = option(
        None,
        "sheet of a workbook (.xlsx .xls .xlsb .ods), by its name or number, 1 the first; by default the first with "
        "rows",
    )

    def __post_init__(self) -> None:
        if self.encoding is not None and not is_encoding(self.encoding):
            near = did_you_mean(self.encoding, ENCODINGS)
            raise ConfigError(
                f"encoding is {short(self.encoding)}, which is not known.{near} Usual: {', '.join(ENCODINGS)}."
            )
        if self.sheet == "":
            raise ConfigError("sheet is empty. Name a sheet, or leave it out.")
