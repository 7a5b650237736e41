"""Imports go one way through the rooms, those inside of functions too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vmask"
ORDER = (
    "errors",
    "_core",
    "config",
    "registry",
    "text",
    "data",
    "masks",
    "pretrained",
    "models",
    "inference",
    "explain",
    "metrics",
    "training",
    "trackers",
    "persistence",
    "export",
    "classifier",
    "cluster",
    "evaluation",
    "grid",
    "report",
    "serve",
    "cli",
    "__main__",
)
"""A room may import those before it, and nothing after."""


def imports_of(path):
    """The rooms of vmask that a file imports: at its top, inside of functions, for types alone."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        yield from (module.split(".")[1] for module in modules if module.startswith("vmask."))


def room_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_only_rooms_before_it(room):
    after = {
        f"{path.relative_to(SOURCE)} imports {imported}"
        for path in SOURCE.rglob("*.py")
        if room_of(path) == room
        for imported in imports_of(path)
        if ORDER.index(imported) > ORDER.index(room)
    }
    assert not after


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert rooms == set(ORDER)


def test_no_file_is_longer_than_a_reader_can_hold():
    long = {str(p.relative_to(SOURCE)): n for p in SOURCE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 420}
    assert not long


def test_nothing_loads_a_pickle():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import pickle" not in text
        assert "torch.load(" not in text
        assert "torch.save(" not in text
        assert "allow_pickle=True" not in text
