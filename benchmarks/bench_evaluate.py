"""How long an evaluation takes, and how much of that is not explaining.

    python benchmarks/bench_evaluate.py --model MODEL --data-dir DATA

1,000 SST-2 test sentences with LIME (1,000 samples) and SampleShapley (25 orders), every metric but naopc; beside it
the explanations alone. Both take turns. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from _facts import facts
from _ratios import ratio, timed

RESULT = Path(__file__).parent / "results" / "evaluate.json"
BAR_SECONDS = 180


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="runs/metrics/sst2--cnn--vmask--s0")
    parser.add_argument("--data-dir")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    import torch

    from vmask import TextClassifier, evaluate, explain_texts, load_dataset
    from vmask._core.files import to_json, write_text

    classifier = TextClassifier.load(args.model, "cpu")
    data = load_dataset("sst2", data_dir=args.data_dir)
    found = []

    def whole() -> None:
        found.append(evaluate(classifier, data, "all,-naopc", "lime,shapley", n=1000))
        found[-1].scores  # noqa: B018 - intervals are made when they are asked for

    def explanations() -> None:
        texts = [data.splits["test"].texts[i] for i in found[0].sample]
        for method in ("lime", "shapley"):
            for _ in explain_texts(classifier, texts, method):
                pass

    whole()
    seconds = timed({"whole": whole, "explanations": explanations}, args.repeats)
    result = {
        **facts(),
        "threads": torch.get_num_threads(),
        "texts": len(found[0].sample),
        "metrics": list(found[0].metrics),
        "seconds": [round(one, 1) for one in seconds["whole"]],
        "median_seconds": round(statistics.median(seconds["whole"]), 1),
        "bar_seconds": BAR_SECONDS,
        "ratio": ratio("evaluation to explanations alone", seconds, "whole", "explanations"),
    }
    write_text(RESULT, to_json(result))
    print(to_json(result))


if __name__ == "__main__":
    main()
