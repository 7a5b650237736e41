"""Measure a model and its explanations on a dataset's split or on a file of labelled texts."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask._core.files import is_free
from vmask._core.locks import only_writer
from vmask.cli.console import line_width, print_json, print_rich, say, say_result, shows_progress
from vmask.cli.options import (
    add_columns,
    add_data_dir,
    add_device,
    add_fields,
    add_json,
    add_options_of,
    add_reading,
    given,
    reading_of,
)
from vmask.cli.workers import device_here, sharing
from vmask.errors import ConfigError, ModelFolderError, OutputExists

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier
    from vmask.config import WorkersConfig
    from vmask.data.datasets import Dataset, Split
    from vmask.evaluation.explanation_cache import KeptExplanations
    from vmask.evaluation.result import Evaluation


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments; those of metrics and explainers are added if the command line has them."""
    from vmask.evaluation.planted import PlantOptions

    parser.add_argument(
        "model", metavar="DIR", help="a model folder; several trainings of one model: commas between, or a pattern"
    )
    parser.add_argument("data", metavar="DATA", help="a dataset, a folder of splits, or a single file (scored whole)")
    add_measuring(parser, words)
    parser.add_argument(
        "--planted",
        action="store_true",
        help="train the model anew on texts with planted words that decide the label, and see who finds them",
    )
    if any(word.startswith("--planted.") for word in words) or "--help" in words:
        add_fields(parser, "planted words", PlantOptions, "planted.", "planted__")


def add_measuring(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare what `evaluate` and `compare` share."""
    from vmask.config import EvaluateConfig, WorkersConfig
    from vmask.explain import EXPLAINERS
    from vmask.metrics import METRICS

    parser.add_argument("--split", metavar="NAME", help="which split of a dataset [test]")
    add_columns(parser, "as in training")
    add_reading(parser)
    parser.add_argument("--out", metavar="DIR", help="write scores, values of every text, and explanations there")
    parser.add_argument("--overwrite", action="store_true", help="replace the scores in --out")
    parser.add_argument("--all-parts", action="store_true", help="show every part of a metric, such as every k")
    parser.add_argument("--unlabelled", action="store_true", help="leave the labels of the data out")
    parser.add_argument("--ranking", metavar="DIR", help="rank words by this model, where the metric is of a ranking")
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)
    add_fields(parser, "what to measure", EvaluateConfig)
    add_fields(parser, "where to compute", WorkersConfig)
    add_options_of(parser, words, METRICS, EXPLAINERS)


def run(args: argparse.Namespace) -> int:
    """Measure, print, write."""
    from vmask.evaluation.result import SCORES

    check_out(args, SCORES)
    with writing(args):
        return _planted(args) if args.planted else _measure(args)


def _measure(args: argparse.Namespace) -> int:
    from vmask.evaluation.measure import evaluate

    if any(key.startswith("planted__") for key in vars(args)):
        raise ConfigError("There is an option of --planted, but no --planted. Add --planted, or leave the option out.")
    options = measuring(args)  # errors in options are reported before a model is loaded
    folders = model_folders(args.model)
    classifiers = load_models(folders, args)
    data = data_of(args, classifiers[0].about_)
    for note in data.notes:
        say(args, note)
    keep = keeper(args, folders)
    with sharing(computing(args), folders, args.device, options.get("batch_size")) as share:
        evaluation = evaluate(classifiers, data.texts, **options, **data.options, keep=keep, share=share)
    return _finish(args, evaluation, data.name, printed_notes=len(data.notes), keep=keep)


def _finish(
    args: argparse.Namespace,
    evaluation: Evaluation,
    name: str,
    lines: Sequence[str] = (),
    printed_notes: int = 0,
    keep: KeptExplanations | None = None,
) -> int:
    """Save the evaluation and print it after some lines. Its first `printed_notes` notes are printed already."""
    for note in evaluation.notes[printed_notes:]:
        say(args, note)
    if args.out:
        evaluation.save(args.out, args.overwrite)
    if keep is not None:
        keep.finish()
    if args.json:
        print_json(as_json(evaluation, name))
        return 0
    for line in lines:
        say_result(line)
    show(evaluation, name, args.all_parts)
    if args.out:
        say_result(f"saved to {args.out}")
    return 0


def as_json(evaluation: Evaluation, name: str) -> dict[str, Any]:
    """The evaluation as JSON values, with the scores of predictions on top; ids are in the files of --out."""
    short = {key: value for key, value in evaluation.to_dict().items() if key not in ("ids", "sample")}
    totals = {score.metric: score.value for score in evaluation.scores if not score.by}
    return {**totals, "n": len(evaluation.ids), "explained": len(evaluation.sample), "data": name, **short}


def count_of(evaluation: Evaluation) -> str:
    """The number of measured texts, and of explained ones if these are fewer."""
    texts, explained = len(evaluation.ids), len(evaluation.sample)
    if evaluation.facts["explainers"] and explained < texts:
        return f"n {texts:,}, {explained:,} of them explained"
    return f"n {texts:,}"


def show(evaluation: Evaluation, name: str, all_parts: bool) -> None:
    """Print a line with the scores of predictions, then tables."""
    from vmask.evaluation.score_tables import confusion_table, label_table, score_tables, with_interval

    totals = [
        f"{score.metric.replace('_', ' ')} {with_interval(score, 4)}" for score in evaluation.scores if not score.by
    ]
    many = f", mean of {len(evaluation.found)} models" if len(evaluation.found) > 1 else ""
    say_result(f"{'  '.join(totals)}  {count_of(evaluation)}{many}  ({name})".strip())
    if totals and (confusion := confusion_table(evaluation)) is not None:
        print_rich(confusion)
    if totals and (labels := label_table(evaluation)) is not None:
        print_rich(labels)
    for table in score_tables(evaluation, all_parts, line_width()):
        print_rich("")
        print_rich(table)
    if evaluation.words:
        print_rich("")
    first = " of the first model" if many else ""
    for method, words in evaluation.words.items():
        for label, top in {"seen 3 times or more": words.get("mean", ()), **words.get("by_class", {})}.items():
            if top:
                of = f", of those {label} in these texts" if "mean" in words else f" for {label}"
                print_rich(f"top words by {method}{of}{first}: {', '.join(word for word, _ in top)}")


def check_out(args: argparse.Namespace, result: str) -> None:
    """Refuse to write over a result, before any work is done."""
    out = Path(args.out) if args.out else None
    if out and out.is_file():
        raise OutputExists(f"{out} is a file. Name a folder for --out.")
    if out and not is_free(out) and (out / result).exists() and not args.overwrite:
        raise OutputExists(f"{out} has a {result} already. Choose another folder for --out, or add --overwrite.")


def writing(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Keep other processes from writing to the folder of --out."""
    return only_writer(Path(args.out)) if args.out else nullcontext()


def measuring(args: argparse.Namespace) -> dict[str, Any]:
    """The checked arguments of `evaluate`: what is to be measured."""
    from vmask.config import HIDES, EvaluateConfig, make
    from vmask.errors import UnknownName
    from vmask.evaluation.resolve import names, plugins, with_options
    from vmask.explain import EXPLAINERS
    from vmask.metrics import METRICS

    options = given(args, EvaluateConfig)
    config = make(EvaluateConfig, options)
    options["workers"] = computing(args).workers or 1
    nested = nested_options(args)
    options["metrics"] = with_options(METRICS, config.metrics, nested)
    options["explainers"] = with_options(EXPLAINERS, config.explainers, nested)
    for registry, named in ((METRICS, options["metrics"]), (EXPLAINERS, options["explainers"])):
        for name, own in plugins(registry, named).items():
            make(registry.get(name).Options, own, f"{name}.")
    if not plugins(METRICS, options["metrics"]):
        raise ConfigError("There is no metric to measure. Name some in --metrics, or leave it out.")
    for way in names(config.hide or ""):
        if way not in HIDES:
            raise UnknownName("way of hiding", way, HIDES)
    if args.ranking:
        words = load_models([Path(args.ranking)], args)[0].word_importance()
        options["ranking"] = {word.word.lower(): word.score for word in words}
    options["labelled"] = not args.unlabelled
    if args.unlabelled and config.metrics == EvaluateConfig.metrics:
        raise ConfigError(
            "Without labels predictions cannot be measured. Name other metrics in --metrics, such as naopc."
        )
    options["progress"] = shows_progress(args)
    return options


def nested_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of metrics and explainers, named `NAME__OPTION`."""
    return {key: value for key, value in vars(args).items() if "__" in key and not key.startswith("planted__")}


def model_folders(named: str) -> list[Path]:
    """The model folders of an argument: one, several separated by commas, or all that match a pattern.

    Raises:
        ModelFolderError: if nothing matches a pattern.
    """
    folders: list[Path] = []
    for part in filter(None, named.split(",")):
        matches = [Path(part)]
        if has_magic(part) and not Path(part).exists():
            paths = sorted(map(Path, glob(part)))  # noqa: PTH207 - it may be absolute
            matches = [path for path in paths if path.is_dir()]
        if not matches:
            raise ModelFolderError(f"No folder fits '{part}'. Check the pattern.")
        folders += [folder for folder in matches if folder not in folders]
    return folders or [Path(named)]


def load_models(folders: Sequence[Path], args: argparse.Namespace) -> list[TextClassifier]:
    """The models of the folders."""
    from vmask.classifier import TextClassifier

    return [TextClassifier.load(folder, device_here(computing(args), args.device)) for folder in folders]


def computing(args: argparse.Namespace) -> WorkersConfig:
    """How many workers compute, and where."""
    from vmask.config import WorkersConfig, make

    return make(WorkersConfig, given(args, WorkersConfig))


def keeper(args: argparse.Namespace, folders: Sequence[Path], within: str = "") -> KeptExplanations | None:
    """The cache of explanations in the folder of --out."""
    from vmask.evaluation.explanation_cache import KeptExplanations
    from vmask.persistence.model_folder import read_config

    if not args.out:
        return None
    digests = [read_config(folder)["sha256"] for folder in folders]
    return KeptExplanations(Path(args.out) / within, digests, args.overwrite)


@dataclasses.dataclass(frozen=True)
class Data:
    """The data of a command: the texts, their name, notes for the user, and arguments for `evaluate`."""

    texts: Dataset | Split
    name: str
    notes: tuple[str, ...]
    options: dict[str, Any]


def data_of(args: argparse.Namespace, about: Mapping[str, Any]) -> Data:
    """The texts to measure: a split of a dataset, or a whole file; columns default to those of the training.

    Args:
        args: arguments of the command.
        about: what the model says about its training data.
    """
    from vmask.data.datasets import Split
    from vmask.evaluation.subjects import load_data

    dataset = load_data(
        args.data,
        about,
        split=args.split,
        text=args.text,
        label=args.label,
        label_separator=args.label_separator,
        data_dir=args.data_dir,
        labelled=not args.unlabelled,
        reading=reading_of(args),
    )
    if isinstance(dataset, Split):
        return Data(dataset, args.data, dataset.notes, {"name": args.data})
    wanted = args.split or "test"
    return Data(dataset, f"{dataset.name} {wanted}", dataset.notes, {"split": wanted})


def _planted(args: argparse.Namespace) -> int:
    """Train the model anew on texts with planted words, and measure which explanations find them."""
    from vmask.config import make
    from vmask.data.datasets import Dataset
    from vmask.evaluation.measure import evaluate
    from vmask.evaluation.planted import PlantOptions, planted_words, relies, train_planted
    from vmask.training.progress import TrainingBar

    if args.split or args.unlabelled:
        raise ConfigError("--planted trains and measures on its own splits. Leave --split and --unlabelled out.")
    if computing(args).engine == "ray":
        raise ConfigError("--planted trains a model, on this machine alone. Leave --engine out.")
    if "metrics" not in args:
        args.metrics = "accuracy,shortcut_precision"
    measured = measuring(args)
    nested = {key.partition("__")[2]: value for key, value in vars(args).items() if key.startswith("planted__")}
    options = make(PlantOptions, nested, "planted.")
    folders = model_folders(args.model)
    if len(folders) > 1:
        raise ConfigError("--planted trains one model anew. Give one folder.")
    classifier = load_models(folders, args)[0]
    data = data_of(args, classifier.about_)
    if not isinstance(data.texts, Dataset):
        raise ConfigError(
            f"--planted trains a model, and {args.data} is one file. Give a dataset or a folder of splits."
        )
    say(args, "training anew on texts with planted words")
    fresh, test = train_planted(classifier, data.texts, options, None if args.quiet else TrainingBar("planted"))
    reliance = relies(fresh.predictor_, test)
    name = f"{data.name}, words planted"
    evaluation = evaluate(fresh, test, **measured, name=name, planted=True)
    words = planted_words(test)
    about = {"reliance": dataclasses.asdict(reliance), "planted": words}
    follows = f"the model gives {reliance.follows:.1%} of the texts the class of their planted word"
    if not math.isnan(reliance.flips):
        follows += f", and changes its mind in {reliance.flips:.1%} when that is swapped for another class's"
    lines = [f"planted: {', '.join(f'{word} ({label})' for label, word in words.items())}", follows]
    return _finish(args, dataclasses.replace(evaluation, facts={**evaluation.facts, **about}), name, lines)
