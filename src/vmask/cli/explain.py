"""Show which words of a text the model uses, or of every text of a file or dataset."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatch
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vmask.cli.console import note_once, print_json, print_rich, say, say_result, shows_progress
from vmask.cli.options import (
    add_data_dir,
    add_device,
    add_fields,
    add_json,
    add_model,
    add_nested,
    add_reading,
    at_least_0,
    check_page,
    given,
    reading_of,
)
from vmask.data.config import ReadConfig
from vmask.errors import ConfigError, DataError, NoWordScores, OutputExists, UnknownName, VmaskError

if TYPE_CHECKING:
    from vmask.config import ExplainConfig
    from vmask.explain.contract import Explanation

COUNTED_UP_TO = 100 << 20
"""Largest file, in bytes, whose texts are counted beforehand for the progress bar."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments; those of the chosen method are added if the command line has them."""
    from vmask.config import ExplainConfig, WorkersConfig
    from vmask.explain import EXPLAINERS

    add_model(parser)
    parser.add_argument("given", metavar="TEXT", nargs="?", help="a text")
    parser.add_argument(
        "--input",
        metavar="DATA",
        help="many texts: a file (a text a line, or a column of a table), a folder or 'pattern-*' of such files, - for "
        "stdin, or a dataset",
    )
    parser.add_argument("--text", metavar="COLUMN", help="column with the texts of --input [as in training]")
    parser.add_argument("--split", metavar="NAME", help="which split of a dataset [test]")
    parser.add_argument("--limit", type=at_least_0, metavar="N", help="only the first N texts")
    parser.add_argument(
        "--out", metavar="FILE", help="write a line of JSON a text; if cut off, the same command goes on"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with the words coloured")
    parser.add_argument("--overwrite", action="store_true", help="replace --out and --html where they exist")
    add_reading(parser)
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)
    add_fields(parser, "how to explain", ExplainConfig)
    add_fields(parser, "where to compute", WorkersConfig)
    parser.set_defaults(method=ExplainConfig.method)
    add_nested(parser, words, "method", EXPLAINERS, ExplainConfig.method, example="lime")


def run(args: argparse.Namespace) -> int:
    """Explain, and print or write each explanation as soon as it is made."""
    from vmask._core.progress import shown
    from vmask._core.wording import plural
    from vmask.classifier import TextClassifier
    from vmask.cli.workers import device_here, sharing
    from vmask.config import ExplainConfig, WorkersConfig, make, to_dict
    from vmask.explain import EXPLAINERS
    from vmask.explain.api import explain_texts
    from vmask.explain.explanation_file import ExplanationsFile
    from vmask.explain.shards import ExplainWork, explain_shards
    from vmask.persistence.model_folder import read_config

    _check_arguments(args)
    # Errors in options are reported before the model is loaded.
    config, where = make(ExplainConfig, given(args, ExplainConfig)), make(WorkersConfig, given(args, WorkersConfig))
    nested = given(args, nested=("method__",))
    options = {name.removeprefix("method__"): value for name, value in nested.items()}
    options = to_dict(make(EXPLAINERS.get(config.method).Options, options, "method."))
    about = read_config(Path(args.model))
    file = None
    if args.out:
        file = ExplanationsFile(Path(args.out), {**about["sha256"], **_request(config, options)}, args.overwrite)
    check_page(args.html, args.overwrite or (file is not None and file.goes_on))
    texts, count, name = _texts(args, about["about"])
    work = ExplainWork(config.method, options, config.target, config.seed, config.hide)
    with sharing(where, [Path(args.model)], args.device, config.batch_size) as share:
        classifier = TextClassifier.load(Path(args.model), device_here(where, args.device))
        together = work.at_once(classifier)
        done = file.done if file else 0
        first = done - done % together

        def explain(rest: Iterable[str]) -> Iterator[Explanation]:
            failed: list[VmaskError] = []
            readable = _until_error(rest, failed)
            try:
                if share is not None:
                    explanations = explain_shards(share, work, classifier, readable, first)
                else:
                    how = {**dataclasses.asdict(config), **options, "workers": where.workers or 1}
                    explanations = explain_texts(classifier, readable, **how)
                yield from shown(explanations, count(), config.method, first) if _shows_bar(args) else explanations
            except NoWordScores as error:
                raise ConfigError(f"{error} Or explain it by another method: --method lime") from error
            if failed:  # the texts before an unreadable row are explained first
                raise failed[0]

        if done:
            say(args, f"{args.out}: going on after {plural(done, 'text')}")
        page = _page(args, f"Which words decide: {name}", _facts(args, config, options, name))
        return _print(args, file.filled(texts, explain, together, page) if file else page(explain(texts)))


def _prints(args: argparse.Namespace) -> bool:
    return bool(args.json or not (args.out or args.html))


def _shows_bar(args: argparse.Namespace) -> bool:
    return args.input is not None and shows_progress(args) and not (_prints(args) and sys.stdout.isatty())


def _print(args: argparse.Namespace, results: Iterator[Explanation]) -> int:
    """Print each explanation as it comes, if they are printed, and then what was written."""
    from vmask._core.wording import plural
    from vmask.explain.highlight import summary

    number = 0
    with closing(cast("Generator[Explanation, None, None]", results)) as explanations:
        for explanation in explanations:
            number += 1
            if args.json:
                print_json(explanation.to_dict())
            elif _prints(args):
                print_rich(explanation.to_rich())
                print_rich(f"  {summary(explanation)}")
    for path in filter(None, (args.out, args.html)):
        written = f"{plural(number, 'explanation')} in {path}"
        if args.json:
            say(args, written)
        else:
            say_result(written)
    return 0


def _page(
    args: argparse.Namespace, title: str, facts: dict[str, str]
) -> Callable[[Iterator[Explanation]], Iterator[Explanation]]:
    """A function that also writes the explanations that pass through it to a page, if --html is given."""
    from vmask.report.explanations import paged

    return partial(paged, Path(args.html), title=title, how=facts) if args.html else iter


def _request(config: ExplainConfig, options: dict[str, Any]) -> dict[str, Any]:
    """Everything that determines the explanation of a text by a model; threads and batches do not."""
    from vmask.explain import EXPLAINERS

    kind = EXPLAINERS.get(config.method)
    return {
        "method": config.method,
        **{f"method.{name}": value for name, value in options.items()},
        "target": config.target,
        "hide": (config.hide or "remove") if kind.hides else None,
        "seed": config.seed if kind.draws else None,
    }


def _check_arguments(args: argparse.Namespace) -> None:
    """Check that the arguments go together, and that no file is both written and read, or written twice."""
    if (args.given is None) == (args.input is None):
        raise ConfigError('Give either a text (vmask explain DIR "a text") or a file or dataset (--input DATA).')
    if args.given is not None and (args.limit, args.text, args.split) != (None, None, None):
        raise ConfigError("--limit, --text and --split are for --input. Leave them out.")
    if args.given is not None and given(args, ReadConfig):
        raise ConfigError("--encoding and --sheet are for --input. Leave them out.")
    if args.given is not None and getattr(args, "engine", None) == "ray":
        raise ConfigError("--engine ray is for many texts, --input DATA. Leave it out for one text.")
    if args.out and Path(args.out).is_dir():
        raise OutputExists(f"{args.out} is a folder. Name a file for --out.")
    paths = {name: getattr(args, name) for name in ("input", "out", "html")}
    for first, second in combinations([name for name, path in paths.items() if path not in (None, "-")], 2):
        if os.path.realpath(paths[first]) == os.path.realpath(paths[second]):
            raise ConfigError(f"--{first} and --{second} are both {paths[first]}. Give each a file of its own.")


def _texts(args: argparse.Namespace, about: dict[str, Any]) -> tuple[Iterator[str], Callable[[], int | None], str]:
    """The texts, a function that counts them if that is cheap (else None), and their name."""
    from vmask.cli.predict import read_texts
    from vmask.data.patterns import files_of, is_pattern
    from vmask.data.readers import text_files
    from vmask.data.streams import PACKERS

    if args.input is None:
        return iter([args.given]), lambda: 1, "one text"
    path = Path(args.input)
    files = [] if args.input == "-" else [path]
    if _is_folder_of_files(args):
        files = text_files(path)
        _check_outputs(args, path, "*")
    elif files and is_pattern(path):
        files = files_of(path)
        _check_outputs(args, path.parent, path.name)
    elif files and not path.is_file() and path.suffix not in (".txt", *PACKERS):
        return _dataset(args, about)
    if args.split:
        raise DataError(f"{args.input} is a single file and is explained whole. Leave --split out.")

    note = note_once(args)  # the texts may be read twice

    def read() -> Iterator[str]:
        return islice(read_texts(args.input, args, about.get("text"), note), args.limit)

    def count() -> int | None:
        if not files or sum(file.stat().st_size for file in files) > COUNTED_UP_TO:
            return None
        try:
            return sum(1 for _ in read())
        except VmaskError:  # reported when its row is reached
            return None

    return read(), count, (path.name or path.resolve().name) if files else "standard input"


def _check_outputs(args: argparse.Namespace, folder: Path, pattern: str) -> None:
    """Check that no file that is written would be read as input too."""
    for out in map(Path, filter(None, (args.out, args.html))):
        if out.resolve().parent == folder.resolve() and fnmatch(out.name, pattern):
            whose = "all of whose files are read" if pattern == "*" else f"whose files '{pattern}' are read"
            raise ConfigError(f"{out} would lie in {folder}, {whose}. Write it somewhere else.")


def _is_folder_of_files(args: argparse.Namespace) -> bool:
    """Whether --input is a folder whose files are all explained; one with splits is a dataset."""
    from vmask.data.card import card_names
    from vmask.data.datasets import is_dataset_folder

    is_dataset = args.split or args.input in card_names() or is_dataset_folder(args.input)
    return Path(args.input).is_dir() and not is_dataset


def _dataset(args: argparse.Namespace, about: dict[str, Any]) -> tuple[Iterator[str], Callable[[], int | None], str]:
    """The same as `_texts` for a split of a dataset or of a folder."""
    from vmask.data.datasets import load_dataset
    from vmask.data.label_columns import recorded_separator
    from vmask.data.recorded_source import split_of
    from vmask.data.targets import LabelBins

    known = about if Path(args.input).is_dir() else {}  # a dataset with a card names its columns itself
    dataset = load_dataset(
        args.input,
        data_dir=args.data_dir,
        text=args.text or known.get("text"),
        label=known.get("label"),
        require_labels=False,
        **dataclasses.asdict(reading_of(args)),
        split=split_of(Path(args.input), about),
        label_bins=LabelBins(()),
        label_separator=recorded_separator(known),
    )
    split = args.split or "test"
    if split not in dataset.splits:
        raise UnknownName("split", split, dataset.splits)
    for note in dataset.notes:
        say(args, note)
    texts = dataset.splits[split].texts[: args.limit]
    return iter(texts), lambda: len(texts), f"{dataset.name} {split}"


def _until_error(texts: Iterable[str], failed: list[VmaskError]) -> Iterator[str]:
    """The texts up to the first that cannot be read; its error is appended to `failed`."""
    try:
        yield from texts
    except VmaskError as error:
        failed.append(error)


def _facts(args: argparse.Namespace, config: ExplainConfig, options: dict[str, Any], name: str) -> dict[str, str]:
    """The options to list on a page."""
    from vmask import __version__
    from vmask.explain import EXPLAINERS

    kind = EXPLAINERS.get(config.method)
    facts = {
        "Model": Path(args.model).resolve().name,
        "Texts": name + (f", the first {args.limit:,} at most" if args.limit is not None else ""),
        "Method": f"{config.method}. {EXPLAINERS.describe(config.method)}",
        "Options": ", ".join(f"{option} {value}" for option, value in options.items()),
        "Class": "the predicted one of each text" if config.target is None else str(config.target),
        "Words hidden by": (config.hide or "remove") if kind.hides else "",
        "Seed": str(config.seed) if kind.draws else "",
        "Version": f"vmask {__version__}",
    }
    return {name: value for name, value in facts.items() if value}
