"""Other files that are read: checkpoints, word vectors, explanations, evaluations, results of grids, YAML, caches."""

from __future__ import annotations

import gzip
import json
import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from chaos.folders_damage import KINDS, PLACES, cut, flip
from chaos.harness import Case
from chaos.originals import TRAIN, Originals, attack

from forging import put  # isort: skip

RESUME = (*TRAIN[:-1], "{0}", "--resume")
SECONDS, MEMORY_MB = 20.0, 800
EXPLAINED = (
    ("words", "--explanations", "{0}/lines.jsonl", "--pick", "2"),
    ("words", "--explanations", "{0}/lines.jsonl", "--json", "--by", "mean"),
)
COMPARE = (("compare", "{0}/one", "{0}/one"),)
GRID = (("grid", "{0}/grid.yaml", "--dry-run"),)
REPORT = (("report", "{0}", "--no-figures", "--out", "page"),)


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """All of them."""
    limits: dict[str, Any] = {"seconds": SECONDS, "memory_mb": MEMORY_MB}
    state = json.loads((originals.run / "checkpoint/state.json").read_text(encoding="utf-8"))
    for file in ("checkpoint/state.json", f"checkpoint/{state['files']['last']}"):
        for place in PLACES:
            yield attack(
                f"checkpoint:{file} cut at {place}", originals.run, partial(cut, file, place), [RESUME], **limits
            )
        yield attack(f"checkpoint:{file} flipped", originals.run, partial(flip, file, 0.01, 4), [RESUME], **limits)
        for name, damage in KINDS.items():
            yield attack(f"checkpoint:{file} {name}", originals.run, partial(damage, file), [RESUME], **limits)
    for name, change in CHECKPOINTS.items():
        yield attack(f"checkpoint:{name}", originals.run, change, [RESUME], **limits)
    yield from _of_users(originals, limits)


def _of_users(originals: Originals, limits: dict[str, Any]) -> Iterator[Case]:
    """Files that users name."""
    for name, write in VECTORS.items():
        embeddings = ("train", "data.csv", "--embeddings", "{0}/" + name.split(" ")[0], *TRAIN[4:])
        yield attack(f"vectors:{name}", originals.yaml, partial(_vectors, name, write), [embeddings], **limits)
    for folder, file, commands in (
        ("explanations", "lines.jsonl", EXPLAINED),
        ("evaluation", "one/scores.json", COMPARE),
        ("evaluation", "one/values.jsonl", COMPARE),
        ("results", f"cells/{_first(originals)}", REPORT),
        ("yaml", "grid.yaml", GRID),
    ):
        if not (originals.work / folder / file).is_file():
            continue
        for place in PLACES[1:3]:
            for name, damage in (("cut", partial(cut, file, place)), ("flipped", partial(flip, file, place, 1))):
                yield attack(f"file:{file} {name} at {place}", originals.work / folder, damage, commands, **limits)
        for name, replace in KINDS.items():
            yield attack(f"file:{file} {name}", originals.work / folder, partial(replace, file), commands, **limits)
    for name, text in LINES.items():
        damage = partial(_written, "lines.jsonl", text)
        yield attack(f"explanations:{name}", originals.explanations, damage, EXPLAINED, **limits)
    for way, value in FIELDS.items():
        damage = partial(_field, way, value)
        yield attack(f"explanations:{way}", originals.explanations, damage, EXPLAINED, **limits)
    for name, text in YAML.items():
        yield attack(f"yaml:{name}", originals.yaml, partial(_written, "grid.yaml", text), GRID, **limits)
    for number, way in enumerate(CELLS):
        damage = partial(_cell, originals, way, ODD[number % len(ODD)])
        yield attack(f"cell:{way}", originals.results, damage, REPORT, **limits)


def _first(originals: Originals) -> str:
    return next(path.name for path in sorted((originals.results / "cells").iterdir()))


def _written(file: str, text: str, target: Path) -> None:
    (target / file).write_text(text, encoding="utf-8", errors="surrogatepass")


# Checkpoints ----------------------------------------------------------------------------------------------


def _state(way: str, value: Any, target: Path) -> None:
    path = target / "checkpoint/state.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    put(state, way, value)
    path.write_text(json.dumps(state), encoding="utf-8")


def _tensors(change: Callable[[dict[str, Any]], None], target: Path) -> None:
    path = next((target / "checkpoint").glob("epoch-*.safetensors"))
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def _reshaped(tensors: dict[str, Any]) -> None:
    for name in list(tensors):
        tensors[name] = torch.zeros(3)


def _renamed(tensors: dict[str, Any]) -> None:
    for name in [name for name in tensors if name.startswith("adam.")]:
        tensors[name.replace("adam.", "adam.x")] = tensors.pop(name)


CHECKPOINTS: dict[str, Callable[[Path], None]] = {
    "another file": partial(_state, "files/last", "../../data.csv"),
    "a device": partial(_state, "files/best", "/dev/zero"),
    "a number as file": partial(_state, "files/last", 7),
    "epoch text": partial(_state, "epoch", "x"),
    "epoch huge": partial(_state, "epoch", 10**12),
    "epoch negative": partial(_state, "epoch", -1),
    "history null": partial(_state, "history", None),
    "history numbers": partial(_state, "history", [1, 2]),
    "history row": partial(_state, "history/0", {"epoch": "x"}),
    "run null": partial(_state, "run", None),
    "files null": partial(_state, "files", None),
    "deep": partial(_written, "checkpoint/state.json", "[" * 100_000 + "]" * 100_000),
    "list": partial(_written, "checkpoint/state.json", "[]"),
    "digits": partial(_written, "checkpoint/state.json", '{"epoch": ' + "9" * 10_000 + "}"),
    "shapes": partial(_tensors, _reshaped),
    "names": partial(_tensors, _renamed),
    "nothing": partial(_tensors, lambda tensors: tensors.clear()),
    "an extra parameter": partial(_tensors, lambda tensors: tensors.update({"adam.99.exp_avg": torch.zeros(2)})),
    "fields": partial(_tensors, lambda tensors: tensors.update({"adam.0.a.b": torch.zeros(2)})),
    "not numbers": partial(_tensors, lambda t: t.update({k: v * float("nan") for k, v in t.items()})),
}

# Word vectors ---------------------------------------------------------------------------------------------


def _vectors(name: str, write: Callable[[Path], None], target: Path) -> None:
    write(target / name.split(" ")[0])


def _npy(header: str, path: Path, data: bytes = b"") -> None:
    text = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)
    path.with_suffix(".vocab.txt").write_text("film\na\n", encoding="utf-8")


def _sparse(path: Path) -> None:
    _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 10000000000)}", path)
    os.truncate(path, 10 * 2**40)


def _objects(path: Path) -> None:
    class Bait:
        def __reduce__(self) -> Any:
            return (open, (os.environ["VMASK_CANARY"], "w"))

    np.save(path, np.array([[Bait()], [Bait()]], dtype=object), allow_pickle=True)
    path.with_suffix(".vocab.txt").write_text("film\na\n", encoding="utf-8")


def _bomb(line: bytes, path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(line)
        for _ in range(3000):
            file.write(b"1" * (1 << 20))


VECTORS: dict[str, Callable[[Path], None]] = {
    "v.bin words": lambda p: p.write_bytes(b"1000000000000 5\nfilm " + bytes(20)),
    "v.bin dims": lambda p: p.write_bytes(b"10 1000000000\nfilm " + bytes(20)),
    "v.bin negative": lambda p: p.write_bytes(b"-1 -5\nfilm"),
    "v.bin digits": lambda p: p.write_bytes(b"9" * 90 + b" 5\n"),
    "v.bin empty": lambda p: p.write_bytes(b""),
    "v.bin huge numbers": lambda p: p.write_bytes(b"1 5\nfilm " + struct.pack("<f", 3e38) * 5),
    "v.txt dims": lambda p: p.write_text("1 1000000000000\nfilm 1 2\n"),
    "v.txt many dims": lambda p: p.write_text("1 90000000\nfilm 1 2\n"),
    "v.txt words": lambda p: p.write_text("1000000000000 2\nfilm 1 2\n"),
    "v.txt digits": lambda p: p.write_text("9" * 5000 + " 2\nfilm 1 2\n"),
    "v.txt unicode digits": lambda p: p.write_text("² ²\nfilm 1 2\n"),
    "v.txt nan": lambda p: p.write_text("film nan inf\na 1 2\n"),
    "v.txt nothing": lambda p: p.write_text(""),
    "v.txt blank": lambda p: p.write_text("\n\n\n"),
    "v.txt bytes": lambda p: p.write_bytes(bytes(range(256)) * 100),
    "v.vec pipe": lambda p: os.mkfifo(p),
    "v.txt.gz bomb": partial(_bomb, b"film 1 2\nfilm "),
    "v.bin.gz bomb": partial(_bomb, b"5 5\n"),
    "v.txt.gz damaged": lambda p: p.write_bytes(gzip.compress(b"film 1 2\n" * 1000)[:50]),
    "v.npy shape": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 10000000000000)}"),
    "v.npy rows": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3)}"),
    "v.npy overflow": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 9223372036854775807)}"),
    "v.npy negative": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -5)}"),
    "v.npy hollow": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0)}"),
    "v.npy code": partial(_npy, "{'descr': __import__('os').system('touch canary'), 'shape': (2, 3)}"),
    "v.npy nested": partial(_npy, "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 9000 + ")" * 9000 + "}"),
    "v.npy kind": partial(_npy, "{'descr': 'O', 'fortran_order': False, 'shape': (2, 3)}"),
    "v.npy sparse": _sparse,
    "v.npy objects": _objects,
    "v.npy cut": lambda p: p.write_bytes(b"\x93NUMPY\x01"),
}

# Explanations, YAML and results ---------------------------------------------------------------------------

LINES = {
    "empty": "",
    "blank": "\n\n\n",
    "null": "null\n",
    "numbers": "1\n2\n",
    "object": "{}\n",
    "deep": "[" * 100_000 + "]" * 100_000 + "\n",
    "digits": '{"text": ' + "9" * 100_000 + "}\n",
    "bytes": "\x00\x01\x02\n",
    "surrogate": '{"text": "\\ud800"}\n',
    "nan": "NaN\n",
}
FIELDS: dict[str, Any] = {
    "text": 7,
    "words": "x",
    "words/0": None,
    "spans": [[0, 10**12]],
    "spans/0": [5, -5],
    "scores": [1],
    "scores/0": "x",
    "scores/1": 10**290,
    "scores/2": float("nan"),
    "target": {"a": 1},
    "probability": "x",
    "method": ["a"],
    "options": 3,
    "unseen": -1,
    "seed": "x",
    "signed": "x",
    "details": [1],
}


def _field(way: str, value: Any, target: Path) -> None:
    path = target / "lines.jsonl"
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(first)
    try:
        put(record, way, value)
    except (KeyError, IndexError):
        record[way] = value
    path.write_text("\n".join([json.dumps(record), *rest]), encoding="utf-8")


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
YAML = {
    "bomb": BOMB + "grid: *a11\nmodels: {}\n",
    "python": "grid: !!python/object/apply:os.system ['touch canary']\nmodels: {}\n",
    "python name": "grid: !!python/name:os.system\n",
    "loop": "grid: &a [*a]\nmodels: {}\n",
    "loop in a map": "&a x: {b: *a}\n",
    "deep": "[" * 5000 + "]" * 5000,
    "digits": "grid: " + "9" * 100_000,
    "sexagesimal": "grid: " + ":".join(["59"] * 10_000),
    "dates": "grid: 2020-99-99\nmodels: 2020-01-01\n",
    "binary": "grid: !!binary AAAA\n",
    "set": "grid: !!set {a, b}\n",
    "keys": "? [a, b]\n: 1\n? {a: b}\n: 2\n",
    "merge": "<<: [1, 2]\ngrid: []\n",
    "tabs": "\tgrid: 1\n",
    "bytes": "\x00\x01",
    "seeds": "models: {cnn: {}}\ngrid: [{datasets: [trec], models: [cnn], masks: all, seeds: 0-1000000000000}]\n",
    "datasets": "models: {cnn: {}}\ngrid: [{datasets: [/etc/passwd], models: [cnn], masks: [base], seeds: 0}]\n",
    "out": "out: /proc/x\nmodels: {cnn: {}}\ngrid: [{datasets: [trec], models: [cnn], masks: [base], seeds: 0}]\n",
    "null": "models: null\ngrid: null\nstages: null\nsearch: null\n",
    "lists": "models: [1]\ngrid: 7\nstages: x\nsearch: [1]\nname: []\n",
    "empty": "",
}
CELLS = ("status", "cell", "cell/seed", "cell/dataset", "stage", "identity", "facts", "dataset", "test", "scores")
ODD: tuple[Any, ...] = (None, 7, "x", [1], {"a": 1}, 10**290, "\x1b[2J")


def _cell(originals: Originals, way: str, value: Any, target: Path) -> None:
    path = target / "cells" / _first(originals)
    record = json.loads(path.read_text(encoding="utf-8"))
    try:
        put(record, way, value)
    except KeyError:
        record[way] = value
    path.write_text(json.dumps(record), encoding="utf-8")
