"""Every number that training, explanations, metrics and exports give on toy data, computed anew.

`python tests/golden_values.py` records them in `golden/values.json`; `test_golden.py` compares. A number that moves
where no change of numbers is meant is a fault; where it is meant, raise the version of what made it and record again.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
import tempfile
import warnings
from functools import cache
from importlib.metadata import version
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch

from tiny_encoders import save_encoder
from toy import BAD, GOOD, toy_texts, write_csv
from vmask import TextClassifier, evaluate, load_dataset
from vmask.config import SplitConfig
from vmask.data.splits import Split
from vmask.errors import VmaskWarning

FILE = Path(__file__).parent / "golden" / "values.json"
MASKS = ("base", "l2", "vmask", "l2x", "iba", "word_dropout", "random_mask", "select")
EXPLAINERS = (
    "mask",
    "lime",
    "shapley",
    "occlusion",
    "integrated_gradients",
    "gradient_x_input",
    "saliency",
    "random",
)
WORD = {"batch_size": 20, "epochs": 4, "learning_rate": 5e-3, "device": "cpu", "seed": 1}
ENCODER = {"batch_size": 20, "epochs": 2, "learning_rate": 1e-3, "device": "cpu", "seed": 1}
TRAININGS = {
    **{f"cnn-{mask}": {"model": "cnn", "mask": mask, "model__filters": 6} for mask in MASKS},
    **{f"lstm-{mask}": {"model": "lstm", "mask": mask, "embeddings": "random"} for mask in MASKS},
    **{f"bert-{mask}": {"model": "bert", "mask": mask} for mask in MASKS},
    "cnn-vmask-paper_code": {"model": "cnn", "mask": "vmask", "preset": "paper_code", "model__filters": 6},
    "cnn-vmask-options": {
        "model": "cnn",
        "mask": "vmask",
        "model__filters": 6,
        "mask__reduction": "sum",
        "mask__sample_per": "type",
        "mask__relaxation": "soft",
        "mask__pi": 0.3,
        "beta_schedule": "cyclic",
        "class_weight": "balanced",
        "accumulate": 2,
        "clip": 0.5,
        "select": "macro_f1",
        "train_embeddings": True,
    },
    "bert-vmask-block": {"model": "bert", "mask": "vmask", "model__placement": "block", "stages": 1},
}
"""By name, the options of a training."""
EXPLAINED = ("cnn-vmask", "lstm-vmask", "bert-vmask")
NOT_RECORDED = ("seconds", "competes", "mask_visible", "excess")
"""Keys of a row of the history that say nothing new, or are never the same."""
TEXTS = ["a lovely film about a small town", "Boring, tedious; the CAST tries hard!", "xyzzy"]


@cache
def folder() -> Path:
    """A folder for what the trainings read, removed at the end of the process."""
    global _kept
    _kept = tempfile.TemporaryDirectory(prefix="vmask-golden-")
    made = Path(_kept.name)
    words = sorted({word.strip(",") for text in toy_texts(200)[0] for word in text.split()} - {"neighbour", ""})
    draw = np.random.default_rng(7)
    lines = [" ".join([word, *(f"{x:.4f}" for x in draw.normal(size=8))]) for word in [*words, "town", "unseen"]]
    (made / "vectors.txt").write_text("\n".join(dict.fromkeys(lines)) + "\n", encoding="utf-8")
    save_encoder("bert", made / "bert")
    return made


@cache
def trained(name: str) -> TextClassifier:
    """One of the trainings."""
    options = dict(TRAININGS[name])
    texts, labels = toy_texts(160)
    if options["model"] in ("cnn", "lstm"):
        common = {**WORD, "embeddings": str(folder() / "vectors.txt")}
    else:
        common = dict(ENCODER)
        options["model"] = str(folder() / options["model"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # so short a training may leave masks alike
        return TextClassifier(**{**common, **options}, duplicates="ignore").fit(texts, labels)


def weights(name: str) -> dict:
    """Final weights as a digest (of one machine) and as sums, what was chosen, and predictions."""
    classifier = trained(name)
    state = sorted(classifier.predictor_.model.state_dict().items())
    digest = hashlib.sha256()
    for key, tensor in state:
        digest.update(f"{key}{tuple(tensor.shape)}".encode() + tensor.contiguous().numpy().tobytes())
    return {
        "digest": digest.hexdigest(),
        "sums": {key: [tensor.double().sum().item(), tensor.double().norm().item()] for key, tensor in state},
        "best_epoch": classifier.best_epoch_,
        "history": [
            {key: value for key, value in row.items() if key not in NOT_RECORDED and value is not None}
            for row in classifier.history_
        ],
        "probabilities": classifier.predict_proba(TEXTS).tolist(),
    }


def explained(name: str) -> dict:
    """Scores of every method; every way of hiding words for one of them; words by importance."""
    classifier = trained(name)
    few = {"lime": {"samples": 60}, "shapley": {"permutations": 10}, "integrated_gradients": {"steps": 8}}
    values = {
        method: [[float(x) for x in one.scores] for one in classifier.explain(TEXTS, method, **few.get(method, {}))]
        for method in EXPLAINERS
    }
    for hide in ("remove", "mask", "zero") if name.startswith("bert") else ("remove", "zero", "unk"):
        values[f"occlusion {hide}"] = [
            [float(x) for x in one.scores] for one in classifier.explain(TEXTS, "occlusion", hide=hide)
        ]
    values["words"] = {word.word: word.score for word in classifier.word_importance()}
    return values


def measured(name: str) -> dict:
    """Every metric with its interval, of two seeds."""
    texts, labels = toy_texts(24, seed=5)
    spans = [
        tuple((at := text.index(word), at + len(word)) for word in (*GOOD, *BAD) if word in text) for text in texts
    ]
    split = Split(texts, labels, [f"t-{i}" for i in range(len(texts))], (), spans)
    other = trained(name.replace("vmask", "iba"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)
        chosen = {"lime": {"samples": 40}, "mask": {}, "occlusion": {}}
        alone = evaluate(trained(name), split, "all", chosen, n=8)
        planted = evaluate(trained(name), split, "shortcut_precision", chosen, n=8, planted=True)
        both = evaluate([trained(name), other], split, "aopc,accuracy,stability", chosen, n=8)
    return {
        f"{models} {one.metric} {one.part} {one.by} {one.hide}".strip(): [one.value, one.low, one.high, one.n]
        for models, evaluation in (("one", alone), ("planted", planted), ("two", both))
        for one in evaluation.scores
    }


def exported() -> dict:
    """A mask that is folded into the vectors of an encoder, and one in an ONNX graph."""
    import onnxruntime
    from safetensors.torch import load_file

    hf, onnx = folder() / "hf", folder() / "onnx"
    trained("bert-vmask").export(hf, "hf")
    trained("cnn-vmask").export(onnx, "onnx")
    table = load_file(hf / "model.safetensors")["bert.embeddings.word_embeddings.weight"].double()
    session = onnxruntime.InferenceSession(next(onnx.glob("*.onnx")))
    ids = np.array([[3, 4, 5, 6, 7]], dtype=np.int64)
    feed = {
        one.name: ids if number == 0 else np.array([5], np.int64) for number, one in enumerate(session.get_inputs())
    }
    return {
        "folded": [table.sum().item(), table.norm().item(), table[7].tolist()],
        "onnx": [np.asarray(one).tolist() for one in session.run(None, feed)],
    }


def held_out() -> dict:
    """Which rows of a table are held out."""
    table = write_csv(folder() / "table.csv", *toy_texts(120, seed=3))
    dataset = load_dataset(str(table), split=SplitConfig(duplicates="ignore"))
    return {name: split.ids for name, split in dataset.splits.items()}


def parts() -> dict:
    """By name, what computes a part of the values."""
    return {
        **{f"weights {name}": lambda name=name: weights(name) for name in TRAININGS},
        **{f"explained {name}": lambda name=name: explained(name) for name in EXPLAINED},
        **{f"measured {name}": lambda name=name: measured(name) for name in EXPLAINED},
        "exported": exported,
        "held out": held_out,
    }


def machine() -> str:
    """The processor, its threads and the libraries: where all are the same, weights repeat to the last bit."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else [platform.processor()]
    keys = ("model name", "cpu family", "model\t", "stepping", "flags")
    processor = sorted({line for line in lines if line.startswith(keys)}) or lines
    digest = hashlib.sha256("\n".join(processor).encode()).hexdigest()[:12]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "transformers", "tokenizers"))
    kind = f"{torch.backends.cpu.get_cpu_capability()}, threads {torch.get_num_threads()}"
    return f"processor {digest} ({kind}), {platform.system()}, {libraries}"


def plain(value):
    """The value as JSON has it; NaN is None."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.9g}")
    return value


def main() -> None:
    """Record all values."""
    values = {name: plain(compute()) for name, compute in parts().items()}
    lines = [f'"machine": {json.dumps(machine())}', *(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in values.items())]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
