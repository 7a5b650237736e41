"""Edits of `config.json`: of every key, without the manifest and with a forged one; sources, labels, names."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from chaos.harness import Case
from chaos.originals import PREDICT, Originals, Turn, attack

from forging import SECRET, edit, nested, paths_of, put, read_config, write_config  # isort: skip

VALUES: dict[str, Any] = {
    "null": None,
    "text": "x",
    "list": ["a", 1, None],
    "object": {"a": {"b": 1}},
    "huge": 10**12,
    "beyond": 10**290,
    "negative": -3,
    "zero": 0,
    "true": True,
    "nan": float("nan"),
    "infinite": float("inf"),
    "fraction": 0.5,
    "deep": nested(90),
    "long": "x" * 200_000,
    "path": "../../../../etc/passwd",
    "escape": "\x1b]0;owned\x07\x1b[2J\u202e",
    "home": "~nobody-of-this-name/x",
}
LABELS: dict[str, Any] = {
    "reversed": ["pos", "neg"],
    "one": ["pos"],
    "same": ["pos", "pos"],
    "none": [],
    "many": [f"label {i}" for i in range(100_000)],
    "mixed": ["pos", 1],
    "numbers": [1, 2.5],
    "huge": [10**290, 1],
    "true": [True, 3],
    "nan": [float("nan"), 1.0],
    "lists": [["a"], ["b"]],
    "null": [None, "a"],
    "escape": ["\x1b[31mred", "a\nb\tc"],
    "markup": ["[red]<script>alert(1)</script>", "{{x}}"],
    "long": ["x" * 100_000, "y"],
    "empty": ["", " "],
}


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """Edits of word models and encoders."""
    turn = Turn()
    names = list(VALUES)
    for model in ("cnn", "bert"):
        folder = originals.work / model
        config = read_config(folder)
        ways = [way for way in paths_of(config) if _telling(way)]
        for number, way in enumerate(ways[seed % 3 :: 3]):
            signed = VALUES[names[(number * 5 + seed) % len(names)]]
            name = f"{model} {way} {names[(number * 5 + seed) % len(names)]}"
            yield attack(f"signed:{name}", folder, partial(_set, way, signed, True), turn())
            value = VALUES[names[(number + seed) % len(names)]]
            if number % 2 == 0 and _differs(config, way, value) and way not in ("digest", "report", "report/sha256"):
                name = f"{model} {way} {names[(number + seed) % len(names)]}"
                yield attack(f"unsigned:{name}", folder, partial(_set, way, value, False), turn(), noticed=True)
        for name, labels in LABELS.items():
            yield attack(f"labels:{model} {name}", folder, partial(_set, "labels", labels, True), turn())
    for way in ("plan/model_options/filters", "plan/model_options/widths/0", "plan/mask_options/hidden", "max_words"):
        for size in (10**7, 60_000, 10**12):
            damage = partial(_set, way, size, True)
            small = {"seconds": 15.0, "memory_mb": 700, "refused": way != "max_words"}
            yield attack(f"size:cnn {way} {size}", originals.cnn, damage, [PREDICT], **small)
    yield attack("size:cnn padded", originals.cnn, _padded, turn(3), memory_mb=2500)
    yield attack("size:lstm padded", originals.lstm, _padded, [PREDICT], memory_mb=2500)
    for name, source in SOURCES.items():
        for own in (True, False):
            damage = partial(_source, source, own)
            shown = [("show", "{0}", "--report", "quick", "--out", "page.html"), PREDICT]
            yield attack(f"source:{name}{' with a digest' * own}", originals.cnn, damage, shown)
            if own:
                yield Case(f"source:{name} served", partial(_served, originals, source, own), 20)
    for name, damage in WHOLE.items():
        yield attack(f"json:{name}", originals.cnn, damage, turn(), refused=True)


def _telling(way: str) -> bool:
    """One of a list of like things is enough, and options of training are alike."""
    return not any(f"/{i}" in way for i in range(1, 10)) and not way.startswith(
        ("params/", "plan/train/b", "history/0/")
    )


def _differs(config: dict[str, Any], way: str, value: Any) -> bool:
    """Whether an edit changes anything."""
    edited = copy.deepcopy(config)
    put(edited, way, value)
    return edited != config


def _set(way: str, value: Any, signed: bool, target: Path) -> None:
    edit(target, lambda config: put(config, way, value), signed)


def _padded(target: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        config["max_words"] = 100_000
        config["plan"]["train"]["pad_to_max"] = True

    edit(target, change)


SOURCES = {
    "secret": "{0}/secret.csv",
    "relative": "secret.csv",
    "passwd": "/etc/passwd",
    "root": "/",
    "proc": "/proc",
    "kcore": "/proc/kcore",
    "kmsg": "/proc/kmsg",
    "zero": "/dev/zero",
    "stdin": "/dev/stdin",
    "hub": "stranger/dataset",
    "nul": "a\0b.csv",
    "long": "x" * 5000,
    "home": "~nobody-of-this-name/x.csv",
    "number": 7,
    "list": ["secret.csv"],
}


def _source(source: Any, own: bool, target: Path) -> None:
    """Name a local file as the source; with the digest of a file whose content the forger does not know."""
    named = source.format(target.parent) if isinstance(source, str) else source

    def change(config: dict[str, Any]) -> None:
        about = config["about"]
        about.update(source=named, text="text", label="label", dataset_fingerprint=None)
        about["source_sha256"] = "0" * 64 if own else None
        about["source_bytes"] = _size(named) if own else None

    edit(target, change)


def _size(named: Any) -> int:
    """The size of a file, which a forger may guess."""
    try:
        return Path(named).stat().st_size
    except (OSError, TypeError, ValueError):
        return 0


def _served(originals: Originals, source: Any, own: bool, folder: Path) -> str | None:
    """The same for `vmask serve`, which shows test texts of the source."""
    from vmask.serve.loaded_model import Examples

    (folder / "target").mkdir()
    (folder / "secret.csv").write_text(f"text,label\n{SECRET},a\n" * 9, encoding="utf-8")
    write_config(folder / "target", read_config(originals.cnn))
    _source(source, own, folder / "target")
    found, reason = Examples.find(read_config(folder / "target")["about"], None, None, 10)
    if found is not None:
        return f"shows {found.texts[:1]}"
    return None if reason and SECRET not in reason else f"says {reason!r}"


def _text(text: str, target: Path) -> None:
    (target / "config.json").write_text(text, encoding="utf-8")


WHOLE = {
    "deep": partial(_text, "[" * 100_000 + "]" * 100_000),
    "deep objects": partial(_text, '{"a":' * 5000 + "1" + "}" * 5000),
    "digits": partial(_text, '{"format": ' + "9" * 100_000 + "}"),
    "exponent": partial(_text, '{"format": 1e999999999}'),
    "twice": partial(_text, '{"format": 2, "format": 3}'),
    "surrogate": partial(_text, '{"format": 2, "vmask": "\\ud800"}'),
    "escape": partial(_text, json.dumps({"format": 3, "vmask": "\x1b]0;owned\x07"})),
    "long version": partial(_text, json.dumps({"format": 3, "vmask": "x" * 10**6})),
    "format list": partial(_text, '{"format": [[]]}'),
    "vmask list": partial(_text, '{"vmask": [1]}'),
    "vmask number": partial(_text, '{"vmask": 7}'),
    "export": partial(_text, '{"vmask": {"export": {}}}'),
    "encoder": partial(_text, '{"model_type": {}}'),
}
