"""Several files by a pattern."""

from __future__ import annotations

import pytest

from table_files import as_csv, as_xlsx
from toy import toy_texts
from vmask.config import SplitConfig
from vmask.data.datasets import load_dataset, load_table
from vmask.data.patterns import all_files_of, files_of, is_pattern
from vmask.data.recorded_source import dataset_of, recorded_source
from vmask.errors import DataError, FileMissing

ROWS = [{"text": text, "label": label} for text, label in zip(*toy_texts(60), strict=True)]


@pytest.fixture
def parts(tmp_path):
    """The rows in three files, and files that do not fit."""
    (tmp_path / "reviews-1.csv").write_bytes(as_csv(ROWS[:20]))
    (tmp_path / "reviews-2.csv").write_bytes(
        as_csv([{"label": row["label"], "n": 1, "text": row["text"]} for row in ROWS[20:40]])
    )
    (tmp_path / "reviews-3.xlsx").write_bytes(as_xlsx(ROWS[40:]))
    (tmp_path / ".reviews-0.csv").write_text("hidden")
    (tmp_path / "reviews-folder.csv").mkdir()
    return tmp_path


def test_files_come_in_the_order_of_their_names(parts):
    table = load_table(parts / "reviews-*")
    assert list(table.texts) == [row["text"] for row in ROWS]
    (parts / "all.csv").write_bytes(as_csv(ROWS))
    assert load_dataset(parts / "reviews-*").fingerprint == load_dataset(parts / "all.csv").fingerprint
    assert [path.name for path in all_files_of(parts / "reviews-[12].csv")] == ["reviews-1.csv", "reviews-2.csv"]


def test_files_without_the_column_are_named(parts):
    (parts / "reviews-2.csv").write_bytes(as_csv([{"text": "a", "stars": "1"}]))
    with pytest.raises(
        DataError, match=r"'reviews-2\.csv' has no column 'label', which is read of 'reviews-1\.csv'.*text, stars"
    ):
        load_table(parts / "reviews-*")


def test_a_name_with_the_signs_of_a_pattern_is_a_file_if_there_is_one(tmp_path):
    (tmp_path / "a[1].csv").write_bytes(as_csv(ROWS))
    (tmp_path / "a1.csv").write_bytes(as_csv(ROWS[:2]))
    assert not is_pattern(tmp_path / "a[1].csv")
    assert len(load_table(tmp_path / "a[1].csv")) == 60
    assert not is_pattern(tmp_path / "*" / "a.csv")  # a pattern of folders would search a disk
    assert not is_pattern("a\0*")
    assert is_pattern("x" * 5000 + "*") is False


def test_no_file_fits(tmp_path):
    with pytest.raises(FileMissing, match=r"No file fits '.*none-\*\.csv'\. Check the pattern"):
        files_of(tmp_path / "none-*.csv")
    with pytest.raises(FileMissing, match="No file fits"):
        load_dataset(tmp_path / "none-*.csv")


def test_the_record_of_a_pattern_notices_a_file_more(parts, monkeypatch):
    monkeypatch.chdir(parts)
    dataset = load_dataset("reviews-*.csv", split=SplitConfig(duplicates="ignore"))  # as what has no record
    about = {
        **recorded_source("reviews-*.csv"),
        "dataset_fingerprint": dataset.fingerprint,
        "text": "text",
        "label": "label",
    }
    assert dataset_of(about).fingerprint == dataset.fingerprint
    (parts / "reviews-4.csv").write_bytes(as_csv(ROWS[:1]))
    with pytest.raises(DataError, match="what is there now is not what the model was trained on"):
        dataset_of(about)


def test_the_record_keeps_how_files_were_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,label\n" + "".join(f"фильм {n},{n % 2}\n" for n in range(30)).encode("cp1251"))
    dataset = load_dataset(path, encoding="cp1251")
    about = recorded_source(str(path), reading=dataset.reading)
    assert about["reading"] == {"encoding": "cp1251"}
    assert dataset_of(about).fingerprint == dataset.fingerprint
    for forged in ({"encoding": 5}, {"encoding": "none"}, {"path": "x"}):
        with pytest.raises(DataError, match="cannot be read here"):
            dataset_of({**about, "reading": forged})
