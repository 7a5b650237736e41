"""A report takes the place of the one before as a whole, and of nothing else."""

from __future__ import annotations

import pytest

from vmask.report.grid.report import filling


def write(out, text, *names):
    with filling(out) as folder:
        (folder / "tables").mkdir(exist_ok=True)
        for name in names or ("tables/a.csv", "report.md", "report.html"):
            (folder / name).write_text(text)


def texts(out):
    return {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()}


def test_the_old_report_stays_until_the_new_one_is_whole(tmp_path):
    out = tmp_path / "report"
    write(out, "old")

    def fail():
        with filling(out) as folder:
            (folder / "report.md").write_text("new")
            assert (out / "report.md").read_text() == "old"
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert set(texts(out).values()) == {"old"}
    write(out, "new")
    assert set(texts(out).values()) == {"new"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_tables_that_are_not_made_anew_stay(tmp_path):
    write(tmp_path / "report", "old", "tables/mine.csv", "report.md")
    write(tmp_path / "report", "new")
    assert texts(tmp_path / "report") == {
        **dict.fromkeys(("tables/a.csv", "report.md", "report.html"), "new"),
        "tables/mine.csv": "old",
    }


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_with_other_things_or_that_one_is_in_is_not_exchanged(tmp_path, monkeypatch, inside):
    out = tmp_path / "report"
    out.mkdir()
    if inside:
        monkeypatch.chdir(out)
    else:
        (out / "notes.txt").write_text("mine")
    before = out.stat().st_ino
    write(out, "new")
    assert out.stat().st_ino == before
    assert inside or texts(out)["notes.txt"] == "mine"
