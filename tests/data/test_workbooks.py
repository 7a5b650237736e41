"""Sheets of workbooks: cells as a CSV file would have them, within limits."""

from __future__ import annotations

import datetime
import io
import subprocess
import sys
import zipfile

import openpyxl
import pytest

from table_files import as_xlsx
from vmask.data import workbooks
from vmask.data.datasets import load_table
from vmask.data.readers import read_header, read_rows
from vmask.errors import DataError, MissingExtra

ROWS = [{"text": "a fine film", "label": "pos"}, {"text": "a dull film", "label": "neg"}]


def book(tmp_path, content, name="a.xlsx"):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def changed(content, name, change):
    """A workbook with a file of the archive changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.namelist():
            data = old.read(item)
            new.writestr(item, change(data) if item == name else data)
    return out.getvalue()


def test_cells_are_what_a_csv_file_has(tmp_path):
    values = {
        4: "4",
        0.1 + 0.2: "0.3",
        -1.5: "-1.5",
        True: "TRUE",
        datetime.date(2024, 1, 31): "2024-01-31",
        datetime.datetime(2024, 1, 31, 5, 6, 7): "2024-01-31 05:06:07",
        datetime.time(3, 4): "03:04:00",
        datetime.timedelta(hours=30): "30:00:00",
        " kept \nas, it": " kept \nas, it",
    }
    path = book(tmp_path, as_xlsx([{"text": value, "label": None, "n": 1} for value in values]))
    assert [row["text"] for row in read_rows(path)] == list(values.values())
    assert {row.get("label") for row in read_rows(path)} == {""}  # a column with nothing but a name stays


def test_numbers_as_labels_are_those_of_a_csv_file(tmp_path):
    path = book(
        tmp_path, as_xlsx([{"text": "a", "label": 1}, {"text": "b", "label": 0.5}, {"text": "c", "label": None}])
    )
    table = load_table(path)
    assert (list(table.labels), table.notes) == (["1", "0.5"], ("Left out 1 row without a label.",))


def test_empty_rows_and_columns_around_a_table(tmp_path):
    file = openpyxl.Workbook()
    sheet = file.active
    for number, row in {4: ("text", "label"), 5: ("one", "x"), 7: ("two", "y")}.items():
        for column, value in enumerate(row, 3):
            sheet.cell(number, column, value)
    sheet.cell(60, 9).font = openpyxl.styles.Font(bold=True)  # a cell with a form and no value
    file.save(tmp_path / "a.xlsx")
    assert list(read_rows(tmp_path / "a.xlsx")) == [{"text": "one", "label": "x"}, {"text": "two", "label": "y"}]
    assert read_header(tmp_path / "a.xlsx") == ["text", "label"]


def test_an_error_of_a_formula_is_an_empty_cell(tmp_path):
    content = as_xlsx([{"text": "MARK", "label": "x"}, {"text": "fine", "label": "y"}])
    cell = b'<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>'

    def broken(data):
        start = data.index(b'<c r="A2"')
        return data[:start] + cell + data[data.index(b"</c>", start) + 4 :]

    path = book(tmp_path, changed(content, "xl/worksheets/sheet1.xml", broken))
    assert next(read_rows(path)) == {"text": "", "label": "x"}


def test_which_sheet_is_read(tmp_path):
    path = book(tmp_path, as_xlsx(ROWS, ("Empty", "2", "Reviews")))
    table = load_table(path)
    assert list(table.texts) == [row["text"] for row in ROWS]
    assert table.notes == ("a.xlsx has 3 sheets; 'Reviews' was read. Name another with --sheet.",)
    for sheet in ("Reviews", 3, "3"):
        assert load_table(path, sheet=sheet).notes == ()
    for sheet in ("Empty", 1, "2"):  # "2" is a name here
        with pytest.raises(DataError, match=r"is empty\. Its first line must name the columns"):
            load_table(path, sheet=sheet)
    for sheet in ("Review", 4, "0", "9" * 5000):
        with pytest.raises(DataError, match=r"has no sheet .*sheets are: Empty, 2, Reviews"):
            load_table(path, sheet=sheet)


def test_a_hidden_sheet_is_read_last(tmp_path):
    file = openpyxl.load_workbook(io.BytesIO(as_xlsx(ROWS, ("First", "Shown"))))
    file["First"].append(["text", "label"])
    file["First"].append(["hidden", "x"])
    file["First"].sheet_state = "hidden"
    file.save(tmp_path / "a.xlsx")
    assert next(read_rows(tmp_path / "a.xlsx"))["text"] == "a fine film"


def test_a_sheet_of_billions_of_cells_is_refused(tmp_path):
    pytest.importorskip("resource", reason="no limits of memory here")
    file = openpyxl.Workbook()
    file.active["A1"], file.active["XFD1048576"] = "text", "far away"
    file.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match=r"takes more than \d GB of memory or \d+ seconds.*Save the sheet as CSV"):
        list(read_rows(tmp_path / "a.xlsx"))


@pytest.mark.parametrize("cut", [0, 10, 0.5, 0.99])
def test_damaged_workbooks_say_so(cut, tmp_path):
    content = as_xlsx(ROWS)
    path = book(tmp_path, content[: int(cut * len(content)) if isinstance(cut, float) else cut])
    with pytest.raises(DataError, match=r"'a\.xlsx' cannot be read as a workbook.*Copy or save it again"):
        list(read_rows(path))


def test_what_is_no_workbook(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"is a text file with the name of a workbook.*\.csv"):
        list(read_rows(book(tmp_path, b"text,label\na,b\n", "a.xls")))
    with pytest.raises(DataError, match="has two columns called 'text'"):
        list(
            read_rows(
                book(
                    tmp_path, changed(as_xlsx(ROWS), "xl/worksheets/sheet1.xml", lambda d: d.replace(b"label", b"text"))
                )
            )
        )
    monkeypatch.setattr(workbooks, "LARGEST", 100)
    with pytest.raises(DataError, match="too many for a workbook"):
        list(read_rows(book(tmp_path, as_xlsx(ROWS))))


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'vmask\[excel\]'"):
        list(read_rows(book(tmp_path, as_xlsx(ROWS))))


def test_modules_of_the_current_folder_are_not_run(tmp_path):
    book(tmp_path, as_xlsx(ROWS))
    for name in ("json", "datetime", "python_calamine", "vmask", "io"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')")
    reading = "from vmask.data.readers import read_rows; print(len(list(read_rows('a.xlsx'))))"
    program = f"import sys; sys.path.remove(''); {reading}"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_reader_that_stops_early_ends_the_process(tmp_path):
    rows = read_rows(book(tmp_path, as_xlsx(ROWS * 5000)))
    assert next(rows) == ROWS[0]
    rows.close()  # waits for the process
