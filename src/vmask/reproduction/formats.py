"""A table as Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import isfinite

from vmask.reproduction.bands import side
from vmask.reproduction.entries import COUNTED
from vmask.reproduction.table import Entry, Row, Table

WIDE = 5
"""Columns from which on what was not run is a dash, which the legend explains."""
NOT_RUN, DASH = "not run", "–"
ONE_SEED = "†"
MARKS = {"ok": "✓", "close": "≈", "above": "↑", "below": "↓"}
"""Of verdicts; `off` is `above` or `below`."""
MEANINGS = {"ok": "in it", "close": "our interval meets it", "above": "above it", "below": "below it"}
"""Against the band of the published number."""
COUNT_MEANINGS = {"ok": "the same after rounding", "close": "within 5%", "above": "more", "below": "fewer"}
LONG_TEXT = 15
"""Characters of an entry from which on its column is one of words: at the left, and with more than one line."""
FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"
"""LaTeX that shrinks what is wider than the page, and nothing else."""
LONG_TABLE = 45
"""Rows from which on a LaTeX table goes on over pages."""
FIELDS = (
    *("table", "row", "column", "ours", "low", "high", "n", "interval", "published", "band_low", "band_high"),
    *("verdict", "side", "differs", "bold", "text", "note"),
)
"""Columns of the CSV."""

STYLE = """<style>
:root { --ok: #1a7f37; --close: #8a6100; --off: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ok: #57c26d; --close: #d9a928; --off: #ff8a80; } }
@media print { :root { --ok: #1a7f37; --close: #8a6100; --off: #b3261e; } }
main { max-width: 1180px; }
.wide { overflow-x: auto; }
.counts { width: auto; margin-bottom: .9rem; font-size: .9rem; }
.counts th:not(:first-child), .counts td:not(:first-child) { padding-left: 1.2rem; text-align: right; }
.counts tr:last-child { font-weight: 600; }
.claims td { vertical-align: top; }
.claims td:first-child { width: 30%; }
.claims td:nth-child(2) { padding-right: 1.2rem; white-space: nowrap; }
.claims td p { margin: 0 0 .35rem; color: var(--soft); font-size: .9rem; }
.numbers { width: auto; min-width: 100%; font-size: .8rem; line-height: 1.35; }
.numbers th, .numbers td { padding: .25rem .7rem .25rem 0; vertical-align: top; }
.numbers td { font-variant-numeric: tabular-nums; }
.numbers td span { display: block; white-space: nowrap; }
.numbers td.words span { min-width: 12em; white-space: normal; }
.numbers tbody th:not(.first) { font-weight: 400; }
.numbers tbody + tbody tr:first-child > * { border-top: 2px solid var(--line); }
.numbers small { color: var(--soft); }
.numbers .v { font-size: .9em; }
.v.ok { color: var(--ok); } .v.close { color: var(--close); } .v.off { color: var(--off); }
.under { margin: .6rem 0 0; color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.under li { margin: .15rem 0; }
</style>"""
"""For a page with tables of `html`, beside the style of the page itself."""


def markdown(table: Table) -> str:
    """The table with its legend, signature and notes; without its title."""
    right = ["---"] * len(table.heads) + [":---" if _worded(table, i) else "---:" for i in range(len(table.columns))]
    lines = [
        _markdown_row([_markdown(one) for one in (*table.heads, *table.columns)]),
        _markdown_row(right),
        *(
            _markdown_row([*map(_markdown, row.heads), *(_markdown_cell(table, one) for one in row.entries)])
            for row in table.rows
        ),
    ]
    under = [f"*{_markdown(legend(table))}*", *map(_markdown, _below(table))]
    body = "\n".join(lines) if table.rows else _markdown(_nothing(table))
    return body + "\n\n" + "\n\n".join(under)


def latex(table: Table) -> str:
    r"""The table for a document with `\usepackage{booktabs,graphicx,longtable}`.

    It is made smaller where it is wider than the page; one of many rows goes on over pages, in small print.
    """
    heads = " & ".join(_latex(one) for one in (*table.heads, *table.columns))
    count = len(table.heads) + len(table.columns)
    under = " ".join(map(_latex, (legend(table), *_below(table))))
    caption = f"\\caption{{{_latex(table.title)}}}\n\\label{{tab:{table.name.replace('_', '-')}}}"
    body = "\n\\midrule\n".join(
        "\n".join(_latex_row(table, row, first) for first, row in _firsts(list(rows))) for _, rows in _groups(table)
    )
    if not table.rows:
        body = f"\\multicolumn{{{count}}}{{l}}{{{_latex(_nothing(table))}}} \\\\"
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


def csv_rows(table: Table) -> list[tuple[str, ...]]:
    """The head, `FIELDS`, then a row for every entry. Numbers have their digits, and what there is not is empty."""
    rows: list[tuple[str, ...]] = [FIELDS]
    for row in table.rows:
        for column, entry in zip(table.columns, row.entries, strict=True):
            ours, band = entry.ours, entry.band or (None, None)
            numbers = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
            of_ours = ("", "") if ours is None else (str(ours.n), ours.how)
            said = "" if ours or entry.text else NOT_RUN
            rows.append(
                (
                    *(table.name, " / ".join(row.heads), column, *map(_plain, numbers), *of_ours),
                    *(_plain(entry.published), *map(_plain, band), entry.verdict or said, side(entry)),
                    *("; ".join(entry.differs), "bold" if entry.bold else "", entry.text, entry.note),
                )
            )
    return rows


def html(table: Table) -> str:
    """The table with its legend, signature and notes, for a page with `STYLE`; without its title."""
    heads = "".join(f'<th scope="col">{escape(one)}</th>' for one in (*table.heads, *table.columns))
    groups = "".join(f"<tbody>{_html_group(table, list(rows))}</tbody>" for _, rows in _groups(table))
    shown = f'<div class="wide"><table class="numbers"><thead><tr>{heads}</tr></thead>{groups}</table></div>'
    notes = "".join(f"<li>{escape(one)}</li>" for one in _below(table))
    body = shown if table.rows else f"<p>{escape(_nothing(table))}</p>"
    return f'{body}\n<p class="under">{escape(legend(table))}</p><ul class="under">{notes}</ul>'


def legend(table: Table) -> str:
    """What the signs in the cells mean, those that this table has."""
    entries = [entry for row in table.rows for entry in row.entries]
    if not any(entry.ours or entry.published is not None for entry in entries):
        return "Words." if any(entry.text for entry in entries) else "Nothing was run."
    parts = [f"In {table.unit}: ours" if table.unit else "Ours"]
    if any(_half(entry) is not None for entry in entries):
        parts[0] += " ± 95% interval"
    if any(entry.published is not None and not entry.text for entry in entries):
        parts[0] += " / published"
    judged = [entry for entry in entries if _verdict(entry)]
    if judged:
        counts = all(entry.ours is not None and entry.ours.how == COUNTED for entry in judged)
        meanings = COUNT_MEANINGS if counts else MEANINGS
        said = {_verdict(entry) for entry in judged}
        against = "" if counts else "against the published number's band: "
        parts.append(against + ", ".join(f"{MARKS[name]} {meanings[name]}" for name in MARKS if name in said))
    if any(_absent(entry) for entry in entries) and _is_wide(table):
        parts.append(f"{DASH} {NOT_RUN}")
    if any(_over_texts(entry) for entry in entries):
        parts.append(f"{ONE_SEED} one seed, interval over texts; without it over seeds")
    return "; ".join(parts) + "."


# What is in a cell ------------------------------------------------------------------------------------------


def _absent(entry: Entry) -> bool:
    return entry.ours is None and not entry.text


def _is_wide(table: Table) -> bool:
    return len(table.columns) >= WIDE


def _worded(table: Table, column: int) -> bool:
    """Whether a column is one of words."""
    return any(len(row.entries[column].text) > LONG_TEXT for row in table.rows)


def _verdict(entry: Entry) -> str:
    """`ok`, `close`, `above`, `below`; empty where there is nothing to mark."""
    return side(entry) or (entry.verdict if entry.verdict in MARKS else "")


def _half(entry: Entry) -> float | None:
    """Half the width of our interval."""
    if entry.ours is None or not (isfinite(entry.ours.low) and isfinite(entry.ours.high)):
        return None
    return (entry.ours.high - entry.ours.low) / 2


def _over_texts(entry: Entry) -> bool:
    return _half(entry) is not None and entry.ours is not None and "seed" not in entry.ours.how


def _number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # 0 has no sign


def _published(value: float) -> str:
    return f"{value:,.10g}"


def _plain(value: float | None) -> str:
    return "" if value is None or not isfinite(value) else f"{value:.10g}"


def _main(table: Table, entry: Entry) -> str:
    """Our number, or what stands for it."""
    if entry.text:
        return entry.text
    if entry.ours is None:
        return DASH if _is_wide(table) else NOT_RUN
    return _number(entry.ours.value, table.digits)


def _around(table: Table, entry: Entry) -> tuple[str, str, str]:
    """What follows our number: its interval, the published number, the remark."""
    half = _half(entry)
    interval = "" if half is None or entry.text else f"± {_number(half, table.digits)}"
    published = "" if entry.published is None or entry.text else f"/ {_published(entry.published)}"
    return (
        interval + ONE_SEED * (interval != "" and _over_texts(entry)),
        published,
        f"({entry.note})" * bool(entry.note),
    )


def _nothing(table: Table) -> str:
    return f"{table.title}: {NOT_RUN}."


def _below(table: Table) -> list[str]:
    """The signature and the notes, as sentences."""
    return [f"Signature: {table.signature.rstrip('.')}.", *table.notes]


def _groups(table: Table) -> Iterator[tuple[str, Iterator[Row]]]:
    """Rows with the same first head together; all of them where a row has one head."""
    return groupby(table.rows, key=lambda row: row.heads[0] if len(row.heads) > 1 else "")


def _firsts(rows: Sequence[Row]) -> Iterator[tuple[bool, Row]]:
    for number, row in enumerate(rows):
        yield number == 0 or len(row.heads) == 1, row


# Markdown ---------------------------------------------------------------------------------------------------


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    quoted = re.sub(r"([\\`*_\[\]|$~#])", r"\\\1", " ".join(text.split()))
    return quoted.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(table: Table, entry: Entry) -> str:
    main = _markdown(_main(table, entry))
    shown = [
        f"**{main}**" if entry.bold else main,
        *map(_markdown, _around(table, entry)),
        MARKS.get(_verdict(entry), ""),
    ]
    return " ".join(filter(None, shown))


# LaTeX ------------------------------------------------------------------------------------------------------

_LATEX = {
    **{one: f"\\{one}" for one in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", ONE_SEED: r"$^{\dagger}$", DASH: "--"},
    **{"✓": r"$\surd$", "≈": r"$\approx$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"},
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(one, one) for one in " ".join(text.split()))


def _latex_column(table: Table, column: int) -> str:
    return f"p{{{0.7 / len(table.columns):.2f}\\textwidth}}" if _worded(table, column) else "l"


def _latex_row(table: Table, row: Row, first: bool) -> str:
    heads = [_latex(one) for one in row.heads]
    cells = [heads[0] if first else "", *heads[1:], *(_latex_cell(table, entry) for entry in row.entries)]
    return " & ".join(cells) + r" \\"


def _latex_cell(table: Table, entry: Entry) -> str:
    main = _latex(_main(table, entry))
    interval, published, note = map(_latex, _around(table, entry))
    shown = [
        f"\\textbf{{{main}}}" if entry.bold else main,
        f"{{\\tiny {interval}}}" if interval else "",
        *(published, note, _latex(MARKS.get(_verdict(entry), ""))),
    ]
    return " ".join(filter(None, shown))


# HTML -------------------------------------------------------------------------------------------------------


def _html_group(table: Table, rows: Sequence[Row]) -> str:
    made = []
    for first, row in _firsts(rows):
        scope = f'scope="rowgroup" rowspan="{len(rows)}"' if len(row.heads) > 1 else 'scope="row"'
        heads = [f'<th class="first" {scope}>{escape(row.heads[0])}</th>'] if first else []
        heads += [f'<th scope="row">{escape(one)}</th>' for one in row.heads[1:]]
        made.append(f"<tr>{''.join(heads)}{''.join(_html_cell(table, entry) for entry in row.entries)}</tr>")
    return "".join(made)


def _html_cell(table: Table, entry: Entry) -> str:
    main = escape(_main(table, entry))
    interval, published, note = map(escape, _around(table, entry))
    verdict = _verdict(entry)
    lines = [
        [f"<b>{main}</b>" if entry.bold else main, f"<small>{interval}</small>" if interval else ""],
        [published, f'<b class="v {entry.verdict}">{MARKS[verdict]} {verdict}</b>' if verdict else ""],
        [f"<small>{note}</small>" if note else ""],
    ]
    shown = "".join(f"<span>{' '.join(filter(None, line))}</span>" for line in lines if any(line))
    kind = ' class="words"' if len(entry.text) > LONG_TEXT or len(entry.note) > LONG_TEXT else ""
    told = f' title="{escape(_told(entry))}"' if _told(entry) else ""
    return f"<td{kind}{told}>{shown}</td>"


def _told(entry: Entry) -> str:
    """What a pointer on a cell is told."""
    parts = []
    if entry.ours is not None and _half(entry) is not None:
        parts.append(f"interval: {entry.ours.how}")
    if entry.band is not None:
        parts.append(f"published band {entry.band[0]:.4g} to {entry.band[1]:.4g}")
    if entry.differs:
        parts.append(f"differs in {', '.join(entry.differs)}")
    return "; ".join(parts)
