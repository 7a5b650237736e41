"""What `vmask predict` costs beside the call in memory, and a million rows with a kill in the middle.

    python benchmarks/bench_predict.py --model MODEL --data-dir DATA [--rows 20000] [--long 1000000]

MODEL is a CNN (`vmask train sst2 --data-dir DATA --out MODEL --epochs 2`). A text is the first half of an SST-2
sentence and the second half of another. CPU seconds are those of a process, with one thread; contenders take turns.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _facts import facts
from _ratios import ratio

RESULT = Path(__file__).parent / "results" / "predict.json"
CALL = """
import csv, json, resource, sys, time
import torch
torch.set_num_threads(1)
from vmask import TextClassifier
predictor = TextClassifier.load(sys.argv[1], "cpu").predictor_
with open(sys.argv[2], encoding="utf-8", newline="") as file:
    texts = [row["text"] for row in csv.DictReader(file)]
started = time.process_time()
if sys.argv[3] == "batches":
    predictor.predict_docs(predictor.prepare(texts))
else:
    predictor.predict_texts(texts)
print(json.dumps(time.process_time() - started))
"""


def write_table(path: Path, rows: int, data_dir: str | None) -> None:
    """A table of made-up sentences, no two of them alike by design."""
    from vmask import load_dataset

    splits = load_dataset("sst2", data_dir=data_dir).splits.values()
    sentences = [text.split() for split in splits for text in split.texts]
    draw = random.Random(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text", "date", "score"])
        for number in range(rows):
            first, second = draw.choice(sentences), draw.choice(sentences)
            text = " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])
            writer.writerow([number, text, f"2026-01-{number % 28 + 1:02}", number % 7 / 7])


def environment() -> dict[str, str]:
    """One thread for everything, so that CPU seconds can be compared."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    return {**os.environ, **one, "TOKENIZERS_PARALLELISM": "false"}


def run(words: list[str]) -> tuple[float, float, float, str]:
    """CPU seconds, wall seconds, peak memory in MB and output of a process."""
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words}: {status}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1024, out


def predict(model: str, table: Path, out: Path) -> list[str]:
    """The command that writes the table with its predictions."""
    words = ["predict", model, str(table), "--out", str(out), "--overwrite", "--json", "--device", "cpu"]
    return [sys.executable, "-m", "vmask", *words]


def long_table(model: str, folder: Path, rows: int, data_dir: str | None) -> dict:
    """A long table from beginning to end, and again with a kill in the middle."""
    table, whole, killed = folder / "long.csv", folder / "whole.csv", folder / "killed.csv"
    write_table(table, rows, data_dir)
    cpu, wall, memory, _ = run(predict(model, table, whole))
    process = subprocess.Popen(predict(model, table, killed), stdout=subprocess.DEVNULL, env=environment())
    part = folder / "killed.csv.part"
    while not part.exists() or part.read_bytes().count(b"\n") < rows // (1 << 14) // 2:
        time.sleep(0.2)
        if process.poll() is not None:
            raise SystemExit("it ended before it could be killed")
    process.send_signal(signal.SIGKILL)
    process.wait()
    again, _, _, out = run(predict(model, table, killed))
    same = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (whole, killed)]
    return {
        "rows": rows,
        "cpu_seconds": round(cpu, 1),
        "wall_seconds": round(wall, 1),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_memory_mb": round(memory),
        "rows_after_the_kill": rows - json.loads(out)["resumed"],
        "cpu_seconds_after_the_kill": round(again, 1),
        "same_bytes_after_the_kill": same[0] == same[1],
    }


def table() -> str:
    """The table of docs/benchmarks.md."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    command, batches = result["ratios"]
    rows = result["rows_per_cpu_second"]
    names = {
        "batches": "batches of texts, each with its own words",
        "call": "the call in memory, `predict_proba`",
        "command": "`vmask predict --out`, without starting",
    }
    lines = [f"| {result['rows']:,} rows | rows a CPU second |", "|---|---|"]
    lines += [f"| {what} | {rows[name]:,} |" for name, what in names.items()]
    for what, one in (("The command takes", command), ("Batches take", batches)):
        lines += ["", f"{what} {one['median']:.2f} times the CPU of the call ({one['min']:.2f} to {one['max']:.2f})."]
    lines += ["", f"Peak memory of the command: {result['peak_memory_mb']:,} MB."]
    if long := result.get("long"):
        same = "the same bytes" if long["same_bytes_after_the_kill"] else "OTHER BYTES"
        lines += [
            "",
            f"{long['rows']:,} rows, start and model included: {long['cpu_seconds']:.0f} CPU seconds "
            f"({long['wall_seconds']:.0f} wall seconds on a shared machine), {long['rows_per_cpu_second']:,} rows a "
            f"CPU second, {long['peak_memory_mb']:,} MB. Killed with {long['rows_after_the_kill']:,} rows to go, the "
            f"same command took {long['cpu_seconds_after_the_kill']:.0f} CPU seconds more and wrote {same}.",
        ]
    return "\n".join([*lines, "", f"{result['machine']}, torch {result['torch']}, one thread."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data-dir")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--long", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    from vmask._core.files import to_json, write_text

    names = ("call", "batches", "command")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    peak = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {rows: folder / f"{rows}.csv" for rows in (10, args.rows)}
        for rows, table in tables.items():
            write_table(table, rows, args.data_dir)
        for repeat in range(args.repeats):
            for contender in names if repeat % 2 else names[::-1]:
                if contender == "command":  # without what it takes to start and to load the model
                    starts = run(predict(args.model, tables[10], folder / "few.csv"))[0]
                    cpu, _, memory, _ = run(predict(args.model, tables[args.rows], folder / "out.csv"))
                    seconds[contender].append(cpu - starts)
                    peak = max(peak, memory)
                else:
                    words = [sys.executable, "-c", CALL, args.model, str(tables[args.rows]), contender]
                    seconds[contender].append(json.loads(run(words)[3]))
        result = {
            **facts(),
            "rows": args.rows,
            "rows_per_cpu_second": {n: round(args.rows / sorted(s)[len(s) // 2]) for n, s in seconds.items()},
            "peak_memory_mb": round(peak),
            "ratios": [
                ratio("command to the call in memory", seconds, "command", "call"),
                ratio("batches of texts to the call in memory", seconds, "batches", "call"),
            ],
        }
        if args.long:
            result["long"] = long_table(args.model, folder, args.long, args.data_dir)
    write_text(RESULT, to_json(result))
    print(to_json(result))


if __name__ == "__main__":
    main()
