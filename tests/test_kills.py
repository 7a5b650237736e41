"""What is killed at any of its file operations leaves the old or the new, and goes on to what an unbroken one gives.

`chaos/kills.py` does the same to whole commands.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from chaos.killing import killed_at, points_of
from linear import LinearWords
from vmask import Evaluation, TextClassifier, evaluate, explain_texts, read_explanations
from vmask.errors import OutputExists
from vmask.evaluation.explanation_cache import KeptExplanations
from vmask.explain.explanation_file import ExplanationsFile
from vmask.grid.cell import Combination
from vmask.grid.experiment import Search
from vmask.grid.search import next_trial, search_request, unfinished_search
from vmask.grid.store import Store
from vmask.report.explanations import paged
from vmask.report.grid.report import filling

pytestmark = [pytest.mark.full, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs fork and /proc")]
TEXTS = ["good so far", "bad so", "good bad fine"]
MODELS = {"old": LinearWords({"good": 0.1}), "new": LinearWords({"good": 0.2, "bad": -0.1})}
MOST = 25
"""Points at which one thing is killed; `chaos` has them all."""
SEARCH = Search(100, 3, {"cnn": {"epochs": [1, 2, 3]}})


@dataclass
class Work:
    """Something that writes to the current folder.

    Attributes:
        do: does it, for the `old` or the `new`.
        read: what an ordinary reader finds; None where there is nothing yet.
        replaces: whether the old is there when the new is made.
    """

    do: object
    read: object
    replaces: bool = True


def explain(which, overwrite=True):
    file = ExplanationsFile(Path("x.jsonl"), {"model": which}, overwrite)
    page = partial(paged, Path("x.html"), title="Words", how={})
    list(file.filled(TEXTS, lambda rest: explain_texts(MODELS[which], rest, "occlusion"), 2, page))


def explained():
    path = Path("x.jsonl")
    return [one.to_json() for one in read_explanations(path)] if path.exists() else None


def measure(which):
    keep = KeptExplanations(Path(), [{"model": which}], overwrite=True)
    found = evaluate(MODELS[which], (TEXTS, ["yes", "no", "yes"]), "aopc", "occlusion", keep=keep)
    found.save(".", overwrite=True)
    keep.finish()


def measured():
    if not Path("scores.json").exists():
        return None
    found = Evaluation.load(".")
    return repr((found.to_dict(), [found.values(key) for key in found.measured()]))


def report(which):
    with filling(Path("out")) as folder:
        (folder / "tables").mkdir(exist_ok=True)
        for name in ("tables/a.csv", "tables/b.csv", "report.md", "report.html"):
            (folder / name).write_text(f"{which} {name}")


def reported():
    return {path.name: path.read_text() for path in Path("out").rglob("*.*")} if Path("out").exists() else None


def search(which):
    of = Combination(which, "cnn", "vmask", "", {})
    store, request = Store(Path("results")), search_request(SEARCH, of)
    for _ in request["trials"]:
        unfinished = unfinished_search(store, of, request)
        record = next_trial(of, request, unfinished, lambda options: {"dev_accuracy": options.get("epochs", 1)}, {})
        store.write(store.search(of.key), record)
        if record["status"] == "done":
            break


def searched():
    return [record["status"] == "failed" for record in Store(Path("results")).records("search")][2:]


WORKS = {
    "explanations": Work(partial(explain, overwrite=False), explained, replaces=False),
    "explanations that replace others": Work(explain, explained),
    "an evaluation": Work(measure, measured, replaces=False),
    "an evaluation that replaces another": Work(measure, measured),
    "a report": Work(report, reported, replaces=False),
    "a report that replaces another": Work(report, reported),
    "a search": Work(search, searched),
}


def files(folder):
    return {path.relative_to(folder).as_posix(): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def kill_everywhere(work, tmp_path, monkeypatch):
    """Kill the making of the new at each of its points, or at some where there are many; gives their number."""
    whole, before = tmp_path / "whole", None
    whole.mkdir()
    monkeypatch.chdir(whole)
    if work.replaces:
        work.do("old")
        shutil.copytree(whole, tmp_path / "start")
        before = work.read()
    points = points_of(partial(work.do, "new"), whole)
    after, wanted = work.read(), files(whole)
    for point in points[:: -(-len(points) // MOST)]:
        folder = tmp_path / f"killed-{point.number}-{point.kind}"
        shutil.copytree(tmp_path / "start", folder) if work.replaces else folder.mkdir()
        os.chdir(folder)
        assert killed_at(point, partial(work.do, "new"), folder) is None
        found = work.read()
        assert found in (before, after), f"{point}: neither the old nor the new"
        try:
            work.do("new")
        except OutputExists:
            assert found == after, f"{point}: it does not go on"
        assert files(folder) == wanted, f"{point}: it ends otherwise"
        shutil.rmtree(folder)
    return len(points)


@pytest.mark.parametrize("name", WORKS)
def test_the_old_or_the_new_is_there_and_the_same_goes_on(name, tmp_path, monkeypatch):
    assert kill_everywhere(WORKS[name], tmp_path, monkeypatch) >= 10


def test_a_model_that_replaces_another(fitted, tmp_path, monkeypatch):
    """Its files may have one of two names, so the tree is not compared."""
    other = TextClassifier.load(fitted.save(tmp_path / "fitted"))
    other.about_ = {**other.about_, "source": "other.csv"}
    fitted.save(tmp_path / "start")
    folder = tmp_path / "out"
    shutil.copytree(tmp_path / "start", folder)
    points = points_of(lambda: other.save(folder, overwrite=True), folder)
    seen = set()
    for point in points[:: -(-len(points) // MOST)]:
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "start", folder)
        assert killed_at(point, lambda: other.save(folder, overwrite=True), folder) is None
        seen.add(TextClassifier.load(folder).about_.get("source"))
        other.save(folder, overwrite=True)
        assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["about"]["source"] == "other.csv"
        assert len(list(folder.iterdir())) == len(list((tmp_path / "start").iterdir())), f"{point}: leftovers"
    assert seen == {None, "other.csv"}


def test_a_file_that_is_written_in_place_is_found(tmp_path, monkeypatch):
    """The suite would see it if one of them were not safe."""
    work = Work(
        lambda which: Path("x").write_text(which), lambda: Path("x").read_text() if Path("x").exists() else None
    )
    with pytest.raises(AssertionError, match="neither the old nor the new"):
        kill_everywhere(work, tmp_path, monkeypatch)
