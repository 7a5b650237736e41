"""Letters that the font of figures lacks: another font if there is one, else boxes and one warning."""

import warnings

import pytest
from matplotlib.font_manager import FontProperties, findfont

from vmask.errors import VmaskWarning
from vmask.report.figures import style


@style.styled()
def drawn(text):
    figure = style.new_figure(2, 1)
    figure.text(0.1, 0.5, text)
    figure.canvas.draw()


def test_letters_that_no_font_has_are_boxes_with_one_warning(monkeypatch):
    monkeypatch.setattr(style, "ASIAN_FONTS", ())
    style._warn_of_boxes.cache_clear()
    with pytest.warns(VmaskWarning, match="No installed font has some letters") as caught:
        drawn("\u7535\u5f71")
    drawn("\u0e2d")
    assert len(caught) == 1
    style._warn_of_boxes.cache_clear()


def test_other_letters_and_warnings_are_as_ever():
    drawn("a film")
    with pytest.warns(UserWarning, match="of another kind"), style.styled():
        warnings.warn("of another kind", UserWarning, stacklevel=1)


def test_the_first_font_with_all_letters_is_taken(monkeypatch):
    monkeypatch.setattr(style, "ASIAN_FONTS", ("not installed", "DejaVu Serif", "STIXSizeOneSym"))
    assert style.fonts() == ["DejaVu Sans", "DejaVu Serif", "STIXSizeOneSym"]
    ours = findfont(FontProperties(family="DejaVu Sans"))
    assert style.font_of(["film"]) == ours
    assert style.font_of(["\u7535"]) == ours  # none has it
