"""A self-contained HTML page of explanations: every text with its words coloured, and its strongest words as bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile

from vmask._core.files import replacing
from vmask._core.wording import plural
from vmask.explain.contract import Explanation
from vmask.report.templating import environment, render


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
    with replacing(path) as temporary, TemporaryFile("w+", encoding="utf-8") as items:
        for number, explanation in enumerate(explanations, 1):
            items.write(render("explained_text.html", number=number, explanation=explanation))
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
        lead = f"{plural(count, 'text')}, words coloured by importance."
        parts = (
            environment()
            .get_template("explanations.html")
            .generate(title=title, lead=lead, how=facts, signed=signed, lines=items)
        )
        with temporary.open("w", encoding="utf-8", errors="replace") as page:
            page.writelines(parts)
