"""Random kills of workers, nodes and drivers of a grid on a cluster.

    python -m chaos.cluster --kills 50 --out chaos/cluster.json

A cluster of several nodes on this machine does a grid of small cells while something is killed every few results. A
killed node is replaced, a killed driver is started again by the same command. In the end the result files are those of
a grid that was left alone, but for times; no line of a driver names a piece as done twice; and no process of the
cluster is left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

CELLS = 60
NODES = 3
STRUCK = 0.8
"""Share of the grid over which the kills are spread."""
PAUSE = 2.0
"""Most seconds from a result to the kill after it, at random."""
MAY_DIFFER = ("seconds", "seconds_per_epoch", "memory_mb", "resumed")


def write_experiment(folder: Path) -> Path:
    """A grid of 60 small cells with a stage each."""
    words = ("good fine great", "bad poor awful")
    rows = [f"{words[number % 2]} {number},{number % 2}" for number in range(60)]
    (folder / "texts.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    options = "{embeddings: random, epochs: 40, patience: 0, batch_size: 20, model__filters: 2}"
    path = folder / "cells.yaml"
    path.write_text(
        f"models: {{cnn: {options}}}\n"
        f"grid: [{{datasets: [texts.csv], models: [cnn], masks: [base, vmask], seeds: 0-{CELLS // 2 - 1}}}]\n"
        "stages: [{name: words, where: {masks: [vmask]}, metrics: [post_hoc_accuracy]}]\n",
        encoding="utf-8",
    )
    return path


class Nodes:
    """A cluster whose head has no CPUs, and nodes with a CPU and a cache each."""

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.folder, self.number = folder, 0
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes = [self.add() for _ in range(NODES)]

    def add(self, tries: int = 3):
        """A new node."""
        self.number += 1
        cache = self.folder / f"node-{self.number}"
        try:
            return self.cluster.add_node(num_cpus=1, env_vars={"VMASK_CACHE": str(cache), "OMP_NUM_THREADS": "1"})
        except Exception:  # a busy machine takes longer to start a node than Ray waits
            if tries == 1:
                raise
            return self.add(tries - 1)

    def kill(self, stream: random.Random) -> None:
        """Kill a node, and add another."""
        node = self.nodes.pop(stream.randrange(len(self.nodes)))
        self.cluster.remove_node(node, allow_graceful=False)
        self.nodes.append(self.add())

    def kill_worker(self, stream: random.Random) -> bool:
        """Kill a process that does a piece now, if there is one: Ray gives it the title of its piece."""
        found = [one for one in psutil.Process().children(recursive=True) if _title(one).startswith("ray::texts--")]
        with suppress(psutil.NoSuchProcess):  # it has just ended
            if found:
                stream.choice(found).kill()
                return True
        return False


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


class Driver:
    """`vmask grid` on the cluster, started again when it was killed."""

    def __init__(self, file: Path, folder: Path, address: str) -> None:
        words = ("--out", folder / "out", "--models", folder / "models", "--engine", "ray", "--address", address)
        self.command = [str(word) for word in (sys.executable, "-m", "vmask", "grid", file, *words)]
        self.folder, self.lines, self.started = folder, [], 0
        self.start()

    def start(self) -> None:
        """Start the command."""
        self.started += 1
        self.log = self.folder / f"driver-{self.started}.log"
        environment = {**os.environ, "VMASK_CACHE": str(self.folder / "cache")}
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(self.command, env=environment, stdout=stream, stderr=stream)

    def kill(self) -> None:
        """Kill the command, and start it again."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()

    def done(self) -> Counter[str]:
        """The pieces that the drivers say they have done."""
        logs = [self.folder / f"driver-{number}.log" for number in range(1, self.started + 1)]
        lines = [line for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
        return Counter(line.partition(":")[0] for line in lines if ": done (" in line)


def results(folder: Path) -> dict:
    """All result files, without what may differ."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        history = [{key: value for key, value in row.items() if key != "seconds"} for row in record.get("history", [])]
        found[path.relative_to(folder).as_posix()] = {
            **{key: value for key, value in record.items() if key not in MAY_DIFFER},
            "facts": {key: value for key, value in record.get("facts", {}).items() if key != "commit"},
            "history": history,
        }
    return found


def attack(kills: int, seed: int, folder: Path) -> dict:
    """Kill, and say what came of it."""
    stream, struck = random.Random(seed), Counter()
    file = write_experiment(folder)
    alone = [sys.executable, "-m", "vmask", "grid", str(file), "--jobs", "2", "--quiet"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "VMASK_CACHE": str(folder / "cache")}
    apart = ["--out", str(folder / "alone"), "--models", str(folder / "alone-models")]
    subprocess.run([*alone, *apart], env=environment, check=True, stdout=subprocess.DEVNULL)
    whole, out = results(folder / "alone"), folder / "out"
    nodes = Nodes(folder)
    children = set(psutil.Process().children(recursive=True))
    driver = Driver(file, folder, nodes.cluster.address)
    started = time.monotonic()
    try:
        while struck.total() < kills and driver.process.poll() is None:
            if len(list(out.rglob("*.json"))) < STRUCK * len(whole) * struck.total() / kills:
                time.sleep(0.1)
                continue
            time.sleep(stream.uniform(0, PAUSE))
            what = stream.choice(("worker", "worker", "node", "driver"))
            children |= set(psutil.Process().children(recursive=True))
            if what == "driver":
                driver.kill()
            elif what == "node":
                nodes.kill(stream)
            elif not nodes.kill_worker(stream):
                continue
            struck[what] += 1
            print(f"\r{struck.total()} of {kills} kills", end="", file=sys.stderr, flush=True)
        code = driver.process.wait(timeout=1800)
        children |= set(psutil.Process().children(recursive=True))
    finally:
        driver.process.kill()
        nodes.cluster.shutdown()
    _, alive = psutil.wait_procs(children, timeout=60)
    found, done = results(out), driver.done()
    return {
        "cells": CELLS,
        "seed": seed,
        "kills": dict(struck),
        "drivers": driver.started,
        "exit_code": code,
        "files": len(whole),
        "missing_or_different": sorted(
            name for name in whole.keys() | found.keys() if whole.get(name) != found.get(name)
        ),
        "errors": sorted({record["error"] for record in found.values() if record.get("status") == "failed"}),
        "done_twice": sorted(name for name, number in done.items() if number > 1),
        "processes_left": [_title(one) for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE],
        "seconds": round(time.monotonic() - started),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    from vmask.cluster.connection import ALONE, import_ray

    os.environ.update(ALONE)  # before Ray is imported
    import_ray()
    from vmask.grid.provenance import facts

    with tempfile.TemporaryDirectory(prefix="vmask-chaos-cluster-") as name:
        found = attack(args.kills, args.seed, Path(name))
    print(json.dumps(found, indent=1))
    if args.out:
        args.out.write_text(json.dumps({**found, **facts()}, indent=1) + "\n", encoding="utf-8")
    failed = found["exit_code"] or found["missing_or_different"] or found["done_twice"] or found["processes_left"]
    return 1 if failed or sum(found["kills"].values()) < args.kills else 0


if __name__ == "__main__":
    sys.exit(main())
