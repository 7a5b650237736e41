"""Write the report of a trained model: how good it is, which words it uses, texts as it sees them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from vmask._core.locks import only_writer
from vmask.cli.console import print_json, say, say_result, shows_progress
from vmask.cli.options import add_data_dir, add_device, add_json, add_model, add_reading, choices, reading_of
from vmask.errors import DataError, VmaskError

LEVELS = ("full", "quick")


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="the data it was trained on, where it is called otherwise here"
    )
    parser.add_argument(
        "--report",
        **choices(LEVELS),
        default="full",
        help="quick: texts explained by the mask alone; full takes long with an encoder [full]",
    )
    parser.add_argument("--out", metavar="FILE", help="the page [DIR/report.html]")
    parser.add_argument("--figures", metavar="FOLDER", help="also write figures for a paper, PNG and SVG")
    parser.add_argument(
        "--no-texts", action="store_true", help="leave the texts of the data out, as in training with --no-texts"
    )
    parser.add_argument(
        "--digest", action="store_true", help="check every file and print the digest of the model alone, no report"
    )
    add_reading(parser)
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read model and data, measure, explain, and write the report."""
    from vmask.persistence.model_folder import REPORT, check_files, folder_digest, read_config
    from vmask.report.model.page import check_replaceable

    folder = Path(args.model)
    config = read_config(folder)
    if args.digest:
        check_files(folder, config)
        digest = folder_digest(config)
        if args.json:
            print_json({"digest": digest})
        else:
            say_result(digest)
        return 0
    page = Path(args.out) if args.out else folder / REPORT
    check_replaceable(page)  # before any work is done
    with only_writer(folder) if page == folder / REPORT else nullcontext():
        return _show(args, folder, page)


def _show(args: argparse.Namespace, folder: Path, page: Path) -> int:
    from vmask.classifier import TextClassifier
    from vmask.persistence.model_folder import folder_digest, read_config
    from vmask.report.model.collect import collect
    from vmask.report.model.headline import other_data
    from vmask.report.model.page import write_report
    from vmask.training.calibrate import describe_abstention, describe_calibration
    from vmask.training.trained_model import NO_TEXTS

    config = read_config(folder)
    about = config["about"]
    if args.figures:
        from vmask.report.figures.style import check_extra

        check_extra()
    dataset = _dataset(args, about)
    if about.get("dataset_fingerprint") not in (None, dataset.fingerprint):  # data that the user named
        say(args, other_data(dataset))
    classifier = TextClassifier.load(folder, args.device)
    if args.no_texts:
        classifier.about_[NO_TEXTS] = True
    progress = shows_progress(args)
    content = collect(classifier, dataset, args.report, folder=folder, progress=progress)
    write_report(content, page, config.get("digest"))
    digest = folder_digest(read_config(folder))
    figures = _figures(args, classifier, dataset, content) if args.figures else []
    if args.json:
        print_json(
            {"report": str(page), "digest": digest, "figures": [str(path) for path in figures], **content.to_dict()}
        )
        return 0
    say_result(f"{content.headline}.")
    for line in (*describe_calibration(about.get("calibration")), *describe_abstention(about.get("abstention"))):
        say_result(line)
    say_result(f"report: {page}")
    say_result(f"digest: {digest}")
    if figures:
        say_result(f"{len(figures)} figures in {args.figures}")
    say(args, f"next: open {page}")
    return 0


def _dataset(args: argparse.Namespace, about: dict[str, Any]) -> Any:
    """The data that the model was trained on, or the data that the user named."""
    from vmask.data.recorded_source import dataset_of

    try:
        return dataset_of(about, args.data, args.data_dir, reading_of(args))
    except VmaskError as error:
        if args.data is not None:
            raise
        raise DataError(f"{error} As in: vmask show {args.model} DATA") from None


def _figures(args: argparse.Namespace, classifier: Any, dataset: Any, content: Any) -> list[Path]:
    from vmask.report.figures.style import save
    from vmask.report.model.figures import draw

    return [path for picture in draw(classifier, dataset, content) for path in save(picture, args.figures)]
