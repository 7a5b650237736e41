"""What a forger of model folders does: edits with and without a new manifest, lying headers, planted code, bait."""

from __future__ import annotations

import base64
import copy
import json
import struct
from pathlib import Path

from vmask._core.files import sha256
from vmask.persistence.model_folder import CONFIG, NAMES, digest_of

SECRET = "topsecret-4711"
CODE = """
import os
open(os.environ.get("VMASK_CANARY", "canary"), "w").write("ran")
from transformers import *
Mine = BertForSequenceClassification
MineConfig = BertConfig
MineTokenizer = PreTrainedTokenizerFast
"""
"""A module that leaves a trace when it is imported."""
AUTO_MAP = {
    name: f"mine.{of}"
    for name, of in {
        "AutoConfig": "MineConfig",
        "AutoModel": "Mine",
        "AutoModelForSequenceClassification": "Mine",
    }.items()
}


class Bait:
    """Runs a command when it is unpickled."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return (open, (self.canary, "w"))


def read_config(folder):
    """The configuration of a folder."""
    return json.loads((folder / CONFIG).read_text(encoding="utf-8"))


def write_config(folder, config, signed=True):
    """Write a configuration with its digest, as a forger would, or without, as who edits it by hand."""
    if signed and "digest" in config:
        config = {**config, "digest": digest_of(config)}
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")


def edit(folder, change, signed=True):
    """Change the configuration in place."""
    config = read_config(folder)
    change(config)
    write_config(folder, config, signed)


def sign(folder):
    """Make the manifest fit the files that are there."""
    config = read_config(folder)
    if isinstance(config.get("sha256"), dict):
        for kind in NAMES:
            path = folder / config.get("files", {}).get(kind, kind)
            if path.is_file():
                config["sha256"][kind] = sha256(path)
        write_config(folder, config)


def put(config, path, value):
    """Set `config["a"]["b"]` for the path `a/b`."""
    *way, last = path.split("/")
    for key in way:
        config = config[int(key)] if isinstance(config, list) else config[key]
    config[int(last) if isinstance(config, list) else last] = copy.deepcopy(value)


def paths_of(value, way=()):
    """Every path of a JSON value, slashes between the keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield "/".join([*way, str(key)])
        yield from paths_of(inner, (*way, str(key)))


def plant_code(folder):
    """Put a Python file there that must never run."""
    for name in ("mine.py", "modeling.py", "__init__.py"):
        (folder / name).write_text(CODE, encoding="utf-8")


def write_header(path, tensors, data=b"", length=None):
    """Write a safetensors file of any header: name -> (dtype, shape, (start, end))."""
    header = {name: {"dtype": d, "shape": list(s), "data_offsets": list(o)} for name, (d, s, o) in tensors.items()}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def header_of(path):
    """The header of a safetensors file and the bytes behind it."""
    content = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def rewrite_header(path, change):
    """Change the header of a safetensors file and leave its data as it is."""
    header, data = header_of(path)
    change(header)
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def sparse_weights(path, shapes):
    """A well-formed file of zeros that takes no place on the disk."""
    at, header = 0, {}
    for name, shape in shapes.items():
        size = 4
        for one in shape:
            size *= one
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with Path(path).open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def nested(depth):
    """Lists in lists."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def charsmap(replacement):
    """A precompiled map of sentencepiece with one long replacement, in base64."""
    return base64.b64encode(struct.pack("<I", 4) + bytes(4) + replacement + b"\0").decode()
