"""What a result file says about where it was made."""

from __future__ import annotations

import os

from vmask.grid.provenance import facts as all_facts


def facts() -> dict[str, str | int]:
    """Versions, machine and commit."""
    found = all_facts()
    versions = {name: found["versions"][name] for name in ("vmask", "torch", "python")}
    return {**versions, "machine": found["machine"], "cores": os.cpu_count() or 0, "commit": found["commit"]}
