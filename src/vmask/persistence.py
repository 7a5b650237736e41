"""A model folder: `config.json`, `model.safetensors`, `tokenizer.json`, `README.md`. Never a pickle."""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import save_file

from vmask import __version__
from vmask.errors import ModelFolderError, OutputExists, VmaskError
from vmask.files import is_free, replacing, sha256, to_json
from vmask.model_card import model_card
from vmask.plan import Plan
from vmask.stored import facts_of, lacking, read_predictor, save_tokenizer, tensors_of

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
CHECKPOINT = "checkpoint"
"""Folder inside a model folder where an unfinished training keeps its state."""
_KINDS = {
    **dict.fromkeys(("labels", "history"), list),
    **dict.fromkeys(("plan", "params", "data", "about", "sha256"), dict),
    "best_epoch": int,
}
"""What `config.json` must have besides its format."""


def check_free(path: Path, overwrite: bool = False, resume: bool = False) -> None:
    """Refuse a folder that has something in it, before any work is done.

    Raises:
        OutputExists: with the ways out.
    """
    if is_free(path):
        return
    unfinished, finished = (path / CHECKPOINT).is_dir(), (path / CONFIG).exists()
    if not unfinished and not finished:
        raise OutputExists(f"{path} exists and holds other files than a model. Choose another folder.")
    if overwrite or (unfinished and resume and not finished):
        return
    fix = "Choose another folder, or add --overwrite to replace it."
    if resume:
        fix = "Its training is finished, there is nothing to resume."
    if unfinished:
        fix = "It holds an unfinished training. Add --resume to continue it, or --overwrite to start anew."
    if unfinished and finished:
        fix = "It holds a model and an unfinished training. Add --overwrite --resume to continue and replace the model."
    raise OutputExists(f"{path} exists. {fix}")


def save_classifier(classifier: TextClassifier, path: Path, overwrite: bool = False) -> Path:
    """Write a fitted classifier to a folder; `config.json` comes last, so a folder that has it is complete.

    Raises:
        OutputExists: where the folder holds another model, or other files of these names.
        ModelFolderError: where the disk refuses; nothing half-written is left.
    """
    predictor = classifier._predictor()
    in_the_way = [name for name in (CONFIG, WEIGHTS, TOKENIZER, CARD) if (path / name).exists()]
    if in_the_way and not (path / CONFIG).exists():
        raise OutputExists(f"{path} has a {in_the_way[0]} that is not of a model of ours. Choose another folder.")
    if in_the_way and not overwrite:
        raise OutputExists(f"{path} exists. Choose another folder, or pass overwrite=True (--overwrite).")
    new = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        # Everything is written before anything is renamed, and config.json is renamed last.
        with ExitStack() as stack:
            config, card, tokenizer, weights = (
                stack.enter_context(replacing(path / name)) for name in (CONFIG, CARD, TOKENIZER, WEIGHTS)
            )
            save_file(tensors_of(predictor), weights)
            save_tokenizer(predictor, tokenizer)
            card.write_text(model_card(classifier), encoding="utf-8")
            digests = {WEIGHTS: sha256(weights), TOKENIZER: sha256(tokenizer)}
            config.write_text(to_json(_config(classifier, digests)), encoding="utf-8")
    except (OSError, SafetensorError) as error:
        if new:
            with suppress(OSError):
                path.rmdir()
        raise ModelFolderError(
            f"The model could not be saved to {path}: {error}. Free some space or choose another folder; "
            "a checkpoint of the training stays where it was."
        ) from None
    return path


def _config(classifier: TextClassifier, digests: dict[str, str]) -> dict[str, Any]:
    config = {
        "format": FORMAT,
        "vmask": __version__,
        "labels": classifier.classes_.tolist(),
        "plan": classifier.plan_.to_dict(),
        "params": classifier.get_params(),
        **facts_of(classifier.predictor_),
        "data": classifier.data_,
        "best_epoch": classifier.best_epoch_,
        "history": classifier.history_,
        "about": classifier.about_,
        "sha256": digests,
    }
    # Options may be numpy numbers, from a parameter grid.
    return dict(json.loads(json.dumps(config, default=lambda v: v.item() if isinstance(v, np.generic) else str(v))))


def read_config(path: Path) -> dict[str, Any]:
    """The `config.json` of a model folder.

    Raises:
        ModelFolderError: saying what is wrong and what to do.
    """
    if path.is_file():
        raise ModelFolderError(f"{path} is a file. Give the folder that `vmask train` wrote.")
    if not path.is_dir():
        raise ModelFolderError(f"There is no model folder {path}. Make one with: vmask train DATA --out {path}")
    if not (path / CONFIG).is_file():
        hint = "Its training is unfinished: add --resume to the `vmask train` command that began it."
        other = "A model folder has a config.json; is this the right path?"
        raise ModelFolderError(
            f"{path} is not a complete model folder. {hint if (path / CHECKPOINT).is_dir() else other}"
        )
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        _refuse_others(path, config)
        number = config["format"]
    except (ValueError, TypeError, KeyError, OSError):
        raise ModelFolderError(f"{path / CONFIG} is damaged: it is not our JSON. Copy the model folder anew.") from None
    if number != FORMAT:
        raise ModelFolderError(
            f"{path} has format {number!r}; this version of vmask reads format {FORMAT}. "
            "Install the vmask that wrote it "
            f"({config.get('vmask', 'unknown')}), or train the model again."
        )
    if bad := [key for key, kind in _KINDS.items() if not isinstance(config.get(key), kind)] + lacking(config):
        raise ModelFolderError(f"{path / CONFIG} is damaged: it has no usable {bad[0]!r}. Copy the model folder anew.")
    return dict(config)


def _refuse_others(path: Path, config: Any) -> None:
    """Say what a folder is that has a `config.json` and is no model folder."""
    if not isinstance(config, dict) or "format" in config:
        return
    if "export" in (config.get("vmask") or {}):
        raise ModelFolderError(
            f"{path} is an export, for programs without vmask: its README.md says how to run it. Give the model folder "
            "that it was exported from."
        )
    if "model_type" in config:
        raise ModelFolderError(f"{path} is an encoder, not a trained model. Train it: vmask train DATA --model {path}")


def load_classifier(path: Path, device: str = "auto") -> TextClassifier:
    """Read a model folder.

    Raises:
        ModelFolderError: where a file is missing, truncated, changed, or of another format.
    """
    from vmask.classifier import TextClassifier

    config = read_config(path)
    for name in (WEIGHTS, TOKENIZER):
        if not (path / name).is_file():
            raise ModelFolderError(f"{path} lacks {name}. Copy the whole model folder.")
        if sha256(path / name) != config["sha256"].get(name):
            raise ModelFolderError(f"{path / name} is not the file that was saved: truncated or changed. Copy it anew.")
    try:
        plan = Plan.from_dict(config["plan"])
        predictor = read_predictor(plan, config, path / TOKENIZER, path / WEIGHTS, device)
        classifier = TextClassifier(**config["params"])
        classifier.plan_, classifier.data_ = plan, config["data"]
        classifier.history_, classifier.best_epoch_ = config["history"], config["best_epoch"]
        classifier.about_ = config["about"]
    except VmaskError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise ModelFolderError(f"{path} is damaged: {reason:.200}. Copy it anew, or train again.") from None
    classifier.classes_ = np.array(config["labels"])
    classifier.predictor_ = predictor
    return classifier
