"""How fast texts are explained: ours against the packages lime and captum, with the same model and batch size.

    python benchmarks/bench_explain.py --data-dir DATA --models DIR     # DIR has sst2--cnn, imdb--lstm, …
    python benchmarks/bench_explain.py --table                          # the tables from the result file

Contenders take turns on the same texts, so that a slow moment of the machine falls on all of them. A ratio is computed
within each repeat; the median over the repeats is reported with the smallest and the largest. Every contender explains
the same words of the same texts by the same number of perturbations or orders:

- `lime` asks the model by texts with words left out, as its users do, through `TextClassifier.predict_proba`, which
  itself sorts texts by length ("sorted"), or in batches in the order in which the texts come, each padded to its
  longest, as most code does ("in order"). Encoders are held to the latter. For `zero` it puts a marker in the place of
  hidden words, which is turned into a vector of zeros. Feature selection is off, and words are ours, not its own.
- captum's `ShapleyValueSampling` gets a function of what is kept of each word, 64 perturbations at a time.

The models are those of `vmask train DATASET --model cnn|lstm --mask vmask --embeddings a.npy,b.npy --epochs N --out
runs/explain/DATASET--MODEL`, N being 3 for SST-2 and 1 for IMDB, and an encoder of `benchmarks/encoders.py`; for long
texts MiniLM was trained on 400 of IMDB's, `--max-words 384 --epochs 1`. How well they classify makes no difference.

Peak memory is that of a process of its own for every number of texts and samples. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from _facts import facts
from _ratios import ratio, timed
from vmask import TextClassifier, load_dataset
from vmask.text.batches import collate

RESULT = Path(__file__).parent / "results" / "explain.json"
MARKED, SORTED, IN_ORDER, CAPTUM = "lime, words marked", "lime, sorted", "lime, in order", "captum"
SAMPLES, ORDERS, TEXTS, BATCH, AT_ONCE = 1000, 25, 50, 512, 64
LIME_BARS = {
    ("sst2", "cnn", "zero", MARKED): 12,
    ("sst2", "cnn", "remove", SORTED): 8,
    ("sst2", "lstm", "remove", SORTED): 3,
    ("sst2", "minilm", "remove", IN_ORDER): 1.5,
}
SHAPLEY_BARS = {
    ("sst2", "cnn", "zero", CAPTUM): 8,
    ("sst2", "cnn", "remove", CAPTUM): 8,
    ("sst2", "lstm", "remove", CAPTUM): 2,
    ("sst2", "minilm", "remove", CAPTUM): 1.3,
}
IMDB_WORDS, IMDB_TEXTS = 250, 5
MEMORY_BAR = 50  # megabytes that ten times the texts or samples may take more
MEMORY = """
import sys
from pathlib import Path
from vmask import TextClassifier, explain_texts, load_dataset

def megabytes(name):
    (line,) = (one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(name))
    return int(line.split()[1]) // 1024

folder, data_dir, texts, samples = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chosen = load_dataset("imdb", data_dir=data_dir).splits["test"].texts[:texts]
classifier = TextClassifier.load(folder, "cpu")
classifier.explain(chosen[:1], "lime")
Path("/proc/self/clear_refs").write_text("5")  # forget the peak of loading
before = megabytes("VmRSS")
count = sum(1 for _ in explain_texts(classifier, chosen, "lime", samples=samples))
print(count, before, megabytes("VmHWM"))
"""


def kept_texts(classifier: TextClassifier, texts: list[str], words: int | None = None) -> list[str]:
    """The texts up to the model's limit of words, so that none slides in when others are left out."""
    docs = classifier.predictor_.prepare(texts)
    return [doc.text[: doc.spans[:words][-1][1]] for doc in docs if len(doc.spans) > 0]


def asks_in_order(classifier: TextClassifier) -> Callable[[list[str]], np.ndarray]:
    """A plain predict function: batches as they come, padded to the longest."""
    predictor = classifier.predictor_

    def predict(texts: list[str]) -> np.ndarray:
        found = []
        for start in range(0, len(texts), BATCH):
            docs = predictor.prepare(texts[start : start + BATCH])
            batch = collate([doc.ids for doc in docs], pad=predictor.pad)
            with torch.no_grad():
                found.append(torch.softmax(predictor.model(batch).logits, 1).numpy())
        return np.concatenate(found)

    return predict


def asks_zeroed(classifier: TextClassifier, marker: int) -> Callable[[list[str]], np.ndarray]:
    """A predict function that turns the word with the id `marker` into zeros."""
    predictor = classifier.predictor_

    def predict(texts: list[str]) -> np.ndarray:
        found = []
        for start in range(0, len(texts), BATCH):
            batch = collate([doc.ids for doc in predictor.prepare(texts[start : start + BATCH])], pad=predictor.pad)
            with torch.no_grad():
                answer = predictor.model(batch, (batch.ids != marker).float())
                found.append(torch.softmax(answer.logits, 1).numpy())
        return np.concatenate(found)

    return predict


def lime_jobs(classifier: TextClassifier, texts: list[str], hide: str) -> dict[str, Callable[[], object]]:
    """What is to be timed: ours and the package, with the ways in which it asks the model."""
    from lime.lime_text import LimeTextExplainer

    predictor = classifier.predictor_

    def words(text: str) -> list[str]:
        return list(predictor.prepare([text])[0].words)

    def package(ask: Callable, hidden: str) -> Callable[[], object]:
        explainer = LimeTextExplainer(
            feature_selection="none", bow=False, mask_string=hidden, split_expression=words, random_state=0
        )
        return lambda: [explainer.explain_instance(text, ask, labels=(1,), num_samples=SAMPLES) for text in texts]

    jobs = {"ours": lambda: classifier.explain(texts, "lime", hide=hide, samples=SAMPLES, batch_size=BATCH)}
    if hide == "zero":
        marker = predictor.tokenizer.words[-1]
        assert not any(marker in text for text in texts)
        jobs[MARKED] = package(asks_zeroed(classifier, len(predictor.tokenizer) - 1), marker)
    else:
        jobs[SORTED] = package(classifier.predict_proba, "")
        jobs[IN_ORDER] = package(asks_in_order(classifier), "")
    return jobs


def captum_jobs(classifier: TextClassifier, texts: list[str], hide: str) -> dict[str, Callable[[], object]]:
    """Ours, and captum's sampling over what is kept of each word."""
    from captum.attr import ShapleyValueSampling

    predictor = classifier.predictor_
    docs = predictor.prepare(texts)

    def package() -> None:
        for doc in docs:

            def answer(keep: torch.Tensor, doc: object = doc) -> torch.Tensor:
                with torch.no_grad():
                    if hide == "zero":
                        batch = collate([doc.ids] * len(keep), pad=predictor.pad)
                        logits = predictor.model(batch, keep).logits
                    else:
                        kept = (keep > 0).numpy()
                        batch = collate([doc.kept_ids(row) for row in kept], pad=predictor.pad)
                        logits = predictor.model(batch).logits
                    return torch.softmax(logits, 1)

            ones = torch.ones(1, len(doc.spans))
            ShapleyValueSampling(answer).attribute(
                ones, baselines=0, target=1, n_samples=ORDERS, perturbations_per_eval=AT_ONCE
            )

    def ours() -> object:
        return classifier.explain(texts, "shapley", hide=hide, permutations=ORDERS, enumerate_up_to=0)

    return {"ours": ours, CAPTUM: package}


def memory(folder: Path, data_dir: str) -> list[dict]:
    """Peak memory of explaining IMDB texts, each time in a fresh process."""
    rows = []
    for texts, samples in ((100, 1000), (1000, 1000), (100, 10_000)):
        command = [sys.executable, "-c", MEMORY, str(folder), data_dir, str(texts), str(samples)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        count, loaded, peak = map(int, done.stdout.split())
        rows.append({"texts": count, "samples": samples, "loaded_mb": loaded, "peak_mb": peak})
        print(f"peak memory, {count} IMDB texts, {samples} samples: {peak} MB, {loaded} MB after the first", flush=True)
    return rows


def measure(args: argparse.Namespace) -> dict:
    result: dict = {**facts(), **{name: version(name) for name in ("lime", "captum", "transformers")}}
    result |= {"threads": torch.get_num_threads(), "samples": SAMPLES, "orders": ORDERS, "batch": BATCH}
    result["ratios"] = earlier(args.out) if args.only else []
    for dataset, model, repeats, texts, hides, methods in plan(args):
        folder = args.minilm if (dataset, model) == ("sst2", "minilm") else args.models / f"{dataset}--{model}"
        classifier = TextClassifier.load(folder, "cpu")
        short = load_dataset(dataset, data_dir=args.data_dir).splits["test"].texts
        if dataset == "imdb":
            docs = classifier.predictor_.prepare(short[:500])
            short = [doc.text for doc in docs if len(doc.spans) >= IMDB_WORDS]
        chosen = kept_texts(classifier, short[:texts], IMDB_WORDS)
        for hide in hides:
            for method in methods:
                jobs, bars = {"lime": (lime_jobs, LIME_BARS), "shapley": (captum_jobs, SHAPLEY_BARS)}[method]
                timed(jobs(classifier, chosen[:1], hide), 1)  # warms up
                seconds = timed(jobs(classifier, chosen, hide), repeats)
                for other in list(seconds)[1:]:
                    cell = {"method": method, "dataset": dataset, "model": model, "hide": hide, "against": other}
                    what = f"{method}, {dataset}, {model}, {hide}: {other} / ours"
                    row = ratio(what, seconds, other, "ours", least=bars.get((dataset, model, hide, other)))
                    row |= {"texts": len(chosen), "repeats": repeats, "commit": result["commit"]}
                    result["ratios"] = replaced(result["ratios"], {**cell, **row})
                write(args.out, result)
    result["memory"] = memory(args.models / "imdb--cnn", args.data_dir)
    low, *others = (row["peak_mb"] - row["loaded_mb"] for row in result["memory"])
    result["memory_held"] = all(other <= low + MEMORY_BAR for other in others)
    return result


def plan(args: argparse.Namespace) -> list[tuple[str, str, int, int, tuple[str, ...], tuple[str, ...]]]:
    """(dataset, model, repeats, texts, ways of hiding, methods)."""
    both = ("lime", "shapley")
    cells = [
        ("sst2", "cnn", args.repeats, TEXTS, ("zero", "remove"), both),
        ("sst2", "lstm", args.repeats, TEXTS, ("zero", "remove"), both),
        ("imdb", "cnn", args.imdb_repeats, IMDB_TEXTS, ("zero", "remove"), both),
        ("imdb", "lstm", args.imdb_repeats, IMDB_TEXTS, ("remove",), both),
        ("sst2", "minilm", args.encoder_repeats, TEXTS, ("remove",), both),
        ("imdb", "minilm", 1, 2, ("remove",), ("lime",)),  # a minute a text
    ]
    return [cell for cell in cells if not args.only or f"{cell[0]}--{cell[1]}" in args.only]


def earlier(path: Path) -> list[dict]:
    """The ratios of an earlier run, each with its commit, for a run that measures some of them anew."""
    return json.loads(path.read_text(encoding="utf-8"))["ratios"] if path.exists() else []


def replaced(rows: list[dict], new: dict) -> list[dict]:
    """The rows with a new one in the place of that of the same name, or at the end."""
    if new["what"] not in [row["what"] for row in rows]:
        return [*rows, new]
    return [new if row["what"] == new["what"] else row for row in rows]


def write(path: Path, result: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def table(path: Path = RESULT) -> str:
    """A result file as Markdown."""
    result = json.loads(path.read_text(encoding="utf-8"))
    head = ("method", "model", "texts", "hidden words", "against", "times faster", "smallest to largest", "bar")
    names = {"sst2": "SST-2", "imdb": "IMDB", "cnn": "CNN", "lstm": "LSTM", "minilm": "MiniLM"}
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in result["ratios"]:
        texts = f"{row['texts']} of {names[row['dataset']]}"
        spread = f"{row['min']:.1f} to {row['max']:.1f}"
        bar = "" if row["bar"] is None else f"≥ {row['bar']}"
        cells = (row["method"], names[row["model"]], texts, row["hide"], row["against"], f"{row['median']:.1f}")
        lines.append(f"| {' | '.join((*cells, spread, bar))} |")
    lines += ["", "| IMDB texts, CNN | samples | MB after the first text | MB at most |", "|---|---|---|---|"]
    for row in result["memory"]:
        lines.append(f"| {row['texts']} | {row['samples']} | {row['loaded_mb']} | {row['peak_mb']} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder with sst2 and imdb")
    parser.add_argument(
        "--models",
        type=Path,
        default=Path("runs/explain"),
        help="folder with sst2--cnn, sst2--lstm, imdb--cnn, imdb--lstm, imdb--minilm",
    )
    parser.add_argument("--minilm", type=Path, default=Path("runs/encoders/sst2--vmask--s0"), help="encoder for SST-2")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--imdb-repeats", type=int, default=3)
    parser.add_argument("--encoder-repeats", type=int, default=2)
    parser.add_argument("--only", nargs="+", help="DATASET--MODEL")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table(args.out))
        return 0
    warnings.simplefilter("ignore")
    result = measure(args)
    write(args.out, result)
    return int(not (result["memory_held"] and all(row["held"] for row in result["ratios"])))


if __name__ == "__main__":
    sys.exit(main())
