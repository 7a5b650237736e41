"""The start and the end of a page, for documents whose middle is not made by a template yet."""

from __future__ import annotations

from vmask.report.templating import render

CLOSING = "\n</main>\n</body>\n</html>\n"


def opening(title: str, summary: str) -> str:
    """The start of an HTML document that needs nothing from outside, up to its first section; `CLOSING` ends it."""
    return render("base.html", title=title, lead=summary).partition("</main>")[0]
