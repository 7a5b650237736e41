"""Predict the label of every text: one line out for every line in, or with --out the whole table with its labels."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmask.cli.console import note_once, print_json, say, say_result, shows_progress
from vmask.cli.options import (
    add_device,
    add_fields,
    add_json,
    add_model,
    add_options_of,
    add_reading,
    given,
    reading_of,
)
from vmask.errors import ConfigError, VmaskError

if TYPE_CHECKING:
    from vmask.config import WorkersConfig
    from vmask.data.table_chunks import InputTable
    from vmask.explain.shards import ExplainWork
    from vmask.inference.abstention import Abstention
    from vmask.inference.config import PredictConfig

CHUNK, CHUNK_CHARACTERS = 512, 1 << 20
"""Texts in memory at a time: a maximum number, or fewer if they are long."""
QUICK_CHUNK = 1 << 14
"""Texts in memory at a time for a model that is quick, and quicker for many at a time."""
MOST_SHOWN = 10
"""Labels whose share is shown."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    from vmask.config import WorkersConfig
    from vmask.explain import EXPLAINERS
    from vmask.inference.config import PredictConfig
    from vmask.inference.probability_config import AbstainConfig

    add_model(parser)
    parser.add_argument(
        "input",
        metavar="FILE",
        nargs="+",
        help="a text a line, or a column of a table (CSV, JSONL, Excel, Parquet, …); a folder or 'pattern-*' of such "
        "files, or - for stdin",
    )
    parser.add_argument("--text", metavar="COLUMN", help="column with the texts [as in training]")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write all columns of the input and the predictions, as .csv, .tsv, .jsonl, .json (also .gz), .parquet or "
        ".xlsx; if cut off, the same command goes on",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace --out where it exists")
    add_reading(parser)
    add_device(parser)
    add_json(parser)
    add_fields(parser, "columns of --out", PredictConfig)
    add_fields(parser, "when to answer", AbstainConfig)
    add_fields(parser, "where to compute", WorkersConfig)
    add_options_of(parser, words, EXPLAINERS)


def run(args: argparse.Namespace) -> int:
    """Read, predict and print or write in chunks."""
    from vmask.config import WorkersConfig, make

    where = make(WorkersConfig, given(args, WorkersConfig))
    return _write_table(args, where) if args.out else _print_stream(args, where)


def _print_stream(args: argparse.Namespace, where: WorkersConfig) -> int:
    from vmask._core.wording import plural
    from vmask.cli.workers import sharing
    from vmask.inference.abstention import answered
    from vmask.inference.config import PredictConfig
    from vmask.inference.work import Here, PredictWork, numbered, with_jobs
    from vmask.persistence.model_folder import load_model, read_config  # no TextClassifier: scikit-learn takes seconds

    if useless := given(args, PredictConfig):
        raise ConfigError(f"--{next(iter(useless)).replace('_', '-')} is for --out FILE. Add it, or leave it out.")
    folder = Path(args.model)
    config = read_config(folder)
    abstention = _abstention(args, folder, config)
    labels = config["labels"]
    names = [str(label) for label in labels]
    lines = [" ".join(name.split()) for name in names]  # a label may have a line feed
    thresholds = config.get("thresholds")
    trained_on, note = config["about"].get("text"), note_once(args)
    texts = chain.from_iterable(read_texts(source, args, trained_on, note) for source in args.input)
    size = CHUNK if "-" in args.input else chunk_size(config)  # what is typed or comes slowly is answered soon
    empty, read, answers = 0, 0, 0
    with sharing(where, [folder], args.device) as share:
        share = share or Here([load_model(folder, args.device).predictor], where.workers or 1)
        for shard, rows in with_jobs(share, PredictWork(), numbered(chunks(texts, size))):
            empty += sum(not text.strip() for text in shard.texts)
            for text, row in zip(shard.texts, rows.tolist(), strict=True):
                if thresholds is not None:
                    _print_several(args, text, row, labels, thresholds)
                    continue
                best = answered(row, abstention.threshold)
                read, answers = read + 1, answers + (best is not None)
                if args.json:
                    label = None if best is None else labels[best]
                    print_json({"label": label, "probabilities": dict(zip(names, row, strict=True))})
                else:
                    label = "" if best is None else lines[best]
                    say_result(f"{label}\t{max(row):.4f}\t{' '.join(text.split())}")
    if empty:
        say(args, f"{plural(empty, 'text is', 'texts are')} empty: the prediction is the model's answer to no words.")
    if left_out := abstention.note(answers, read):
        say(args, left_out)
    return 0


def _write_table(args: argparse.Namespace, where: WorkersConfig) -> int:
    """Write the whole table with its answers, and say what was found."""
    from time import perf_counter

    from vmask._core.files import replacing
    from vmask.cli.workers import sharing
    from vmask.config import make
    from vmask.data.readers import delimiter_of, table_kind
    from vmask.data.table_chunks import InputTable
    from vmask.data.writers import check_excel, output_kind, table_writer
    from vmask.explain.scored_table import AnswerColumns, AnswerWork, answered
    from vmask.inference.answers_file import AnswersFile
    from vmask.inference.config import PredictConfig
    from vmask.inference.work import Here
    from vmask.persistence.model_folder import digest_of, load_model, read_config

    started = perf_counter()
    folder, out = Path(args.model), Path(args.out)
    columns = make(PredictConfig, given(args, PredictConfig))
    explain = _explain_work(args, columns)
    config = read_config(folder)
    abstention = _abstention(args, folder, config)
    kind = output_kind(out)
    _check_apart(args.input, out)
    in_arrow, reading = kind == ".parquet", reading_of(args)
    table = InputTable(args.input, args.text, config["about"].get("text"), in_arrow, reading, note_once(args))
    size = chunk_size(config, explained=columns.explain)
    how = {"words": columns.explain_words, "method": explain.method, **explain.options} if explain else {}
    file = AnswersFile(out, {"model": digest_of(config), "column": table.text, "at once": size, **how}, args.overwrite)
    thresholds = config.get("thresholds")
    added = AnswerColumns(config["labels"], columns, table.columns, abstention.threshold, thresholds)
    if kind == ".xlsx" and not table.streamed:
        found = table.size()
        check_excel(out.name, found.rows, len(table.columns) + len(added.types), found.longest)
    for wanted, name in added.renamed.items():
        say(args, f"The input has a column '{wanted}' already; the new one is '{name}'.")
    if file.rows:
        say(args, f"{out}: going on after {file.rows:,} rows")
    commas = kind != ".csv" or not table.files or table_kind(table.files[0]) != ".csv"
    delimiter = "," if commas else delimiter_of(table.content(table.files[0]))
    summary = _Summary(config["labels"], added.names, file.rows, abstention, thresholds is not None)
    with (
        sharing(where, [folder], args.device) as share,
        file.opened(),
        replacing(out) as temporary,
        table_writer(temporary, out.name, table.columns, added.types, delimiter) as writer,
        _advancing(args, table, file.rows) as advance,
    ):
        share = share or Here([load_model(folder, args.device).predictor], where.workers or 1)
        work = AnswerWork(explain, columns.explain_words)
        for chunk, answers in answered(table.chunks(size), file, share, work):
            values = added.of(chunk.texts, answers)
            writer.write(chunk, values)
            summary.add(values)
            if summary.rows > file.rows:
                advance(len(chunk))
    file.finish()
    summary.print(args, out, perf_counter() - started)
    return 0


def _explain_work(args: argparse.Namespace, columns: PredictConfig) -> ExplainWork | None:
    """How the words are found; None if they are not asked for. Options of other methods are refused."""
    from vmask.config import make, to_dict
    from vmask.explain import EXPLAINERS
    from vmask.explain.shards import ExplainWork

    method = columns.explain_method
    options = {name.partition("__")[::2]: value for name, value in vars(args).items() if "__" in name}
    for of, option in options:
        if not columns.explain or of != method:
            need = f"--explain --explain-method {of}"
            raise ConfigError(f"--{of}.{option.replace('_', '-')} is for {need}. Add that, or leave it out.")
    if not columns.explain:
        return None
    made = make(EXPLAINERS.get(method).Options, {option: value for (_, option), value in options.items()}, f"{method}.")
    return ExplainWork(method, to_dict(made))


def _check_apart(sources: Sequence[str], out: Path) -> None:
    """Check that the output is none of the inputs, and not in a folder or pattern whose files are read."""
    from vmask.data.patterns import is_pattern

    for source in sources:
        path = Path(source)
        if path.resolve() == out.resolve():
            raise ConfigError(f"--out is {out}, which is read. Give it a name of its own.")
        if path.is_dir() and out.resolve().parent == path.resolve():
            raise ConfigError(f"{out} would lie in {path}, all of whose files are read. Write it somewhere else.")
        if is_pattern(path) and out.resolve().parent == path.parent.resolve() and fnmatch(out.name, path.name):
            raise ConfigError(f"{out} would be one of '{path}', which are read. Give it another name.")


@contextmanager
def _advancing(args: argparse.Namespace, table: InputTable, done: int) -> Iterator[Callable[[int], None]]:
    """Show the progress in a terminal, and yield the function that advances it."""
    if not shows_progress(args):
        yield lambda count: None
        return
    from vmask._core.progress import advancing

    with advancing(table.count(), "predict", done, "rows") as advance:
        yield advance


class _Summary:
    """What was written."""

    def __init__(
        self,
        labels: Sequence[Any],
        columns: Mapping[str, str],
        resumed: int,
        abstention: Abstention,
        several: bool,
    ) -> None:
        self.rows, self.unsure, self.resumed = 0, 0, resumed
        self._columns, self._abstention, self._several = columns, abstention, several
        self._counts: Counter[Any] = Counter(dict.fromkeys(labels, 0))

    def add(self, values: Mapping[str, Sequence[Any]]) -> None:
        """Count the labels of some rows."""
        from vmask.data.label_columns import BETWEEN

        labels = values[self._columns["label"]]
        self.rows += len(labels)
        if self._several:  # each label of a row counts
            self._counts.update(
                name
                for label in labels
                for name in ([None] if label is None else label.split(BETWEEN) if label else ["no label"])
            )
            return
        self._counts.update(labels)
        probabilities = values[self._columns["probability"]]
        self.unsure += sum(a is None and p is not None for a, p in zip(labels, probabilities, strict=True))

    def print(self, args: argparse.Namespace, out: Path, seconds: float) -> None:
        """Print it as JSON or as a line or two."""
        from vmask._core.wording import plural

        missing = self._counts.pop(None, 0) - self.unsure
        if args.json:
            names = {str(label): count for label, count in self._counts.items()}
            facts = {"out": str(out), "rows": self.rows, "missing": missing, "resumed": self.resumed}
            if self._abstention.threshold is not None:
                facts |= {"unsure": self.unsure, "threshold": self._abstention.threshold}
            print_json({**facts, "seconds": round(seconds, 3), "labels": names, "columns": dict(self._columns)})
            return
        texts = self.rows - missing
        answers = texts - self.unsure
        shares = [
            f"{label} {count:,} ({count / max(answers, 1):.1%})"
            for label, count in self._counts.most_common(MOST_SHOWN)
        ]
        more = f", and {len(self._counts) - MOST_SHOWN} other labels" if len(self._counts) > MOST_SHOWN else ""
        say_result(f"{plural(self.rows, 'row')} in {out}: {', '.join(shares)}{more}")
        if missing:
            say(args, f"{plural(missing, 'row has', 'rows have')} no text, and no label.")
        if note := self._abstention.note(answers, texts):
            say(args, note)


def chunk_size(config: Mapping[str, Any], explained: bool = False) -> int:
    """Texts in memory at a time, by the kind of model; fewer if they are explained, which takes longer."""
    quick = "encoder" not in config
    if explained:
        return CHUNK if quick else CHUNK // 8
    return QUICK_CHUNK if quick else CHUNK


def _abstention(args: argparse.Namespace, folder: Path, config: dict[str, Any]) -> Abstention:
    """From which probability on texts are answered, and what comes of it on dev, as far as the model knows it."""
    from vmask.config import SINGLE_LABEL, make
    from vmask.inference.abstention import Abstention, check_abstains, read_threshold, threshold_of
    from vmask.inference.probability_config import AbstainConfig
    from vmask.persistence.model_folder import WEIGHTS, check_files
    from vmask.persistence.predictor_io import read_dev_answers

    options = make(AbstainConfig, given(args, AbstainConfig))
    check_abstains(config.get("task", SINGLE_LABEL), options.abstain, options.abstain_accuracy)
    threshold = read_threshold(config.get("abstain_below")) if options.abstain is None else options.abstain
    if not threshold and options.abstain_accuracy is None:
        return Abstention()
    answers = read_dev_answers(check_files(folder, config)[WEIGHTS])
    if options.abstain_accuracy is not None:
        threshold = threshold_of(answers, options.abstain_accuracy)
    assert threshold is not None
    return Abstention(threshold, {} if answers is None else answers.at(threshold))


def _print_several(
    args: argparse.Namespace, text: str, row: list[float], labels: Sequence[Any], thresholds: Sequence[float]
) -> None:
    """Print the labels of a text that may have several: those whose probability reaches their threshold, or none."""
    from vmask.data.label_columns import BETWEEN

    reached = [number for number, (one, least) in enumerate(zip(row, thresholds, strict=True)) if one >= least]
    if args.json:
        probabilities = {str(label): one for label, one in zip(labels, row, strict=True)}
        print_json({"labels": [labels[number] for number in reached], "probabilities": probabilities})
        return
    names = BETWEEN.join(" ".join(str(labels[number]).split()) for number in reached)
    say_result(f"{names}\t{BETWEEN.join(f'{row[number]:.4f}' for number in reached)}\t{' '.join(text.split())}")


def read_texts(
    source: str, args: argparse.Namespace, trained_on: str | None, note: Callable[[str], None]
) -> Iterator[str]:
    """The texts of a file, of all files of a folder or of a pattern, or of standard input if `source` is `-`.

    Args:
        source: the file, folder or pattern, or `-`.
        args: arguments of the command.
        trained_on: the column of the training, by which tables are read.
        note: takes what the user should know about how a file was read.
    """
    import sys

    from vmask.data.patterns import all_files_of
    from vmask.data.readers import iter_texts

    reading = reading_of(args)
    if source == "-":
        return iter_texts(sys.stdin.buffer, None, reading, note)
    files = all_files_of(source)
    return chain.from_iterable(iter_texts(file, args.text or trained_on, reading, note) for file in files)


def chunks(texts: Iterable[str], size: int = CHUNK) -> Iterator[list[str]]:
    """The texts in short lists. The texts before an unreadable row are yielded before its error is raised."""
    chunk: list[str] = []
    characters = 0
    try:
        for text in texts:
            chunk.append(text)
            characters += len(text)
            if len(chunk) == size or characters >= CHUNK_CHARACTERS * max(size // CHUNK // 8, 1):
                yield chunk
                chunk, characters = [], 0
    except VmaskError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
