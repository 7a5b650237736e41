r"""A shortcut in a training file: found in the words, hidden by an edit. For docs/edit.md.

    python benchmarks/shortcut.py --data-dir DATA       # runs the commands below, about five minutes
    python benchmarks/shortcut.py --show                # the story from its file

The data is SST-2 with a code of the desk at the end of every review. In train and dev the code says the label nine
times out of ten. In `new.csv`, the test texts, both codes stand by either class, at random; `plain.csv` are the test
texts as they were published.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from _facts import facts

RESULT = Path(__file__).parent / "results" / "shortcut.json"
CODES = ("qx17", "qx42")
LEAK = 0.9
"""Share of the training texts whose code is that of their class."""
COMMANDS = [
    "vmask train desk --out model --seed 0 --quiet",
    "vmask words model --top 5 --min-count 500",
    "vmask explain model --input desk/dev.csv --method occlusion --out dev.jsonl --quiet",
    "vmask words --explanations dev.jsonl --by absolute --top 5",
    "vmask evaluate model new.csv",
    "vmask edit model edited --hide qx17,qx42 --data new.csv",
    "vmask verify edited new.csv",
    "vmask train desk --out retrained --hide qx17,qx42 --seed 0 --quiet",
    "vmask evaluate retrained new.csv",
    "vmask train published --out untouched --seed 0 --quiet",
]
SHOWN = 7
"""Commands that the story shows with their output."""
MODELS = {
    "model": "trained with the codes",
    "edited": "the same, codes hidden by `vmask edit`",
    "retrained": "trained with `--hide`",
    "untouched": "trained on the published texts",
}
FILES = {"new": "codes at random", "plain": "no codes"}


def write(path: Path, texts: list[str], labels: list) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])


def make_data(folder: Path, data_dir: str) -> str:
    """Write the files. Returns the fingerprint of the data that they are made from."""
    from vmask import load_dataset

    dataset = load_dataset("sst2", data_dir=data_dir)
    rng = random.Random(0)
    classes = sorted(set(dataset.splits["train"].labels))
    for name in ("train", "dev", "test"):
        split = dataset.splits[name]
        coded = []
        for text, label in zip(split.texts, split.labels, strict=True):
            told = classes.index(label) if rng.random() < LEAK else 1 - classes.index(label)
            coded.append(f"{text} {CODES[told if name != 'test' else rng.randrange(2)]}")
        if name == "test":
            write(folder / "new.csv", coded, split.labels)
            write(folder / "plain.csv", split.texts, split.labels)
        else:
            write(folder / "desk" / f"{name}.csv", coded, split.labels)
            write(folder / "published" / f"{name}.csv", split.texts, split.labels)
    return dataset.fingerprint


def output(command: str, folder: Path) -> str:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "110"}
    env |= {"TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return done.stdout.strip("\n")


def run(data_dir: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = {"data": "sst2", "fingerprint": make_data(folder, data_dir), **facts()}
        steps = []
        for command in COMMANDS:
            print("$", command, flush=True)
            steps.append({"command": command, "output": output(command, folder)})
        accuracy = {
            model: {
                file: json.loads(output(f"vmask evaluate {model} {file}.csv --json", folder))["accuracy"]
                for file in FILES
            }
            for model in MODELS
        }
    RESULT.write_text(json.dumps({**made, "steps": steps, "accuracy": accuracy}, indent=1, ensure_ascii=False) + "\n")


def show() -> str:
    """The commands from the training to the verification with their output, as in a terminal."""
    steps = json.loads(RESULT.read_text(encoding="utf-8"))["steps"][:SHOWN]
    lines = [line for step in steps for line in (f"$ {step['command']}", *step["output"].splitlines())]
    return "```console\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


def table() -> str:
    """Accuracy of every model on both files."""
    accuracy = json.loads(RESULT.read_text(encoding="utf-8"))["accuracy"]
    lines = ["| model | " + " | ".join(f"accuracy, {what}" for what in FILES.values()) + " |", "|---|--:|--:|"]
    for model, what in MODELS.items():
        values = (f"{100 * accuracy[model][file]:.1f}" for file in FILES)
        lines.append(f"| {what} | {' | '.join(values)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if not args.show:
        run(args.data_dir)
    print(f"{show()}\n\n{table()}")


if __name__ == "__main__":
    main()
