"""`vmask grid`: says what is to do, does it, and says what became of it."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from grid.tiny import PIECES, TINY, Inline, files, write_tiny
from toy import toy_texts, write_csv
from vmask.cli import main

BLOCK = TINY["grid"][0]
BOTH = [{**BLOCK, "datasets": ["gone.csv", "reviews.csv"], "masks": ["base"], "seeds": 0}]


@pytest.fixture(autouse=True)
def inline(monkeypatch):
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a grid that is done. Do not write to it."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmask.grid.run.LocalEngine", Inline)
        words = ["--out", str(folder / "out"), "--models", str(folder / "models"), "--quiet"]
        assert main(["grid", str(write_tiny(folder)), *words]) == 0
    return folder


@pytest.fixture
def grid(vmask, tmp_path):
    """Run `vmask grid` in `tmp_path`, with some parts of the file changed."""

    def run(*words, **changes):
        file = write_tiny(tmp_path, **changes)
        return vmask("grid", file, "--out", tmp_path / "out", "--models", tmp_path / "models", *words)

    return run


@pytest.fixture
def copy(done, tmp_path):
    """A grid that is done, to write to."""
    for name in ("out", "models"):
        shutil.copytree(done / name, tmp_path / name)
    return tmp_path


def test_a_grid_is_run_and_every_piece_is_told(grid, tmp_path):
    ran = grid("--only", "mask=base,seed=0", stages=None)
    assert ran.code == 0
    assert ran.lines == [f"2 done, 0 failed, 0 skipped, 0 were there already; results in {tmp_path / 'out'}"]
    assert ran.err.splitlines() == [
        "2 pieces to do: no time is known yet for 2 of them",
        "reviews--cnn--base search: done",
        "reviews--cnn--base--s0 train: done",
    ]
    assert sorted(files(tmp_path / "out")) == [
        "cells/reviews--cnn--base--s0.json",
        "data/reviews.json",
        "search/reviews--cnn--base.json",
    ]


def test_a_second_run_does_nothing_and_says_so(grid, copy):
    before = files(copy / "out")
    ran = grid()
    assert ran.code == 0
    assert ran.lines == [f"0 done, 0 failed, 0 skipped, {PIECES} were there already; results in {copy / 'out'}"]
    assert ran.err == "nothing to do\n"
    assert files(copy / "out") == before


def test_quiet_prints_the_result_alone(grid, copy):
    assert grid("--quiet").err == ""


def test_json_is_one_object(grid, copy):
    (copy / "out" / "cells" / "reviews--cnn--base--s0.local.json").unlink()
    ran = grid("--json", "--quiet")
    assert ran.err == ""
    assert ran.json == {
        "experiment": "tiny",
        "results": str(copy / "out"),
        "pieces": {"done": PIECES - 1, "missing": 1},
        "to_do": 1,
        "seconds_estimated": ran.json["seconds_estimated"],
        "without_estimate": 0,
        "done": 1,
        "failed": 0,
        "skipped": 0,
        "there": 0,
        "errors": [],
    }


# What is to do --------------------------------------------------------------------------------------------


def test_a_dry_run_counts_and_does_nothing(grid, tmp_path):
    ran = grid("--dry-run")
    assert ran.code == 0
    assert ran.lines[0].split() == ["dataset", "model", "work", "done", "older", "failed", "to", "do"]
    assert [line.split() for line in ran.lines[1:-1]] == [
        ["reviews", "cnn", "search", "2"],
        ["reviews", "cnn", "train", "4"],
        ["reviews", "cnn", "words", "4"],
        ["reviews", "cnn", "local", "2"],
    ]
    assert ran.lines[-1] == f"{PIECES} pieces to do: no time is known yet for {PIECES} of them"
    assert not (tmp_path / "out").exists()


def test_a_dry_run_estimates_by_like_pieces(grid, copy):
    for path in (copy / "out" / "cells").glob("*--s?.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": 3600.0}))
    more = [{**BLOCK, "seeds": "0-3"}]
    ran = grid("--dry-run", "--jobs", "2", grid=more, stages=None)
    assert ran.lines[-1] == "4 pieces to do: about 2.0 hours with --jobs 2, by what others like them took"
    ran = grid("--dry-run", "--engine", "ray", grid=more, stages=None)
    assert ran.lines[-1] == "4 pieces to do: about 4.0 hours on one CPU, by what others like them took"
    said = grid("--dry-run", "--json", grid=more, stages=None).json
    assert said["pieces"] == {"done": 6, "missing": 4}
    assert (said["to_do"], said["seconds_estimated"], said["without_estimate"]) == (4, 4 * 3600, 0)
    other = [{**BLOCK, "models": ["cnn", "lstm"], "masks": ["base"], "seeds": 0}]
    models = {**TINY["models"], "lstm": {"embeddings": "random"}}
    ran = grid("--dry-run", grid=other, models=models, stages=None)
    assert ran.lines[-1] == "1 pieces to do: no time is known yet for 1 of them"


def test_a_dry_run_when_all_is_done(grid, copy):
    ran = grid("--dry-run")
    assert ran.lines[-1] == "nothing to do"
    assert ran.lines[1].split() == ["reviews", "cnn", "search", "2"]
    assert grid("--dry-run", "--json").json["pieces"] == {"done": PIECES}


def test_what_is_of_an_older_version_is_counted_and_done_again_with_stale(grid, copy, monkeypatch):
    for module in ("provenance", "run", "job", "course"):
        monkeypatch.setattr(f"vmask.grid.{module}.number_versions", lambda names=(): {"training": 2})
    ran = grid("--dry-run")
    assert ran.lines[-2:] == ["older: their numbers are of an older version; --stale does them again", "nothing to do"]
    assert grid("--dry-run", "--json").json["pieces"] == {"older": PIECES}
    assert grid("--dry-run", "--json", "--stale").json["to_do"] == PIECES
    ran = grid("--stale", "--quiet", "--only", "mask=vmask,seed=1")
    assert ran.lines[0].startswith("3 done, 0 failed, 0 skipped, 0 were there already")
    assert grid("--dry-run", "--json").json["pieces"] == {"older": PIECES - 3, "done": 3}


def test_only_and_seeds_choose_cells(grid, copy):
    def to_do(*words):
        return sum(grid("--dry-run", "--json", *words).json["pieces"].values())

    assert to_do() == PIECES
    assert to_do("--only", "mask=vmask") == 2 + 3 + 2 + 1  # base of seed 0, whose confidence is needed
    assert to_do("--seeds", "1") == 2 + 2 + 2
    assert to_do("--only", "mask=vmask,dataset=reviews,model=cnn", "--seeds", "0,1") == 8
    assert to_do("--only", "seed=0-1") == PIECES


# Failures -------------------------------------------------------------------------------------------------


def test_failures_are_told_and_the_code_is_2_until_they_are_mended(grid, tmp_path):
    ran = grid(grid=BOTH, stages=None)
    assert ran.code == 2
    assert ran.lines[0].startswith("2 done, 1 failed, 1 skipped, 0 were there already; results in")
    assert ran.lines[1].startswith("failed: gone--cnn--base search: ")
    assert "gone.csv" in ran.lines[1]
    assert len(ran.lines) == 2
    assert ran.err.splitlines()[-1].startswith("error: 2 pieces of the grid failed")
    assert ran.err.endswith("with: --retry-failed\n")
    assert "gone--cnn--base--s0 train: skipped, because what it needs failed" in ran.err
    ran = grid(grid=BOTH, stages=None)
    assert ran.code == 2, "a failure of before is one still"
    assert ran.lines[0].startswith("0 done, 0 failed, 1 skipped, 2 were there already, 1 failed before; results in")
    assert ran.err.endswith("with: --retry-failed\n")
    write_csv(tmp_path / "gone.csv", *toy_texts(60))
    ran = grid("--retry-failed", grid=BOTH, stages=None)
    assert ran.code == 0
    assert ran.lines[0].startswith("2 done, 0 failed, 0 skipped, 2 were there already; results in")


def test_failures_in_json(grid):
    ran = grid("--json", grid=BOTH, stages=None)
    assert ran.code == 2
    said = ran.json
    assert (said["done"], said["failed"], said["skipped"]) == (2, 1, 1)
    (error,) = said["errors"]
    assert error["piece"] == "gone--cnn--base search"
    assert "gone.csv" in error["error"]


def test_the_keyboard_ends_a_grid_and_the_same_command_goes_on(grid, tmp_path, monkeypatch):
    def start(self, job):
        if job.task.kind == "train":
            raise KeyboardInterrupt
        whole(self, job)

    whole = Inline.start
    with monkeypatch.context() as patch:
        patch.setattr(Inline, "start", start)
        ran = grid("--only", "mask=base", stages=None)
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "interrupted; the same command goes on"
    ran = grid("--only", "mask=base", stages=None)
    assert ran.lines[0].startswith("2 done, 0 failed, 0 skipped, 1 were there already")


# What is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", "0"], "argument --jobs: '0' is not a whole number from 1 to 1,000"),
        (["--threads", "999999999999"], "argument --threads: '999999999999' is not a whole number"),
        (["--only", "dataset=review"], "--only asks for dataset 'review', which no cell has. Did you mean 'reviews'?"),
        (["--only", "mask=base,mask=vmsk"], "--only asks for mask 'vmsk', which no cell has. Did you mean 'vmask'?"),
        (["--only", "base"], "'base' selects no cells"),
        (["--seeds", "7"], "--seeds asks for seed 7, which no cell has"),
        (["--seeds", "x"], "Write them as 0-4 or 0,2,5"),
        (["--seeds", "0", "--only", "seed=1"], "Seeds are given by --only and by --seeds"),
        (["--vectors-dir", "nowhere"], "There is no folder nowhere"),
    ],
)
def test_what_cannot_be_is_said(fails, tmp_path, words, said):
    assert said in fails("grid", write_tiny(tmp_path), "--out", tmp_path / "out", *words)


def test_cells_that_no_block_has_together_are_said(fails, tmp_path):
    file = write_tiny(tmp_path, grid=[{**BLOCK, "masks": ["base"], "seeds": 0}, {**BLOCK, "seeds": 1}], stages=None)
    said = fails("grid", file, "--only", "mask=vmask", "--seeds", "0")
    assert "No cell of" in said


def test_a_file_that_is_missing_or_wrong_is_said(fails, tmp_path):
    assert "There is no file" in fails("grid", tmp_path / "none.yaml")
    assert "Did you mean 'grid'?" in fails("grid", write_tiny(tmp_path, gird=[]))


def test_a_damaged_result_is_said_with_the_fix(fails, copy):
    path = copy / "out" / "cells" / "reviews--cnn--base--s1.json"
    path.write_text("{")
    said = fails("grid", write_tiny(copy), "--out", copy / "out", "--models", copy / "models")
    assert f"{path} is damaged" in said
    assert "Remove it, and the grid makes it anew." in said


# Where things are -----------------------------------------------------------------------------------------


def test_results_are_where_the_file_says_and_models_in_the_cache(vmask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VMASK_CACHE", str(tmp_path / "cache"))
    file = write_tiny(tmp_path, out="runs/mine", stages=None, search=None)
    ran = vmask("grid", file, "--only", "mask=base,seed=0", "--quiet")
    assert ran.lines == ["1 done, 0 failed, 0 skipped, 0 were there already; results in runs/mine"]
    assert (tmp_path / "runs" / "mine" / "cells" / "reviews--cnn--base--s0.json").is_file()
    (folder,) = (tmp_path / "cache").glob("**/grid/tiny/*")
    assert folder.name.startswith("reviews--cnn--base--s0--")


def test_word_vectors_are_found_by_the_variable(vmask, tmp_path, monkeypatch):
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / "small.txt").write_text("the 1 0\nfilm 0 1\n")
    monkeypatch.setenv("VMASK_VECTORS", str(folder))
    models = {"cnn": {"embeddings": "small.txt", "epochs": 1, "model__filters": 2}}
    file = write_tiny(tmp_path, models=models, search=None, stages=None)
    words = ("--out", tmp_path / "out", "--models", tmp_path / "models", "--quiet")
    assert vmask("grid", file, "--only", "mask=base,seed=0", *words).code == 0
    record = json.loads((tmp_path / "out" / "cells" / "reviews--cnn--base--s0.json").read_text())
    assert list(record["vectors"]["files"]) == ["small.txt"]


def test_a_search_by_optuna_says_before_any_work_that_it_is_missing(fails, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    file = write_tiny(tmp_path, search={"engine": "optuna", "space": {"learning_rate": {"low": 0.001, "high": 0.1}}})
    err = fails("grid", file, "--out", tmp_path / "out")
    assert err == "error: A search by Optuna needs the 'optuna' extra. Run: pip install 'vmask[optuna]'\n"
    assert not (tmp_path / "out").exists()
