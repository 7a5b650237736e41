"""Compare two models on the same texts: differences with intervals and p-values, and in words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from vmask.cli.evaluate import (
    add_measuring,
    check_out,
    keeper,
    load_data,
    load_models,
    measuring,
    model_folders,
    nested_options,
)
from vmask.cli.options import given
from vmask.errors import ConfigError

if TYPE_CHECKING:
    from vmask.evaluation.compare import Comparison

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
    from vmask.cli.talk import line_width, print_json, print_rich, say, say_result
    from vmask.evaluation.result import SCORES
    from vmask.files import to_json, write_text
    from vmask.report.scores import comparison_table, comparison_words

    for result in (COMPARISON, *(f"{side}/{SCORES}" for side in ("a", "b"))):
        check_out(args, result)
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
    print_rich(f"A is {args.a}, B is {args.b}.")
    print_rich(fill(found.how(), min(line_width(), 110)))
    if args.out:
        say_result(f"saved to {args.out}")
    return 0


def _of_models(args: argparse.Namespace) -> Comparison:
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.measure import evaluate

    asked = measuring(args)
    folders = {"a": model_folders(args.a), "b": model_folders(args.b)}
    count_a, count_b = map(len, folders.values())
    if (count_a == 1) != (count_b == 1):
        raise ConfigError(
            f"DIR_A names {count_a} and DIR_B {count_b} model folders. Give one of each, or at least two of each."
        )
    classifiers = {side: load_models(some, args.device) for side, some in folders.items()}  # both, before the work

    data = load_data(args, classifiers["a"][0])  # once: both are asked about the same column
    found = {
        side: evaluate(classifiers[side], data.texts, **asked, **data.options, keep=keeper(args, folders[side], side))
        for side in folders
    }
    compared = compare_evaluations(found["a"], found["b"], all_parts=args.all_parts)
    if args.out:
        for side, one in found.items():
            one.save(Path(args.out) / side, args.overwrite)
    return compared


def _of_evaluations(args: argparse.Namespace) -> Comparison:
    from vmask.config import EvaluateConfig
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.result import SCORES, Evaluation

    sides = [model_folders(named) for named in (args.a, args.b)]
    for folder in (*sides[0], *sides[1]):
        if not (folder / SCORES).is_file():
            raise ConfigError(
                f"{folder} has no {SCORES}, so it is no evaluation. To compare models, name the data too: "
                "vmask compare DIR_A DIR_B DATA"
            )
    of_data = [name for name in ("split", "text", "label", "ranking") if getattr(args, name)]
    if extra := [*given(args, EvaluateConfig), *nested_options(args), *of_data]:
        flag = extra[0].replace("__", ".").replace("_", "-")
        raise ConfigError(f"--{flag} is for models, and these are evaluations, measured already. Leave it out.")
    a, b = (Evaluation.together([Evaluation.load(folder) for folder in side]) for side in sides)
    return compare_evaluations(a, b, all_parts=args.all_parts)
