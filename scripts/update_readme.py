"""Write the generated parts of README.md and docs: real output of commands, tables from committed result files.

    python scripts/update_readme.py            # tables and the list of masks: seconds
    python scripts/update_readme.py --run      # the demo and the tour too: runs their commands, minutes

A part stands between `<!-- NAME: … -->` and `<!-- end NAME -->`. `tests/test_readme.py` checks that the tables are
those of the files.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.table import Entry

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for reproduction/
README = ROOT / "README.md"
METRICS_DOC, BENCHMARKS_DOC = ROOT / "docs" / "metrics.md", ROOT / "docs" / "benchmarks.md"
EDIT_DOC, PROBABILITIES_DOC = ROOT / "docs" / "edit.md", ROOT / "docs" / "probabilities.md"
RESULTS = ROOT / "benchmarks" / "results"
TOUR = [
    "vmask train examples/hotels.csv --text review --label stars --out my-model --seed 0",
    "vmask explain my-model 'Lovely lobby, but the shower was filthy.' --json",
    "printf 'The view is stunning.\\nA rude, noisy place.\\n' | vmask predict my-model - --json",
    "vmask evaluate my-model examples/more-hotels.csv",
    "vmask words my-model --top 6 --min-count 3",
    "vmask ls models",
    "vmask explain my-model 'Lovely lobby, but the shower was filthy.' --method lime",
    "vmask explain my-model --input examples/more-hotels.csv --method shapley --out explanations.jsonl",
    "vmask words --explanations explanations.jsonl --label 1 --top 6",
]
MEASURE = [
    "vmask evaluate my-model examples/more-hotels.csv --metrics aopc,naopc,post_hoc_accuracy --explainers lime,mask",
    "vmask train examples/hotels.csv --text review --label stars --mask base --out base-model --quiet",
    "vmask compare base-model my-model examples/more-hotels.csv --metrics accuracy,aopc,naopc --explainers lime",
]
SHOWN = ("base", "VMASK", "word dropout")
"""Methods of the grid that the README shows."""
ENCODER = [
    "vmask train examples/hotels.csv --text review --label stars --model minilm --out hotels --seed 0",
    "vmask explain hotels 'Lovely lobby, but the shower was filthy.' --json",
    "vmask export hotels plain --format hf",
]


def shell(command: str, folder: Path) -> str:
    """Standard output of a command as a user types it, in a folder."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "110"}
    env |= {"TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return done.stdout


def console(lines: list[str]) -> str:
    return "```console\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


@cache
def run_all(*commands: str) -> list[str]:
    """The commands with their output, run one after the other in a folder that has the examples."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        blocks = []
        for command in commands:
            out = shell(command, folder).strip("\n").splitlines()
            blocks.append(console([f"$ {command}", *(line if len(line) < 230 else line[:226] + " …" for line in out)]))
    return blocks


def tour() -> str:
    return "\n\n".join(run_all(*TOUR, *MEASURE)[: len(TOUR)])


def measure() -> str:
    return "\n\n".join(run_all(*TOUR, *MEASURE)[len(TOUR) :])


def encoder() -> str:
    return "\n\n".join(run_all(*ENCODER))


def demo() -> str:
    with tempfile.TemporaryDirectory() as name:
        out = shell("vmask demo --out demo --quiet", Path(name)).strip("\n").splitlines()
    shown = "\n".join(line for line in out if not line.startswith("report:"))
    return console(shown.strip("\n").splitlines())


def masks() -> str:
    from vmask.masks import MASKS

    rows = [f"| `{name}` | {MASKS.describe(name)} |" for name in MASKS.own()]
    return "\n".join(["| mask | what it is |", "|---|---|", *rows])


def benchmark(module: str, table: str, *args: str) -> Callable[[], str]:
    """A table that a benchmark makes of its result files."""

    def make() -> str:
        if (folder := str(ROOT / "benchmarks")) not in sys.path:
            sys.path.insert(0, folder)
        return str(getattr(importlib.import_module(module), table)(*args))

    return make


def speed() -> str:
    result = json.loads((RESULTS / "training.json").read_text(encoding="utf-8"))
    names = {"trec": "TREC", "sst2": "SST-2"}
    datasets = list(dict.fromkeys(row["dataset"] for row in result["ratios"]))
    lines = ["| ratio of training times | " + " | ".join(names[d] for d in datasets) + " |"]
    lines.append("|---" * (1 + len(datasets)) + "|")
    for what in dict.fromkeys(row["what"] for row in result["ratios"]):
        cells = []
        for dataset in datasets:
            row = next(r for r in result["ratios"] if (r["what"], r["dataset"]) == (what, dataset))
            cells.append(f"{row['median']:.2f} ({row['min']:.2f} to {row['max']:.2f})")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def explainers() -> str:
    from vmask.explain import EXPLAINERS

    rows = [f"| `{name}` | {EXPLAINERS.describe(name)} |" for name in EXPLAINERS.own()]
    return "\n".join(["| method | what it is |", "|---|---|", *rows])


def metrics() -> str:
    from vmask.metrics import METRICS
    from vmask.metrics.contract import FAMILIES, Facts

    facts = sorted(
        ((name, Facts.read(name)) for name in METRICS.own()), key=lambda item: FAMILIES.index(item[1].family)
    )
    rows = []
    for name, one in facts:
        better = {"higher": "higher", "lower": "lower", "neither": "–"}[one.better]
        rows.append(f"| `{name}` | {one.family} | {one.low:g} to {one.high:g} | {better} | {one.summary} |")
    return "\n".join(["| metric | about | range | better | what it is |", "|---" * 5 + "|", *rows])


def claims() -> str:
    """What the grid's results say of the claims; docs/reproduction.md has the rule and the evidence."""
    from reproduction.document import claims_markdown
    from reproduction.write import read_document

    found = read_document()
    return f"Run so far: {found.covered()}. {found.checked()[0]}\n\n{claims_markdown(found.claims)}"


def grid() -> str:
    """Accuracies of the grid beside the paper's, of the methods that matter most."""
    from reproduction.write import read_document

    table = next(one for one in read_document().tables if one.name == "accuracy")
    ran = [place for place in range(len(table.columns)) if any(row.entries[place].ours for row in table.rows)]
    lines = ["| model | " + " | ".join(table.columns[place] for place in ran) + " |", "|---" * (1 + len(ran)) + "|"]
    for row in table.rows:
        model, method = row.heads
        entries = [row.entries[place] for place in ran]
        if method not in SHOWN or not any(entry.ours for entry in entries):
            continue
        name, _, stands = model.partition(" ")  # MiniLM (for BERT)
        shown = " | ".join(f"{_ours(one)}{_paper(one)}" for one in entries)
        lines.append(f"| {f'{name}-{method} {stands}'.rstrip()} | {shown} |")
    return "\n".join(lines)


def _ours(entry: Entry) -> str:
    found = entry.ours
    if found is None:
        return "–"
    return f"{found.value:.1f}" + (f" ± {(found.high - found.low) / 2:.1f}" if isfinite(found.low) else "")


def _paper(entry: Entry) -> str:
    return "" if entry.published is None else f" / {entry.published:.1f}"


def serving() -> str:
    """The server under load."""
    result = json.loads((RESULTS / "serve.json").read_text(encoding="utf-8"))
    load = f"{result['clients']} clients, {result['seconds']:g} s"
    lines = ["| load | requests | errors | median ms | 99th percentile ms | times one text a call |", "|---" * 6 + "|"]
    for name, what in (("predict", "predictions"), ("predict_while_explaining", "predictions, LIME in progress")):
        one = result[name]
        cells = (f"{what}, {load}", f"{one['requests']:,}", one["errors"], one["median_ms"], one["p99_ms"])
        ratio = one["over_direct_one_text_a_call"]
        # Beside an explanation the direct calls wait for their turn too: that ratio says nothing of the server.
        times = f"{ratio['median']} ({ratio['min']} to {ratio['max']})" if name == "predict" else ""
        lines.append(f"| {' | '.join(map(str, cells))} | {times} |")
    one = result["mask_explain_of_20_words"]
    cells = ("mask colours of 20 words, one client", "", "", f"{one['median_ms']} (bar {one['bar_ms']})", one["p99_ms"])
    return "\n".join([*lines, f"| {' | '.join(map(str, cells))} |  |"])


PARTS: dict[Path, dict[str, Callable[[], str]]] = {
    README: {"claims": claims, "grid": grid, "masks": masks, "explainers": explainers},
    METRICS_DOC: {"metrics": metrics, "interpretability": benchmark("metrics", "table")},
    EDIT_DOC: {
        "hidden": benchmark("hidden_words", "table"),
        "shortcut": benchmark("shortcut", "show"),
        "shortcut accuracy": benchmark("shortcut", "table"),
    },
    PROBABILITIES_DOC: {
        "calibration": benchmark("calibration", "calibration_table"),
        "abstention": benchmark("calibration", "abstention_table"),
    },
    BENCHMARKS_DOC: {
        "explaining": benchmark("bench_explain", "table"),
        "speed": speed,
        "processes": benchmark("bench_processes", "table"),
        "cluster": benchmark("cluster", "table"),
        "grid engines": benchmark("grid_engines", "table"),
        "cost": benchmark("bench_encoders", "table"),
        "serving": serving,
        "predicting": benchmark("bench_predict", "table"),
        "accuracy": benchmark("accuracy", "table"),
        "gains": benchmark("accuracy", "gains"),
        "encoders": benchmark("encoders", "table"),
        "placements": benchmark("encoders", "placements"),
        "distil": benchmark("accuracy", "beside", "distil"),
        "search": benchmark("search", "table"),
    },
}
"""Tables by the document that they are in."""
RUNS: dict[str, Callable[[], str]] = {"demo": demo, "tour": tour, "measure": measure, "encoder": encoder}


def part(text: str, name: str) -> str:
    """What stands between the marks of a part."""
    found = re.search(rf"<!-- {name}: .*?-->\n(.*?)<!-- end {name} -->", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"There is no part {name!r}.")
    return found[1].strip("\n")


def replaced(text: str, name: str, content: str) -> str:
    """The text with a part's content replaced."""
    part(text, name)
    pattern = rf"(<!-- {name}: .*?-->\n).*?(<!-- end {name} -->)"
    return re.sub(pattern, lambda m: f"{m[1]}\n{content}\n\n{m[2]}", text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs="*", choices=[*RUNS], help="run the demo and the tours too, or those named")
    args = parser.parse_args()
    runs = [] if args.run is None else args.run or [*RUNS]
    parts = {**PARTS, README: {**PARTS[README], **{name: RUNS[name] for name in runs}}}
    for path, made in parts.items():
        text = path.read_text(encoding="utf-8")
        for name, make in made.items():
            text = replaced(text, name, make())
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
