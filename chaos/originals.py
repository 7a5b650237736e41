"""Whole folders and files to be damaged, and what is asked of each after the damage."""

from __future__ import annotations

import builtins
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from chaos.harness import Case, Result, command, wrong

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from forging import SECRET  # noqa: E402
from tiny_encoders import save_encoder  # noqa: E402
from toy import toy_texts, write_csv  # noqa: E402

Damage = Callable[[Path], None]
CANARY = "VMASK_CANARY"
"""The variable that tells planted code where to leave its trace."""
STDIN = b"yes\na lovely film\n\nyes\n"
SECONDS, MEMORY_MB = 40.0, 1500
PREDICT = ("predict", "{0}", "-", "--json")
MODEL_COMMANDS: Sequence[Sequence[str]] = (
    ("show", "{0}", "--digest"),
    ("words", "{0}", "--top", "3"),
    ("explain", "{0}", "a lovely film", "--method", "lime", "--method.samples", "20"),
    ("explain", "{0}", "a lovely film"),
    ("evaluate", "{0}", "data.csv", "--text", "text", "--label", "label", "--n", "3", "--explainers", "mask"),
    ("export", "{0}", "out"),
    ("show", "{0}", "data.csv", "--report", "quick", "--out", "page.html"),
    ("show", "{0}", "--report", "quick", "--out", "page.html"),
    ("predict", "{0}", "data.csv"),
)
TRAIN = ("train", "data.csv", "--embeddings", "random", "--epochs", "2", "--report", "none", "--out", "run")


@dataclass(frozen=True)
class Originals:
    """Folders that are in order: models `cnn`, `lstm`, `bert`, `old`, and what else is read."""

    work: Path

    def __getattr__(self, name: str) -> Path:
        return self.work / name


def make(work: Path) -> Originals:
    """Train tiny models, export them, explain a text, leave a training unfinished."""
    data = write_csv(work / "data.csv", *toy_texts(60))
    here = Path.cwd()
    os.chdir(work)
    try:
        _run("train", "data.csv", *_small("cnn"), "--model.filters", "4", "--out", "cnn", "--report", "quick")
        _run(
            "train",
            "data.csv",
            "--model",
            "lstm",
            *_small("lstm"),
            "--min-count",
            "3",
            "--model.hidden",
            "4",
            "--out",
            "lstm",
        )
        save_encoder("bert", work / "encoder")
        save_encoder("roberta", work / "roberta")
        tiny = ("--epochs", "1", "--report", "none", "--batch-size", "20")
        _run("train", "data.csv", "--model", "./encoder", *tiny, "--out", "bert")
        _run("train", "data.csv", "--model", "./roberta", *tiny, "--out", "robert")
        shutil.copytree(ROOT / "tests/golden/formats/1-cnn-vmask", work / "old")
        _run("export", "bert", "hf", "--format", "hf")
        _run("export", "cnn", "onnx", "--format", "onnx")
        (work / "explanations").mkdir()
        _run("explain", "cnn", "--input", "data.csv", "--limit", "5", "--out", "explanations/lines.jsonl")
        (work / "evaluation").mkdir()
        _run("evaluate", "cnn", "data.csv", "--n", "5", "--explainers", "mask", "--out", "evaluation/one")
        with mock.patch("vmask._core.files.remove_folder"):
            _run(*TRAIN)
        for path in (work / "run").iterdir():
            if path.is_file():
                path.unlink()
        (work / "yaml").mkdir()
        shutil.copy(ROOT / "experiments/smoke.yaml", work / "yaml/grid.yaml")
        (work / "results/cells").mkdir(parents=True)
        for path in sorted((ROOT / "reproduction/results/cells").glob("trec--cnn--*--s0.json"))[:3]:
            shutil.copy(path, work / "results/cells")
        shutil.copytree(ROOT / "reproduction/results/data", work / "results/data")
    finally:
        os.chdir(here)
    assert data.exists()
    return Originals(work)


def _small(name: str) -> tuple[str, ...]:
    report = () if name == "cnn" else ("--report", "none")
    return ("--embeddings", "random", "--epochs", "2", *report)


def _run(*words: str) -> None:
    result = command(*words)
    if result.code:
        raise RuntimeError(f"vmask {' '.join(words)}: {result.err}")


def attack(
    name: str,
    original: Path,
    damage: Damage,
    commands: Sequence[Sequence[str]],
    noticed: bool = False,
    refused: bool = False,
    seconds: float = SECONDS,
    memory_mb: int = MEMORY_MB,
) -> Case:
    """A case: copy a folder, damage the copy, run commands on it.

    Args:
        name: of the case.
        original: the folder that is copied to `target`, with what must not be read beside it.
        damage: what is done to the copy.
        commands: words of each command; `{0}` is the copy.
        noticed: every command must refuse the copy or warn of it: it was edited without its manifest.
        refused: every command must refuse the copy, but for a look at its manifest alone.
        seconds: time limit.
        memory_mb: memory limit.
    """

    def run(folder: Path) -> str | None:
        target = folder / "target"
        shutil.copytree(original, target, symlinks=True)
        shutil.copy(original.parent / "data.csv", folder / "data.csv")
        secret = f"text,label\n{SECRET} one,pos\n{SECRET} two,neg\n"
        (folder / "secret.csv").write_text(secret, encoding="utf-8")
        os.environ[CANARY] = str(folder / "canary")
        asked: list[str] = []
        builtins.input = lambda *words: asked.append(str(words)) or "yes"  # type: ignore[assignment]
        damage(target)
        for words in commands:
            result = command(*(word.format(target) for word in words), stdin=STDIN)
            found = judge(folder, result) or (asked and f"asked: {asked[0]}")
            passed = result.code == 0 and (noticed or "--digest" not in words)
            if not found and passed and (refused or (noticed and "warning:" not in result.err)):
                found = f"not noticed: {result.out[-200:]} {result.err[-200:]}"
            if found:
                return f"{' '.join(words)}: {found}"
        return None

    return Case(name, run, seconds, memory_mb)


def judge(folder: Path, result: Result) -> str | None:
    """What is wrong after a command: its answer, a trace of planted code, a secret in an output."""
    if (folder / "canary").exists():
        return f"planted code ran: {result.err[-300:]}"
    if found := wrong(result):
        return found
    if SECRET in result.out + result.err:
        return f"a secret is shown: {(result.out + result.err)[-300:]}"
    for path in folder.rglob("*"):
        if path.name != "secret.csv" and "target" not in path.parts and path.is_file() and not path.is_symlink():
            with suppress(OSError):
                if SECRET.encode() in path.read_bytes():
                    return f"a secret is in {path.name}"
    return None


class Turn:
    """Commands in turn, so that every kind of damage meets every command without running all of them each time."""

    def __init__(self, commands: Sequence[Sequence[str]] = MODEL_COMMANDS, first: Sequence[str] = PREDICT) -> None:
        self.commands, self.first, self.at = commands, first, 0

    def __call__(self, more: int = 1) -> list[Sequence[str]]:
        """The first command, and the next of the others."""
        chosen = [self.commands[(self.at + i) % len(self.commands)] for i in range(more)]
        self.at += more
        return [self.first, *chosen]
