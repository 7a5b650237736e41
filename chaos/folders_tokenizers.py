"""Forged `tokenizer.json`, with a fitting manifest: what makes the library panic, run for ever or fill the memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from chaos.harness import Case
from chaos.originals import Originals, Turn, attack

from forging import charsmap, sign  # isort: skip

FILE = "tokenizer.json"
Change = Callable[[dict[str, Any]], None]


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """Forged tokenizers of word models, encoder models, and encoders."""
    turn = Turn()
    train = ("train", "data.csv", "--model", "{0}", "--epochs", "1", "--report", "none", "--out", "run")
    small = {"seconds": 25.0, "memory_mb": 1000}
    for model, step in (("cnn", 4), ("bert", 1), ("robert", 4), ("encoder", 2)):
        folder = originals.work / model
        changes = {**CHANGES, **(WORDPIECE if model in ("bert", "encoder") else {})}
        for name, change in list(changes.items())[::step]:
            commands = [train] if model == "encoder" else turn()
            yield attack(f"tokenizer:{model} {name}", folder, partial(_changed, change), commands, **small)
        for name, text in list(TEXTS.items())[::step]:
            commands = [train] if model == "encoder" else turn()
            yield attack(f"tokenizer:{model} {name}", folder, partial(_written, text), commands, refused=True, **small)


def _changed(change: Change, target: Path) -> None:
    tokenizer = json.loads((target / FILE).read_text(encoding="utf-8"))
    change(tokenizer)
    _written(json.dumps(tokenizer), target)


def _written(text: str, target: Path) -> None:
    (target / FILE).write_text(text, encoding="utf-8")
    sign(target)


def _put(key: str, value: Any, tokenizer: dict[str, Any]) -> None:
    tokenizer[key] = value


def _model(key: str, value: Any, tokenizer: dict[str, Any]) -> None:
    tokenizer["model"][key] = value


def _regex(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


def _added(id: int, content: str = "film") -> list[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": id, "content": content, **flags}]


def _template(id: int, count: int = 1) -> dict[str, Any]:
    parts = [{"SpecialToken": {"id": "x", "type_id": 0}}] * count + [{"Sequence": {"id": "A", "type_id": 0}}]
    tokens = {"x": {"id": "x", "ids": [id], "tokens": ["x"]}}
    return {"type": "TemplateProcessing", "single": parts, "pair": parts, "special_tokens": tokens}


def _ids(change: Callable[[int], int], tokenizer: dict[str, Any]) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, dict):
        for number, (word, id) in enumerate(list(vocabulary.items())):
            if number > 5:
                vocabulary[word] = change(id)


def _shorter(tokenizer: dict[str, Any]) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    for word in list(vocabulary)[3::2]:
        del vocabulary[word]


PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
PADDING |= {"pad_type_id": 0, "pad_token": "[PAD]"}
TRUNCATION = {"direction": "Right", "max_length": 10**9, "strategy": "LongestFirst", "stride": 0}
CHANGES: dict[str, Change] = {
    "padding huge": partial(_put, "padding", PADDING),
    "padding by multiples": partial(
        _put, "padding", {**PADDING, "strategy": "BatchLongest", "pad_to_multiple_of": 2**40}
    ),
    "padding by zero": partial(_put, "padding", {**PADDING, "strategy": "BatchLongest", "pad_to_multiple_of": 0}),
    "truncation huge": partial(_put, "truncation", TRUNCATION),
    "truncation stride": partial(_put, "truncation", {**TRUNCATION, "max_length": 4, "stride": 4}),
    "exponential split": partial(_put, "pre_tokenizer", _regex(r"(x+x+)+y|(\w+\w+)+!")),
    "exponential split of spaces": partial(_put, "pre_tokenizer", _regex(r"((a|a)*)*b|(.*)*=|(.|.)+\d")),
    "exponential replace": partial(_put, "normalizer", _replace({"Regex": r"(\w|\w\w)+!"}, " ")),
    "nested repeats": partial(_put, "pre_tokenizer", _regex("(" * 200 + "a" + ")*" * 200)),
    "counted repeats": partial(_put, "pre_tokenizer", _regex("((((a{0,100}){0,100}){0,100}){0,100}){0,100}")),
    "broken regex": partial(_put, "pre_tokenizer", _regex("(((")),
    "look behind": partial(_put, "pre_tokenizer", _regex(r"(?<=a+)b|\p{Nonsense}")),
    "empty regex": partial(_put, "pre_tokenizer", _regex("")),
    "normaliser bomb": partial(_put, "normalizer", _sequence(*[_replace({"String": "a"}, "aa")] * 40)),
    "normaliser bomb of dots": partial(_put, "normalizer", _sequence(*[_replace({"Regex": "."}, "ab")] * 40)),
    "normaliser of nothing": partial(_put, "normalizer", _replace({"String": ""}, "x" * 10_000_000)),
    "long prefix": partial(_put, "normalizer", {"type": "Prepend", "prepend": "x" * 30_000_000}),
    "deep sequence": lambda t: _put("normalizer", _deep(90), t),
    "charsmap long": partial(
        _put, "normalizer", {"type": "Precompiled", "precompiled_charsmap": charsmap(b"x" * 10**7)}
    ),
    "charsmap short": partial(_put, "normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    "charsmap lies": partial(_put, "normalizer", {"type": "Precompiled", "precompiled_charsmap": "/////wAAAAAAAAAA"}),
    "no normaliser": partial(_put, "normalizer", None),
    "no pre-tokenizer": partial(_put, "pre_tokenizer", None),
    "template beyond the table": partial(_put, "post_processor", _template(10**6)),
    "template beyond a number": partial(_put, "post_processor", _template(2**32 - 1)),
    "template long": partial(_put, "post_processor", _template(1, 50_000)),
    "added beyond the table": lambda t: t["added_tokens"].extend(_added(10**6)),
    "added far beyond": lambda t: t["added_tokens"].extend(_added(2**32 - 1)),
    "added nothing": lambda t: t["added_tokens"].extend(_added(3, "")),
    "added of one letter": lambda t: t["added_tokens"].extend(_added(3, "a")),
    "ids beyond the table": partial(_model, "vocab", {"<pad>": 0, "<unk>": 1, "a": 10**6}),
    "ids shifted": partial(_ids, lambda id: id + 10**6),
    "ids the same": partial(_ids, lambda id: 6),
    "ids negative": partial(_ids, lambda id: -id),
    "vocabulary empty": partial(_model, "vocab", {}),
    "vocabulary list": partial(_model, "vocab", [["a", float("-1e30")]]),
    "unknown missing": partial(_model, "unk_token", "[nothing]"),
    "another model": partial(_put, "model", {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}),
    "unigram": partial(_put, "model", {"type": "Unigram", "unk_id": 10**6, "vocab": [["a", 0.0]]}),
    "unigram without unknown": partial(_put, "model", {"type": "Unigram", "unk_id": None, "vocab": [["zz", 0.0]]}),
    "no model": partial(_put, "model", None),
    "version": partial(_put, "version", "9.0"),
}
WORDPIECE: dict[str, Change] = {
    "long words": partial(_model, "max_input_chars_per_word", 2**63),
    "no letters of a word": partial(_model, "max_input_chars_per_word", 0),
    "prefix": partial(_model, "continuing_subword_prefix", "x" * 10**6),
    "vocabulary halved": _shorter,
}
TEXTS = {
    "empty": "",
    "null": "null",
    "list": "[1, 2]",
    "object": "{}",
    "deep": "[" * 100_000 + "]" * 100_000,
    "digits": '{"version": ' + "9" * 100_000 + "}",
    "cut": '{"version": "1.0", "model": {',
    "surrogate": '{"version": "\\ud800"}',
}


def _deep(depth: int) -> dict[str, Any]:
    step: dict[str, Any] = {"type": "Lowercase"}
    for _ in range(depth):
        step = _sequence(step)
    return step
