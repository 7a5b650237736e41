"""Run an experiment: train and measure every cell of a grid of datasets, models, methods and seeds; resumable."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.console import print_json, print_rich, say, say_result, shows_progress
from vmask.cli.options import add_data_dir, add_fields, add_json, given, whole_number
from vmask.config import ClusterConfig, TrackConfig, make

if TYPE_CHECKING:
    from vmask.cli.grid_view import GridView
    from vmask.grid.course import Outcome
    from vmask.grid.engines.contract import Engine
    from vmask.grid.run import Grid
    from vmask.grid.task import Task

VECTORS = "VMASK_VECTORS"
"""Environment variable with the folder of word vectors, if the option is not given."""
SHOWN_ERRORS = 5


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="the YAML file of an experiment")
    parser.add_argument("--out", metavar="DIR", help="folder of the results [what the file says, else results]")
    parser.add_argument("--models", metavar="DIR", help="folder of the trained models [in the cache]")
    parser.add_argument("--vectors-dir", metavar="DIR", help=f"where files of word vectors are [{VECTORS}]")
    parser.add_argument(
        "--jobs", type=whole_number(1, 1_000), metavar="N", help="processes of this machine that work side by side [1]"
    )
    parser.add_argument(
        "--threads", type=whole_number(1, 1_000), default=1, metavar="N", help="threads of each process [1]"
    )
    parser.add_argument("--only", default="", metavar="NAME=VALUE,…", help="some cells: dataset=trec,model=cnn")
    parser.add_argument("--seeds", default="", metavar="0-4", help="some seeds")
    parser.add_argument("--retry-failed", action="store_true", help="do again what failed before")
    parser.add_argument("--stale", action="store_true", help="do again what has numbers of an older version")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what is done, running, failed and to do, and how long it takes"
    )
    add_data_dir(parser)
    add_json(parser)
    add_fields(parser, "engine", ClusterConfig)
    add_fields(parser, "tracking", TrackConfig)


def run(args: argparse.Namespace) -> int:
    """Print the number of tasks, then do them. The exit code is 2 if a task failed, now or before."""
    from vmask._core.wording import plural
    from vmask.cli.grid_view import GridView
    from vmask.errors import WorkFailed

    grid = _grid(args)
    engine = _engine(grid, args)
    states = {task: grid.state(task) for task in grid.tasks}
    left = [task for task, state in states.items() if grid.wanted.to_do(state)]
    view = GridView(left, grid.estimator())
    view.most_running = args.jobs or 1
    seconds, unknown = view.seconds_left()
    summary: dict[str, Any] = {
        "experiment": grid.experiment.name,
        "results": str(grid.places.results),
        "pieces": dict(Counter(states.values())),
        "to_do": len(left),
        "seconds_estimated": round(seconds),
        "without_estimate": unknown,
    }
    time_line = _time_line(
        len(left), seconds, unknown, f"with --jobs {args.jobs or 1}" if engine is None else "on one CPU"
    )
    if args.dry_run:
        _show_state(grid, states, args, summary, time_line)
        return 0
    say(args, time_line)
    count = _work(grid, engine, view, args)
    before = 0 if args.retry_failed else summary["pieces"].get("failed", 0)
    if args.json:
        print_json({**summary, **count, "errors": [{"piece": piece, "error": error} for piece, error in view.errors]})
    else:
        unchanged = len(states) - before - count["done"] - count["failed"] - count["skipped"]
        failed_before = f", {before} failed before" if before else ""
        say_result(
            f"{count['done']} done, {count['failed']} failed, {count['skipped']} skipped, {unchanged} were there "
            f"already{failed_before}; results in {grid.places.results}"
        )
        for piece, error in view.errors[:SHOWN_ERRORS]:
            say_result(f"failed: {piece}: {error}")
    if failed := count["failed"] + count["skipped"] + before:
        raise WorkFailed(
            f"{plural(failed, 'piece')} of the grid failed or needed one that did. What failed is done again with: "
            "--retry-failed"
        )
    return 0


def _grid(args: argparse.Namespace) -> Grid:
    from vmask.data.downloads import cache_dir
    from vmask.errors import ConfigError, FileMissing
    from vmask.grid.experiment import OPTUNA, Where
    from vmask.grid.optuna_study import import_optuna
    from vmask.grid.run import Grid, Wanted
    from vmask.grid.spec import check_where, parse_seeds, parse_where, read_experiment
    from vmask.grid.worker import Places

    experiment = read_experiment(args.file)
    only = parse_where(args.only)
    if args.seeds:
        if only.seeds:
            raise ConfigError("Seeds are given by --only and by --seeds. Leave one of them out.")
        only = make(Where, {**vars(only), "seeds": parse_seeds(args.seeds)})
    check_where(only, experiment.cells, "--seeds" if args.seeds and not args.only else "--only")
    if not any(only.fits(cell) for cell in experiment.cells):
        raise ConfigError(f"No cell of {args.file} is all that --only and --seeds ask for. Leave a part out.")
    vectors = args.vectors_dir or os.environ.get(VECTORS)
    if vectors and not Path(vectors).is_dir():
        raise FileMissing(f"There is no folder {vectors}. Give the one with the word vectors to --vectors-dir.")
    track = make(TrackConfig, given(args, TrackConfig))
    places = Places(
        results=Path(args.out or experiment.out),
        models=Path(args.models) if args.models else cache_dir() / "grid" / experiment.name,
        data_dir=args.data_dir,
        vectors_dir=vectors or None,
        threads=args.threads,
        track=experiment.track if track.track is None else track.track,
        track_dir=track.track_dir,
    )
    places.trackers("", experiment.name, "")  # a wrong name or a missing package is reported before any work
    if experiment.search is not None and experiment.search.engine == OPTUNA:
        import_optuna()
    return Grid(experiment, places, Wanted(args.retry_failed, args.stale), only)


def _work(grid: Grid, engine: Engine | None, view: GridView, args: argparse.Namespace) -> Counter[str]:
    """Do the tasks, and show how far they are."""
    from contextlib import nullcontext

    def on_outcome(task: Task, outcome: Outcome, error: str) -> None:
        where = view.running.get(task, ("", 0.0))[0]
        view.ended(task, outcome, error)
        say(args, f"{task.title}: {error or outcome}{f' ({where})' if where else ''}")

    def on_wait(message: str) -> None:
        view.message = message
        say(args, message)

    with view.shown() if shows_progress(args) else nullcontext():
        return grid.run(args.jobs or 1, on_outcome, on_wait, view.started, engine)


def _engine(grid: Grid, args: argparse.Namespace) -> Engine | None:
    """The engine that is asked for, by the command line or by the experiment's file; None for this machine.

    Raises:
        ConfigError: for options that do not go together.
    """
    from vmask.errors import ConfigError

    asked, chosen = given(args, ClusterConfig), vars(grid.experiment.engine)
    if asked.get("engine") == "local":
        chosen = {}
    config = make(ClusterConfig, {**chosen, **asked})
    if config.engine == "local":
        return None
    if args.jobs is not None:
        raise ConfigError("--jobs is for --engine local: a cluster does as much at once as it has CPUs. Leave it out.")
    from vmask.grid.engines.ray import RayEngine

    return RayEngine(grid.experiment, grid.places, config.address)


def _time_line(left: int, seconds: float, unknown: int, by: str) -> str:
    from vmask.cli.grid_view import span

    if not left:
        return "nothing to do"
    known = f"about {span(seconds)} {by}, by what others like them took" if unknown < left else ""
    rest = f"no time is known yet for {unknown} of them" if unknown else ""
    return f"{left} pieces to do: {'; '.join(filter(None, (known, rest)))}"


def _show_state(
    grid: Grid, states: dict[Task, Any], args: argparse.Namespace, summary: dict[str, Any], time_line: str
) -> None:
    """Print a table of the tasks in each state, what is running, what failed, and how long the rest takes."""
    from rich.table import Table

    from vmask.grid.cell import short_name
    from vmask.grid.claims import Claims

    claims = Claims(grid.store, grid.places.models)
    running = {task.title: where for task in grid.tasks if (where := claims.of_others(task))}
    failed = {task.title: grid.error(task) for task, state in states.items() if state == "failed"}
    if args.json:
        print_json({**summary, "running": running, "failed": failed})
        return
    table = Table(box=None, pad_edge=False)
    for head in ("dataset", "model", "work", "done", "older", "failed", "to do"):
        table.add_column(head, justify="left" if head in ("dataset", "model", "work") else "right")
    rows: dict[tuple[str, str, str], Counter[str]] = {}
    for task, state in states.items():
        of = task.combination
        count = rows.setdefault((short_name(of.dataset), short_name(of.model), task.kind), Counter())
        count[state] += 1
        count["to do"] += grid.wanted.to_do(state)
    for key, count in rows.items():
        table.add_row(*key, *(str(count[name] or "") for name in ("done", "older", "failed", "to do")))
    print_rich(table)
    if any(state == "older" for state in states.values()) and not grid.wanted.stale:
        print_rich("older: their numbers are of an older version; --stale does them again")
    for title, where in running.items():
        say_result(f"running: {title} ({where})")
    for title, error in failed.items():
        say_result(f"failed: {title}: {error}")
    say_result(time_line)
