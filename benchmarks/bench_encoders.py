"""What VMASK costs an encoder: seconds of a training step, latency, and what the exported folder answers.

    python benchmarks/bench_encoders.py --data-dir DATA --encoder minilm --base DIR --vmask DIR
    python benchmarks/bench_encoders.py --table                                 # the table from the result file

Contenders take turns on the same texts, so that a slow moment of the machine falls on all of them. A ratio is computed
within each repeat; the median over the repeats is reported with the smallest and the largest. `--base` and `--vmask`
are model folders for TREC, as benchmarks/encoders.py makes them. Their exports answer TREC's test set in an environment
of their own, without vmask. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from _facts import facts
from _ratios import ratio, turns
from vmask import TextClassifier, load_dataset
from vmask.pretrained.encoders import public_name
from vmask.training.device import make_accelerator
from vmask.training.fit import prepare_data
from vmask.training.loop import Examples, _Run
from vmask.training.progress import ProgressCallback
from vmask.training.schedules import beta_at, rate_at
from vmask.training.torch_random import reseed_torch

RESULT = Path(__file__).parent / "results" / "encoder_cost.json"
BATCH = 32
STEP_BAR = 1.05  # VMASK's step over base's, at most
SAME_BAR = 1e-5  # difference of a probability, at most
ALONE = """
import json, sys
from transformers import AutoModelForSequenceClassification, pipeline
from transformers.utils import logging

try:
    import vmask
except ImportError:
    pass
else:
    raise SystemExit("vmask can be imported here")
logging.set_verbosity_error()
logging.disable_progress_bar()
folder, texts, out = sys.argv[1:]
classify = pipeline("text-classification", model=folder, truncation=True, top_k=None, batch_size=32)
names = classify.model.config.id2label
answers = [{one["label"]: one["score"] for one in row} for row in classify(json.load(open(texts, encoding="utf-8")))]
result = {
    "probabilities": [[row[names[number]] for number in sorted(names)] for row in answers],
    "class": type(classify.model).__name__,
    "parameters": sum(p.numel() for p in classify.model.parameters()),
    "python": sys.prefix,
}
json.dump(result, open(out, "w", encoding="utf-8"))
"""


def runs(dataset_name: str, encoder: str, data_dir: str | None) -> dict[str, _Run]:
    """A training run of base and one of VMASK, on the same texts, the embeddings frozen in both."""
    dataset = load_dataset(dataset_name, data_dir=data_dir)
    train, dev = dataset.splits["train"], dataset.splits["dev"]
    made = {}
    for mask in ("base", "vmask"):
        options = {**dataset.defaults, "stages": 1, "train_embeddings": False, "batch_size": BATCH, "device": "cpu"}
        plan = TextClassifier(encoder, mask, **options).plan()
        data = prepare_data(plan, train.texts, train.labels, (dev.texts, dev.labels), dev_fraction=0.1)
        reseed_torch(0, "weights")
        model = plan.with_mask(data.encoder(plan), len(data.labels))
        model.encoder.freeze_embeddings()
        few = Examples(data.dev.ids[:BATCH], data.dev.labels[:BATCH], data.dev.pad)
        accelerator = make_accelerator("cpu", plan.train.precision)
        made[mask] = _Run(model, data.examples, few, plan.train, accelerator, 0, ProgressCallback())
        made[mask].wrapped.train()
    return made


def step_seconds(contenders: dict[str, _Run], repeats: int, steps: int) -> dict[str, list[float]]:
    """Seconds of `steps` training steps in each repeat; base and VMASK take turns, step by step, on the same texts."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for repeat in range(repeats + 1):  # the first round warms up
        total = dict.fromkeys(contenders, 0.0)
        for step, rows in enumerate(itertools.islice(contenders["base"]._batches(repeat), steps)):
            for name in turns(contenders, step):
                run = contenders[name]
                done = (step + 1) / (2 * steps)  # as in the first half of a training
                started = time.perf_counter()
                run.model.mask.progress = done
                run._set_rate(rate_at(run.config, done), False)
                run._step(rows, beta_at(run.config, done))
                total[name] += time.perf_counter() - started
        if repeat:
            for name, value in total.items():
                seconds[name].append(value / steps)
    return seconds


def latencies(jobs: dict[str, Callable], texts: list[str], repeats: int, size: int) -> dict[str, list[float]]:
    """Seconds that a text takes in batches of `size`, in each repeat."""
    batches = [texts[at : at + size] for at in range(0, len(texts), size)]
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for repeat in range(repeats + 1):  # the first round warms up
        total = dict.fromkeys(jobs, 0.0)
        for number, batch in enumerate(batches):
            for name in turns(jobs, number):
                started = time.perf_counter()
                jobs[name](batch)
                total[name] += time.perf_counter() - started
        if repeat:
            for name, value in total.items():
                seconds[name].append(value / len(texts))
    return seconds


def pipelines(folders: dict[str, Path]) -> dict[str, Callable]:
    from transformers import pipeline
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()

    def job(folder: Path) -> Callable:
        classify = pipeline("text-classification", model=str(folder), truncation=True, top_k=None, device="cpu")
        return lambda batch: classify(batch, batch_size=len(batch))

    return {name: job(folder) for name, folder in folders.items()}


def answers_alone(folder: Path, texts: list[str], home: Path) -> dict:
    """What `pipeline` says in a fresh environment that has the packages of this one, but not vmask."""
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    (site,) = (home / "lib").glob("python*/site-packages")
    here = sysconfig.get_paths()["purelib"]  # .pth files in there, as that of an editable install, are not read
    (site / "packages.pth").write_text(f"{here}\nimport sys; sys.modules['vmask'] = None\n", encoding="utf-8")
    script, given, out = home / "alone.py", home / "texts.json", home / "out.json"
    script.write_text(ALONE, encoding="utf-8")
    given.write_text(json.dumps(texts), encoding="utf-8")
    subprocess.run([python, "-I", script, folder, given, out], cwd=home, check=True)
    answers: dict = json.loads(out.read_text(encoding="utf-8"))
    assert Path(answers["python"]).resolve() == home.resolve()
    return answers


def same_answers(base: TextClassifier, vmask: TextClassifier, folder: Path, texts: list[str], home: Path) -> dict:
    """The exported folder against the model, and its class and size against those of base."""
    answers = answers_alone(folder, texts, home)
    network = base.predictor_.model.encoder.network
    parameters = sum(p.numel() for p in network.parameters())
    assert (answers["class"], answers["parameters"]) == (type(network).__name__, parameters)
    expected = vmask.predict_proba(texts)
    got = np.array(answers["probabilities"])
    difference = float(np.abs(got - expected).max())
    return {
        "texts": len(texts),
        "class": answers["class"],
        "parameters": parameters,
        "difference": difference,
        "other_labels": int((got.argmax(1) != expected.argmax(1)).sum()),
        "bar": SAME_BAR,
        "held": difference <= SAME_BAR,
    }


def measure(args: argparse.Namespace) -> dict:
    result: dict = {**facts(), "transformers": version("transformers"), "threads": torch.get_num_threads()}
    result |= {"encoder": public_name(args.encoder), "repeats": args.repeats, "steps": args.steps, "ratios": []}
    for dataset in args.datasets:
        seconds = step_seconds(runs(dataset, args.encoder, args.data_dir), args.repeats, args.steps)
        result["ratios"].append(
            ratio(f"training step, vmask / base, {dataset}", seconds, "vmask", "base", most=STEP_BAR)
        )
    models = {"base": TextClassifier.load(args.base, "cpu"), "vmask": TextClassifier.load(args.vmask, "cpu")}
    texts = list(load_dataset("trec", data_dir=args.data_dir).splits["test"].texts)
    few = texts[: args.texts]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: model.export(Path(temporary) / name, "hf").path for name, model in models.items()}
        ways = {
            "exported folder in pipeline, vmask / base": pipelines(folders),
            "mask not folded, in vmask, vmask / base": {name: model.predict_proba for name, model in models.items()},
        }
        for size in (1, BATCH):
            for what, jobs in ways.items():
                seconds = latencies(jobs, few, args.repeats, size)
                result["ratios"].append(ratio(f"{what}, batch of {size}", seconds, "vmask", "base"))
        home = Path(temporary) / "alone"
        result["same"] = same_answers(models["base"], models["vmask"], folders["vmask"], texts, home)
    same = result["same"]
    print(
        f"exported folder without vmask: greatest difference {same['difference']:.1e} over {same['texts']} texts, "
        f"{same['other_labels']} other labels{'' if same['held'] else '  MISSED'}"
    )
    return result


def table(path: Path = RESULT) -> str:
    """A result file as Markdown."""
    result = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"| {result['encoder']} | ratio | smallest to largest | bar |", "|---|---|---|---|"]
    for row in result["ratios"]:
        bar = "" if row["bar"] is None else f"≤ {row['bar']}"
        lines.append(f"| {row['what']} | {row['median']:.2f} | {row['min']:.2f} to {row['max']:.2f} | {bar} |")
    same = result["same"]
    what = f"exported folder without vmask, {same['class']} with {same['parameters']} parameters as base"
    lines += ["", f"{what}: probabilities differ by at most {same['difference']:.0e} over {same['texts']} texts."]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder with trec and sst2")
    parser.add_argument("--datasets", nargs="+", default=["trec", "sst2"], help="whose batches are trained on")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--base", default="runs/encoders/trec--base--s0", help="model folder for TREC")
    parser.add_argument("--vmask", default="runs/encoders/trec--vmask--s0", help="model folder for TREC")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--steps", type=int, default=30, help="training steps in a repeat")
    parser.add_argument("--texts", type=int, default=128, help="texts in a repeat of the latencies")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(args.out))
        return 0
    warnings.simplefilter("ignore")
    result = measure(args)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["held"] for row in [*result["ratios"], result["same"]]))


if __name__ == "__main__":
    sys.exit(main())
