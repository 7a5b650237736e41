"""Bad inputs to every command: tables, options, paths, YAML, results, explanations, vectors and texts.

Wanted of each: exit code 0 or 2, an error of one or two lines that is no fault of ours, no hang, bounded memory, and
nothing on a terminal that it would obey.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chaos import bad_files, inputs_texts
from chaos.bad_files import EVIL, LONG_NUMBER
from chaos.harness import Case, command, run_case
from chaos.judging import SMALL, command_case, judged

TINY = {
    "name": "tiny",
    "models": {"cnn": {"embeddings": "random", "epochs": 1, "batch_size": 16, "model__filters": 2}},
    "grid": [{"datasets": ["data.csv"], "models": ["cnn"], "masks": ["vmask"], "seeds": [0]}],
    "search": {"seed": 100, "trials": 2, "models": {"cnn": {"learning_rate": [0.001, 0.01]}}},
    "stages": [
        {"name": "words", "metrics": ["post_hoc_accuracy", "frequency_correlation"]},
        {"name": "local", "metrics": ["aopc"], "explainers": {"lime": {"samples": 20}}, "n": 4, "examples": 2},
    ],
}


@contextmanager
def suite(work: Path, seed: int) -> Iterator[list[Case]]:
    """All cases, on a tiny model and tiny results that are made once."""
    made = run_case(Case("make", lambda _: _make(work, seed), seconds=300))
    if made.failure:
        raise RuntimeError(f"what the cases need could not be made: {made.failure}")
    groups = (_tables, _options, _paths, _yaml, _results, _explanations, _vectors, inputs_texts.cases)
    yield [case for group in groups for case in group(work, seed)]


def _make(work: Path, seed: int) -> str | None:
    os.chdir(work)
    (work / "data.csv").write_text(bad_files.table(bad_files.texts(60, seed)), encoding="utf-8")
    (work / "tiny.yaml").write_text(json.dumps(TINY), encoding="utf-8")
    for words in (
        ("train", "data.csv", "--out", "model", *SMALL),
        (
            "explain",
            "model",
            "--input",
            "data.csv",
            "--limit",
            "5",
            "--out",
            "explained.jsonl",
            "--method",
            "occlusion",
        ),
        (
            "evaluate",
            "model",
            "data.csv",
            "--metrics",
            "accuracy,aopc",
            "--explainers",
            "occlusion",
            "--n",
            "5",
            "--out",
            "scores",
        ),
        ("grid", "tiny.yaml", "--out", "results", "--models", "models"),
    ):
        done = command(*words)
        if done.code:
            return f"{' '.join(words)}: {done.err}"
    return None


# Tables -----------------------------------------------------------------------------------------------------


def _tables(work: Path, seed: int) -> Iterator[Case]:
    model = work / "model"
    for name, file, data in bad_files.bad_tables(seed):

        def put(folder: Path, file: str = file, data: bytes = data) -> None:
            bad_files.write(folder, file, data)

        yield command_case(f"train:{name}", "train", file, "--out", "out", *SMALL, before=put)
        yield command_case(f"predict:{name}", "predict", model, file, before=put)
        yield command_case(f"evaluate:{name}", "evaluate", model, file, "--metrics", "accuracy", before=put)


# Options ----------------------------------------------------------------------------------------------------


def _options(work: Path, seed: int) -> Iterator[Case]:
    from vmask.config import DataConfig, EvaluateConfig, ExplainConfig, TrainConfig
    from vmask.evaluation.planted import PlantOptions
    from vmask.explain import EXPLAINERS
    from vmask.masks import MASKS
    from vmask.metrics import METRICS
    from vmask.models import MODELS

    data, model = work / "data.csv", work / "model"
    train = ("train", data, "--out", "out", "--embeddings", "random", "--epochs", "1", "--report", "none")
    explain = ("explain", model, "a lovely town")
    measure = ("evaluate", model, data, "--n", "2", "--metrics", "accuracy")
    yield from _fields("train", DataConfig, "", train)
    yield from _fields("train", TrainConfig, "", train)
    for name in MODELS.names():
        if name != "transformer":
            yield from _fields(f"model {name}", MODELS.get(name).Options, "model.", (*train, "--model", name))
    for name in MASKS.names():
        yield from _fields(f"mask {name}", MASKS.get(name).Options, "mask.", (*train, "--mask", name))
    yield from _fields("explain", ExplainConfig, "", explain)
    for name in EXPLAINERS.names():
        yield from _fields(f"method {name}", EXPLAINERS.get(name).Options, "method.", (*explain, "--method", name))
    yield from _fields("evaluate", EvaluateConfig, "", measure[:3])
    for name in METRICS.names():
        words = (*measure, "--metrics", f"accuracy,{name}", "--explainers", "occlusion")
        yield from _fields(f"metric {name}", METRICS.get(name).Options, f"{name}.", words)
    planted = (*measure, "--planted")
    yield from _fields("planted", PlantOptions, "planted.", planted, ("x", "-1", "nan", str(10**12)))
    for value in ("-1", "0", "x", str(10**12), LONG_NUMBER, "nan"):
        for words in (
            ("words", model, "--top", value),
            ("words", model, "--min-count", value),
            ("words", "--explanations", work / "explained.jsonl", "--pick", value),
            ("explain", model, "--input", data, "--limit", value, "--method", "random", "--quiet"),
            ("grid", work / "tiny.yaml", "--dry-run", "--jobs", value),
            ("grid", work / "tiny.yaml", "--dry-run", "--threads", value),
            ("grid", work / "tiny.yaml", "--dry-run", "--seeds", value),
            ("demo", "--epochs", value, "--data", "none.csv"),
            ("serve", model, "--port", value, "--host", "256.0.0.1"),
        ):
            yield command_case(f"option:{words[0]} {words[-2]} {value[:12]} {len(value)} {len(words)}", *words)
    for word in ("\x1b[2J", "\udcff", "a\0b", "", "x" * 100_000, "-", "--", "--=", "--model.", "--.", "é", "\u202e"):
        yield command_case(f"argument:command {word[:8]!r}", word)
        yield command_case(f"argument:extra {word[:8]!r}", "ls", "masks", word)
        yield command_case(f"argument:option {word[:8]!r}", "train", data, f"--{word}", "1")
        for flag in ("--model", "--mask", "--preset", "--device", "--text", "--label", "--embeddings", "--init-from"):
            yield command_case(f"argument:{flag} {word[:8]!r}", *train[:4], flag, word, "--epochs", "1", "--quiet")
        yield command_case(f"argument:target {word[:8]!r}", *explain, "--target", word)
        yield command_case(f"argument:metrics {word[:8]!r}", "evaluate", model, data, "--metrics", word, "--n", "2")
        yield command_case(f"argument:only {word[:8]!r}", "grid", work / "tiny.yaml", "--dry-run", "--only", word)


def _fields(
    group: str, cls: type, prefix: str, words: tuple[object, ...], values: tuple[str, ...] | None = None
) -> Iterator[Case]:
    """Every option of a class with values that are too small, too large, none, or of another kind."""
    from vmask.config import choices_of, scalar_type

    for f in dataclasses.fields(cls):
        kind = scalar_type(cls, f.name)
        odd = values
        if odd is None and kind in (int, float):
            odd = ("-1", "0", str(10**12), "nan", "x", "1e400", LONG_NUMBER)
        elif odd is None and kind is tuple:
            odd = ("", "x", "-1", "0", str(10**12), "1," * 2_000 + "1", LONG_NUMBER)
        elif odd is None and choices_of(cls, f.name):
            odd = ("x", "", EVIL)
        for value in odd or ():
            flag = f"--{prefix}{f.name.replace('_', '-')}"
            yield command_case(f"{group}:{f.name} {value[:12]!r} {len(value)}", *words, f"{flag}={value}")


# Paths ------------------------------------------------------------------------------------------------------


def _paths(work: Path, seed: int) -> Iterator[Case]:
    model, data = work / "model", work / "data.csv"
    commands: dict[str, tuple[object, ...]] = {
        "train": ("train", "BAD", "--out", "out", *SMALL),
        "train out": ("train", data, "--out", "BAD", *SMALL),
        "train data dir": ("train", "trec", "--data-dir", "BAD", *SMALL),
        "train vectors": ("train", data, "--out", "out", "--epochs", "1", "--embeddings", "BAD"),
        "train model": ("train", data, "--out", "out", "--epochs", "1", "--model", "BAD"),
        "init from": ("train", data, "--out", "out", *SMALL, "--stages", "2", "--init-from", "BAD"),
        "predict": ("predict", model, "BAD"),
        "predict model": ("predict", "BAD", data),
        "explain": ("explain", model, "--input", "BAD", "--method", "random"),
        "explain out": ("explain", model, "a town", "--out", "BAD", "--method", "random"),
        "explain html": ("explain", model, "a town", "--html", "BAD", "--method", "random"),
        "evaluate": ("evaluate", model, "BAD", "--metrics", "accuracy"),
        "evaluate out": ("evaluate", model, data, "--metrics", "accuracy", "--out", "BAD"),
        "compare": ("compare", "BAD", work / "scores"),
        "words": ("words", "BAD"),
        "explanations": ("words", "--explanations", "BAD"),
        "show out": ("show", model, data, "--report", "quick", "--out", "BAD"),
        "export": ("export", model, "--out", "BAD"),
        "serve": ("serve", "BAD", "--host", "256.0.0.1"),
        "grid": ("grid", "BAD", "--dry-run"),
        "grid out": ("grid", work / "tiny.yaml", "--dry-run", "--out", "BAD"),
        "report": ("report", "BAD", "--no-figures"),
        "report out": ("report", work / "results", "--no-figures", "--out", "BAD"),
    }
    for what, make in _BAD_PATHS.items():
        for name, words in commands.items():

            def run(folder: Path, make: Callable[[Path], str] = make, words: tuple[object, ...] = words) -> str | None:
                bad = make(folder)
                return judged(command(*(bad if word == "BAD" else str(word) for word in words)))

            yield Case(f"path:{name} {what}", run)


def _made(do: Callable[[Path], object]) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        do(folder / "bad.csv")
        return "bad.csv"

    return make


def _socket(path: Path) -> None:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)


_BAD_PATHS: dict[str, Callable[[Path], str]] = {
    "missing": lambda folder: "missing.csv",
    "missing folder": lambda folder: "no/such/folder/a.csv",
    "empty name": lambda folder: "",
    "dot": lambda folder: ".",
    "empty folder": _made(lambda path: path.mkdir()),
    "empty file": _made(lambda path: path.touch()),
    "loop": _made(lambda path: path.symlink_to(path)),
    "dangling link": _made(lambda path: path.symlink_to("nowhere")),
    "pipe": _made(os.mkfifo),
    "socket": _made(_socket),
    "device": lambda folder: "/dev/zero",
    "null": lambda folder: "/dev/null",
    "in a file": lambda folder: "/etc/hostname/a.csv",
    "in /proc": lambda folder: "/proc/self/a.csv",
    "nul": lambda folder: "a\0b.csv",
    "long": lambda folder: "x" * 5_000 + ".csv",
    "long and deep": lambda folder: "/".join(["x" * 200] * 30),
    "not utf8": lambda folder: "caf\udce9.csv",
    "escapes": lambda folder: f"{EVIL}.csv",
    "lines": lambda folder: "a\nb\nc\n.csv",
    "no permission": _made(lambda path: (path.write_text("text,label\n"), path.chmod(0))),
}


# YAML -------------------------------------------------------------------------------------------------------


def _yaml(work: Path, seed: int) -> Iterator[Case]:
    data = (work / "data.csv").read_bytes()
    for name, content in bad_files.bad_yaml():

        def put(folder: Path, content: bytes = content) -> None:
            bad_files.write(folder, "a.yaml", content)
            bad_files.write(folder, "set/card.yaml", content)
            bad_files.write(folder, "set/train.csv", data)

        yield command_case(f"grid:{name}", "grid", "a.yaml", "--dry-run", before=put)
        yield command_case(f"card:{name}", "train", "set", "--out", "out", *SMALL, before=put)
    draw = random.Random(seed)
    card = {"name": "mine", "files": {"train": "train.csv"}, "text": "text", "label": "label", "max_words": 9,
            "labels": ["bad", "good"], "split": {"dev_rows": 5, "test_rows": 5}, "threshold": 0}  # fmt: skip
    seeds = ["0-999999999", "5-1", "-1", LONG_NUMBER, "x", [0, "a"], {}, None, 1e300, True, [[1]], "0-" + LONG_NUMBER]
    experiments = [{**TINY, "grid": [{**TINY["grid"][0], "seeds": one}]} for one in seeds]
    experiments += [{**TINY, "search": {**TINY["search"], "seed": one}} for one in seeds]
    experiments += [bad_files.changed(TINY, draw) for _ in range(60)]
    for number, experiment in enumerate(experiments):

        def grid(folder: Path, experiment: object = experiment) -> None:
            bad_files.write(folder, "data.csv", data)
            bad_files.write(folder, "a.yaml", json.dumps(experiment).encode())

        yield command_case(f"grid:changed {number}", "grid", "a.yaml", "--dry-run", before=grid)
    for number in range(40):
        content = json.dumps(bad_files.changed(card, draw)).encode()

        def folder_of(folder: Path, content: bytes = content) -> None:
            bad_files.write(folder, "set/card.yaml", content)
            bad_files.write(folder, "set/train.csv", data)

        yield command_case(f"card:changed {number}", "train", "set", "--out", "out", *SMALL, before=folder_of)


# Results, explanations, evaluations, vectors ----------------------------------------------------------------


def _results(work: Path, seed: int) -> Iterator[Case]:
    draw = random.Random(seed)
    files = sorted((work / "results").glob("*/*.json"))
    odd: dict[str, Callable[[Path], object]] = {
        "a pipe": os.mkfifo,
        "a device": lambda path: path.symlink_to("/dev/zero"),
        "a loop": lambda path: path.symlink_to(path),
        "a folder": lambda path: path.mkdir(),
        "empty": lambda path: path.touch(),
        "deep": lambda path: path.write_text(bad_files.DEEP),
        "a long number": lambda path: path.write_text(f'{{"status": {LONG_NUMBER}}}'),
        "a list": lambda path: path.write_text("[]"),
        "no utf8": lambda path: path.write_bytes(b"\xff\xfe"),
        "a surrogate": lambda path: path.write_text('{"status": "\\udfff"}'),
        "nothing known": lambda path: path.write_text('{"a": 1}'),
    }
    for file in files:
        for what, make in odd.items():
            yield from _with_results(work, file, f"{file.stem} is {what}", make)
        record = json.loads(file.read_text(encoding="utf-8"))
        for number in range(12):
            text = json.dumps(bad_files.changed(record, draw))
            yield from _with_results(work, file, f"{file.stem} changed {number}", lambda p, t=text: p.write_text(t))


def _with_results(work: Path, file: Path, name: str, make: Callable[[Path], object]) -> Iterator[Case]:
    def put(folder: Path) -> None:
        shutil.copytree(work / "results", folder / "results")
        path = folder / "results" / file.relative_to(work / "results")
        path.unlink()
        make(path)

    yield command_case(f"report:{name}", "report", "results", "--no-figures", before=put)
    yield command_case(f"grid:{name}", "grid", work / "tiny.yaml", "--out", "results", "--dry-run", before=put)


def _explanations(work: Path, seed: int) -> Iterator[Case]:
    draw = random.Random(seed)
    first, *rest = (work / "explained.jsonl").read_text(encoding="utf-8").splitlines()
    odd = ["", "{}", "[]", "1", "null", "x", bad_files.DEEP, f'{{"text": {LONG_NUMBER}}}', '{"text": "\\udfff"}', "\0"]
    odd += [json.dumps(bad_files.changed(json.loads(first), draw)) for _ in range(40)]
    for number, line in enumerate(odd):
        content = "\n".join([rest[0], line, *rest[1:]]).encode("utf-8", "surrogatepass")

        def put(folder: Path, content: bytes = content) -> None:
            bad_files.write(folder, "a.jsonl", content)

        yield command_case(
            f"explanations:words {number}", "words", "--explanations", "a.jsonl", "--pick", 2, before=put
        )
    scores = json.loads((work / "scores" / "scores.json").read_text(encoding="utf-8"))
    values = (work / "scores" / "values.jsonl").read_text(encoding="utf-8").splitlines()
    for number in range(40):
        wrong_scores = json.dumps(bad_files.changed(scores, draw) if number % 2 else scores)
        line = json.dumps(bad_files.changed(json.loads(draw.choice(values)), draw))
        lines = values if number % 2 else [*values, line]

        def forge(folder: Path, text: str = wrong_scores, lines: list[str] = lines) -> None:
            shutil.copytree(work / "scores", folder / "scores")
            (folder / "scores" / "scores.json").write_text(text, encoding="utf-8")
            (folder / "scores" / "values.jsonl").write_text("\n".join(lines), encoding="utf-8")

        yield command_case(f"evaluations:changed {number}", "compare", "scores", work / "scores", before=forge)


def _vectors(work: Path, seed: int) -> Iterator[Case]:
    words = ("train", work / "data.csv", "--out", "out", "--epochs", "1", "--report", "none", "--model.filters", "2")
    for name, file, data in bad_files.bad_vectors(seed):

        def put(folder: Path, file: str = file, data: bytes = data) -> None:
            bad_files.write(folder, file, data)

        yield command_case(f"vectors:{name}", *words, "--embeddings", file, before=put)
    for spec in (",", "random,random", "distil:", "distil:none", "distil:minilm@0", "distil:minilm@x", "a" * 5_000):
        yield command_case(f"vectors:named {spec[:20]}", *words, "--embeddings", spec)
