"""What other packages add works like our own, and what is broken in them harms nothing else."""

from __future__ import annotations

import importlib
import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grid.tiny import Inline
from vmask import TextClassifier, registry
from vmask.cli import main
from vmask.data.card import card_names, load_card
from vmask.errors import PluginError, UnknownName
from vmask.explain import EXPLAINERS
from vmask.grid import provenance
from vmask.masks import MASKS
from vmask.metrics import METRICS
from vmask.models import MODELS

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
ROOMS = (MASKS, MODELS, EXPLAINERS, METRICS)
QUICK = ["--embeddings", "random", "--epochs", "3", "--learning-rate", "0.05", "--batch-size", "8"]

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Registries, modules and messages as they were before a test, and a grid without processes."""
    modules = set(sys.modules)
    monkeypatch.setattr(registry, "_warned", set())
    monkeypatch.setattr("vmask.grid.run.LocalEngine", Inline)
    yield
    for room in ROOMS:
        for name in set(room._loaded).difference(room.own()):
            del room._loaded[name]
    for name in set(sys.modules) - modules:
        if name.partition(".")[0].startswith(("vmask_example", "theirs")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which the example package is installed, as pip does it."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(folder / "site"), "./source"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder / "site"


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()


@pytest.fixture
def vmask(capsys):
    """Run a command line that must work; its standard output, and standard error."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        caught = capsys.readouterr()
        assert code == 0, caught.err
        return caught.out, caught.err

    return run


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package that has a module `theirs_…` and one entry point."""

    def make(group, name, source="", value="", package="theirs"):
        module = f"theirs_{package.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        point = f"[{group}]\n{name} = {value or f'{module}:Mine'}\n"
        (info / "entry_points.txt").write_text(point, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()

    return make


# The example package --------------------------------------------------------------------------------------


@pytest.mark.full
def test_all_five_are_listed_with_what_they_are(installed, vmask):
    names = {"masks": "gate", "models": "bag", "explainers": "alone", "metrics": "top_position", "datasets": "tea"}
    listed = json.loads(vmask("ls", "--json")[0])
    for kind, name in names.items():
        assert len(listed[kind][name]) > 20
        out, err = vmask("ls", kind)
        assert any(line.startswith(name) for line in out.splitlines())
        assert not err
    out, _ = vmask("ls", "metrics", "top_position")
    assert "Where in a text its most important words stand: 0 is the beginning, 1 the end." in out
    assert "options: k=1" in out


def test_the_example_trains_explains_and_measures(installed, vmask, tmp_path, site, monkeypatch):
    model = tmp_path / "model"
    options = ["--mask.start", "0.5", "--model.dropout", "0.1", "--report", "quick"]
    vmask("train", "tea", "--model", "bag", "--mask", "gate", *options, *QUICK, "--out", model, "--quiet")
    assert json.loads((model / "config.json").read_text(encoding="utf-8"))["about"]["dataset"] == "tea"
    explained = json.loads(vmask("explain", model, "A lovely cup .", "--method", "alone", "--json")[0])
    assert explained["method"] == "alone"
    assert [word["word"] for word in explained["words"]] == ["A", "lovely", "cup", "."]
    measured = ["--metrics", "accuracy,top_position", "--top_position.k", "2", "--explainers", "alone,mask", "--json"]
    found = json.loads(vmask("evaluate", model, "tea", *measured)[0])
    assert found["data"] == "tea test"
    assert found["metrics"]["top_position"] == {"k": 2}
    places = {one["by"]: one["value"] for one in found["scores"] if one["metric"] == "top_position"}
    assert set(places) == {"alone", "mask", "random"}
    assert all(0 <= one <= 1 for one in places.values())
    assert json.loads(vmask("data", "check", "tea", "--json")[0])["rows"][2]["ours"] == 48
    out, _ = vmask("words", model, "--top", "3")
    assert len(out.splitlines()) == 6
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(site)])
    MASKS._loaded.pop("gate"), MODELS._loaded.pop("bag")
    with pytest.raises(UnknownName, match=r"Unknown model 'bag'.*of another package: install that"):
        TextClassifier.load(model)


@pytest.mark.full
def test_the_example_grid_runs_and_is_reported(installed, vmask, tmp_path):
    out = tmp_path / "out"
    vmask("grid", EXAMPLE / "grid.yaml", "--out", out, "--models", tmp_path / "models", "--quiet")
    stage = json.loads((out / "cells" / "tea--bag--gate--s0.places.json").read_text(encoding="utf-8"))
    assert stage["status"] == "done"
    assert {one["metric"] for one in stage["scores"]} == {"top_position"}
    assert stage["facts"]["versions"]["vmask-example"] == "0.1.0"
    vmask("report", out)
    tables = out / "report" / "tables"
    assert "bag / gate,tea" in (tables / "test_accuracy.csv").read_text(encoding="utf-8")
    assert "alone / bag / gate,tea" in (tables / "top_position.csv").read_text(encoding="utf-8")
    assert "learning_curves,tea,bag,gate" in (tables / "curves.csv").read_text(encoding="utf-8")
    assert (out / "report" / "figures" / "learning_curves.png").is_file()
    page = (out / "report" / "report.html").read_text(encoding="utf-8")
    assert "top_position: Where in a text its most important words stand" in page


def test_the_version_of_a_plug_in_counts_for_the_results_that_use_it(installed, monkeypatch):
    assert provenance.number_versions(["gate", "cnn"])["mask gate"] == 1
    monkeypatch.setattr(MASKS.get("gate"), "version", 2)
    assert provenance.number_versions(["gate", "cnn"])["mask gate"] == 2
    assert "vmask-example" in provenance.facts(["tea"])["versions"]
    assert "vmask-example" not in provenance.facts(["trec"])["versions"]


# Broken packages ------------------------------------------------------------------------------------------

MASK = """
'''Something of theirs.'''
from vmask.config import NoOptions
from vmask.masks.contract import WordMask
class Mine(WordMask):
    '''A mask of theirs.'''
    Options = NoOptions
"""
METRIC = """
'''A metric of theirs, without what it means.'''
from vmask.metrics.contract import PredictionMetric
class Mine(PredictionMetric):
    '''A metric.'''
"""
BROKEN = [
    ("vmask.masks", "import not_there_at_all", "No module named 'not_there_at_all'"),
    ("vmask.masks", "x = 1", "has no attribute 'Mine'"),
    ("vmask.masks", "def broken(:", "invalid syntax"),
    ("vmask.masks", "raise SystemExit(3)", ": 3."),
    ("vmask.masks", "class Mine: pass", "is no subclass of vmask.masks.contract.WordMask"),
    ("vmask.masks", "Mine = 5", "is no subclass of"),
    ("vmask.masks", MASK.replace("Options = NoOptions", ""), "has no dataclass `Options`"),
    ("vmask.models", MASK, "is no subclass of vmask.models.contract.Encoder"),
    ("vmask.explain", MASK, "is no subclass of vmask.explain.contract.Explainer"),
    ("vmask.metrics", MASK, "is no subclass of vmask.metrics.contract.Metric"),
    ("vmask.metrics", METRIC, "lacks a line 'Family: …'"),
]
ROOM = {room.package: room for room in ROOMS}
KIND = {"vmask.masks": "masks", "vmask.models": "models", "vmask.explain": "explainers", "vmask.metrics": "metrics"}


@pytest.mark.parametrize(("group", "source", "reason"), BROKEN)
def test_a_broken_plug_in_is_named_in_a_line_and_the_others_are_there(package, vmask, group, source, reason):
    package(group, "mine", source)
    room = ROOM[group]
    with pytest.raises(PluginError) as caught:
        room.get("mine")
    message = str(caught.value)
    assert message.startswith(f"The {room.kind} 'mine' of the package theirs cannot be used: ")
    assert reason in message
    assert "\n" not in message
    out, err = vmask("ls", KIND[group], "--json")
    assert sorted(json.loads(out)) == room.own()
    assert err.splitlines() == [message]
    assert room.working() == room.own()


def test_a_broken_plug_in_that_is_asked_for_is_an_error_of_two_lines_at_most(package, capsys):
    package("vmask.masks", "mine", "import not_there_at_all")
    assert main(["train", "none.csv", "--mask", "mine"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: The mask 'mine' of the package theirs cannot be used")


def test_all_metrics_are_those_that_work(package, caplog):
    from vmask.evaluation.resolve import plugins

    package("vmask.metrics", "mine", METRIC)
    with caplog.at_level(logging.WARNING):
        assert sorted(plugins(METRICS, "all")) == METRICS.own()
    assert ["The metric 'mine' of the package theirs" in one.getMessage() for one in caplog.records] == [True]


def test_a_name_that_is_ours_stays_ours(package, vmask):
    package("vmask.masks", "vmask", MASK)
    assert MASKS.get("vmask").__module__ == "vmask.masks.vmask"
    _, err = vmask("ls", "masks")
    assert err.startswith("The package theirs has a mask 'vmask', and so has vmask, whose is used.")
    assert len(err.splitlines()) == 1
    assert not vmask("ls", "masks")[1]  # it is said once


def test_a_name_that_two_packages_have_is_the_firsts(package, caplog):
    package("vmask.masks", "mine", MASK, package="a-first")
    package("vmask.masks", "mine", MASK, package="b-second")
    with caplog.at_level(logging.WARNING):
        assert MASKS.get("mine").__module__ == "theirs_a_first"
    assert "The package b-second has a mask 'mine', and so has the package a-first" in caplog.text


def test_a_decorator_cannot_take_a_name_of_ours(package):
    source = MASK.replace("class Mine", "from vmask.masks import MASKS\n@MASKS.register('vmask')\nclass Mine")
    package("vmask.masks", "mine", source)
    with pytest.raises(PluginError, match=r"package theirs cannot be used: vmask has a mask 'vmask' of its own"):
        MASKS.get("mine")
    assert MASKS.get("vmask").__module__ == "vmask.masks.vmask"


def test_a_file_of_another_name_is_described_by_its_class(package):
    package("vmask.masks", "mine", MASK)
    assert MASKS.describe("mine") == "A mask of theirs."


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("theirs_theirs", "is no folder with a card.yaml"),
        ("theirs_gone.data", "No module named 'theirs_gone'"),
        ("theirs_folder", "there is no field 'titel'"),
    ],
)
def test_a_broken_card_is_named_in_a_line_and_the_others_are_there(package, vmask, tmp_path, value, reason):
    (tmp_path / "theirs_folder").mkdir()
    (tmp_path / "theirs_folder" / "card.yaml").write_text("titel: wrong\n", encoding="utf-8")
    package("vmask.datasets", "mine", value=value)
    assert "mine" in card_names()
    with pytest.raises(PluginError, match="The dataset 'mine' of the package theirs cannot be used: ") as caught:
        load_card("mine")
    assert reason in str(caught.value)
    out, err = vmask("ls", "datasets", "--json")
    assert {"trec", "reviews"} <= set(json.loads(out)) - {"mine"}
    assert err.splitlines() == [str(caught.value)]


def test_a_card_without_data_takes_the_folder_of_the_user(package, tmp_path, monkeypatch):
    from vmask import load_dataset
    from vmask.errors import AssetError

    (tmp_path / "theirs_folder").mkdir()
    (tmp_path / "theirs_folder" / "card.yaml").write_text("title: Mine\nfiles: {train: t.tsv}\n", encoding="utf-8")
    package("vmask.datasets", "mine", value="theirs_folder")
    with pytest.raises(AssetError, match="cannot download the dataset mine"):
        load_dataset("mine")
    (tmp_path / "data" / "mine").mkdir(parents=True)
    rows = "".join(f"text {i}\t{'ab'[i % 2]}\n" for i in range(20))
    (tmp_path / "data" / "mine" / "t.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    assert load_dataset("mine", data_dir=tmp_path / "data").card.title == "Mine"
