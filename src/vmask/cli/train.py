"""Train a classifier on a dataset or a file of your own, and save it as a model folder."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.console import print_json, say, say_result, shows_progress
from vmask.cli.main import is_main_process, several_processes
from vmask.cli.options import (
    add_columns,
    add_data_dir,
    add_device,
    add_fields,
    add_json,
    add_nested,
    add_reading,
    choices,
    given,
    reading_of,
)
from vmask.config import MULTI_LABEL, DataConfig, LabelConfig, SplitConfig, TrackConfig, TrainConfig, make
from vmask.data.streams import packer_of
from vmask.inference.probability_config import ProbabilityConfig
from vmask.masks import MASKS
from vmask.models import MODELS
from vmask.pretrained.encoders import is_encoder_name, public_name

if TYPE_CHECKING:
    from vmask.trackers.contract import Tracker

SKEWED = 0.8
"""Share of one class above which accuracy alone is misleading."""
REPORTS = ("full", "quick", "none")
LOW_COVERAGE = 0.5
"""Share of the running text that the vectors should cover."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments; those of the chosen mask and model are added if the command line has them."""
    parser.add_argument(
        "data", metavar="DATA", help="a dataset (`vmask ls datasets`), a file, 'several-*.csv', or a folder of splits"
    )
    parser.add_argument(
        "--model",
        default="cnn",
        metavar="NAME",
        help=f"{', '.join(MODELS.names())}, or an encoder: a folder, a hub name, minilm [cnn]",
    )
    parser.add_argument("--mask", default="vmask", metavar="NAME", help=f"{', '.join(MASKS.names())} [vmask]")
    parser.add_argument("--preset", metavar="NAME", help="paper_code: as the paper's released code, quirks included")
    parser.add_argument("--out", metavar="DIR", help="model folder [runs/DATA-MODEL-MASK-sSEED]")
    parser.add_argument("--resume", action="store_true", help="continue a training that was cut off")
    parser.add_argument("--overwrite", action="store_true", help="replace the model folder if it exists")
    parser.add_argument(
        "--report",
        **choices(REPORTS),
        help="page about the model, DIR/report.html; quick: texts explained by the mask alone "
        "[full for cnn and lstm, quick for encoders]",
    )
    parser.add_argument(
        "--no-texts",
        action="store_true",
        help="leave the texts of the data out of the model folder, its report and the page of `vmask serve`; the words "
        "of the vocabulary stay",
    )
    add_columns(parser, "guessed")
    add_reading(parser)
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)
    add_fields(parser, "splits that the data does not have", SplitConfig)
    add_fields(parser, "classes", LabelConfig)
    add_fields(parser, "words and vectors", DataConfig)
    add_fields(parser, "training (defaults of the method where it has its own)", TrainConfig)
    add_fields(parser, "probabilities", ProbabilityConfig)
    add_fields(parser, "tracking", TrackConfig)
    add_nested(parser, words, "model", MODELS, "cnn", _model_called)
    add_nested(parser, words, "mask", MASKS, "vmask")


def _model_called(name: str) -> str:
    """The registered model of a name, which may be that of an encoder."""
    return "transformer" if name not in MODELS.names() and is_encoder_name(name) else name


def _short(model: str) -> str:
    """A model's name as part of a folder's name."""
    return re.sub(r"[^\w.]+", "-", Path(public_name(model)).name).strip("-.").lower()


def _data_name(data: str) -> str:
    """The name of data as part of a folder's name: without its ending, and without the signs of a pattern."""
    name = Path(data).name
    stem = Path(name.removesuffix(packer_of(name))).stem
    return re.sub(r"[*?\[\]]+", "-", stem).strip("-") or "data"


def run(args: argparse.Namespace) -> int:
    """Train, score on the test split, save, write the report."""
    from vmask._core.locks import only_writer
    from vmask.persistence.model_folder import check_free
    from vmask.training.device import connect_processes
    from vmask.training.run_config import resolve_model

    if several_processes():
        connect_processes(args.device)  # first of all: who waits for another notices from then on if it ends
    resolve_model(args.model)  # a wrong name is reported before any data is read
    MASKS.get(args.mask)
    reading_of(args)
    out = Path(args.out or f"runs/{_data_name(args.data)}-{_short(args.model)}-{args.mask}-s{getattr(args, 'seed', 0)}")
    options = given(args, DataConfig, TrainConfig, ProbabilityConfig, nested=("mask__", "model__"))
    trackers = _trackers(args, out)
    _check_options(args, options)  # before the data is read, which may take a while
    if not is_main_process():
        return _train(args, out, options, trackers)
    check_free(out, args.overwrite, args.resume)
    with only_writer(out):  # a second training into this folder fails at once
        return _train(args, out, options, trackers)


def _trackers(args: argparse.Namespace, out: Path) -> list[Tracker]:
    """The trackers that were asked for; a missing package is reported before any data is read."""
    from vmask.trackers.contract import TRACKING, make_trackers

    config, folder = make(TrackConfig, given(args, TrackConfig)), out.resolve()
    return make_trackers(config.track, config.track_dir or out.parent / TRACKING, folder.name, key=str(folder))


def _train(args: argparse.Namespace, out: Path, options: dict[str, Any], trackers: Sequence[Tracker]) -> int:
    from vmask._core.files import remove_folder
    from vmask.classifier import TextClassifier
    from vmask.data.datasets import load_dataset
    from vmask.data.recorded_source import recorded_source
    from vmask.evaluation.dataset_training import describe_training, fit_dataset
    from vmask.persistence.model_folder import CHECKPOINT, CONFIG, tidy
    from vmask.training.device import connect_processes
    from vmask.training.processes import main_says
    from vmask.training.progress import TrainingBar
    from vmask.training.trained_model import NO_TEXTS

    split = make(SplitConfig, given(args, SplitConfig)) if given(args, SplitConfig) else None
    classes = make(LabelConfig, given(args, LabelConfig))
    dataset = load_dataset(
        args.data,
        data_dir=args.data_dir,
        text=args.text,
        label=args.label,
        label_separator=args.label_separator,
        **dataclasses.asdict(reading_of(args)),
        split=split,
        label_bins=classes.label_bins,
        weight=classes.weight,
    )
    say(
        args,
        f"{dataset.name}: " + ", ".join(f"{name} {len(split):,}" for name, split in dataset.splits.items()),
    )
    for note in dataset.notes:
        say(args, note)
    for line in _data_notes(dataset):
        say(args, line)
    options = {**dataset.defaults, **options}
    classifier = TextClassifier(args.model, args.mask, preset=args.preset, device=args.device, **options)
    if args.resume:
        trained = _trained_before(args, out, classifier, dataset) if is_main_process() else None
        if main_says(connect_processes(args.device), trained is not None):
            if trained is not None:
                left = "" if args.report == "none" else "; its report is still to be written"
                say(args, f"the training in {out} is finished{left}")
                remove_folder(out / CHECKPOINT)
                tidy(out)
                _finish(args, *trained, dataset, out, trackers)
            return 0
    if is_main_process():
        _prepare_folder(args, out)
    quiet = args.quiet or not is_main_process()
    started = time.perf_counter()
    bar = None if quiet else TrainingBar(classifier.plan().title)
    fit_dataset(classifier, dataset, out / CHECKPOINT, args.resume, bar, trackers)
    if not is_main_process():
        return 0
    if known := classifier.data_["coverage"]:
        missing = f"; the most frequent they lack: {' '.join(known['missing'][:8])}" if known["missing"] else ""
        if known["tokens"] < LOW_COVERAGE:
            missing += ". Vectors of your language, or --embeddings random, may do better"
        say(
            args,
            f"the vectors know {known['types']:.1%} of the words, {known['tokens']:.1%} of the running text{missing}",
        )
    result = describe_training(classifier, dataset, time.perf_counter() - started, trackers)
    classifier.about_ |= recorded_source(args.data, args.data_dir, dataset.reading)
    if args.no_texts:
        classifier.about_[NO_TEXTS] = True
        _say_rare_words(args, classifier)
    classifier.save(out, overwrite=args.overwrite or not (out / CONFIG).exists())
    remove_folder(out / CHECKPOINT)
    _finish(args, classifier, result, dataset, out, trackers)
    return 0


def _say_rare_words(args: argparse.Namespace, classifier: Any) -> None:
    """Say how many words of the vocabulary only one text has: names or numbers may be among them."""
    rare = sum(count == 1 for count in classifier.predictor_.word_counts().values())
    if rare:
        fix = "" if classifier.plan_.reads_pieces else "; --min-count 2 leaves them out"
        say(args, f"no text is kept, but {rare:,} words that occur once in training are in the folder{fix}")


def _prepare_folder(args: argparse.Namespace, out: Path) -> None:
    """Check the folder of a training that is resumed, and remove the checkpoint of one that is started anew."""
    from vmask._core.files import remove_folder
    from vmask.errors import OutputExists
    from vmask.persistence.model_folder import CHECKPOINT, is_trained

    if args.resume and is_trained(out) and not args.overwrite:
        raise OutputExists(f"{out} holds a model of other options or data. Choose another folder, or add --overwrite.")
    if args.resume and not (out / CHECKPOINT).is_dir():
        say(args, f"there is no unfinished training in {out}; starting anew")
    if args.overwrite and not args.resume:
        remove_folder(out / CHECKPOINT)


def _trained_before(
    args: argparse.Namespace, out: Path, classifier: Any, dataset: Any
) -> tuple[Any, dict[str, Any]] | None:
    """The model in `out` with its scores, if the same command trained it and was interrupted after that."""
    from vmask.classifier import TextClassifier
    from vmask.evaluation.dataset_training import SCORES
    from vmask.persistence.model_folder import is_trained, lacks_report, read_config

    if not is_trained(out) or not lacks_report(out):
        return None
    config = read_config(out)
    about = config["about"]
    plan = classifier.plan().for_task(dataset.task)
    if config["plan"] != plan.to_dict() or about.get("dataset_fingerprint") != dataset.fingerprint:
        return None
    return TextClassifier.load(out, args.device), {name: about[name] for name in SCORES if name in about}


def _finish(
    args: argparse.Namespace,
    classifier: Any,
    result: dict[str, Any],
    dataset: Any,
    out: Path,
    trackers: Sequence[Tracker],
) -> None:
    """Write the report, which the trackers keep too, and print a summary."""
    report = _report(args, classifier, dataset, out)
    if report is not None:
        for tracker in trackers:
            tracker.file(report)
    if args.json:
        print_json({"model": str(out), **result, "report": None if report is None else str(report)})
    else:
        _summarise(args, classifier, result, out, report)


def _report(args: argparse.Namespace, classifier: Any, dataset: Any, out: Path) -> Path | None:
    """Write the report. An error is only a warning here: the model is saved already."""
    from vmask.persistence.model_folder import REPORT
    from vmask.report.model.collect import collect
    from vmask.report.model.page import write_report

    if args.report == "none":
        return None
    try:
        progress = shows_progress(args)
        return write_report(collect(classifier, dataset, args.report, folder=out, progress=progress), out / REPORT)
    except (Exception, KeyboardInterrupt) as error:
        if args.debug:
            raise
        reason = "it was interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        print(  # noqa: T201
            f"warning: the report was not written ({reason}). The model is saved; try: vmask show {out}",
            file=sys.stderr,
        )
        return None


def _check_options(args: argparse.Namespace, options: dict[str, Any]) -> None:
    """Report errors in options before any data is read."""
    from vmask.pretrained.encoders import load_encoder_config
    from vmask.training.device import find_device
    from vmask.training.run_config import make_plan

    plan = make_plan(args.model, args.mask, args.preset, **options)
    if plan.reads_pieces:
        load_encoder_config(plan.model_options.encoder)
    find_device(args.device)


def _data_notes(dataset: Any) -> Iterator[str]:
    """Facts about the data that matter for a score: columns, absent and dominant classes."""
    from vmask.data.labels import flat_labels

    if dataset.card is None:
        yield f"texts from column '{dataset.text}', labels from column '{dataset.label}'"
    for name, split in dataset.splits.items():
        present = set(flat_labels(split.labels))
        if missing := [label for label in dataset.labels if label not in present]:
            yield f"{name} has no text of {', '.join(missing[:5])}: its score says nothing about that."
    if dataset.task == MULTI_LABEL:
        return  # labels do not compete; what is rare is in the table of labels
    label, count = Counter(dataset.splits["train"].labels).most_common(1)[0]
    share = count / len(dataset.splits["train"])
    if share > SKEWED:
        yield (
            f"{share:.0%} of the training texts are '{label}': accuracy will look high whatever is learnt. "
            "Consider --select macro_f1 --class-weight balanced."
        )


def _summarise(
    args: argparse.Namespace, classifier: Any, result: dict[str, Any], out: Path, report: Path | None
) -> None:
    from vmask.inference.visible_words import visible_counts, visible_share
    from vmask.training.calibrate import describe_abstention, describe_calibration
    from vmask.training.visibility import describe_visibility

    line = f"dev accuracy {result['dev_accuracy']:.4f} (epoch {result['best_epoch']} of {result['epochs']})"
    if "test_accuracy" in result:
        line += f", test accuracy {result['test_accuracy']:.4f} (n {result['test_n']:,})"
    if "dev_micro_f1" in result:
        line = f"dev micro F1 {result['dev_micro_f1']:.4f} (epoch {result['best_epoch']} of {result['epochs']})"
        if "test_micro_f1" in result:
            line += (
                f", test micro F1 {result['test_micro_f1']:.4f}, macro F1 {result['test_macro_f1']:.4f}, all labels of "
                f"a text right {result['test_accuracy']:.4f} (n {result['test_n']:,})"
            )
    say_result(line)
    for line in (*describe_calibration(result.get("calibration")), *describe_abstention(result.get("abstention"))):
        say_result(line)
    if classifier.predictor_.ranks_words:
        top = classifier.word_importance(12, min_count=3)
        say_result("words it uses most: " + ", ".join(word.word for word in top))
        visible = sum(word.score >= 0.5 for word in classifier.predictor_.word_importance())
        kept = classifier.history_[classifier.best_epoch_ - 1]
        if line := describe_visibility(args.mask, classifier.predictor_.model.mask, kept, visible):
            say_result(line)
    if "only" in classifier.about_.get("edits", {}):
        words, share = len(visible_counts(classifier.predictor_)), visible_share(classifier.predictor_)
        say_result(f"reads only {words:,} words, {share:.1%} of the running words of its training texts")
    say_result(f"saved to {out}")
    if report is not None:
        say_result(f"report: {report}")
    if args.quiet:
        return
    commands = [] if report is not None else [f"vmask show {out}"]
    if classifier.predictor_.ranks_words:
        commands += [f'vmask explain {out} "some text"', f"vmask words {out}"]
    else:
        commands.append(f"vmask predict {out} FILE")
    commands.append(f"vmask serve {out}")
    say_result("next: " + "   or   ".join(commands))
