"""A self-contained HTML page of explanations: every text with its words coloured, and its strongest words as bars."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from tempfile import TemporaryFile

from vmask._core.files import replacing
from vmask.explain.contract import Explanation
from vmask.explain.highlight import css, html_text, remarks, shown_score, strongest
from vmask.report.page import CLOSING, how_section, opening

BARS = 5
"""Words of a text that get a bar, for its class and against it."""


def paged(path: Path, explanations: Iterable[Explanation], title: str, how: Mapping[str, str]) -> Iterator[Explanation]:
    """Give explanations on, and write a page of them when the last was taken; one text is in memory at a time.

    Args:
        path: the page, which appears whole at the end.
        explanations: any number of them, all made by one method.
        title: heading.
        how: facts about how they were made, name -> value.
    """
    labels: Counter[str] = Counter()
    fit_sum, lowest_fit = 0.0, math.inf
    signed = False
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, TemporaryFile("w+", encoding="utf-8", errors="replace") as items:
        for number, explanation in enumerate(explanations, 1):
            items.write(item(number, explanation))
            labels[str(explanation.target)] += 1
            signed = explanation.signed
            if "fit" in explanation.details:
                fit_sum += explanation.details["fit"]
                lowest_fit = min(lowest_fit, explanation.details["fit"])
            yield explanation
        count = labels.total()
        facts = dict(how)
        if count > 1:
            facts["Classes explained"] = ", ".join(f"{label} {n:,}" for label, n in labels.most_common())
            if lowest_fit < math.inf:
                facts["Fit"] = f"R² {fit_sum / count:.2f} on average, {lowest_fit:.2f} at the lowest"
        items.seek(0)
        with temporary.open("w", encoding="utf-8", errors="replace") as page:
            page.write(opening(title, f"{count:,} text{'s' * (count != 1)}, words coloured by importance."))
            page.write(how_section(facts))
            page.write(legend(signed))
            page.write("<section><h2>Texts</h2><ol class=explained>\n")
            shutil.copyfileobj(items, page)
            page.write(f"</ol></section>{CLOSING}")


def legend(signed: bool) -> str:
    """What the colours mean, in a box of its own."""
    return f"<section class=legend>{legend_of(signed)}</section>\n"


def legend_of(signed: bool) -> str:
    """What the colours mean: a strip of them, and a sentence."""
    steps = (-1, -0.6, -0.25, 0.25, 0.6, 1) if signed else (0.25, 0.6, 1)
    strips = "".join(f'<mark style="{css(step)}">{_mark(step) if signed else "&nbsp;"}</mark>' for step in steps)
    if signed:
        left, right = "against", "for"
        words = (
            "Words that speak for the class under the text, and against it: the deeper the colour, the nearer a score "
            "is to the greatest of its text."
        )
    else:
        left, right = "matters less", "matters most"
        words = "Words up to the middle of their text stay plain; scores of this method have no sign."
    return (
        f"<p><span>{left}</span><span>{strips}</span><span>{right}</span></p>"
        f"<p>{words} Rest the pointer on a word for its score.</p>"
    )


def _mark(step: float) -> str:
    return "+" if step > 0 else "−"


def item(number: int, explanation: Explanation) -> str:
    """One text: its words coloured, its class, its strongest words as bars."""
    speak_for, against = strongest(explanation, BARS)
    greatest = max((abs(score) for _, score in (*speak_for, *against)), default=0.0) or 1.0

    def bars(words: list[tuple[str, float]], kind: str, title: str) -> str:
        rows = "".join(
            f'<li><b dir="auto">{escape(word)}</b><span><i style="width:{max(score / greatest, 0):.0%}"></i></span>'
            f"<small>{shown_score(explanation, signed)}</small></li>"
            for word, score, signed in ((word, abs(score), score) for word, score in words)
        )
        return f'<ul class="{kind}" aria-label="{title}">{rows}</ul>' if rows else ""

    notes = "".join(f", {note}" for note in remarks(explanation))
    lists = bars(speak_for, "for", "words for the class") + bars(against, "against", "words against the class")
    text = html_text(explanation) if explanation.text.strip() else "<em>(an empty text)</em>"
    verdict = f"<b>{escape(str(explanation.target))}</b> {explanation.probability:.0%}{notes}"
    return (
        f'<li><p class=said dir="auto">{text}</p>'
        f"<p class=verdict>{number:,}. {verdict}</p>"
        f'<div class="bars">{lists}</div></li>\n'
    )
