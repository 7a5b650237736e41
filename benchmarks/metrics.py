r"""How interpretable are CNN-base, CNN-VMASK and CNN with word dropout? Five trainings each, on SST-2.

    vmask train sst2 --mask MASK --seed SEED --out MODELS/sst2--cnn--MASK--sSEED …   # for each mask and seed
    python benchmarks/metrics.py --models MODELS --data-dir DATA                      # resumable
    python benchmarks/metrics.py --table                                              # the table from the file

All models are asked about the same 1,000 test texts. For post-hoc accuracy all are given the ranking of words of the
VMASK model of the same seed, so that it shows whether training with masks matters, or the ranking alone. Nothing is
chosen by these numbers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from _facts import facts

RESULT = Path(__file__).parent / "results" / "metrics.json"
MASKS, SEEDS = ("base", "vmask", "word_dropout"), range(5)
METRICS = (
    "accuracy,aopc,naopc,comprehensiveness,sufficiency,log_odds,decision_flip,post_hoc_accuracy,sparsity,prob_drop"
)
EXPLAINERS = "lime,shapley"
SHOWN = {
    "accuracy": [("", "")],
    "aopc": [("", "lime"), ("", "shapley")],
    "naopc": [("", "lime"), ("", "shapley"), ("upper", "lime")],
    "comprehensiveness": [("mean", "lime"), ("mean", "shapley")],
    "sufficiency": [("mean", "lime"), ("mean", "shapley")],
    "sparsity": [("entropy", "lime"), ("entropy", "shapley")],
    "post_hoc_accuracy": [("k=1", "ranking"), ("k=2", "ranking"), ("k=5", "ranking"), ("k=10", "ranking")],
}

TESTS = {
    "VMASK minus base": "vmask",
    "word dropout minus base": "word_dropout",
    "VMASK minus word dropout": "word_dropout to vmask",
}


def evaluated(folder: Path, mask: str, seed: int, data, n: int):
    """The evaluation of one training, made once and kept beside the models."""
    from vmask import Evaluation, TextClassifier, evaluate

    out = folder / "evaluated" / f"sst2--cnn--{mask}--s{seed}"
    if (out / "scores.json").is_file():
        return Evaluation.load(out)
    ranking = TextClassifier.load(folder / f"sst2--cnn--vmask--s{seed}", "cpu").word_importance()
    found = evaluate(
        TextClassifier.load(folder / f"sst2--cnn--{mask}--s{seed}", "cpu"),
        data,
        METRICS,
        EXPLAINERS,
        n=n,
        ranking={word.word.lower(): word.score for word in ranking},
    )
    found.save(out)
    (out / "made.json").write_text(json.dumps(facts()), encoding="utf-8")  # other code may read it later
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path("runs/metrics"))
    parser.add_argument("--data-dir")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table())
        return
    import logging

    from vmask import Evaluation, load_dataset
    from vmask._core.files import to_json, write_text
    from vmask.evaluation.compare import compare_evaluations

    logging.basicConfig(level=logging.INFO)
    data = load_dataset("sst2", data_dir=args.data_dir)
    runs = {mask: [] for mask in MASKS}
    for seed in SEEDS:
        for mask in MASKS:
            runs[mask].append(evaluated(args.models, mask, seed, data, args.n))
            print(mask, seed, runs[mask][-1].score("accuracy").value, flush=True)
    joined = {mask: Evaluation.together(found) for mask, found in runs.items()}
    compared = {
        other: compare_evaluations(joined["base"], joined[other], ("base", other), all_parts=False).to_dict()
        for other in MASKS[1:]
    }
    compared["word_dropout to vmask"] = compare_evaluations(
        joined["word_dropout"], joined["vmask"], ("word_dropout", "vmask")
    ).to_dict()
    kept = ("metric", "part", "by", "hide", "value", "low", "high", "wide_low", "wide_high", "n", "how")
    result = {
        **facts(),
        "evaluated_by": sorted({json.loads(path.read_text())["commit"] for path in args.models.glob("*/*/made.json")}),
        "about": joined["base"].to_dict()["facts"],
        "scores": {
            mask: [
                {key: _short(one[key]) for key in kept}
                for one in found.to_dict()["scores"]
                if one["metric"] != "prob_drop" or one["part"] in ("k=1", "k=5")
            ]
            for mask, found in joined.items()
        },
        "compared": {
            name: {"how": one["how"], "rows": [_short(row) for row in one["rows"]]} for name, one in compared.items()
        },
    }
    write_text(RESULT, to_json(result))
    print(table())


def _short(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return value


def table() -> str:
    """The models beside one another, and what the tests say; from the result file."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    heads = ["metric", "by", "hidden by", "base", "VMASK", "word dropout", *TESTS]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    scores = {mask: {_key(one): one for one in found} for mask, found in result["scores"].items()}
    tests = [{_key(row): row for row in result["compared"][name]["rows"]} for name in TESTS.values()]
    for metric, part, by in [(metric, part, by) for metric, parts in SHOWN.items() for part, by in parts]:
        for key in [key for key in scores["base"] if key[:3] == (metric, part, by)]:
            cells = [f"{metric} {part}".strip(), by, key[3], *(_cell(scores[mask][key]) for mask in MASKS)]
            cells += [_difference(of[key]) if key in of else "" for of in tests]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _key(row: dict) -> tuple[str, str, str, str]:
    return row["metric"], row["part"], row["by"], row["hide"]


def _cell(score: dict) -> str:
    return f"{score['value']:.3f} ({score['low']:.3f} to {score['high']:.3f})"


def _difference(test: dict) -> str:
    one = test["difference"]
    return f"{one['value']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f}), p {test['p_holm']:.2g}"


if __name__ == "__main__":
    main()
