"""Imports go one way through the rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vmask"
# Each room may import the rooms before it on its line of the list, and nothing after.
ORDER = [
    {"errors"},
    {"registry", "config", "files", "locks", "outside", "json_shapes", "terminal"},
    {"folders"},
    {"embeddings", "encoders", "distil", "data", "masks", "folding", "tensor_shapes"},
    {"models"},
    {
        "metrics",
        "explain",
        "report",
        "kept",
        "seam",
        "predictor",
        "piece_predictor",
        "black_box",
        "explaining",
        "explanations_file",
        "splime",
        "statistics",
        "evaluation",
        "training",
    },
    {"plan", "fitting", "model_card", "stored", "persistence", "classifier"},
    {"export", "planted", "experiments"},
    {"model_report", "demo"},
    {"reproduction", "web"},
    {"cli", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
# Inside a function, for types alone or on demand: these do not make a cycle at import time.


def imports_at_the_top(path):
    """Modules of vmask that a file imports when it is imported."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("vmask."):
            found.append(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found += [a.name.split(".")[1] for a in node.names if a.name.startswith("vmask.")]
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_before_it(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    room = parts[0]
    if room == "__init__":
        assert not imports_at_the_top(path)  # the package itself is lazy
        return
    for imported in imports_at_the_top(path):
        assert LEVEL[imported] <= LEVEL[room], f"{room} imports {imported}"


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
