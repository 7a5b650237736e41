"""Compare two models on the same texts: differences with intervals and p-values, and in words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vmask.cli.evaluate import add_measuring, check_out, keeper, load_data, load_models, measuring, model_folders
from vmask.errors import ConfigError

if TYPE_CHECKING:
    from vmask.evaluation.compare import Comparison
    from vmask.evaluation.result import Evaluation

COMPARISON = "comparison.json"


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments; those of metrics and explainers join when they are asked for."""
    several = "several trainings of one model: commas between, or a pattern"
    parser.add_argument("a", metavar="DIR_A", help=f"a model folder, or what `vmask evaluate --out` wrote; {several}")
    parser.add_argument("b", metavar="DIR_B", help="another; differences are B minus A")
    parser.add_argument("data", metavar="DATA", nargs="?", help="a dataset, a folder of splits, or a file")
    add_measuring(parser, words)


def run(args: argparse.Namespace) -> int:
    """Measure both, compare, print."""
    from vmask.cli.show import print_json, print_rich, say, say_result
    from vmask.files import to_json, write_text
    from vmask.report.scores import comparison_table, comparison_words

    check_out(args, COMPARISON)
    found = _of_models(args) if args.data else _of_evaluations(args)
    for note in found.notes:
        say(args, note)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
        write_text(Path(args.out) / COMPARISON, to_json(found.to_dict()))
    if args.json:
        print_json(found.to_dict())
        return 0
    print_rich(comparison_table(found))
    print_rich("")
    for line in comparison_words(found):
        print_rich(line)
    print_rich(f"A is {args.a}, B is {args.b}. {found.how()}")
    if args.out:
        say_result(f"saved to {args.out}")
    return 0


def _of_models(args: argparse.Namespace) -> Comparison:
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.measure import evaluate

    asked = measuring(args)

    def measured(named: str, side: str) -> Evaluation:
        folders = model_folders(named)
        classifiers = load_models(folders, args.device)
        data = load_data(args, classifiers[0])
        found = evaluate(classifiers, data.texts, **asked, **data.options, keep=keeper(args, folders, side))
        if args.out:
            found.save(Path(args.out) / side, overwrite=True)
        return found

    return compare_evaluations(measured(args.a, "a"), measured(args.b, "b"), all_parts=args.all_parts)


def _of_evaluations(args: argparse.Namespace) -> Comparison:
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.result import SCORES, Evaluation

    for folder in (args.a, args.b):
        if not (Path(folder) / SCORES).is_file():
            raise ConfigError(
                f"{folder} has no {SCORES}, so it is no evaluation. To compare models, name the data too: "
                "vmask compare DIR_A DIR_B DATA"
            )
    return compare_evaluations(Evaluation.load(args.a), Evaluation.load(args.b), all_parts=args.all_parts)
