"""What a result file says about where and by what it was made."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1]
PACKAGES = ("vmask", "torch", "numpy", "scikit-learn", "scipy", "transformers", "tokenizers")
UNLIKE = ("cli", "experiments", "reproduction", "report", "model_report", "web", "export", "demo.py", "model_card.py")
"""Rooms that change no result: they show, run or pass on what others found."""


def facts() -> dict[str, Any]:
    """Versions, machine, commit, and a digest of the code that decides results."""
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "commit": commit(),
        "code": code_digest(),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """16 hex digits over the source files that can change a result: another digest is older or newer code."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        name = path.relative_to(SOURCE)
        if path.suffix in (".py", ".yaml") and name.parts[0] not in UNLIKE:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the source, `+changes` where files differ from it; empty where there is no repository."""
    if not _git("ls-files", "--error-unmatch", str(Path(__file__))):
        return ""  # installed somewhere inside a repository of another project
    changed = _git("--no-optional-locks", "status", "--porcelain", str(SOURCE))  # it stands in no other git's way
    return _git("rev-parse", "--short=10", "HEAD") + ("+changes" if changed else "")


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=SOURCE, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if not done.returncode else ""


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measures the most memory that this process holds inside the `with`, in MB, under `memory_mb` at its end."""
    found: dict[str, float] = {}
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak of what came before
    yield found
    found["memory_mb"] = round(_peak_bytes() / 2**20, 1)


def _peak_bytes() -> int:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
