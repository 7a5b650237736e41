"""Compare two models on the same texts: differences with intervals and p-values, and in words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from vmask.cli.console import line_width, print_json, print_rich, say, say_result
from vmask.cli.evaluate import (
    Data,
    add_measuring,
    check_out,
    computing,
    count_of,
    data_of,
    keeper,
    load_models,
    measuring,
    model_folders,
    nested_options,
    writing,
)
from vmask.cli.options import check_page, given
from vmask.cli.workers import sharing
from vmask.errors import ConfigError, VmaskError

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier
    from vmask.evaluation.compare import Comparison

COMPARISON = "comparison.json"
TOP_WORDS, MIN_COUNT = 20, 3
"""Number of words of each model on a page, and minimum count of a word."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments; those of metrics and explainers are added if the command line has them."""
    several = "several trainings of one model: commas between, or a pattern"
    parser.add_argument("a", metavar="DIR_A", help=f"a model folder, or what `vmask evaluate --out` wrote; {several}")
    parser.add_argument("b", metavar="DIR_B", help="another; differences are B minus A")
    parser.add_argument("data", metavar="DATA", nargs="?", help="a dataset, a folder of splits, or a file")
    parser.add_argument("--html", metavar="FILE", help="write a page: differences, words, the same texts side by side")
    add_measuring(parser, words)


def run(args: argparse.Namespace) -> int:
    """Measure both, compare, print."""
    from vmask.evaluation.result import SCORES

    args.overwrite = args.overwrite or _was_interrupted(args)
    for result in (COMPARISON, *(f"{side}/{SCORES}" for side in ("a", "b"))):
        check_out(args, result)
    check_page(args.html, args.overwrite)
    with writing(args):
        return _compare(args)


def _unfinished(args: argparse.Namespace) -> Path:
    """The file with the request whose results are being written to --out, until they are complete."""
    return Path(args.out) / f"{COMPARISON}.part"


def _request(args: argparse.Namespace) -> dict[str, Any]:
    """Everything that determines the files, as flat JSON values."""
    from vmask.config import WorkersConfig

    rest = {
        "out",
        "html",
        "overwrite",
        "json",
        "quiet",
        "debug",
        "device",
        "run",
        "command",
        *given(args, WorkersConfig),
    }
    return {name: repr(value) for name, value in sorted(vars(args).items()) if name not in rest}


def _was_interrupted(args: argparse.Namespace) -> bool:
    """Whether the same command was killed while it wrote its files, which are then replaced."""
    from vmask._core.parsing import read_json

    try:
        return bool(args.out) and read_json(_unfinished(args)) == _request(args)
    except (OSError, VmaskError):
        return False


def _compare(args: argparse.Namespace) -> int:
    from vmask._core.files import to_json, write_text
    from vmask.evaluation.score_tables import comparison_table, comparison_words

    if args.html and not args.data:
        raise ConfigError("--html shows texts, so it needs the models and the data: vmask compare DIR_A DIR_B DATA")
    comparison = _of_models(args) if args.data else _of_evaluations(args)
    for note in comparison.notes:
        say(args, note)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
        write_text(Path(args.out) / COMPARISON, to_json(comparison.to_dict()))
        _unfinished(args).unlink(missing_ok=True)
    if args.json:
        print_json({**comparison.to_dict(), **({"html": args.html} if args.html else {})})
        return 0
    print_rich(comparison_table(comparison))
    print_rich("")
    for line in comparison_words(comparison):
        print_rich(line)
    print_rich(f"A is {args.a}, B is {args.b}; {count_of(comparison.a)}.")
    print_rich(fill(comparison.how(), min(line_width(), 110)))
    for path in filter(None, (args.out, args.html)):
        say_result(f"saved to {path}")
    return 0


def _of_models(args: argparse.Namespace) -> Comparison:
    from vmask._core.files import to_json, write_text
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.measure import evaluate

    options = measuring(args)
    folders = {"a": model_folders(args.a), "b": model_folders(args.b)}
    count_a, count_b = map(len, folders.values())
    if (count_a == 1) != (count_b == 1):
        raise ConfigError(
            f"DIR_A names {count_a} and DIR_B {count_b} model folders. Give one of each, or at least two of each."
        )
    classifiers = {side: load_models(paths, args) for side, paths in folders.items()}  # both, before the work

    data = data_of(args, classifiers["a"][0].about_)  # once: both models read the same column
    keep = {side: keeper(args, folders[side], side) for side in folders}
    evaluations = {}
    for side in folders:
        with sharing(computing(args), folders[side], args.device, options.get("batch_size")) as share:
            evaluations[side] = evaluate(
                classifiers[side], data.texts, **options, **data.options, keep=keep[side], share=share
            )
    compared = compare_evaluations(evaluations["a"], evaluations["b"], all_parts=args.all_parts)
    if args.out:
        write_text(_unfinished(args), to_json(_request(args)))
    for side, kept in keep.items():
        if kept is not None:
            evaluations[side].save(Path(args.out) / side, args.overwrite)
            kept.finish()
    if args.html:
        _write_page(args, compared, classifiers, data, options)
    return compared


def _write_page(
    args: argparse.Namespace,
    compared: Comparison,
    classifiers: dict[str, list[TextClassifier]],
    data: Data,
    options: Any,
) -> None:
    """Write the page. If a side has several trainings, the first explains the texts."""
    from vmask import __version__
    from vmask._core.files import write_text
    from vmask.evaluation.resolve import plugins
    from vmask.evaluation.subjects import texts_of
    from vmask.explain import EXPLAINERS
    from vmask.report.comparison import Side, pairs_of, render_comparison

    firsts = [side[0] for side in classifiers.values()]
    texts = texts_of(data.texts, data.options.get("split"))
    explainers = plugins(EXPLAINERS, options["explainers"])
    hide, seed = getattr(args, "explain_hide", None), getattr(args, "seed", 0)
    labels = None if args.unlabelled else texts.labels
    pairs = pairs_of(firsts[0], firsts[1], texts.texts, labels, explainers, hide=hide, seed=seed)
    names = [", ".join(folder.name for folder in model_folders(named)) for named in (args.a, args.b)]
    words = [
        classifier.word_importance(TOP_WORDS, MIN_COUNT) if classifier.predictor_.ranks_words else None
        for classifier in firsts
    ]
    several = len(classifiers["a"]) > 1 or len(classifiers["b"]) > 1
    how = {
        "Texts": f"{data.name}, {len(texts.texts):,}; of these {len(compared.a.sample):,} explained for the numbers",
        "Explained by": ", ".join(explainers) + (", the first training of each side" if several else ""),
        "Words hidden by": hide or "remove",
        "Words listed": f"seen {MIN_COUNT} times or more in the training texts",
        "Seed": str(seed),
        "Notes": " ".join(compared.notes),
        "Version": f"vmask {__version__}",
    }
    sides = (Side(names[0], words[0]), Side(names[1], words[1]))
    facts = {name: fact for name, fact in how.items() if fact}
    page = render_comparison(f"Two models on {data.name}", compared, sides, pairs, facts)
    write_text(Path(args.html), page)


def _of_evaluations(args: argparse.Namespace) -> Comparison:
    from vmask.config import EvaluateConfig, WorkersConfig
    from vmask.data.config import ReadConfig
    from vmask.evaluation.compare import compare_evaluations
    from vmask.evaluation.result import SCORES, Evaluation

    sides = [model_folders(named) for named in (args.a, args.b)]
    for folder in (*sides[0], *sides[1]):
        if not (folder / SCORES).is_file():
            raise ConfigError(
                f"{folder} has no {SCORES}, so it is no evaluation. To compare models, name the data too: "
                "vmask compare DIR_A DIR_B DATA"
            )
    of_data = [name for name in ("split", "text", "label", "label_separator", "ranking") if getattr(args, name)]
    if extra := [*given(args, EvaluateConfig, WorkersConfig, ReadConfig), *nested_options(args), *of_data]:
        flag = extra[0].replace("__", ".").replace("_", "-")
        raise ConfigError(f"--{flag} is for models, and these are evaluations, measured already. Leave it out.")
    a, b = (Evaluation.together([Evaluation.load(folder) for folder in side]) for side in sides)
    return compare_evaluations(a, b, all_parts=args.all_parts)
