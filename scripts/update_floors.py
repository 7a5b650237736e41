"""Write constraints-floor.txt: the floors of pyproject.toml, and the versions that pip finds to go with them.

    python scripts/update_floors.py      # after a floor was changed

What is no floor is pinned too, so that a new version of another package breaks no floor from one day to the next.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "constraints-floor.txt"
EXTRAS = ".[hub,encoders,onnx,gradients,report,serve,tensorboard,mlflow,ray,optuna,excel,segment]"
TORCH = "2.13.0"
"""The one version that is tested: older ones are large, and not to be had as builds for a CPU everywhere."""
HEAD = """# The lowest versions that vmask promises to work with, and what pip finds to go with them.
# Made from pyproject.toml by scripts/update_floors.py; `make test-floor` runs under them, with Python 3.11.
"""


def floors() -> dict[str, str]:
    """The lowest version of every dependency and of every extra's, as pyproject.toml has them."""
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("\ndependencies = [")[2]
    found = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', declared))
    return {**found, "torch": TORCH}


def resolved(constraints: str) -> dict[str, str]:
    """Every package that pip would install under these constraints, with its version."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "floors.txt"
        file.write_text(constraints, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--report",
            "-",
        ]
        command += ["--constraint", str(file), "--editable", EXTRAS, "--group", "test"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    packages = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {one["name"]: one["version"].partition("+")[0] for one in packages if one["name"] != "vmask"}


def main() -> None:
    versions = resolved("".join(f"{name}=={version}\n" for name, version in floors().items()))
    lines = [f"{name}=={version}\n" for name, version in sorted(versions.items(), key=lambda item: item[0].lower())]
    FILE.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
