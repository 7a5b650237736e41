"""Write docs/reproduction.md and its figures from the committed files in results/: what `make reproduction` runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from vmask._core.files import write_text
from vmask.reproduction.document import Document
from vmask.reproduction.write import draw, read_document

ROOT = Path(__file__).parents[1]
RESULTS, PUBLISHED = ROOT / "results", ROOT / "experiments" / "published.yaml"
DOC, FIGURES = ROOT / "docs" / "reproduction.md", ROOT / "docs" / "reproduction"
NOTE = """<!-- Made by `make reproduction` from the files in results/. Do not edit. -->

"""


def document() -> Document:
    """The report on the committed results, without pictures."""
    return read_document(RESULTS, PUBLISHED)


def main() -> None:
    found = document()
    FIGURES.mkdir(exist_ok=True)
    for old in FIGURES.glob("*.png"):
        old.unlink()
    found = dataclasses.replace(found, pictures=draw(found, FIGURES, ("png",)))
    write_text(DOC, NOTE + found.markdown(FIGURES.name))


if __name__ == "__main__":
    main()
