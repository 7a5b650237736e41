"""What a result file says about where and by what it was made."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vmask.registry import added, package_of

SOURCE = Path(__file__).parents[1]
PACKAGES = ("vmask", "torch", "numpy", "scikit-learn", "scipy", "transformers", "tokenizers")
UNLIKE = ("cli", "experiments", "reproduction", "report", "model_report", "web", "export", "demo.py", "model_card.py")
"""Rooms that change no result: they show, run or pass on what others found."""


def facts(names: Collection[str] = ()) -> dict[str, Any]:
    """Versions, machine, commit, and a digest of the code that decides results.

    Args:
        names: of masks, models, metrics and the like that are used; the packages that add some of them count too.
    """
    return {
        "versions": {"python": platform.python_version(), **_versions(names)},
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "commit": commit(),
        "code": code_digest(names),
    }


def _versions(names: Collection[str]) -> dict[str, str]:
    found = {}
    for name in (*PACKAGES, *sorted({package_of(point) for point in added() if point.name in names})):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def code_digest(names: Collection[str] = ()) -> str:
    """16 hex digits over the source files that can change a result: another digest is older or newer code.

    Args:
        names: as for `facts`.
    """
    modules = {point.value.partition(":")[0].partition(".")[0] for point in added() if point.name in names}
    return _digest(tuple(sorted(modules)))


@lru_cache
def _digest(modules: tuple[str, ...]) -> str:
    """Over our own source files, and those of other packages."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        name = path.relative_to(SOURCE)
        if path.suffix in (".py", ".yaml") and name.parts[0] not in UNLIKE:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes())
    for module in modules:
        for told, path in _sources(module):
            digest.update(f"{told}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(module: str) -> list[tuple[str, Path]]:
    """The source files of a module or package at the top, which is not imported; none where it is not there."""
    spec = find_spec(module)
    if spec is None:
        return []
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    if not folders:
        return [(module, Path(spec.origin))] if spec.origin and Path(spec.origin).is_file() else []
    found = [(path.relative_to(folder).as_posix(), path) for folder in folders for path in sorted(folder.rglob("*"))]
    return [(f"{module}/{name}", path) for name, path in found if path.suffix in (".py", ".yaml") and path.is_file()]


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
