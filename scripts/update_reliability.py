"""Write the tables of docs/reliability.md from chaos/results.json and chaos/cluster.json, which `make chaos` makes.

    python scripts/update_reliability.py

The promises stand in the document itself, outside the marks. `tests/test_reliability.py` checks that the tables are
those of the files.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

from update_readme import part, replaced

ROOT = Path(__file__).parents[1]
CHAOS = ROOT / "chaos"
RESULTS, DOC = CHAOS / "results.json", ROOT / "docs" / "reliability.md"
CLUSTER_RESULTS = CHAOS / "cluster.json"
NAME, CLUSTER = "chaos", "cluster"
"""The parts of the document."""
NONE = "No results yet: `make chaos` makes them."
NONE_OF_CLUSTER = "No results yet: `make chaos-cluster` makes them."


def tables(results: dict[str, Any]) -> str:
    """What was tried and what failed, by suite and group; where, and by what; then every failure."""
    rows = ["| suite | group | cases | failures |", "|---|---|--:|--:|"]
    failed: list[str] = []
    for suite, found in results["suites"].items():
        rows.append(f"| **{suite}** | {_about(suite)} | **{found['cases']:,}** | **{len(found['failures'])}** |")
        bad = Counter(_group(one["case"]) for one in found["failures"])
        rows += [f"| | {group} | {cases:,} | {bad[group]} |" for group, cases in sorted(found["groups"].items())]
        failed += [f"- {suite}, `{one['case']}`: {_line(one['failure'])}" for one in found["failures"]]
    return "\n\n".join([_head(results), "\n".join(rows), "\n".join(failed) or "Nothing failed."])


def current() -> str:
    """The tables of the file of results; a sentence where there is none."""
    return tables(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.is_file() else NONE


def cluster_table(found: dict[str, Any]) -> str:
    """What was killed while a grid ran on a cluster, and what came of it."""
    rows = [
        "| killed | times |",
        "|---|--:|",
        *(f"| {what} | {times} |" for what, times in sorted(found["kills"].items())),
    ]
    kept = ("missing_or_different", "done_twice", "processes_left", "errors")
    bad = [f"- {name.replace('_', ' ')}: `{one}`" for name in kept for one in found[name]]
    missing, twice, left, _ = (len(found[name]) for name in kept)
    kills, minutes = sum(found["kills"].values()), found["seconds"] / 60
    outcome = (
        f"**{kills} kills over {found['cells']} cells: of {found['files']} files {missing} missing or different, "
        f"{twice} pieces done twice, {left} processes left**, exit code {found['exit_code']} "
        f"(seed {found['seed']}; {minutes:.0f} minutes). {_made_by(found)}"
    )
    return "\n\n".join(filter(None, [outcome, "\n".join(rows), "\n".join(bad)]))


def current_cluster() -> str:
    """The table of the file of results of clusters; a sentence where there is none."""
    if not CLUSTER_RESULTS.is_file():
        return NONE_OF_CLUSTER
    return cluster_table(json.loads(CLUSTER_RESULTS.read_text(encoding="utf-8")))


def written(name: str = NAME) -> str:
    """The tables that a part of the document has."""
    return part(DOC.read_text(encoding="utf-8"), name)


def _head(results: dict[str, Any]) -> str:
    suites = results["suites"].values()
    cases, failures = sum(one["cases"] for one in suites), sum(len(one["failures"]) for one in suites)
    share = "" if results["share"] >= 1 else f", a sample of {results['share']:.0%}"
    minutes = sum(one["seconds"] for one in suites) / 60
    slowest = max(one["slowest"] for one in suites)
    return (
        f"**{cases:,} cases, {failures} failures** (seed {results['seed']}{share}; {minutes:.0f} minutes, the slowest "
        f"case {slowest:.1f} s). {_made_by(results)}"
    )


def _made_by(results: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return f"Commit {results['commit'] or 'unknown'}; {results['machine']}; {versions}."


def _about(suite: str) -> str:
    """First line of the suite's docstring, read without importing it."""
    path = CHAOS / f"{suite}.py"
    if not path.is_file():
        return ""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _group(case: str) -> str:
    return case.partition(":")[0]


def _line(failure: str) -> str:
    """A failure on one line: the last one says most of a traceback."""
    return failure.strip().splitlines()[-1].replace("|", "\\|")[:200]


def main() -> None:
    text = replaced(DOC.read_text(encoding="utf-8"), NAME, current())
    DOC.write_text(replaced(text, CLUSTER, current_cluster()), encoding="utf-8")


if __name__ == "__main__":
    main()
