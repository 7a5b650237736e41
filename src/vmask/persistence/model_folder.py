"""A model folder: `config.json`, `model.safetensors`, `tokenizer.json`, `README.md`. Never a pickle.

`config.json` is the manifest: it has the names and digests of the other files, and a digest of its own content, so that
any change is detected. It is replaced last. New weights are written beside the old ones under another name
(`model-2.safetensors`), so that the folder holds one complete model at every moment.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import save_file

from vmask import __version__
from vmask._core.files import is_free, left_behind, replacing, sha256, sweep, to_json, write_text
from vmask._core.parsing import read_json, read_text
from vmask.errors import ConfigError, DataError, ModelFolderError, OutputExists, VmaskError, VmaskWarning
from vmask.persistence.model_card import model_card
from vmask.persistence.predictor_io import lacking, read_predictor, stored_probability
from vmask.text.tokenizer_file import LIMIT_BYTES
from vmask.training.run_config import Plan
from vmask.training.trained_model import TrainedModel

FORMAT, UNSIGNED = 3, 1
"""The current format, and the first, without a digest of the configuration; those between are read too."""
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
CARD, REPORT = "README.md", "report.html"
LISTS = ("suspect_labels.csv", "conflicting_labels.csv")
"""Files beside the report, which are removed with it."""
NAMES = {WEIGHTS: (WEIGHTS, "model-2.safetensors"), TOKENIZER: (TOKENIZER, "tokenizer-2.json")}
"""Possible names of a file: a new model is written beside the old one, under the other name."""
GENERATOR, HEAD = "vmask model report", 2000
"""The generator in the head of a report, and how many bytes to search for it."""
CHECKPOINT = "checkpoint"
"""Subfolder with the state of an unfinished training."""
SAVED = "saved"
"""File in it with the digest of the resulting model, written just before that model is saved."""
_KINDS = {
    **dict.fromkeys(("labels", "history"), list),
    **dict.fromkeys(("plan", "params", "data", "about", "sha256"), dict),
    "best_epoch": int,
}
"""Required keys of `config.json` besides its format."""
_FACTS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("text", "label", "dataset", "source", "source_sha256", "dataset_fingerprint"), str),
    **dict.fromkeys(("fingerprint", "encoder", "merging", "skipped", "note", "label_separator"), str),
    **dict.fromkeys(("dev_accuracy", "test_accuracy", "accuracy_before", "accuracy_after"), (int, float)),
    **dict.fromkeys(("test_micro_f1", "test_macro_f1", "seconds", "types", "tokens", "temperature"), (int, float)),
    **dict.fromkeys(("best_epoch", "epochs", "test_n", "train", "dev", "vocabulary", "dim", "cut", "max_tokens"), int),
    **dict.fromkeys(("notes", "vectors", "missing", "hidden", "shown", "only", "unknown"), list),
    **dict.fromkeys(("coverage", "edits", "cost", "calibration", "abstention", "on_dev", "on_test"), dict),
    **dict.fromkeys(("split", "label_bins"), dict),
}
"""Types of the facts about data and training; other keys may have any value."""
_UNKNOWN: dict[str, dict[str, Any]] = {
    "words": {"train": 0, "dev": 0, "vocabulary": 0, "vectors": [], "dim": 0, "coverage": None},
    "pieces": {
        **dict.fromkeys(("train", "dev", "vocabulary", "max_tokens", "cut"), 0),
        "encoder": "unknown",
        "coverage": None,
    },
}
"""Defaults for facts about the data that older folders lack."""
_NOT_SIGNED = ("digest", "report")
LOAD_ATTEMPTS = 20
"""How often a folder is read again that is replaced while it is read."""


def check_free(path: Path, overwrite: bool = False, resume: bool = False) -> None:
    """Check that a model can be saved to a folder, before any work is done.

    Raises:
        OutputExists: if the folder is in use, with what to do.
    """
    if is_free(path):
        return
    unfinished, finished = (path / CHECKPOINT).is_dir(), (path / CONFIG).exists()
    if not unfinished and not finished:
        raise OutputExists(f"{path} exists and holds other files than a model. Choose another folder.")
    if overwrite or (unfinished and resume and not finished) or (resume and is_trained(path) and lacks_report(path)):
        return
    fix = "Choose another folder, or add --overwrite to replace it."
    if is_trained(path):
        if resume:
            fix = "Its training is finished, there is nothing to resume."
        elif lacks_report(path):
            fix = "Its report is missing: add --resume to write it. Or choose another folder, or add --overwrite."
    elif unfinished:
        fix = "It holds an unfinished training. Add --resume to continue it, or --overwrite to start anew."
        if finished:
            fix = (
                "It holds a model and an unfinished training. Add --overwrite --resume to continue and replace the "
                "model."
            )
    raise OutputExists(f"{path} exists. {fix}")


def is_trained(path: Path) -> bool:
    """Whether a folder holds a model and no unfinished training."""
    if not (path / CONFIG).is_file():
        return False
    if not (path / CHECKPOINT).is_dir():
        return True
    with suppress(OSError, DataError, ModelFolderError):
        return bool(read_config(path).get("digest") == read_text(path / CHECKPOINT / SAVED))
    return False


def lacks_report(path: Path) -> bool:
    """Whether the report of a model is missing or incomplete."""
    if not (path / REPORT).is_file():
        return True
    with suppress(ModelFolderError):
        config = read_config(path)
        return bool(config["format"] != UNSIGNED and "report" not in config)
    return False


def save_model(trained: TrainedModel, path: Path, overwrite: bool = False) -> Path:
    """Write a trained model to a folder. If interrupted, either the old or the new model is complete.

    Raises:
        OutputExists: if the folder holds another model, or other files of these names.
        ModelFolderError: if the disk refuses; no partial files are left.
    """
    predictor = trained.predictor
    old = _manifest(path)
    names = {kind: choices[old["files"].get(kind) == choices[0]] for kind, choices in NAMES.items()}
    in_the_way = [name for name in (CONFIG, WEIGHTS, TOKENIZER, CARD) if (path / name).exists()]
    is_model_folder = (path / CONFIG).exists() or (path / CHECKPOINT).is_dir() or left_behind(path, CONFIG)
    if in_the_way and not is_model_folder:
        raise OutputExists(f"{path} has a {in_the_way[0]} that is not of a model of ours. Choose another folder.")
    if (path / CONFIG).exists() and not overwrite:
        raise OutputExists(f"{path} exists. Choose another folder, or pass overwrite=True (--overwrite).")
    new = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        # Everything is written before anything is renamed, and config.json is renamed last.
        with ExitStack() as stack:
            config, card, tokenizer, weights = (
                stack.enter_context(replacing(path / name)) for name in (CONFIG, CARD, names[TOKENIZER], names[WEIGHTS])
            )
            save_file(predictor.stored_tensors(), weights)
            predictor.save_tokenizer(tokenizer)
            manifest = _signed(_config(trained, names, {WEIGHTS: sha256(weights), TOKENIZER: sha256(tokenizer)}))
            card.write_text(model_card(trained), encoding="utf-8")
            config.write_text(to_json(manifest), encoding="utf-8")
            if (path / CHECKPOINT).is_dir():
                write_text(path / CHECKPOINT / SAVED, manifest["digest"])
    except (OSError, SafetensorError) as error:
        if new:
            with suppress(OSError):
                path.rmdir()
        raise ModelFolderError(
            f"The model could not be saved to {path}: {error}. Free some space or choose another folder; "
            "a checkpoint of the training stays where it was."
        ) from None
    tidy(path)
    return path


def _manifest(path: Path) -> dict[str, Any]:
    """The names of the files of a folder and its report, as far as `config.json` can be read."""
    with suppress(OSError, DataError, TypeError, AttributeError):
        config = read_json(path / CONFIG)
        files = {kind: config.get("files", {}).get(kind, kind) for kind in NAMES}
        return {"files": files, "report": config.get("report")}
    return {"files": {}, "report": None}


def tidy(path: Path) -> None:
    """Remove the files of earlier models and of killed processes from a folder with a complete model."""
    current = _manifest(path)
    for kind, choices in NAMES.items():
        for name in choices:
            if name != current["files"].get(kind, name):
                (path / name).unlink(missing_ok=True)
    if current["report"] is None:
        for name in (*([REPORT] if is_report(path / REPORT) else []), *LISTS):
            (path / name).unlink(missing_ok=True)
    sweep(path)


def is_report(path: Path) -> bool:
    """Whether a file is a report of a model, by its first lines."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return GENERATOR.encode() in stream.read(HEAD)


def _config(trained: TrainedModel, names: dict[str, str], digests: dict[str, str]) -> dict[str, Any]:
    config = {
        "format": FORMAT,
        "vmask": __version__,
        "labels": list(trained.labels),
        "plan": trained.plan.to_dict(),
        "params": dict(trained.params),
        **trained.predictor.stored_config(),
        **stored_probability(trained.predictor),
        "data": trained.data,
        "best_epoch": trained.best_epoch,
        "history": trained.history,
        "about": trained.about,
        "files": names,
        "sha256": digests,
    }
    # Options from a parameter grid may be numpy numbers.
    return dict(json.loads(json.dumps(config, default=lambda v: v.item() if isinstance(v, np.generic) else str(v))))


def digest_of(config: dict[str, Any]) -> str:
    """The sha256 of a model: of its `config.json`, and so of the files whose digests it contains."""
    signed = {key: value for key, value in config.items() if key not in _NOT_SIGNED}
    return hashlib.sha256(json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _signed(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "digest": digest_of(config)}


def folder_digest(config: dict[str, Any]) -> str:
    """The sha256 of a model folder: of the model and its report."""
    whole = [digest_of(config), config.get("report")]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def note_report(path: Path, digest: str | None = None) -> None:
    """Add the digest of a model's report to its manifest, which marks the report as complete.

    Args:
        path: the model folder.
        digest: digest of the reported model.

    Raises:
        ModelFolderError: if the folder holds another model by now.
    """
    config = read_config(path)
    if digest is not None and digest != config.get("digest"):
        raise ModelFolderError(f"Another model was saved to {path} while its report was made. Run vmask show {path}.")
    if config["format"] != UNSIGNED and (path / REPORT).is_file():
        write_text(path / CONFIG, to_json({**config, "report": {"sha256": sha256(path / REPORT)}}))


def read_config(path: Path) -> dict[str, Any]:
    """The `config.json` of a model folder.

    Raises:
        ModelFolderError: if it is missing or damaged, with what to do.
    """
    if path.is_file():
        raise ModelFolderError(f"{path} is a file. Give the folder that `vmask train` wrote.")
    if not path.is_dir():
        raise ModelFolderError(f"There is no model folder {path}. Make one with: vmask train DATA --out {path}")
    if not (path / CONFIG).is_file():
        hint = "A model folder has a config.json; is this the right path?"
        if (path / CHECKPOINT).is_dir():
            hint = "Its training is unfinished: add --resume to the `vmask train` command that began it."
        raise ModelFolderError(f"{path} is not a complete model folder. {hint}")
    try:
        config = read_json(path / CONFIG)
        _refuse_other_folders(path, config)
        number = config["format"]
    except (DataError, TypeError, KeyError, OSError):
        raise ModelFolderError(f"{path / CONFIG} is damaged: it is not our JSON. Copy the model folder anew.") from None
    if number not in range(UNSIGNED, FORMAT + 1):
        raise ModelFolderError(
            f"{path} has format {number!r:.20}; this version of vmask reads format {FORMAT}. "
            "Install the vmask that wrote it "
            f"({config.get('vmask', 'unknown')!s:.20}), or train the model again."
        )
    if number != UNSIGNED and config.get("digest") != digest_of(config):
        raise ModelFolderError(f"{path / CONFIG} is not what was saved: it was edited or damaged. Copy it anew.")
    bad = [key for key, kind in _KINDS.items() if not isinstance(config.get(key), kind)] + lacking(config)
    if not bad:
        bad = [key for key in ("about", "data") if not _has_valid_facts(config[key])]
        if not all(map(_is_epoch, config["history"])):
            bad.append("history")
        if not 1 <= config["best_epoch"] <= len(config["history"]):
            bad.append("best_epoch")
    if bad:
        raise ModelFolderError(f"{path / CONFIG} is damaged: it has no usable {bad[0]!r}. Copy the model folder anew.")
    return dict(config)


def _is_epoch(row: Any) -> bool:
    """Whether this is a row of a history."""
    if not isinstance(row, dict) or any(isinstance(value, (dict, list)) for value in row.values()):
        return False
    return all(isinstance(row.get(key), (int, float)) for key in ("epoch", "loss", "dev_accuracy"))


def _has_valid_facts(facts: dict[str, Any]) -> bool:
    """Whether facts have the types that messages and reports expect."""
    for key, kind in _FACTS.items():
        value = facts.get(key)
        if value is None:
            continue
        if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
            return False
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            return False
        if isinstance(value, dict) and not _has_valid_facts(value):
            return False
    return True


def _refuse_other_folders(path: Path, config: Any) -> None:
    """Raise an error for an export or an encoder, which have a `config.json` too."""
    if not isinstance(config, dict) or "format" in config:
        return
    if "export" in (config.get("vmask") or {}):
        raise ModelFolderError(
            f"{path} is an export, for programs without vmask: its README.md says how to run it. Give the model folder "
            "that it was exported from."
        )
    if "model_type" in config:
        raise ModelFolderError(f"{path} is an encoder, not a trained model. Train it: vmask train DATA --model {path}")


def check_files(path: Path, config: dict[str, Any]) -> dict[str, Path]:
    """The files of a model folder by kind, checked against the manifest.

    Raises:
        ModelFolderError: for a file that is missing, truncated or changed.
    """
    files = {}
    for kind, choices in NAMES.items():
        name = config["files"].get(kind) if isinstance(config.get("files"), dict) else kind
        if name not in choices:
            raise ModelFolderError(f"{path / CONFIG} is damaged: it names no {kind}. Copy the model folder anew.")
        files[kind] = path / name
        if not files[kind].is_file():
            raise ModelFolderError(f"{path} lacks {name}. Copy the whole model folder.")
        most = _memory() if kind == WEIGHTS else LIMIT_BYTES
        if (size := files[kind].stat().st_size) > most:
            raise ModelFolderError(
                f"{path / name} has {size / 1e9:,.1f} GB, at most {most / 1e9:,.1f} GB can be read here. Copy it anew."
            )
        if sha256(files[kind]) != config["sha256"].get(kind):
            raise ModelFolderError(f"{path / name} is not the file that was saved: truncated or changed. Copy it anew.")
    if config["format"] == UNSIGNED:
        _warn(f"{path} is of an older format, in which an edit of its config.json is not noticed. Save it again.")
    elif (path / REPORT).is_file() and not _is_unchanged(path / REPORT, config.get("report")):
        _warn(f"{path / REPORT} was changed since it was written. `vmask show {path}` writes it anew.")
    return files


def _is_unchanged(report: Path, recorded: Any) -> bool:
    small = report.stat().st_size <= LIMIT_BYTES
    return small and isinstance(recorded, dict) and sha256(report) == recorded.get("sha256")


def _memory() -> int:
    """Bytes of memory of this machine, or a large number if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 40


def _warn(message: str) -> None:
    warnings.warn(message, VmaskWarning, stacklevel=6)


def load_model(path: Path, device: str = "auto") -> TrainedModel:
    """Read a model folder.

    Raises:
        ModelFolderError: if a file is missing, truncated, changed, or of another format.
    """
    for _ in range(LOAD_ATTEMPTS):
        config = read_config(path)
        try:
            return _load(path, config, device)
        except ModelFolderError:
            if read_config(path) == config:  # otherwise another model was saved meanwhile
                raise
    raise ModelFolderError(f"{path} is being replaced again and again. Wait until that is done.")


def _load(path: Path, config: dict[str, Any], device: str) -> TrainedModel:
    files = check_files(path, config)
    try:
        plan = Plan.from_dict(config["plan"])
        predictor = read_predictor(plan, config, files[TOKENIZER], files[WEIGHTS], device)
        unknown = _UNKNOWN["pieces" if plan.reads_pieces else "words"]
        return TrainedModel(
            params=config["params"],
            plan=plan,
            predictor=predictor,
            labels=config["labels"],
            data={**unknown, **config["data"]},
            history=config["history"],
            best_epoch=config["best_epoch"],
            about=config["about"],
        )
    except (ModelFolderError, ConfigError) as error:
        raise damaged(path, error) from None
    except VmaskError:
        raise
    except Exception as error:  # anything that the libraries raise for files of unknown origin
        raise damaged(path, error) from None


def damaged(path: Path, error: BaseException) -> ModelFolderError:
    """The error for an unreadable folder, with the reason."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ModelFolderError(f"{path} is damaged: {reason:.200}. Copy it anew, or train again.")
