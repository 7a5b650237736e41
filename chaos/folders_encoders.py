"""Forged encoders: configurations that name code, kernels, adapters or sizes; pickles beside or instead of weights."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from chaos.harness import Case
from chaos.originals import PREDICT, Originals, Turn, attack

from forging import AUTO_MAP, Bait, edit, plant_code  # isort: skip

TRAIN = ("train", "data.csv", "--model", "{0}", "--epochs", "1", "--report", "none", "--out", "run")
DISTIL = ("train", "data.csv", "--embeddings", "distil:{0}", "--epochs", "1", "--report", "none", "--out", "words")
Config = dict[str, Any]


def cases(originals: Originals, seed: int) -> Iterator[Case]:
    """Forged configurations in model folders, in encoders that are trained, and in models that are started from."""
    turn = Turn((*Turn().commands[:4], *Turn().commands[6:]))
    from_it = ("train", "data.csv", "--model", "../encoder", "--init-from", "{0}", "--out", "run", "--report", "none")
    for number, (name, change) in enumerate(CODE.items()):
        yield attack(f"code:stored {name}", originals.bert, partial(_stored, change, True), turn(2))
        yield attack(f"code:encoder {name}", originals.encoder, partial(_encoder, change, True), [TRAIN])
        if number % 4:
            continue
        yield attack(f"code:distilled {name}", originals.encoder, partial(_encoder, change, True), [DISTIL])
        damage = partial(_started, originals, change)
        yield attack(f"code:started from {name}", originals.bert, damage, [(*from_it, "--epochs", "1")])
    small = {"seconds": 20.0, "memory_mb": 800}
    for way, sizes in SIZES.items():
        for number, size in enumerate(sizes):
            change = partial(_put, way, size)
            name = f"{way} {size!r:.20} ({number})"
            yield attack(f"size:stored {name}", originals.bert, partial(_stored, change, False), [PREDICT], **small)
            if number % 2 == 0:
                damage = partial(_encoder, change, False)
                yield attack(f"size:encoder {name}", originals.encoder, damage, [TRAIN], **small)
    for family in FAMILIES:
        for size in (10**5, 10**9):
            change = partial(_family, family, size)
            name = f"{family} {size}"
            yield attack(f"family:stored {name}", originals.bert, partial(_stored, change, False), [PREDICT], **small)
            if size == 10**9:
                damage = partial(_encoder, change, False)
                yield attack(f"family:encoder {name}", originals.encoder, damage, [TRAIN], **small)
    for name, damage in BESIDE.items():
        yield attack(f"beside:encoder {name}", originals.encoder, damage, [TRAIN, DISTIL])
        yield attack(f"beside:stored {name}", originals.bert, damage, turn())
    for name, damage in INSTEAD.items():
        yield attack(f"instead:encoder {name}", originals.encoder, damage, [TRAIN, DISTIL], refused=True)
    for name, settings in TOKENIZERS.items():
        yield attack(f"tokenizer_config:{name}", originals.encoder, partial(_tokenizer, settings), [TRAIN, DISTIL])


def _stored(change: Callable[[Config], None], code: bool, target: Path) -> None:
    if code:
        plant_code(target)
    edit(target, lambda config: change(config["encoder"]))
    edit(target, lambda config: _pointed(config, target))


def _pointed(value: Any, target: Path) -> None:
    """Fill in where the planted code lies."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if inner == "{target}":
            value[key] = str(target)
        elif isinstance(inner, str) and inner.startswith("{target}--"):
            value[key] = inner.replace("{target}", str(target))
        else:
            _pointed(inner, target)


def _encoder(change: Callable[[Config], None], code: bool, target: Path) -> None:
    if code:
        plant_code(target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    change(config)
    _pointed(config, target)
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _started(originals: Originals, change: Callable[[Config], None], target: Path) -> None:
    shutil.copytree(originals.encoder, target.parent / "encoder")
    _stored(change, True, target)


def _put(way: str, value: Any, config: Config) -> None:
    *parents, last = way.split(".")
    for key in parents:
        config = config.setdefault(key, {})
    config[last] = value


def _update(values: Config, config: Config) -> None:
    config.update(json.loads(json.dumps(values)))


MAPPED = {"auto_map": AUTO_MAP, "_name_or_path": "{target}", "name_or_path": "{target}"}
ELSEWHERE = {"auto_map": {name: "{target}--" + of for name, of in AUTO_MAP.items()}}
QUANTISED = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False}
CODE: dict[str, Callable[[Config], None]] = {
    "auto_map": partial(_update, MAPPED),
    "auto_map elsewhere": partial(_update, {**MAPPED, **ELSEWHERE}),
    "auto_map of clip": partial(_update, {**MAPPED, "model_type": "clip"}),
    "auto_map of nothing": partial(_update, {**MAPPED, "model_type": "mine"}),
    "auto_map without a type": lambda config: (config.pop("model_type"), config.update(MAPPED))[0],
    "auto_map within": partial(_update, {"text_config": MAPPED, "vision_config": MAPPED, "backbone_config": MAPPED}),
    "auto_map of a text within": partial(
        _update, {"model_type": "llava", "text_config": {**MAPPED, "model_type": "bert"}}
    ),
    "trust": partial(_update, {**MAPPED, "trust_remote_code": True, "model_type": "mine"}),
    "path alone": partial(_update, {"_name_or_path": "{target}", "model_type": "clip"}),
    "kernel": partial(_update, {"_attn_implementation": "stranger/kernel", "attn_implementation": "stranger/kernel"}),
    "kernel of a version": partial(_update, {"_attn_implementation_internal": "stranger/kernel@main:run"}),
    "kernel within": partial(_update, {"text_config": {"_attn_implementation": "stranger/kernel"}}),
    "kernel by part": partial(_update, {"attn_implementation": {"": "stranger/kernel"}}),
    "flash": partial(_update, {"_attn_implementation": "flash_attention_2"}),
    "experts": partial(_update, {"_experts_implementation": "stranger/kernel", "use_kernels": True}),
    "quantised": partial(_update, {"quantization_config": QUANTISED}),
    "quantised oddly": partial(_update, {"quantization_config": {"quant_method": "gptq", "bits": 4, "dataset": "c4"}}),
    "custom pipeline": partial(
        _update, {"custom_pipelines": {"text-classification": {"impl": "mine.Mine", "pt": "A"}}}
    ),
    "custom generation": partial(_update, {"custom_generate": "{target}", "generation_config": {"a": 1}}),
    "weights named": partial(_update, {"transformers_weights": "pytorch_model.bin"}),
    "weights elsewhere": partial(_update, {"transformers_weights": "../../encoder/model.safetensors"}),
    "backbone": partial(_update, {"backbone": "stranger/net", "use_timm_backbone": True, "model_type": "detr"}),
    "timm": partial(_update, {"model_type": "timm_wrapper", "architecture": "hf-hub:stranger/net"}),
    "encoder and decoder": partial(
        _update, {"model_type": "encoder-decoder", "encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert"}}
    ),
    "activation": partial(_update, {"hidden_act": "__import__('os').system('touch canary')"}),
    "activation path": partial(_update, {"hidden_act": "stranger/act"}),
    "adapters": partial(_update, {"adapters": {"a": "b"}, "peft": {"base_model_name_or_path": "{target}"}}),
    "method names": partial(_update, {"to_dict": "x", "from_dict": 1, "__class__": "x", "__init__": "y", "update": 2}),
    "attribute map": partial(_update, {"attribute_map": {"hidden_size": "hidden_size", "a": "a"}}),
    "dtype": partial(_update, {"dtype": "__class__", "torch_dtype": "load"}),
    "not a configuration": lambda config: config.clear(),
}
INTEGERS = (10**6, 10**7, 10**12, -1, 0)
SIZES: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": (*INTEGERS, 2.5, "12"),
    "hidden_size": (60_000, *INTEGERS),
    "vocab_size": INTEGERS,
    "intermediate_size": INTEGERS,
    "num_attention_heads": INTEGERS,
    "max_position_embeddings": INTEGERS,
    "type_vocab_size": INTEGERS,
    "num_labels": (10**9, 10**6),
    "id2label": ({str(i): "a" for i in range(50_000)}, [1], "x", {"0": "a/b", "x": None}),
    "layer_types": (["full_attention"] * 100_000, "x", [1]),
    "chunk_size_feed_forward": (10**9, -1),
    "pad_token_id": (10**9, -5, "x"),
    "eos_token_id": (10**9, [10**9, 1], -7),
    "layer_norm_eps": (10**30, "x", -1.0),
    "pruned_heads": ({"0": [0, 1], "9": [3]},),
    "problem_type": ("regression", 7),
    "return_dict": (False,),
    "is_decoder": (True,),
    "output_hidden_states": (True,),
    "text_config.num_hidden_layers": (10**8,),
}
FAMILIES = (
    *("roberta", "deberta-v2", "modernbert", "electra", "albert", "xlnet", "longformer", "big_bird", "reformer"),
    *("funnel", "gpt2", "llama", "mixtral", "t5", "bart", "mamba", "perceiver", "canine", "layoutlmv3", "clip"),
)
SCALED = r"layer|hidden|head|vocab|size|dim|num|n_|d_|block|position|expert|window|bucket"


def _family(family: str, size: int, config: Config) -> None:
    """A configuration of another family with every whole number set to `size`, or, for 2, with its defaults."""
    import re

    import transformers

    kept = {"model_type": family, "pad_token_id": 0}
    if size > 2:
        defaults = transformers.AutoConfig.for_model(family).to_dict()
        for key, value in defaults.items():
            if isinstance(value, int) and not isinstance(value, bool) and re.search(SCALED, key):
                kept[key] = size
    config.clear()
    config.update(kept)


def _pickle(names: tuple[str, ...], target: Path) -> None:
    bait = Bait(target.parent / "canary")
    for name in names:
        if name.endswith(".pkl"):
            (target / name).write_bytes(pickle.dumps(bait))
        else:
            torch.save({"a": bait}, target / name)


def _adapter(base: str, target: Path) -> None:
    plant_code(target)
    settings = {"peft_type": "LORA", "base_model_name_or_path": base.format(target), "auto_mapping": AUTO_MAP, "r": 4}
    (target / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    _pickle(("adapter_model.bin",), target)


def _index(names: tuple[str, ...], target: Path, keep: bool = False) -> None:
    _pickle(("pytorch_model.bin",), target)
    if not keep:
        (target / "model.safetensors").rename(target.parent / "outside.safetensors")
    (target / "small.safetensors").write_bytes(
        (target.parent / "outside.safetensors").read_bytes() if not keep else b""
    )
    weights = {f"t{i}": name for i, name in enumerate(names)}
    index = {"metadata": {"total_size": 10**15}, "weight_map": weights}
    (target / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def _sitecustomize(target: Path) -> None:
    plant_code(target)
    for name in ("sitecustomize.py", "transformers.py", "torch.py", "configuration_bert.py", "handler.py", "setup.py"):
        shutil.copy(target / "mine.py", target / name)


BINS = ("pytorch_model.bin", "model.bin", "tf_model.h5", "model.ckpt.index", "training_args.bin", "optimizer.pt")
BESIDE: dict[str, Callable[[Path], None]] = {
    "pickles": partial(_pickle, (*BINS, "config.pkl", "tokenizer.pkl")),
    "an adapter of another": partial(_adapter, "stranger/base"),
    "an adapter of itself": partial(_adapter, "{0}"),
    "an index": partial(_index, ("pytorch_model.bin",), keep=True),
    "modules": _sitecustomize,
}
INSTEAD: dict[str, Callable[[Path], None]] = {
    "pickles": lambda target: (_pickle(BINS, target), (target / "model.safetensors").unlink())[0],
    "index of a pickle": partial(_index, ("pytorch_model.bin", "small.safetensors")),
    "index of files outside": partial(_index, ("../outside.safetensors",)),
    "index of a device": partial(_index, ("/dev/zero",)),
    "index of a number": partial(_index, (7,)),  # type: ignore[arg-type]
}


def _tokenizer(settings: Config, target: Path) -> None:
    plant_code(target)
    path = target / "tokenizer_config.json"
    before = json.loads(path.read_text(encoding="utf-8"))
    after = {**before, **settings}
    _pointed(after, target)
    path.write_text(json.dumps(after), encoding="utf-8")


TOKENIZERS: dict[str, Config] = {
    "auto_map": {"auto_map": {"AutoTokenizer": ["mine.MineTokenizer", "mine.MineTokenizer"]}},
    "auto_map of a class": {"auto_map": {"AutoTokenizer": ["mine.X", None]}, "tokenizer_class": "MineTokenizer"},
    "unknown class": {"tokenizer_class": "os.system"},
    "slow class": {"tokenizer_class": "BertJapaneseTokenizer"},
    "another class": {"tokenizer_class": "T5Tokenizer"},
    "class list": {"tokenizer_class": ["a"]},
    "files elsewhere": {"vocab_file": "/etc/passwd", "tokenizer_file": "/etc/passwd", "merges_file": "/dev/zero"},
    "name": {"name_or_path": "{target}", "_name_or_path": "stranger/x"},
    "length huge": {"model_max_length": 10**30},
    "length negative": {"model_max_length": -5},
    "length text": {"model_max_length": "many"},
    "length none": {"model_max_length": None},
    "tokens": {"pad_token": {"__type": "AddedToken", "content": "x" * 10**6}, "cls_token": 7, "unk_token": None},
    "many tokens": {"additional_special_tokens": [f"<extra{i}>" for i in range(20_000)]},
    "added": {"added_tokens_decoder": {str(10**9): {"content": "film", "special": True}}},
    "template": {"chat_template": "{% for x in range(10**12) %}x{% endfor %}"},
    "backend": {"backend": "mine", "tokenizer_type": "mine", "fix_mistral_regex": True},
    "not an object": {"": None},
}
