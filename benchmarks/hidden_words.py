r"""Explanations of a model that hides words, when they ask about visible words alone and when they ask about all.

    vmask train sst2 --data-dir DATA --mask select --mask.budget 0.25 --out model
    python benchmarks/hidden_words.py model --data-dir DATA       # about two minutes
    python benchmarks/hidden_words.py --table

The texts are the first test texts. Both ways ask the same model, in turn; `remove` is the way of hiding.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from _facts import facts
from _ratios import ratio, timed

RESULT = Path(__file__).parent / "results" / "hidden_words.json"
METHODS = {"occlusion": {}, "lime": {"samples": 1000}, "shapley": {"permutations": 25}}


def run(model: str, data_dir: str | None, texts: int, repeats: int) -> None:
    from vmask import TextClassifier, load_dataset
    from vmask.config import make
    from vmask.explain import EXPLAINERS

    predictor = TextClassifier.load(model, "cpu").predictor_
    dataset = load_dataset("sst2", data_dir=data_dir)
    docs = predictor.prepare(dataset.splits["test"].texts[:texts])
    whole = [dataclasses.replace(doc, hidden=None, text_ids=None) for doc in docs]
    words = sum(len(doc.spans) for doc in docs)
    visible = sum(len(doc.visible_part().spans) for doc in docs)
    ratios = []
    for name, options in METHODS.items():
        explainer = EXPLAINERS.get(name)(make(EXPLAINERS.get(name).Options, options))
        jobs = {
            "all words": lambda explainer=explainer: list(explainer.explain(predictor, whole)),
            "visible words": lambda explainer=explainer: list(explainer.explain(predictor, docs)),
        }
        ratios.append(ratio(name, timed(jobs, repeats), "all words", "visible words"))
    made = {"dataset": "sst2", "texts": texts, "words": words, "visible": visible, "repeats": repeats, **facts()}
    RESULT.write_text(json.dumps({**made, "ratios": ratios}, indent=1) + "\n")


def table() -> str:
    """How many times faster each method is."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    share = result["visible"] / result["words"]
    lines = [f"| {share:.0%} of {result['words']:,} words visible, SST-2, CNN | times faster |", "|---|--:|"]
    lines += [
        f"| {row['what']} | {row['median']:.1f} ({row['min']:.1f} to {row['max']:.1f}) |" for row in result["ratios"]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data-dir", metavar="DIR")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        run(args.model, args.data_dir, args.texts, args.repeats)
    print(table())


if __name__ == "__main__":
    main()
