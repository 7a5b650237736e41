"""Accidents: files that are torn, swapped, missing, of another kind, in folders of models and of encoders."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from chaos.harness import Case
from chaos.originals import MODEL_COMMANDS, Originals, Turn, attack

FILES = ("config.json", "model.safetensors", "tokenizer.json")
PLACES = (0.0, 0.02, 0.6, 0.97)
EXPORT = (("evaluate", "{0}", "data.csv", "--text", "text", "--label", "label"), ("words", "{0}"))


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """Every kind of damage to every file."""
    stream = random.Random(seed)
    turn = Turn()
    for model in ("cnn", "bert"):
        for file in FILES:
            for place in PLACES:
                bit = 1 << stream.randrange(8)
                damage = partial(flip, file, place, bit)
                yield attack(f"flip:{model} {file} at {place}", originals.work / model, damage, turn(), noticed=True)
                damage = partial(cut, file, place)
                yield attack(f"cut:{model} {file} at {place}", originals.work / model, damage, turn(), noticed=True)
            for name, replace in KINDS.items():
                damage = partial(replace, file)
                yield attack(f"kind:{model} {file} {name}", originals.work / model, damage, turn(), noticed=True)
    for one, other in (("cnn", "lstm"), ("lstm", "cnn"), ("bert", "cnn"), ("cnn", "bert"), ("bert", "robert")):
        for file in FILES:
            damage = partial(swap, originals.work / other, file)
            # A whole configuration of another model is a whole manifest, of files that are not there.
            yield attack(f"swap:{one} with {file} of {other}", originals.work / one, damage, turn(), noticed=True)
    for file in ("config.json", "report.html", "README.md"):
        damage = partial(swap, originals.work / "old", file) if file == "config.json" else partial(grow, file)
        noticed = file != "README.md"  # the one file that is not in the manifest
        yield attack(f"swap:cnn with another {file}", originals.cnn, damage, turn(), noticed=noticed)
    yield from _reports(originals)
    yield attack("swap:lstm with a report", originals.lstm, partial(grow, "report.html"), turn(), noticed=True)
    for file in FILES:
        for place in PLACES[1:3]:
            damage = partial(flip, file, place, 2)
            # The old format has no digest of its configuration: that is what the warning says.
            yield attack(f"old:{file} flipped at {place}", originals.old, damage, turn(), noticed=True)
    whole = Turn(MODEL_COMMANDS, EXPORT[0])
    for export in ("hf", "onnx"):
        for name, damage in {"whole": lambda t: None, **{f: partial(cut, f, 0.5) for f in ("config.json",)}}.items():
            yield attack(f"export:{export} {name}", originals.work / export, damage, whole(2), refused=True)


def _reports(originals: Originals) -> Iterator[Case]:
    for name in ("folder", "pipe", "loop", "zero", "sparse"):
        shown = [("show", "{0}", "data.csv", "--report", "quick"), ("show", "{0}", "--digest")]
        yield attack(f"kind:cnn report.html {name}", originals.cnn, partial(KINDS[name], "report.html"), shown)


def flip(file: str, place: float, bit: int, target: Path) -> None:
    """Change a bit of a file."""
    content = bytearray((target / file).read_bytes())
    content[min(int(place * len(content)), len(content) - 2)] ^= bit
    (target / file).write_bytes(content)


def cut(file: str, place: float, target: Path) -> None:
    """Cut a file off."""
    content = (target / file).read_bytes()
    (target / file).write_bytes(content[: int(place * len(content))])


def swap(other: Path, file: str, target: Path) -> None:
    """Take a file of another model."""
    shutil.copy(other / file, target / file)


def grow(file: str, target: Path) -> None:
    """Add to a file, or make one."""
    with (target / file).open("a", encoding="utf-8") as stream:
        stream.write("<!-- more -->")


def missing(file: str, target: Path) -> None:
    """Remove a file."""
    (target / file).unlink()


def empty(file: str, target: Path) -> None:
    """Empty a file."""
    (target / file).write_bytes(b"")


def folder(file: str, target: Path) -> None:
    """A folder in its place."""
    (target / file).unlink()
    (target / file).mkdir()


def pipe(file: str, target: Path) -> None:
    """A pipe that nobody writes to."""
    (target / file).unlink()
    os.mkfifo(target / file)


def link(to: str, file: str, target: Path) -> None:
    """A link in its place."""
    (target / file).unlink()
    (target / file).symlink_to(to.format(file))


def sparse(file: str, target: Path) -> None:
    """Four terabytes of nothing."""
    with (target / file).open("r+b") as stream:
        stream.truncate(4 << 40)


def unreadable(file: str, target: Path) -> None:
    """Bytes of no encoding."""
    (target / file).write_bytes(bytes(range(256)) * 40)


KINDS = {
    "missing": missing,
    "empty": empty,
    "folder": folder,
    "pipe": pipe,
    "loop": partial(link, "{0}"),
    "zero": partial(link, "/dev/zero"),
    "passwd": partial(link, "/etc/passwd"),
    "kcore": partial(link, "/proc/kcore"),
    "sparse": sparse,
    "bytes": unreadable,
}
