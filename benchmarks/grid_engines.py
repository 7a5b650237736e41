r"""What an engine adds to every cell of a grid, and what a grid would take on more workers.

    python benchmarks/grid_engines.py                        # 200 trivial cells, several minutes
    python benchmarks/grid_engines.py --project reproduction/paper.yaml
    python benchmarks/grid_engines.py --table

The cells are trainings of one epoch on a few made-up texts. Each engine has one worker, started by a first grid that
is not counted; `plain` does the same jobs one after the other in the driver's own process. All take turns. The
overhead of an engine is its time less that of `plain`, for each cell.

The projection starts the tasks of an experiment in their order on a number of workers, each as soon as what it needs is
done, with times estimated from the results so far and the overhead of Ray that was measured. The driver takes one
result after the other, each for as much processor time as a trivial one took here, and as writing a file of this
experiment takes. What data and models take to travel is not in it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _facts import facts
from _ratios import turns

RESULT = Path(__file__).parent / "results" / "grid_engines.json"
WORKERS = (1, 10, 100, 1000)
BUSY = 1.5
"""Time that the plain loop takes over its processor time on a machine that does other things too."""


class Plain:
    """An engine that does each job at once, in this process."""

    def __init__(self, experiment, places):
        from vmask.grid.worker import Worker

        self.worker, self.running = Worker(experiment, places), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    @property
    def free(self):
        return not self.running

    def start(self, job):
        self.running.append(job)

    def events(self, timeout=None):
        from vmask.grid.engines.contract import Finished

        job = self.running.pop()
        yield Finished(job, self.worker.do(job))


class Warm:
    """An engine that stays open when a grid ends, so that the next finds its workers started."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def write_experiment(folder: Path, cells: int) -> Path:
    """An experiment of so many trivial cells."""
    words = ("good fine great", "bad poor awful")
    rows = [f"{words[number % 2]} {number},{number % 2}" for number in range(40)]
    (folder / "texts.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    options = "{embeddings: random, epochs: 1, batch_size: 40, model__filters: 1}"
    path = folder / "trivial.yaml"
    path.write_text(
        f"models: {{cnn: {options}}}\n"
        f"grid: [{{datasets: [texts.csv], models: [cnn], masks: [base], seeds: 0-{cells - 1}}}]\n",
        encoding="utf-8",
    )
    return path


@contextmanager
def engines(folder: Path, experiment) -> Iterator[dict]:
    from vmask.grid.engines.local import LocalEngine
    from vmask.grid.engines.ray import RayEngine
    from vmask.grid.worker import Places

    places = {name: Places(folder / name, folder / f"{name}-models") for name in ("plain", "local", "ray")}
    local, ray = LocalEngine(experiment, places["local"], 1), RayEngine(experiment, places["ray"], cpus=1)
    with local, ray:
        yield {
            "plain": (Plain(experiment, places["plain"]), places["plain"]),
            "local": (Warm(local), places["local"]),
            "ray": (Warm(ray), places["ray"]),
        }


def measure(cells: int, repeats: int) -> dict:
    """Milliseconds a cell of each engine, and what it adds to the plain loop."""
    import torch

    from vmask.errors import VmaskWarning
    from vmask.grid.experiment import Where
    from vmask.grid.run import Grid
    from vmask.grid.spec import read_experiment

    torch.set_num_threads(1)
    warnings.simplefilter("ignore", VmaskWarning)
    milliseconds: dict[str, list[float]] = {"plain": [], "local": [], "ray": []}
    driver: dict[str, list[float]] = {name: [] for name in milliseconds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        part = cells // repeats
        experiment = read_experiment(write_experiment(folder, cells + part))
        with engines(folder, experiment) as made:
            for repeat in range(repeats + 1):
                seeds = tuple(range(repeat * part, (repeat + 1) * part))
                for engine_name in turns(made, repeat):
                    engine, places = made[engine_name]
                    grid = Grid(experiment, places, where=Where(seeds=seeds))
                    started, worked = time.perf_counter(), time.process_time()
                    count = grid.run(1, lambda *_: None, engine=engine)
                    assert count["done"] == part, count
                    if repeat:  # the first starts the workers
                        milliseconds[engine_name].append(1000 * (time.perf_counter() - started) / part)
                        driver[engine_name].append(1000 * (time.process_time() - worked) / part)
    rows = {}
    for engine_name, values in milliseconds.items():
        added = [value - plain for value, plain in zip(values, milliseconds["plain"], strict=True)]
        rows[engine_name] = {
            "milliseconds": round(statistics.median(values), 1),
            "added": round(statistics.median(added), 1),
            "least": round(min(added), 1),
            "most": round(max(added), 1),
            "driver": round(statistics.median(driver[engine_name]), 1),
        }
        print(engine_name, rows[engine_name], flush=True)
    return {"cells": cells, "repeats": repeats, "engines": rows, **facts()}


def write_seconds(folder: Path) -> float:
    """Seconds that the driver takes to read and write the result files of a folder, for each."""
    from vmask.grid.store import Store

    paths = sorted(folder.rglob("cells/*.json"))[:200]
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name))
        started = time.process_time()
        for path in paths:
            store.write(Path(name) / path.name, store.read(path))
        return (time.process_time() - started) / len(paths)


def simulate(tasks: list, needs: dict, seconds: dict, workers: int, overhead: float, driver: float) -> float:
    """Seconds until the driver has taken the last result."""
    order = {task: number for number, task in enumerate(tasks)}
    unmet = {task: set(needs[task]) & order.keys() for task in tasks}
    followers: dict = {task: [] for task in tasks}
    for task, needed in unmet.items():
        for one in needed:
            followers[one].append(task)
    ready = [order[task] for task in tasks if not unmet[task]]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            number = heapq.heappop(ready)
            heapq.heappush(running, (now + overhead + seconds[tasks[number]], number))
        ended, number = heapq.heappop(running)
        now = max(now, ended) + driver  # one result after the other
        for follower in followers[tasks[number]]:
            unmet[follower].discard(tasks[number])
            if not unmet[follower]:
                heapq.heappush(ready, order[follower])
    return now


def longest_chain(tasks: list, needs: dict, seconds: dict) -> list:
    """The tasks that need one another and take longest together, in their order."""
    chains: dict = {}
    for task in tasks:  # what a task needs comes before it
        before = max(
            (chains[one] for one in needs[task] if one in chains), default=(0.0, []), key=lambda chain: chain[0]
        )
        chains[task] = (before[0] + seconds[task], [*before[1], task])
    return max(chains.values(), key=lambda chain: chain[0])[1]


def project(file: str, data_dir: str | None) -> dict:
    """Hours of an experiment on several numbers of workers, from measured times."""
    from vmask.grid.order import needs_of
    from vmask.grid.run import Grid
    from vmask.grid.spec import read_experiment
    from vmask.grid.worker import Places

    experiment = read_experiment(file)
    grid = Grid(experiment, Places(Path(experiment.out), Path("models"), data_dir))
    estimator = grid.estimator()
    seconds = {task: estimator.seconds(task) for task in grid.tasks}
    known = [task for task in grid.tasks if seconds[task] is not None]
    needs = {task: needs_of(task, experiment) for task in known}
    measured = json.loads(RESULT.read_text(encoding="utf-8"))
    ray = measured["engines"]["ray"]
    overhead, write = max(ray["added"], 0.0) / 1000, write_seconds(Path(experiment.out))
    driver = ray["driver"] / 1000 + write
    chain = longest_chain(known, needs, seconds)
    total = sum(seconds[task] for task in known)
    hours = {str(number): simulate(known, needs, seconds, number, overhead, driver) / 3600 for number in WORKERS}
    return {
        "experiment": experiment.name,
        "tasks": len(known),
        "without_estimate": len(grid.tasks) - len(known),
        "core_hours": round(total / 3600, 2),
        "overhead_hours": round(overhead * len(known) / 3600, 3),
        "longest_chain": {task.title: round(seconds[task] / 3600, 3) for task in chain},
        "write_milliseconds": round(1000 * write, 1),
        "driver_hours": round(driver * len(known) / 3600, 3),
        "hours": {number: round(value, 3) for number, value in hours.items()},
        "facts": facts(),
    }


def table() -> str:
    if not RESULT.is_file():
        return "Not run yet."
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    lines = ["| engine, one worker | ms a cell | added to a plain loop | ms of the driver's processor |"]
    lines.append("|---|--:|--:|--:|")
    for name, row in result["engines"].items():
        added = "" if name == "plain" else f"{row['added']:.0f} ms ({row['least']:.0f} to {row['most']:.0f})"
        lines.append(f"| {name} | {row['milliseconds']:.0f} | {added} | {row['driver']:.0f} |")
    plain = result["engines"]["plain"]
    if plain["milliseconds"] > BUSY * plain["driver"]:
        took = f"{plain['driver']:.0f} ms of processor time took the plain loop {plain['milliseconds']:.0f} ms"
        lines += ["", f"Other programs kept the machine busy: {took}. Repeat this on a quiet one for smaller numbers."]
    if projection := result.get("projection"):
        lines += ["", *_projected(projection)]
    return "\n".join(lines)


def _projected(found: dict) -> list[str]:
    """What a grid would take on more workers, as a table with a sentence about its limits."""
    work = found["core_hours"] + found["overhead_hours"]
    lines = ["| workers | hours | times faster | core hours taken up | of these at work |", "|--:|--:|--:|--:|--:|"]
    for number, hours in found["hours"].items():
        workers, faster = int(number), found["hours"]["1"] / hours
        taken = workers * hours
        lines.append(f"| {workers:,} | {hours:.2f} | {faster:.1f} | {taken:,.0f} | {min(work / taken, 1):.0%} |")
    unknown = f" ({found['without_estimate']:,} more have no estimate)" if found["without_estimate"] else ""
    chain = found["longest_chain"]
    longest, parts = sum(chain.values()), ", ".join(f"`{title}` {hours:.2f}" for title, hours in chain.items())
    return [
        *lines,
        "",
        f"{found['tasks']:,} pieces of `{found['experiment']}`{unknown} are {found['core_hours']:,.1f} core hours of "
        f"work, to which Ray adds {found['overhead_hours']:.2f}. No number of workers is faster than the longest chain "
        f"of pieces that need one another, {longest:.2f} hours ({parts}): more than about {work / longest:.0f} workers "
        f"are of little use. The driver is busy for {found['driver_hours']:.3f} hours, of which writing takes "
        f"{found['write_milliseconds']:.0f} ms a piece.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--project", metavar="FILE", help="the YAML file of an experiment with results")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.project:
        result = json.loads(RESULT.read_text(encoding="utf-8"))
        result["projection"] = project(args.project, args.data_dir)
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    elif not args.table:
        RESULT.write_text(json.dumps(measure(args.cells, args.repeats), indent=1) + "\n", encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
