"""The paper's figures from result files, and two of our own: what is drawn, and how it is saved."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from vmask.files import replacing
from vmask.reproduction._clouds import clouds
from vmask.reproduction._curves import controls, post_hoc
from vmask.reproduction._dots import faithfulness
from vmask.reproduction._found import WORDS, datasets, models
from vmask.reproduction._scatter import scatter
from vmask.reproduction._style import Picture, check_extra, styled
from vmask.reproduction.results import Results

__all__ = ["Picture", "all_figures", "clouds", "controls", "faithfulness", "post_hoc", "save", "scatter"]

DPI = 150
COLOURS = 256
PREFERRED = ("lstm", "cnn")
"""Models whose words are scattered, the first that has results: the paper shows LSTM."""


def all_figures(results: Results) -> Iterator[Picture]:
    """Every figure that there are results for, in the order of the paper; ours follow the one they belong to.

    Raises:
        MissingExtra: without matplotlib or wordcloud.
    """
    check_extra()
    for draw in (post_hoc, controls, faithfulness):
        if (picture := draw(results)) is not None:
            yield picture
    for dataset in datasets(results, WORDS):
        found = models(results, dataset, WORDS)
        chosen = next((model for model in PREFERRED if model in found), found[0])
        if (picture := scatter(results, dataset, chosen)) is not None:
            yield picture
    for which in ("top", "top_seen_5"):
        if (picture := clouds(results, which)) is not None:
            yield picture


@styled()
def save(picture: Picture, folder: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure, a file for each format, whole or not at all; the same bytes whenever the figure is the same.

    Args:
        picture: what `all_figures` gives.
        folder: made where it is not there.
        formats: `png` and `svg` are the same every time; matplotlib knows more.

    Returns:
        The files.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in formats:
        path = folder / f"{picture.name}.{name}"
        with replacing(path) as temporary:
            if name == "png":
                _save_png(picture, temporary)
            else:
                about = {"Date": None, "Creator": None} if name == "svg" else {}
                picture.figure.savefig(temporary, format=name, dpi=DPI, metadata=about)
        paths.append(path)
    return paths


def _save_png(picture: Picture, path: Path) -> None:
    """A PNG with a palette: a third of the size, and drawings have few colours."""
    from PIL import Image

    stream = io.BytesIO()
    picture.figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})
    with Image.open(stream) as drawn:
        few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, format="PNG", optimize=True, dpi=(DPI, DPI))
