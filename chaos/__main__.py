"""Run the suites and write what came of them: `python -m chaos --out chaos/results.json`; a sample: `--share 0.1`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from math import inf
from pathlib import Path

from chaos.harness import Outcome, run_case, sample

SUITES = ("kills", "inputs", "folders", "requests")
"""Modules of this package. Each has `suite(work, seed)`, a context manager that gives the list of its cases."""


def main() -> int:
    """Exit code 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=SUITES, metavar="SUITE", help=f"which: {', '.join(SUITES)} [all]")
    parser.add_argument("--share", type=float, default=1.0, help="run this share of the cases, drawn by the seed [1]")
    parser.add_argument("--seconds", type=float, default=inf, help="begin no case of a suite after so long [never]")
    parser.add_argument("--only", default="", help="run the cases with this in their name")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random [0]")
    parser.add_argument("--out", type=Path, help="file for the counts and failures, JSON")
    args = parser.parse_args()
    _import()
    found = {name: _run(name, args) for name in args.suites}
    failures = [failure for one in found.values() for failure in one["failures"]]
    if args.out:
        _write(args, found)
    tried = sum(one["cases"] for one in found.values())
    print(f"{tried - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


def _write(args: argparse.Namespace, found: dict) -> None:
    """Write the results, beside those of other suites of the same commit and seed that the file has already."""
    from vmask.grid.provenance import facts

    record = {"seed": args.seed, "share": args.share, "suites": {}, **facts()}
    if args.out.is_file():
        old = json.loads(args.out.read_text(encoding="utf-8"))
        if all(old.get(key) == record[key] for key in ("seed", "share", "commit")):
            record = old
    suites = {**record["suites"], **found}
    record["suites"] = {name: suites[name] for name in SUITES if name in suites}
    args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _import() -> None:
    """Import what the commands import, once, so that a fork costs milliseconds; threads do not survive a fork."""
    import torch

    torch.set_num_threads(1)
    for name in ("cli.main", "classifier", "explain.api", "evaluation.measure", "serve.app", "export"):
        importlib.import_module(f"vmask.{name}")


def _run(name: str, args: argparse.Namespace) -> dict:
    started = time.perf_counter()
    outcomes: list[Outcome] = []
    with (
        tempfile.TemporaryDirectory(prefix=f"vmask-chaos-{name}-") as work,
        importlib.import_module(f"chaos.{name}").suite(Path(work), args.seed) as cases,
    ):
        cases = [case for case in cases if args.only in case.name]
        if args.share < 1:
            cases = sample(cases, args.share, args.seed)
        begun = time.monotonic()
        for number, case in enumerate(cases, 1):
            if time.monotonic() - begun > args.seconds:
                break
            outcomes.append(run_case(case))
            if outcomes[-1].failure:
                print(f"{name}: {case.name}: {outcomes[-1].failure}", flush=True)
            if sys.stderr.isatty() or number % 100 == 0:
                print(f"\r{name}: {number} of {len(cases)}", end="", file=sys.stderr, flush=True)
    failed = [one for one in outcomes if one.failure]
    seconds = time.perf_counter() - started
    print(f"\r{name}: {len(outcomes)} cases, {len(failed)} failures, {seconds:.0f} s", file=sys.stderr, flush=True)
    groups: dict[str, int] = {}
    for one in outcomes:
        group = one.name.partition(":")[0]
        groups[group] = groups.get(group, 0) + 1
    return {
        "cases": len(outcomes),
        "groups": groups,
        "failures": [{"case": one.name, "failure": one.failure} for one in failed],
        "seconds": round(seconds, 1),
        "slowest": round(max((one.seconds for one in outcomes), default=0.0), 2),
    }


if __name__ == "__main__":
    sys.exit(main())
