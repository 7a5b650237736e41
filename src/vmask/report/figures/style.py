"""How figures look and are saved: colours, sizes, and the same bytes whenever the results are the same."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask._core.files import replacing
from vmask.errors import MissingExtra, VmaskWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito (2008): no colour-blindness mixes them.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY, FAINT = "#808080", "#B4BAC3"

WIDE, COLUMN = 6.8, 4.4
"""Width of a figure over the whole page, and of a small one, in inches."""
DPI = 150
"""Pixels by inch of what is saved; labels are placed in these, and so are the many points of a scatter plot."""
COLOURS = 256
"""Of a PNG's palette."""
FONT = "DejaVu Sans"
"""It comes with matplotlib, so that all machines draw the same."""
ASIAN_FONTS = (
    *(
        "Noto Sans CJK SC",
        "Noto Sans CJK JP",
        "Noto Sans SC",
        "Noto Sans JP",
        "Source Han Sans SC",
        "WenQuanYi Zen Hei",
    ),
    *("IPAexGothic", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Yu Gothic"),
    *("Noto Sans Thai", "Noto Sans Lao", "Noto Sans Khmer", "Noto Sans Myanmar", "Loma", "Thonburi", "Leelawadee UI"),
    *("Arial Unicode MS", "Unifont"),
)
"""Fonts for what `FONT` lacks, where they are installed."""
STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#5c6470",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.color": "#3c434d",
    "ytick.color": "#3c434d",
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.6,
    "lines.solid_capstyle": "round",
    "text.parse_math": False,  # `$` is a word like others
    "svg.hashsalt": "vmask",  # names inside of an SVG are drawn at random without it
    "svg.fonttype": "path",
}


_LACKING = re.compile(r"Glyph \d+ .*missing from font|Matplotlib currently does not support \w+ natively")


@dataclass(frozen=True)
class Picture:
    """A figure with what stands under it.

    Attributes:
        name: stem of its files, such as `post_hoc_accuracy`.
        title: what it shows, in one line.
        caption: under it: how to read it, and what it was made from.
        figure: the drawing.
        number: of the paper's figure that it repeats; None for our own.
    """

    name: str
    title: str
    caption: str
    figure: Figure
    number: int | None = None


def check_extra() -> None:
    """See that what figures are drawn with is installed.

    Raises:
        MissingExtra: where it is not.
    """
    if find_spec("matplotlib") is None or find_spec("wordcloud") is None:
        raise MissingExtra("Drawing figures", "report")


@contextmanager
def styled() -> Iterator[None]:
    """Our style, whatever the user's; for as long as something is drawn or saved. Also a decorator.

    Letters that no installed font has are drawn as boxes, with one warning for all of them.
    """
    check_extra()
    from matplotlib import style

    with warnings.catch_warnings(record=True) as caught, style.context(["default", {**STYLE, "font.family": fonts()}]):
        warnings.simplefilter("always")
        yield
    lacking = [one for one in caught if _LACKING.match(str(one.message))]
    for one in caught:
        if one not in lacking:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if lacking:
        _warn_of_boxes()


@cache
def _warn_of_boxes() -> None:
    """Warn once in a process."""
    message = "No installed font has some letters of the figures, which are boxes. Install fonts such as Noto's."
    warnings.warn(message, VmaskWarning, stacklevel=4)


def fonts() -> list[str]:
    """`FONT`, and those of `ASIAN_FONTS` that are installed."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return [FONT, *(name for name in ASIAN_FONTS if name in installed)]


def font_of(words: Sequence[str]) -> str:
    """The file of the first font that has all letters of the words; `FONT` if none has."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    files = [findfont(FontProperties(family=name)) for name in fonts()]
    letters = set(map(ord, "".join(words)))
    return str(next((file for file in files if letters <= set(get_font(file).get_charmap())), files[0]))


def new_figure(width: float, height: float, **options: Any) -> Figure:
    """An empty figure of this size in inches, that nothing but its holder knows of (pyplot keeps a list)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), **options)
    FigureCanvasAgg(figure)
    return figure


@styled()
def save(picture: Picture, folder: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure to a file for each format, whole or not at all, and give the files.

    `png` and `svg` have the same bytes whenever the figure is the same; matplotlib knows more formats.
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
                metadata = {"Date": None, "Creator": None} if name == "svg" else {}
                picture.figure.savefig(temporary, format=name, dpi=DPI, metadata=metadata)
        paths.append(path)
    return paths


def _save_png(picture: Picture, path: Path) -> None:
    """A PNG with a palette: a third of the size, and drawings have few colours."""
    from PIL import Image

    stream = io.BytesIO()
    picture.figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})
    with Image.open(stream) as drawn:
        reduced = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(path, format="PNG", optimize=True, dpi=(DPI, DPI))
