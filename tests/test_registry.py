"""Names without imports, and helpful misses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vmask.errors import UnknownName
from vmask.explain import EXPLAINERS
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.registry import Registry


@pytest.mark.parametrize("registry", [MASKS, MODELS, EXPLAINERS], ids=lambda r: r.kind)
def test_every_name_has_a_class_and_a_line_about_it(registry):
    for name in registry.names():
        described = registry.describe(name)
        assert registry.get(name)
        assert described == registry.describe(name)  # the same before and after the import
        assert len(described) > 15
        assert "\n" not in described


def test_listing_imports_nothing_heavy():
    code = (
        "import sys\nfrom vmask.masks import MASKS\nfrom vmask.models import MODELS\n"
        "[r.describe(n) for r in (MASKS, MODELS) for n in r.names()]\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_near_miss_is_suggested():
    with pytest.raises(UnknownName, match=r"Unknown mask 'vmsk'\. Did you mean 'vmask'\? Available: base, iba"):
        MASKS.get("vmsk")


def test_a_notebook_can_add_a_method():
    registry: Registry[object] = Registry("mask", "vmask.masks", "WordMask")

    @registry.register("mine")
    class Mine:
        """My own method."""

    assert registry.get("mine") is Mine
    assert registry.describe("mine") == "My own method."
    assert "mine" in registry.names()
    assert "mine" not in MASKS.names()


def test_a_package_can_add_a_method_by_entry_point(monkeypatch):
    from importlib.metadata import EntryPoint

    point = EntryPoint("theirs", "vmask.masks.base:NoMask", "vmask.masks")
    monkeypatch.setattr("vmask.registry.entry_points", lambda group: [point] if group == "vmask.masks" else [])
    registry: Registry[object] = Registry("mask", "vmask.masks", "WordMask")
    assert "theirs" in registry.names()
    assert registry.get("theirs").__name__ == "NoMask"
