"""Tables in four formats: what stands in a cell, and that no text breaks the format."""

import csv
import io
import xml.etree.ElementTree as ET
from math import nan

import pytest

from grid_results import table_html
from reproduction.table import Entry, Row, Table
from vmask.evaluation.statistics import Estimate
from vmask.report.grid.formats import csv_rows, latex, markdown

NASTY = r"a<b> & c|d _e_ *f* 5% $g$ #h {i} ~j ^k \l [m] `n` 'o' " + '"p"'


def est(value, half=nan, how="t over 5 seeds"):
    return Estimate(value, value - half, value + half, 5, how)


GOOD = Entry(est(93.1, 0.5), 92.4, (90.0, 94.8), "ok", ("vectors",), bold=True)


def table(*entries, heads=("model", "method"), columns=None, name="accuracy", **more):
    columns = columns or tuple(f"c{i}" for i in range(len(entries)))
    rows = more.pop("rows", [Row(("CNN", "base")[: len(heads)], entries)])
    return Table(name, "Accuracy", heads, columns, rows, "seeds 0-4", ("a note",), **more)


def cell(entry, **more):
    """An entry as Markdown."""
    return markdown(table(entry, **more)).splitlines()[2].split(" | ", 2)[2].removesuffix(" |")


def test_cell_has_ours_with_its_interval_and_the_published_number():
    assert cell(GOOD) == "**93.1** ± 0.5 / 92.4 ✓"
    assert cell(Entry(est(93.14, 0.46))) == "93.1 ± 0.5"
    assert cell(Entry(est(93.1))) == "93.1"
    assert cell(Entry(est(-0.04, 0.3))) == "0.0 ± 0.3"
    assert cell(Entry(est(2_652_305.0), 2_600_000.0), digits=0) == "2,652,305 / 2,600,000"


def test_published_number_keeps_the_digits_that_the_paper_prints():
    assert cell(Entry(est(93.1), 93.02)) == "93.1 / 93.02"
    assert cell(Entry(est(-0.04), -0.045), digits=3) == "-0.040 / -0.045"


def test_verdicts_have_marks():
    assert cell(Entry(est(95.0, 1.5), 92.4, (90.0, 94.0), "close")) == "95.0 ± 1.5 / 92.4 ≈"
    assert cell(Entry(est(99.0), 92.4, (90.0, 94.0), "off")) == "99.0 / 92.4 ↑"
    assert cell(Entry(est(80.0), 92.4, (90.0, 94.0), "off")) == "80.0 / 92.4 ↓"


def test_interval_over_texts_is_marked():
    shown = table(Entry(est(93.1, 0.5, "over texts")))
    assert "93.1 ± 0.5†" in markdown(shown)
    assert "† one seed, interval over texts" in shown.legend()
    assert "†" not in markdown(table(GOOD))


def test_not_run_is_said_and_short_in_wide_tables():
    missing = Entry(published=92.4, verdict="not run")
    assert cell(missing) == "not run / 92.4"
    wide = table(missing, *[Entry()] * 6)
    assert "| – / 92.4 | – | – | – | – | – | – |" in markdown(wide)
    assert "– not run" in wide.legend()
    assert "–" not in table(*[GOOD] * 7).legend()


def test_text_stands_for_the_number_and_a_note_behind_it():
    assert cell(Entry(text="fine, great", published=3.0)) == "fine, great"
    assert cell(Entry(est(91.0), note="weight_decay 0.1")) == r"91.0 (weight\_decay 0.1)"


def test_legend_has_what_the_table_has():
    assert table(GOOD, unit="percent").legend() == (
        "In percent: ours ± 95% interval / published; against the published number's band: ✓ in it."
    )
    assert table(Entry(est(1.0))).legend() == "Ours."
    assert table(Entry(text="fine")).legend() == "Words."
    counted = Entry(est(5.0, how="counted"), 9.0, (9.0, 9.0), "off")
    assert table(counted).legend() == "Ours / published; ↓ fewer."


def test_markdown_has_legend_signature_and_notes_but_no_title():
    lines = markdown(table(GOOD)).splitlines()
    assert lines[:2] == ["| model | method | c0 |", "| --- | --- | ---: |"]
    assert lines[3:] == ["", f"*{table(GOOD).legend()}*", "", "Signature: seeds 0-4.", "", "a note"]


def test_markdown_escapes():
    shown = markdown(table(Entry(text=NASTY)))
    row = shown.splitlines()[2]
    assert r"a&lt;b> &amp; c\|d \_e\_ \*f\* 5% \$g\$ \#h {i} \~j ^k \\l \[m\] \`n\`" in row
    assert row.replace(r"\|", "").count("|") == 4


def test_a_line_break_does_not_break_the_table():
    assert cell(Entry(text="one\ntwo")) == "one two"


def test_latex_is_booktabs_with_bold_and_groups():
    rows = [Row((model, method), (GOOD,)) for model in ("CNN", "LSTM") for method in ("base", "l2")]
    shown = latex(table(columns=("TREC",), rows=rows, name="post_hoc"))
    assert shown.count(r"\midrule") == 2  # under the head, and between the models
    assert [shown.count(one) for one in (r"\toprule", r"\bottomrule", r"\begin{tabular}{lll}")] == [1, 1, 1]
    assert r"CNN & base & \textbf{93.1} {\tiny $\pm$ 0.5} / 92.4 $\surd$ \\" in shown
    assert r"\label{tab:post-hoc}" in shown
    assert shown.count("CNN") == 1  # once for its group


def test_a_latex_table_that_is_too_wide_is_shrunk_to_the_page():
    shown = latex(table(GOOD))
    assert r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\begin{tabular}" in shown
    assert shown.count("{") - shown.count(r"\{") == shown.count("}") - shown.count(r"\}")


def test_latex_escapes():
    shown = latex(table(Entry(text=NASTY)))
    assert r"a\textless{}b\textgreater{} \& c|d \_e\_ *f* 5\% \$g\$ \#h \{i\} \textasciitilde{}j" in shown
    assert r"\textasciicircum{}k \textbackslash{}l" in shown


def test_long_latex_tables_go_over_pages():
    rows = [Row(("CNN", str(i)), (GOOD,)) for i in range(60)]
    shown = latex(table(columns=("TREC",), rows=rows))
    assert r"\begin{longtable}" in shown
    assert r"\begin{table*}" not in shown
    assert shown.count("{") - shown.count(r"\{") == shown.count("}") - shown.count(r"\}")


def test_csv_is_tidy():
    entries = GOOD, Entry(published=92.4, verdict="not run"), Entry(est(99.0), 92.4, (90.0, 94.0), "off", ("data", "x"))
    head, *rows = csv_rows(table(*entries))
    assert head == ("table", "row", "column", *Entry.FIELDS)
    first, second, third = (dict(zip(head, row, strict=True)) for row in rows)
    assert first == {
        **{"table": "accuracy", "row": "CNN / base", "column": "c0", "ours": "93.1", "low": "92.6", "high": "93.6"},
        **{"n": "5", "interval": "t over 5 seeds", "published": "92.4", "band_low": "90", "band_high": "94.8"},
        **{"verdict": "ok", "side": "", "differs": "vectors", "bold": "bold", "text": "", "note": ""},
    }
    assert (second["ours"], second["low"], second["verdict"]) == ("", "", "not run")
    assert (third["verdict"], third["side"], third["differs"], third["low"]) == ("off", "above", "data; x", "")


def test_csv_says_not_run_where_the_paper_has_no_number():
    head, row, other = csv_rows(table(Entry(), Entry(text="words")))
    assert dict(zip(head, row, strict=True))["verdict"] == "not run"
    assert dict(zip(head, other, strict=True))["verdict"] == ""


def test_csv_survives_any_text():
    stream = io.StringIO()
    rows = csv_rows(table(Entry(text=NASTY + ",\nnext")))
    csv.writer(stream).writerows(rows)
    assert list(map(tuple, csv.reader(io.StringIO(stream.getvalue(), newline="")))) == rows


def parsed(shown):
    return ET.fromstring(f"<main>{shown}</main>")


def test_html_says_the_verdict_in_a_word_too():
    shown = table_html(table(GOOD, Entry(est(80.0), 92.4, (90.0, 94.0), "off")))
    first, second = parsed(shown).iter("td")
    assert "".join(first.itertext()) == "93.1 ± 0.5/ 92.4 ✓ ok"
    assert first.find(".//b").text == "93.1"
    assert [one.get("class") for one in second.iter("b")] == ["v off"]
    assert "".join(second.itertext()).endswith("↓ below")
    assert first.get("title") == "interval: t over 5 seeds; published band 90 to 94.8; differs in vectors"


def test_html_joins_the_heads_of_a_group():
    rows = [Row(heads, (GOOD,)) for heads in (("CNN", "base"), ("CNN", "l2"), ("LSTM", "base"))]
    tree = parsed(table_html(table(columns=("TREC",), rows=rows)))
    assert [len(list(body.iter("tr"))) for body in tree.iter("tbody")] == [2, 1]
    assert [one.get("rowspan") for one in tree.iter("th") if one.get("scope") == "rowgroup"] == ["2", "1"]
    assert [len(list(row.iter("th"))) for row in tree.iter("tr")] == [3, 2, 1, 2]


def test_html_escapes_everything():
    nasty = Entry(text=NASTY, note=NASTY, differs=(NASTY,))
    rows = [Row((NASTY, NASTY), (nasty,))]
    shown = table_html(Table("x", "X", (NASTY, NASTY), (NASTY,), rows, NASTY, (NASTY,)))
    tree = parsed(shown)  # an XML parser is stricter than a browser
    assert tree.find(".//td/span").text == NASTY
    assert [one.text for one in tree.iter("th")] == [NASTY] * 5


@pytest.mark.parametrize("form", [markdown, latex, table_html, csv_rows])
def test_empty_table_is_no_error(form):
    shown = form(table(columns=("TREC",), rows=[]))
    assert shown
    if form is not csv_rows:
        assert "not run" in shown


@pytest.mark.parametrize("form", [markdown, latex, table_html, csv_rows])
def test_output_is_stable(form):
    assert form(table(GOOD, Entry(), Entry(text=NASTY))) == form(table(GOOD, Entry(), Entry(text=NASTY)))
