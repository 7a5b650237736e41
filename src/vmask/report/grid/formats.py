"""A table as Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from vmask.report.grid.table import DASH, LONG_TEXT, NOT_RUN, ONE_SEED, Entry, Row, Table
from vmask.report.templating import environment

FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"
"""LaTeX that shrinks what is wider than the page, and nothing else."""
LONG_TABLE = 45
"""Rows from which on a LaTeX table goes on over pages."""


def markdown(table: Table[Any]) -> str:
    """The table with its legend, signature and notes; without its title."""
    aligned = ["---"] * len(table.heads)
    aligned += [":---" if table.worded(column) else "---:" for column in range(len(table.columns))]
    lines = [
        _markdown_row([markdown_text(head) for head in (*table.heads, *table.columns)]),
        _markdown_row(aligned),
        *(
            _markdown_row([*map(markdown_text, row.heads), *(_markdown_cell(table, entry) for entry in row.entries)])
            for row in table.rows
        ),
    ]
    legend = table.legend()
    under = [*([f"*{markdown_text(legend)}*"] if legend else []), *map(markdown_text, _below(table))]
    body = "\n".join(lines) if table.rows else markdown_text(_nothing(table))
    return "\n\n".join([body, *under])


def latex(table: Table[Any]) -> str:
    r"""The table for a document with `\usepackage{booktabs,graphicx,longtable}`.

    It is made smaller where it is wider than the page; one of many rows goes on over pages, in small print.
    """
    heads = " & ".join(latex_text(head) for head in (*table.heads, *table.columns))
    count = len(table.heads) + len(table.columns)
    under = " ".join(map(latex_text, (table.legend(), *_below(table))))
    caption = f"\\caption{{{latex_text(table.title)}}}\n\\label{{tab:{re.sub(r'[^a-zA-Z0-9]+', '-', table.name)}}}"
    body = "\n\\midrule\n".join(
        "\n".join(_latex_row(table, row, first) for first, row in _firsts(rows)) for rows in _groups(table)
    )
    if not table.rows:
        body = f"\\multicolumn{{{count}}}{{l}}{{{latex_text(_nothing(table))}}} \\\\"
    top = f"\\toprule\n{heads} \\\\\n\\midrule"
    columns = "l" * len(table.heads) + "".join(_latex_column(table, i) for i in range(len(table.columns)))
    if len(table.rows) >= LONG_TABLE:
        return (
            f"{{\\tiny\\setlength{{\\tabcolsep}}{{2pt}}\n\\begin{{longtable}}{{{columns}}}\n"
            f"{caption} \\\\\n{top}\n\\endhead\n{body}\n\\bottomrule\n\\end{{longtable}}\n\\noindent {under}\\par}}\n"
        )
    return (
        f"\\begin{{table*}}[tbp]\n\\centering\\scriptsize\\setlength{{\\tabcolsep}}{{3pt}}\n{caption}\n"
        f"{FITTED}{{\\begin{{tabular}}{{{columns}}}\n{top}\n{body}\n\\bottomrule\n\\end{{tabular}}}}\n"
        f"\\par\\smallskip\\raggedright {under}\n\\end{{table*}}\n"
    )


def csv_rows(table: Table[Any]) -> list[tuple[str, ...]]:
    """The head, then a row for every entry. Numbers have their digits, and what there is not is empty."""
    return [
        ("table", "row", "column", *table.FIELDS),
        *(
            (table.name, " / ".join(row.heads), column, *entry.fields())
            for row in table.rows
            for column, entry in zip(table.columns, row.entries, strict=True)
        ),
    ]


def html(table: Table[Any]) -> str:
    """The table with its legend, signature and notes; without its title. `static/grid.css` has its style."""
    return str(environment().get_template("table.html").module.show(view(table)))  # type: ignore[attr-defined]


def view(table: Table[Any]) -> dict[str, Any]:
    """What the macro of `table.html` shows of a table: strings, which it escapes."""
    return {
        "name": table.name,
        "title": table.title,
        "heads": (*table.heads, *table.columns),
        "groups": [_html_group(table, rows) for rows in _groups(table)],
        "nothing": "" if table.rows else _nothing(table),
        "legend": table.legend(),
        "notes": _below(table),
    }


def _nothing(table: Table[Any]) -> str:
    return f"{table.title}: {NOT_RUN}."


def _below(table: Table[Any]) -> list[str]:
    """The signature and the notes, as sentences."""
    return [*([f"Signature: {table.signature.rstrip('.')}."] if table.signature else []), *table.notes]


def _groups(table: Table[Any]) -> Iterator[list[Row[Any]]]:
    """Rows with the same first head together; all of them where a row has one head."""
    for _, rows in groupby(table.rows, key=lambda row: row.heads[0] if len(row.heads) > 1 else ""):
        yield list(rows)


def _firsts(rows: Sequence[Row[Any]]) -> Iterator[tuple[bool, Row[Any]]]:
    """Rows of a group, and whether the first head of each is shown."""
    for place, row in enumerate(rows):
        yield place == 0 or len(row.heads) == 1, row


def _in_brackets(note: str) -> str:
    return f"({note})" if note else ""


# Markdown ---------------------------------------------------------------------------------------------------


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    quoted = re.sub(r"([\\`*_\[\]|$~#])", r"\\\1", " ".join(text.split()))
    return quoted.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(table: Table[Any], entry: Entry) -> str:
    main = markdown_text(entry.main(table.digits) or table.absent)
    beside = (entry.interval(table.digits), entry.beside(), _in_brackets(entry.note))
    shown = [
        f"**{main}**" if entry.bold else main,
        *map(markdown_text, beside),
        entry.mark.sign if entry.mark else "",
    ]
    return " ".join(filter(None, shown))


# LaTeX ------------------------------------------------------------------------------------------------------

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", ONE_SEED: r"$^{\dagger}$", DASH: "--"},
    **{"✓": r"$\surd$", "≈": r"$\approx$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "Δ": r"$\Delta$"},
}


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is, in one line."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def _latex_column(table: Table[Any], column: int) -> str:
    return f"p{{{0.7 / len(table.columns):.2f}\\textwidth}}" if table.worded(column) else "l"


def _latex_row(table: Table[Any], row: Row[Any], first: bool) -> str:
    heads = [latex_text(head) for head in row.heads]
    cells = [heads[0] if first else "", *heads[1:], *(_latex_cell(table, entry) for entry in row.entries)]
    return " & ".join(cells) + r" \\"


def _latex_cell(table: Table[Any], entry: Entry) -> str:
    main = latex_text(entry.main(table.digits) or table.absent)
    interval = latex_text(entry.interval(table.digits))
    shown = [
        f"\\textbf{{{main}}}" if entry.bold else main,
        f"{{\\tiny {interval}}}" if interval else "",
        *map(latex_text, (entry.beside(), _in_brackets(entry.note), entry.mark.sign if entry.mark else "")),
    ]
    return " ".join(filter(None, shown))


# HTML -------------------------------------------------------------------------------------------------------


def _html_group(table: Table[Any], rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
    """The rows of a group; the first head of a group stands beside all of them."""
    return [
        {
            "first": row.heads[0] if first else None,
            "span": len(rows) if len(row.heads) > 1 else 0,
            "heads": row.heads[1:],
            "cells": [_html_cell(table, entry) for entry in row.entries],
        }
        for first, row in _firsts(rows)
    ]


def _html_cell(table: Table[Any], entry: Entry) -> dict[str, Any]:
    return {
        "main": entry.main(table.digits) or table.absent,
        "bold": entry.bold,
        "interval": entry.interval(table.digits),
        "beside": entry.beside(),
        "mark": entry.mark,
        "note": _in_brackets(entry.note),
        "worded": len(entry.text) > LONG_TEXT or len(entry.note) > LONG_TEXT,
        "hint": entry.hint,
    }
