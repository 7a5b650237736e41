"""The built wheel, not the checkout, is what users install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_has_all_files_and_works_without_the_checkout(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, timeout=300)
    (wheel,) = tmp_path.glob("vmask-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    source = ROOT / "src"
    wanted = [p for p in (source / "vmask").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {str(p.relative_to(source)) for p in wanted} <= inside
    code = "import vmask, sys; from vmask.cli import main; print(vmask.__file__); sys.exit(main(['ls']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", capture_output=True, text=True, check=True
    )
    assert str(tmp_path) in done.stdout
    assert "reviews" in done.stdout
    assert "vmask" in done.stdout
