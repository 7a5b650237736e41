"""Training by two processes beside one: speed as ratios, in one interleaved run, and accuracy over seeds.

    python benchmarks/bench_processes.py --data-dir DATA --embeddings a.npy,b.npy --encoder minilm
    python benchmarks/bench_processes.py --table

Each contender is started by `torchrun` with one and with two processes, a thread each, in turns. The time of an epoch
is the median over the epochs but the first, dev scores included; starting the processes and reading the data is not
part of it. How many cores others kept busy is measured before each repeat, and written down.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from _facts import facts
from _ratios import ratio, turns

RESULT = Path(__file__).parent / "results" / "processes.json"
PROCESSES = (1, 2)
NAMES = {"cnn": "CNN-VMASK", "lstm": "LSTM-VMASK", "encoder": "MiniLM-VMASK"}


def work(job: dict) -> dict:
    """Train, as one of the processes of `torchrun`; what the main one returns is the result."""
    from vmask import TextClassifier, load_dataset

    warnings.simplefilter("ignore")
    dataset = load_dataset("trec", data_dir=job["data_dir"])
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    most = job["texts"]
    classifier = TextClassifier(mask="vmask", device="cpu", patience=0, **job["options"], **dataset.defaults)
    classifier.fit(train.texts[:most], train.labels[:most], dev=(dev.texts[:most], dev.labels[:most]))
    found: dict = {"epochs": [row["seconds"] for row in classifier.history_]}
    if job["score"]:
        found["dev_accuracy"] = classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"]
        found["test_accuracy"] = classifier.score(test.texts, test.labels)
    return found


def launch(processes: int, job: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), __file__]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, "--work", json.dumps(job), "--out", str(out)], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(out.read_text())


def busy_cores(seconds: float = 2.0) -> float | None:
    """Cores that other programs keep busy, while this one waits; None where the system does not say."""

    def ticks() -> int:
        user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
        return user + nice + system + sum(rest[:2])

    if not Path("/proc/stat").exists():
        return None
    before = ticks()
    time.sleep(seconds)
    return round((ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds, 2)


def measure(name: str, job: dict, repeats: int, busy: list) -> dict:
    seconds: dict = {f"{processes} processes": [] for processes in PROCESSES}
    for repeat in range(repeats):
        busy.append(busy_cores())
        for number in turns(dict.fromkeys(PROCESSES), repeat):
            found = launch(number, job)
            seconds[f"{number} processes"].append(statistics.median(found["epochs"][1:]))
    return {"name": name, **ratio(f"one process / two, {name}", seconds, "1 processes", "2 processes")}


def accuracies(job: dict, seeds: int) -> list[dict]:
    rows = []
    for seed in range(seeds):
        for processes in PROCESSES:
            found = launch(processes, {**job, "options": {**job["options"], "seed": seed}, "score": True})
            scores = {name: round(found[name], 4) for name in ("dev_accuracy", "test_accuracy")}
            rows.append({"seed": seed, "processes": processes, **scores})
            print(rows[-1], flush=True)
    return rows


def table() -> str:
    """Both tables, from the result file."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    lines = ["| TREC | times faster with two processes | smallest to largest |", "|---|---|---|"]
    for row in result["ratios"]:
        lines.append(f"| {NAMES[row['name']]} | {row['median']:.2f} | {row['min']:.2f} to {row['max']:.2f} |")
    seeds = sorted({row["seed"] for row in result["accuracies"]})
    lines += ["", f"| CNN-VMASK on TREC, {len(seeds)} seeds | dev | test |", "|---|---|---|"]
    for processes in PROCESSES:
        cells = []
        for split in ("dev", "test"):
            values = [100 * row[f"{split}_accuracy"] for row in result["accuracies"] if row["processes"] == processes]
            cells.append(f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}")
        lines.append(f"| {processes} process{'es' if processes > 1 else ''} | {' | '.join(cells)} |")
    busy = statistics.median(cores for cores in result["busy_cores_of_others"] if cores is not None)
    quiet = "" if busy < 0.1 * result["cores"] else ": repeat this on a quiet machine before reading the ratios"
    lines += ["", f"Other programs kept {busy:.1f} of {result['cores']} cores busy meanwhile (median){quiet}."]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--embeddings", default="word2vec-26k")
    parser.add_argument("--encoder", default="minilm", help="a folder, or a name")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10, help="of the trainings whose accuracy is compared")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true", help="print the tables of the result file")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.table:
        print(table())
        return 0
    if args.work:
        found = work(json.loads(args.work))
        if os.environ["RANK"] == "0":
            args.out.write_text(json.dumps(found))
        return 0
    plain = {"data_dir": args.data_dir, "texts": None, "score": False}
    jobs = {
        name: {**plain, "options": {"model": name, "embeddings": args.embeddings, "epochs": 4}}
        for name in ("cnn", "lstm")
    }
    few = {"model": args.encoder, "epochs": 2, "stages": 1}
    jobs["encoder"] = {**plain, "texts": 640, "options": few}
    busy: list = []
    result: dict = {**facts(), "threads": 1, "repeats": args.repeats, "epochs": args.epochs}
    result["ratios"] = [measure(name, job, args.repeats, busy) for name, job in jobs.items()]
    quality = {**jobs["cnn"], "options": {**jobs["cnn"]["options"], "epochs": args.epochs}}
    result["accuracies"] = accuracies(quality, args.seeds)
    result["busy_cores_of_others"] = busy
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
