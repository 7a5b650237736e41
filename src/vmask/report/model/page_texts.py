"""The section with texts as the model sees them: a view for each explanation, words coloured."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explanation
from vmask.explain.highlight import css, html_text, remarks, shown_score, strongest
from vmask.report.explanations import legend_of
from vmask.report.model.content import Content, Example, Texts

SHOWN = 1500
"""Characters of a text that are shown, at most."""
STEPS = 20
"""Shades of either colour: so a word needs the name of a shade alone, which keeps the page small."""
STRONGEST = 4
"""Words under a text that speak most for and against its class."""
HEADS = {"right": "It got these right", "wrong": "It got these wrong", "unsure": "It is least sure of these"}
NAMES = {"mask": "Mask", "lime": "LIME", "shapley": "Shapley"}


def shades() -> str:
    """The shades as CSS."""
    steps = [step for step in range(-STEPS, STEPS + 1) if step]
    return "".join(f".{shade_of(step / STEPS)}{{{css(step / STEPS)}}}" for step in steps)


def shade_of(strength: float) -> str:
    """The class of a shade in the style sheet; empty where a word stays plain."""
    step = round(abs(strength) * STEPS)
    return f"{'a' if strength < 0 else 'f'}{step}" if step else ""


def _look(strength: float) -> str:
    shade = shade_of(strength)
    return f'class="{shade}"' if shade else ""


def texts_section(content: Content) -> str:
    """The texts, what the colours mean, and how they were chosen."""
    texts = content.texts
    groups = "".join(
        f'<h3>{HEADS[kind]}</h3><ol class="examples">{"".join(_example(one, content) for one in members)}</ol>'
        for kind, members in groupby(texts.examples, key=lambda one: one.kind)
    )
    missing = f'<p class="notice">{escape(texts.missing)}</p>' if texts.missing else ""
    return (
        f'<section id="texts"><h2>Texts as it sees them</h2><p>{escape(texts.rule)}</p>{missing}'
        f"{_switch(texts.methods)}{_legends(texts)}{groups}</section>"
    )


def _switch(methods: Sequence[str]) -> str:
    """Buttons that show one view of all texts; for a script, which shows them."""
    if len(methods) < 2:
        return ""
    buttons = "".join(
        f'<button type="button" data-view="{name}" aria-pressed="{str(at == 0).lower()}">{_name(name)}</button>'
        for at, name in enumerate(methods)
    )
    both = '<button type="button" data-view="" aria-pressed="false">All</button>'
    return (
        f'<div class="switch all-views" role="group" aria-label="What explains all texts" hidden>{buttons}{both}</div>'
    )


def _legends(texts: Texts) -> str:
    """What each view is, and what its colours mean."""
    signs = {one.method: one.signed for example in texts.examples for one in example.explanations}
    return "".join(
        f'<div class="legend view" data-view="{name}">{legend_of(signs[name])}'
        f'<p class="fine">{escape(EXPLAINERS.describe(name))}</p></div>'
        for name in texts.methods
        if name in signs
    )


def _name(method: str) -> str:
    return NAMES.get(method, method)


def _example(example: Example, content: Content) -> str:
    truth = (
        '<span class="ok">right</span>'
        if example.label == example.predicted
        else f'<span class="bad">in truth <b dir="auto">{escape(example.label)}</b></span>'
    )
    own = content.texts.methods
    tabs = ""
    if len(own) > 1:
        buttons = "".join(
            f'<button type="button" data-view="{name}" aria-pressed="{str(at == 0).lower()}">{_name(name)}</button>'
            for at, name in enumerate(own)
        )
        tabs = f'<div class="switch" role="group" aria-label="What explains this text" hidden>{buttons}</div>'
    views = "".join(_view(one) for one in example.explanations) or (
        f'<p class="said" dir="auto">{escape(example.text[:SHOWN]) or _EMPTY}{_cut(example.text)}</p>'
    )
    return (
        f'<li class="example"><div class="verdict"><span><b dir="auto">{escape(example.predicted)}</b> '
        f"{example.probability:.0%}</span> {truth}{tabs}</div>{views}</li>"
    )


_EMPTY = "<em>(an empty text)</em>"


def _cut(text: str) -> str:
    return f' <em class="soft">… cut here, {len(text):,} characters in all</em>' if len(text) > SHOWN else ""


def _view(one: Explanation) -> str:
    text = html_text(one, SHOWN, _look) if one.text.strip() else _EMPTY
    notes = "".join(f"<span>{escape(note)}</span>" for note in remarks(one))
    return (
        f'<div class="view" data-view="{one.method}"><p class="said" dir="auto">{text}{_cut(one.text)}</p>'
        f'<p class="strongest"><b class="view-name">{_name(one.method)}</b> {_strongest(one)}{notes}</p></div>'
    )


def _strongest(one: Explanation) -> str:
    """The words that matter most, in letters: not every reader sees colours."""
    speak_for, against = strongest(one, len(one.words))

    def listed(words: list[tuple[str, float]]) -> str:
        once: dict[str, tuple[str, float]] = {}
        for word, score in words:
            once.setdefault(word.lower(), (word, score))  # where it stands several times, the strongest place
        first = list(once.values())[:STRONGEST]
        return ", ".join(f"<bdi>{escape(word)}</bdi> {shown_score(one, score, 2)}" for word, score in first)

    parts = []
    if speak_for:
        parts.append(f"<span>{'for' if one.signed else 'most'}: {listed(speak_for)}</span>")
    if against:
        parts.append(f"<span>against: {listed(against)}</span>")
    return "".join(parts)
