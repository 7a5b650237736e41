"""A table as Markdown, LaTeX and CSV; `templates/table.html` shows it as HTML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vmask._core.files import write_text
from vmask.report.grid.table import DASH, ONE_SEED, Entry, Row, Table

FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"
"""LaTeX that shrinks what is wider than the page, and nothing else."""
LONG_TABLE = 45
"""Rows from which on a LaTeX table goes on over pages."""
LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", ONE_SEED: r"$^{\dagger}$", DASH: "--"},
    **{"✓": r"$\surd$", "≈": r"$\approx$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "Δ": r"$\Delta$"},
}


def write_tables(folder: Path, tables: Iterable[Table[Any]]) -> None:
    """Write every table as CSV and as LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        write_csv(folder / f"{table.name}.csv", csv_rows(table))
        write_text(folder / f"{table.name}.tex", latex(table))


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    write_text(path, stream.getvalue())


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


def markdown(table: Table[Any]) -> str:
    """The table with its legend, signature and notes; without its title."""
    aligned = ["---"] * len(table.heads)
    aligned += [":---" if table.worded(column) else "---:" for column in range(len(table.columns))]
    lines = [_markdown_row([markdown_text(head) for head in (*table.heads, *table.columns)]), _markdown_row(aligned)]
    for row in table.rows:
        cells = [_markdown_cell(table, entry) for entry in row.entries]
        lines.append(_markdown_row([*map(markdown_text, row.heads), *cells]))
    legend = table.legend()
    under = [*([f"*{markdown_text(legend)}*"] if legend else []), *map(markdown_text, table.below)]
    body = "\n".join(lines) if table.rows else markdown_text(table.nothing)
    return "\n\n".join([body, *under])


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    quoted = re.sub(r"([\\`*_\[\]|$~#])", r"\\\1", " ".join(text.split()))
    return quoted.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(table: Table[Any], entry: Entry) -> str:
    main = markdown_text(entry.main(table.digits) or table.absent)
    beside = (entry.interval(table.digits), entry.beside(), entry.note_in_brackets)
    shown = [
        f"**{main}**" if entry.bold else main,
        *map(markdown_text, beside),
        entry.mark.sign if entry.mark else "",
    ]
    return " ".join(filter(None, shown))


def latex(table: Table[Any]) -> str:
    r"""The table for a document with `\usepackage{booktabs,graphicx,longtable}`.

    It is made smaller where it is wider than the page; one of many rows goes on over pages, in small print.
    """
    heads = " & ".join(latex_text(head) for head in (*table.heads, *table.columns))
    under = " ".join(map(latex_text, (table.legend(), *table.below)))
    caption = f"\\caption{{{latex_text(table.title)}}}\n\\label{{tab:{re.sub(r'[^a-zA-Z0-9]+', '-', table.name)}}}"
    body = "\n\\midrule\n".join(
        "\n".join(_latex_row(table, row, first=place == 0) for place, row in enumerate(rows)) for rows in table.groups()
    )
    if not table.rows:
        count = len(table.heads) + len(table.columns)
        body = f"\\multicolumn{{{count}}}{{l}}{{{latex_text(table.nothing)}}} \\\\"
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


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is, in one line."""
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def _latex_column(table: Table[Any], column: int) -> str:
    return f"p{{{0.7 / len(table.columns):.2f}\\textwidth}}" if table.worded(column) else "l"


def _latex_row(table: Table[Any], row: Row[Any], first: bool) -> str:
    """A row; the first head of a group stands in its first row alone."""
    heads = [latex_text(head) for head in row.heads]
    if not first and len(heads) > 1:
        heads[0] = ""
    return " & ".join([*heads, *(_latex_cell(table, entry) for entry in row.entries)]) + r" \\"


def _latex_cell(table: Table[Any], entry: Entry) -> str:
    main = latex_text(entry.main(table.digits) or table.absent)
    interval = latex_text(entry.interval(table.digits))
    shown = [
        f"\\textbf{{{main}}}" if entry.bold else main,
        f"{{\\tiny {interval}}}" if interval else "",
        *map(latex_text, (entry.beside(), entry.note_in_brackets, entry.mark.sign if entry.mark else "")),
    ]
    return " ".join(filter(None, shown))
