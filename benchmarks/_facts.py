"""What a result file says about where it was made."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def facts() -> dict[str, str | int]:
    """Versions, machine and commit."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "vmask": version("vmask"),
        "torch": version("torch"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {cpu}",
        "cores": os.cpu_count() or 0,
        "commit": _commit(),
    }


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _commit() -> str:
    here = Path(__file__).parent
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    changed = subprocess.run(
        ["git", "status", "--porcelain", "src"], cwd=here, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() + ("+changes" if changed.stdout.strip() else "")
