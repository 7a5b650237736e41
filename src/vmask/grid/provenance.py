"""Provenance of a result file: versions, machine and commit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from vmask.explain import EXPLAINERS
from vmask.masks import MASKS
from vmask.metrics import METRICS
from vmask.models import MODELS
from vmask.pretrained.encoders import is_encoder_name
from vmask.registry import installed_plugins, package_of
from vmask.training.loop import VERSION
from vmask.training.run_config import TRANSFORMER

SOURCE = Path(__file__).parents[1]
PACKAGES = ("vmask", "torch", "numpy", "scikit-learn", "scipy", "transformers", "tokenizers")


def facts(names: Collection[str] = ()) -> dict[str, Any]:
    """Versions, machine and commit, and the versions of the numbers.

    Args:
        names: names of the masks, models, metrics and explainers that are used; packages that add some of them are
            listed too.
    """
    return {
        "versions": {"python": platform.python_version(), **_versions(names)},
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "commit": commit(),
        "numbers": number_versions(names),
    }


def _versions(names: Collection[str]) -> dict[str, str]:
    versions = {}
    for name in (*PACKAGES, *sorted({package_of(point) for point in installed_plugins() if point.name in names})):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def number_versions(names: Collection[str] = ()) -> dict[str, int]:
    """Version of the numbers of the training loop, and of each mask, model, explainer and metric among the names.

    A version is raised when the numbers change, not when the code does: the golden values of the tests notice it.

    Args:
        names: as for `facts`.
    """
    versions = {"training": VERSION}
    for registry in (MASKS, MODELS, EXPLAINERS, METRICS):
        for name in sorted(names):
            if name in registry.names():
                versions[f"{registry.kind} {name}"] = registry.get(name).version
            elif registry is MODELS and is_encoder_name(name):
                versions[f"{registry.kind} {TRANSFORMER}"] = MODELS.get(TRANSFORMER).version
    return versions


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the source, `+changes` if files differ from it; empty outside of a repository."""
    if not _git("ls-files", "--error-unmatch", str(Path(__file__))):
        return ""  # installed somewhere inside a repository of another project
    changed = _git(
        "--no-optional-locks", "status", "--porcelain", str(SOURCE)
    )  # no lock that another git would wait for
    return _git("rev-parse", "--short=10", "HEAD") + ("+changes" if changed else "")


def _git(*words: str) -> str:
    try:
        result = subprocess.run(["git", *words], cwd=SOURCE, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return result.stdout.strip() if not result.returncode else ""


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measure the peak memory of this process inside the `with`; `memory_mb` of the yielded dict is set at its end."""
    memory: dict[str, float] = {}
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak of what came before
    yield memory
    memory["memory_mb"] = round(_peak_bytes() / 2**20, 1)


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
