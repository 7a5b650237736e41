"""The floors of pyproject.toml are those that `make test-floor` runs under."""

import re
import sys
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import update_floors  # noqa: E402


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_floor_is_the_version_that_is_tested():
    lines = [line for line in update_floors.FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    tested = {plain(name): Version(version) for name, _, version in (line.partition("==") for line in lines)}
    floors = update_floors.floors()
    assert len(floors) > 20
    assert {name: tested[plain(name)] for name in floors} == {name: Version(floor) for name, floor in floors.items()}


def test_every_dependency_and_extra_has_a_floor():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = text.partition("\ndependencies = [")[2].partition("\n[project.scripts]")[0]
    names = [re.match(r"[\w-]+", entry)[0] for entry in re.findall(r'"([^"]+)"', declared)]
    assert set(names) == set(update_floors.floors())
    extras = re.findall(r"^(\w+) = \[", declared, re.MULTILINE)
    assert set(update_floors.EXTRAS.strip(".[]").split(",")) == set(extras)
    assert f"EXTRAS := {update_floors.EXTRAS}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
