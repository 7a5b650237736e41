"""Forged `model.safetensors`: headers that lie, tensors of other shapes, kinds and values, with a fitting manifest."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from chaos.harness import Case
from chaos.originals import Originals, Turn, attack

from forging import Bait, rewrite_header, sign, sparse_weights, write_header  # isort: skip

WEIGHTS = "model.safetensors"
TABLES = {"cnn": "encoder.embedding.weight", "bert": "encoder.network.bert.embeddings.word_embeddings.weight"}


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """Forged headers and tensors of word models and encoders."""
    turn = Turn()
    small = {"seconds": 20.0, "memory_mb": 700}
    for model, table in TABLES.items():
        folder = originals.work / model
        for name, change in HEADERS.items():
            damage = partial(_forge, partial(rewrite_header, change=partial(change, table)))
            yield attack(f"header:{model} {name}", folder, damage, turn(), refused=True, **small)
        for name, write in FILES.items():
            yield attack(f"weights:{model} {name}", folder, partial(_forge, write), turn(), refused=True, **small)
        for name, alter in TENSORS.items():
            damage = partial(_forge, partial(_altered, partial(alter, table)))
            yield attack(f"tensors:{model} {name}", folder, damage, turn())


def _forge(change: Callable[[Path], None], target: Path) -> None:
    change(target / WEIGHTS)
    if (target / WEIGHTS).stat().st_size < 1 << 30:
        sign(target)


def _header(name: str, value: Any, table: str, header: dict[str, Any]) -> None:
    header[table][name] = value


def _drop(table: str, header: dict[str, Any]) -> None:
    del header[table]


def _overlap(table: str, header: dict[str, Any]) -> None:
    first, second = [name for name in header if name != "__metadata__"][:2]
    header[first]["data_offsets"] = header[second]["data_offsets"]


def _extra(table: str, header: dict[str, Any]) -> None:
    header["more"] = {"dtype": "F32", "shape": [0, 10**15], "data_offsets": [0, 0]}


HEADERS: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "huge shape": partial(_header, "shape", [10**9, 10**9]),
    "overflow": partial(_header, "shape", [2**63, 2**63]),
    "negative": partial(_header, "shape", [-1, -1]),
    "no rows": partial(_header, "shape", [0, 100]),
    "no shape": partial(_header, "shape", []),
    "many dimensions": partial(_header, "shape", [1] * 10_000),
    "text shape": partial(_header, "shape", ["a"]),
    "strange type": partial(_header, "dtype", "F4096"),
    "narrow type": partial(_header, "dtype", "I8"),
    "wide type": partial(_header, "dtype", "F64"),
    "offsets beyond": partial(_header, "data_offsets", [0, 2**62]),
    "offsets back": partial(_header, "data_offsets", [100, 0]),
    "overlap": _overlap,
    "absent": _drop,
    "hollow extra": _extra,
}


def _length(value: int, path: Path) -> None:
    write_header(path, {"a": ("F32", [1], (0, 4))}, bytes(4), length=value)


def _pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(Bait(path.parent.parent / "canary")))


def _zipped(path: Path) -> None:
    torch.save(Bait(path.parent.parent / "canary"), path)


def _many(path: Path) -> None:
    write_header(path, {f"t{i}": ("F32", [0], (0, 0)) for i in range(200_000)})


FILES: dict[str, Callable[[Path], None]] = {
    "header length 0": partial(_length, 0),
    "header length huge": partial(_length, 2**63),
    "header length long": partial(_length, 10**9),
    "header length short": partial(_length, 5),
    "pickle": _pickled,
    "zipped pickle": _zipped,
    "many hollow": _many,
    "sparse": partial(sparse_weights, shapes={"encoder.embedding.weight": (10**9, 100)}),
    "sparse beyond": partial(sparse_weights, shapes={"encoder.embedding.weight": (10**10, 100)}),
    "no bytes": lambda path: path.write_bytes(b""),
    "json alone": lambda path: path.write_text("{}", encoding="utf-8"),
}


def _altered(change: Callable[[dict[str, Any]], None], path: Path) -> None:
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def _value(value: float, table: str, tensors: dict[str, Any]) -> None:
    tensors[table] = torch.full_like(tensors[table], value)


def _all(value: float, table: str, tensors: dict[str, Any]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point():
            tensors[name] = torch.full_like(tensor, value)


def _words(name: str, make: Callable[[Any], Any], table: str, tensors: dict[str, Any]) -> None:
    name = next((key for key in tensors if key.startswith(f"words.{name}")), "words.count")
    tensors[name] = make(tensors[name]).contiguous()


TENSORS: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "not a number": partial(_value, float("nan")),
    "infinite": partial(_value, float("inf")),
    "large": partial(_value, 60_000.0),
    "all large": partial(_all, 3e38),
    "all zero": partial(_all, 0.0),
    "all nan": partial(_all, float("nan")),
    "another type": lambda table, tensors: tensors.update({table: tensors[table].to(torch.complex64)}),
    "whole numbers": lambda table, tensors: tensors.update({table: tensors[table].long()}),
    "truths": lambda table, tensors: tensors.update({table: tensors[table].bool()}),
    "counts negative": partial(_words, "count", lambda t: -t - 1),
    "counts not numbers": partial(_words, "count", lambda t: t.double() * float("nan")),
    "counts fractions": partial(_words, "count", lambda t: t.double() + 0.5),
    "counts in rows": partial(_words, "count", lambda t: t[:, None]),
    "counts alone": partial(_words, "count", lambda t: t[0]),
    "counts none": partial(_words, "count", lambda t: t[:0]),
    "counts huge": partial(_words, "count", lambda t: torch.full_like(t, 2**62)),
    "scores not numbers": partial(_words, "score", lambda t: t.double() * float("nan")),
    "scores in rows": partial(_words, "score", lambda t: t[:, None]),
    "known in rows": partial(_words, "known", lambda t: t[:, None]),
    "text of no encoding": partial(_words, "text", lambda t: torch.full_like(t.byte(), 255)),
    "text of one word": partial(_words, "text", lambda t: torch.full_like(t.byte(), 97)),
    "text of line feeds": partial(_words, "text", lambda t: torch.full_like(t.byte(), 10)),
    "text wide": partial(_words, "text", lambda t: t.long()),
}
