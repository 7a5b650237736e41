"""What the workers of a Ray cluster cost and gain: explanations of many texts against a plain loop.

    python benchmarks/cluster.py --data-dir DATA            # the folder with sst2
    python benchmarks/cluster.py --table                    # the tables from the result file

The plain loop explains in one process by one thread, and writes a line of JSON a text. The workers, one thread each,
are on the same machine, and the process that reads the texts and writes the lines is beside them. Contenders take turns
on the same texts; a ratio is computed within each repeat, the median over the repeats is reported with the smallest and
the largest. Every output must be the same, byte by byte. Starting Ray and loading the models is measured apart, as it
does not grow with the texts. Run it on a machine that does nothing else. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from _facts import facts
from _ratios import ratio, timed

RESULT = Path(__file__).parent / "results" / "cluster.json"
METHODS = {"lime": {"samples": 1000}, "mask": {}}
BARRED = "lime"
"""The method that is held to the bars; `mask` asks the model once a text, so that little is left to share."""
WORKERS = (1, 2, 4)
MOST_OVERHEAD, LEAST_SPEEDUP = 1.05, 1.7
LOOP = "a plain loop"


def write_lines(explanations: Iterable, path: Path) -> None:
    with path.open("wb") as file:
        for explanation in explanations:
            file.write(f"{explanation.to_json()}\n".encode())


def name(count: int) -> str:
    return f"{count} worker{'' if count == 1 else 's'}"


def contenders(folder: Path, texts: list[str], method: str, pools: dict, out: Path) -> dict[str, Callable[[], None]]:
    """Jobs that each write the explanations of all texts to a file of their name."""
    from vmask.explain.api import explain_texts
    from vmask.explain.shards import ExplainWork, explain_shards
    from vmask.inference.threads import single_threaded
    from vmask.persistence.model_folder import load_model

    model, work = load_model(folder, "cpu").predictor, ExplainWork(method, METHODS[method])

    def loop() -> None:
        with single_threaded():
            write_lines(explain_texts(model, texts, method, **METHODS[method]), out / LOOP)

    def shared(count: int) -> Callable[[], None]:
        return lambda: write_lines(explain_shards(pools[count].map, work, model, texts), out / name(count))

    return {LOOP: loop, **{name(count): shared(count) for count in pools}}


def measure(folder: Path, texts: list[str], method: str, pools: dict, repeats: int, out: Path) -> dict:
    jobs = contenders(folder, texts, method, pools, out)
    seconds = timed(jobs, repeats)
    digests = {hashlib.sha256((out / job).read_bytes()).hexdigest() for job in jobs}
    if len(digests) > 1:
        sys.exit(f"{method}: the outputs differ")
    barred = method == BARRED and len(os.sched_getaffinity(0)) >= 2
    rows = []
    if 1 in pools:
        most = MOST_OVERHEAD if barred else None
        rows.append(ratio(f"{method}: time of one worker to {LOOP}", seconds, name(1), LOOP, most=most))
    for count in sorted(set(pools) - {1}):
        least = LEAST_SPEEDUP if barred and count == 2 else None
        rows.append(
            ratio(f"{method}: times faster than {LOOP}, {name(count)}", seconds, LOOP, name(count), least=least)
        )
    per_text = {job: round(1000 * statistics.median(times) / len(texts), 3) for job, times in seconds.items()}
    return {"method": method, "texts": len(texts), "sha256": digests.pop(), "ms_per_text": per_text, "ratios": rows}


def trained(data_dir: str | None, folder: Path) -> Path:
    """A small CNN: how well it classifies makes no difference."""
    from vmask import TextClassifier, load_dataset

    train = load_dataset("sst2", data_dir=data_dir).splits["train"]
    return TextClassifier(embeddings="random", epochs=1).fit(train.texts, train.labels).save(folder)


def run(args: argparse.Namespace) -> dict:
    from vmask import load_dataset
    from vmask.cluster.connection import connected
    from vmask.cluster.workers import Workers
    from vmask.config import WorkersConfig

    splits = load_dataset("sst2", data_dir=args.data_dir).splits
    all_texts = itertools.cycle(text for split in ("train", "dev", "test") for text in splits[split].texts)
    texts = list(itertools.islice(all_texts, args.texts))
    with ExitStack() as stack:
        out = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = args.model or trained(args.data_dir, out / "model")
        started = time.perf_counter()
        ray = stack.enter_context(connected("local", cpus=sum(args.workers)))
        started_ray = time.perf_counter() - started
        pools, loading = {}, {}
        for count in args.workers:
            started = time.perf_counter()
            pools[count] = Workers(ray, [folder], WorkersConfig(engine="ray", workers=count), "cpu")
            stack.callback(pools[count].close)
            pools[count].wait_for_loaded()
            loading[count] = round(time.perf_counter() - started, 1)
        results = [measure(folder, texts, method, pools, args.repeats, out) for method in args.methods]
        ray_version = ray.__version__
    start = {"ray_seconds": round(started_ray, 1), "seconds_until_loaded": loading}
    return {**facts(), "ray": ray_version, "repeats": args.repeats, "start": start, "methods": results}


def table(path: Path = RESULT) -> str:
    """A result file as Markdown."""
    result = json.loads(path.read_text(encoding="utf-8"))
    head = ("method", "texts", "what", "median", "smallest to largest", "bar")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for method in result["methods"]:
        for row in method["ratios"]:
            sign = "≤" if row["bar"] == MOST_OVERHEAD else "≥"
            bar = "" if row["bar"] is None else f"{sign} {row['bar']}"
            what, spread = row["what"].partition(": ")[2], f"{row['min']:.2f} to {row['max']:.2f}"
            cells = (method["method"], f"{method['texts']:,}", what, f"{row['median']:.2f}")
            lines.append(f"| {' | '.join((*cells, spread, bar))} |")
    start = result["start"]
    loaded = ", ".join(
        f"{name(int(count))} {seconds:.1f} s" for count, seconds in start["seconds_until_loaded"].items()
    )
    took = (
        f"Not in it, once: starting Ray {start['ray_seconds']:.1f} s, then until all have loaded the model: {loaded}."
    )
    return "\n".join([*lines, "", took])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder with sst2")
    parser.add_argument("--model", type=Path, help="a model folder; by default a small CNN is trained")
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(args.out))
        return 0
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the loop has one core, as a worker has
    warnings.simplefilter("ignore")
    result = run(args)
    args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["held"] for method in result["methods"] for row in method["ratios"]))


if __name__ == "__main__":
    sys.exit(main())
