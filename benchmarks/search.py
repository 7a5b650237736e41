r"""Hyperparameter search: Optuna against a list of trials that is drawn in advance, with the same number of trials.

    python benchmarks/search.py --data-dir DATA --vectors-dir VECTORS     # resumable: the searches are those of a grid
    python benchmarks/search.py --table                                   # the table from the file

A CNN on TREC, three methods, several search seeds. Both have the defaults as their first trial; the ranges of Optuna
have the ends of the lists. Everything is measured on dev, of which the best trial is chosen; test is not read. Results
of another kind, such as a short run to see that it works, go to another file by --out.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import yaml

from _facts import facts

RESULT = Path(__file__).parent / "results" / "search.json"
LISTS = {
    "cnn": {"learning_rate": [0.001, 0.0003, 0.003, 0.0001, 0.01], "model__filters": [100, 50, 75, 25]},
    "base": {},
    "vmask": {"beta": [1.0, 0.3, 0.1]},
    "word_dropout": {"mask__p": [0.5, 0.2, 0.8]},
}
RANGES = {
    "cnn": {
        "learning_rate": {"low": 0.0001, "high": 0.01, "log": True},
        "model__filters": {"low": 25, "high": 100, "step": 25},
    },
    "base": {},
    "vmask": {"beta": {"low": 0.1, "high": 1.0, "log": True}},
    "word_dropout": {"mask__p": {"low": 0.2, "high": 0.8}},
}
ENGINES = {"list": LISTS, "optuna": RANGES}
METHODS = ("base", "vmask", "word_dropout")


def experiment(engine: str, seed: int, args: argparse.Namespace) -> dict:
    """The file of a grid that has these searches."""
    values = ENGINES[engine]
    options = {"embeddings": args.embeddings, **({"epochs": args.epochs} if args.epochs else {})}
    return {
        "name": f"search-{engine}-{seed}",
        "models": {"cnn": options},
        "grid": [{"datasets": [args.dataset], "models": ["cnn"], "masks": list(METHODS), "seeds": 0}],
        "search": {
            "engine": engine,
            "seed": seed,
            "trials": args.trials,
            "models": {"cnn": values["cnn"]},
            "masks": {method: values[method] for method in METHODS},
        },
    }


def run(engine: str, seed: int, args: argparse.Namespace) -> list[dict]:
    """Do the searches of an engine and a seed; what is done already is read."""
    from vmask.grid.run import Grid
    from vmask.grid.spec import read_experiment
    from vmask.grid.worker import Places

    folder = Path(args.work) / f"{engine}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "search.yaml"
    file.write_text(yaml.safe_dump(experiment(engine, seed, args)), encoding="utf-8")
    grid = Grid(read_experiment(file), Places(folder / "results", folder / "models", args.data_dir, args.vectors_dir))
    grid.tasks = [task for task in grid.tasks if task.kind == "search"]

    def on_outcome(task, outcome, error):
        print(engine, seed, task.title, error or outcome, flush=True)

    if grid.run(args.jobs, on_outcome)["failed"]:
        raise SystemExit("A search failed.")
    return [summary(engine, seed, grid.store.read(task.path(grid.store))) for task in grid.tasks]


def summary(engine: str, seed: int, record: dict) -> dict:
    """What the table needs of a search: the best dev accuracy after each trial, and what it took."""
    from vmask.grid.search import best

    trials = record["trials"]
    chosen = [best(trials[:count]) for count in range(1, len(trials) + 1)]
    return {
        **{"engine": engine, "seed": seed, "mask": record["combination"]["mask"]},
        "best_after": [round(trials[number]["dev_accuracy"], 5) for number in chosen],
        "options": trials[chosen[-1]]["options"],
        "pruned": sum(trial.get("pruned", False) for trial in trials),
        "epochs": sum(trial["epochs"] for trial in trials),
        "seconds": round(sum(trial["seconds"] for trial in trials), 1),
    }


def table(path: Path = RESULT) -> str:
    """Mean over search seeds, of each method and engine."""
    if not path.is_file():
        return "Not run yet."
    result = json.loads(path.read_text(encoding="utf-8"))
    searches = result["searches"]
    lines = [
        "| method | engine | first trial | best of the first half | best | pruned | epochs |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for method in METHODS:
        for engine in ENGINES:
            found = [one for one in searches if (one["mask"], one["engine"]) == (method, engine)]
            if not found:
                continue
            at = (0, max(len(found[0]["best_after"]) // 2 - 1, 0), -1)
            accuracies = " | ".join(_spread([100 * one["best_after"][number] for one in found]) for number in at)
            took = [statistics.fmean(one[key] for one in found) for key in ("pruned", "epochs")]
            lines.append(f"| {method} | {engine} | {accuracies} | {took[0]:.1f} | {took[1]:.0f} |")
    seeds = f"search seed{'s'[: len(result['search_seeds']) != 1]} {', '.join(map(str, result['search_seeds']))}"
    epochs = f" of {result['epochs']} epochs" if result["epochs"] else ""
    return "\n".join(
        [*lines, "", f"{result['trials']} trials{epochs} a search, {seeds}, vectors {result['embeddings']}."]
    )


def _spread(values: list[float]) -> str:
    """The mean, and the standard deviation where there are several values."""
    return f"{statistics.fmean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--vectors-dir")
    parser.add_argument("--dataset", default="trec")
    parser.add_argument("--embeddings", default="gnews300.npy,glove100.npy")
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--epochs", type=int, help="of every training; by default those of the tool")
    parser.add_argument("--search-seeds", type=int, nargs="+", default=[100, 101, 102])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", default="runs/search-benchmark", help="folder of the searches")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(args.out))
        return
    searches = [row for seed in args.search_seeds for engine in ENGINES for row in run(engine, seed, args)]
    names = ("dataset", "embeddings", "trials", "epochs", "search_seeds")
    result = {**{name: getattr(args, name) for name in names}, **facts(), "searches": searches}
    args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(args.out))


if __name__ == "__main__":
    main()
