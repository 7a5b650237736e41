"""Pretrained encoders, such as BERT: where they are, how they are loaded, which one it was.

An encoder is named by `minilm` (fetched once from the package index), by a local folder as `save_pretrained` of
transformers writes it, or by its name on the Hugging Face hub. Loading runs no code that comes with an encoder and
reads weights from safetensors alone. transformers is imported when something is loaded, not before.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vmask.data.assets import ENCODERS, fetch
from vmask.errors import AssetError, ConfigError, FileMissing, MissingExtra, ModelFolderError, did_you_mean
from vmask.files import sha256

__all__ = [
    "ENCODERS",
    "download",
    "encoder_digest",
    "is_encoder_name",
    "load_encoder",
    "load_encoder_config",
    "load_pretrained",
    "load_tokenizer",
    "locate_encoder",
    "network_of",
    "public_name",
    "quiet",
]

_DIGESTED = ("config.json", "model*.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.*", "merges.txt")
"""What the answers of an encoder depend on."""
_FIX = f"Give the folder of an encoder with its tokenizer, a name on the Hugging Face hub, or {' or '.join(ENCODERS)}."


def is_encoder_name(name: str) -> bool:
    """Whether a name can only be meant as an encoder: `minilm`, a folder, a path, or a name of the hub.

    A name without a slash is taken for one of the hub where it has a hyphen, so that a typo such as `cmn` is not.
    Nothing is fetched to find out. A folder may be called `cnn`: ask for registered names first.

    >>> [is_encoder_name(name) for name in ("minilm", "bert-base-uncased", "./mine", "cmn")]
    [True, True, True, False]
    """
    if name in ENCODERS or "/" in name or os.sep in name or re.fullmatch(r"[\w.]+(-[\w.]+)+", name):
        return True
    return bool(name) and Path(name).expanduser().is_dir()


def locate_encoder(name: str) -> str:
    """What transformers is to load: the path of a folder, or the name on the hub as it is.

    Raises:
        FileMissing: for a path that does not exist.
        ModelFolderError: for a folder that holds no encoder.
        AssetError: where `minilm` is not in the cache and cannot be fetched.
    """
    if name in ENCODERS:
        return str(fetch(name))
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelFolderError(f"The folder '{name}' has no config.json, so it is no encoder. {_FIX}")
        if '"best_epoch"' in (path / "config.json").read_text(encoding="utf-8", errors="replace"):
            raise ModelFolderError(
                f"'{name}' is a model that vmask trained. To start from it, give its encoder to --model and this "
                "folder to --init-from."
            )
        return str(path)
    if name.startswith((".", "/", "~")) or path.is_absolute() or path.is_file():
        raise FileMissing(f"There is no encoder folder '{name}'. {_FIX}")
    return name


def public_name(name: str) -> str:
    """The name that a model card tells: where on a disk a folder lay is nobody's business."""
    path = Path(name).expanduser()
    if name not in ENCODERS and path.is_dir():
        return path.resolve().name
    return path.name if name.startswith((".", "/", "~")) or path.is_absolute() else name  # it may be gone by now


def load_pretrained(kind: str, name: str, **options: Any) -> Any:
    """Load by an auto class of transformers.

    Args:
        kind: such as `AutoModel`, `AutoTokenizer` or `AutoConfig`.
        name: see `locate_encoder`.
        options: passed on to `from_pretrained`.

    Raises:
        MissingExtra: without transformers.
        ModelFolderError: for a folder that cannot be loaded.
        AssetError: for a name of the hub that cannot be loaded.
    """
    if find_spec("transformers") is None:
        raise MissingExtra("An encoder", "encoders")
    location = locate_encoder(name)
    import transformers

    if kind.startswith("AutoModel"):
        options.setdefault("use_safetensors", True)  # the other form is a pickle
    try:
        with quiet():
            return getattr(transformers, kind).from_pretrained(location, trust_remote_code=False, **options)
    except Exception as error:  # OSError and ValueError mostly; a broken tokenizer.json raises a bare Exception
        raise _cannot_be_loaded(name, location, error) from error


def load_tokenizer(name: str) -> Any:
    """The encoder's own tokenizer.

    Raises:
        ConfigError: where it cannot tell which characters a piece stands for.
    """
    tokenizer = load_pretrained("AutoTokenizer", name)
    if not tokenizer.is_fast:
        raise ConfigError(
            f"The encoder '{name}' has no fast tokenizer. Words are found in a text by the offsets of their pieces, "
            "which only fast tokenizers tell. Choose an encoder with a tokenizer.json."
        )
    return tokenizer


def load_encoder_config(name: str) -> Any:
    """The encoder's configuration: its kind and sizes."""
    return load_pretrained("AutoConfig", name)


def load_encoder(name: str) -> Any:
    """The encoder without a head, in float32 and in eval mode."""
    return load_pretrained("AutoModel", name).float().eval()


def network_of(config: dict[str, Any], classes: int) -> Any:
    """An encoder with a classification head and fresh weights, from what `config.to_dict()` of transformers gave.

    Raises:
        MissingExtra: without transformers.
        ValueError: for a configuration of a kind that transformers does not know.
    """
    if find_spec("transformers") is None:
        raise MissingExtra("An encoder", "encoders")
    import transformers

    values = {key: value for key, value in config.items() if key not in ("model_type", "dtype", "torch_dtype")}
    built = transformers.AutoConfig.for_model(config["model_type"], **{**values, "num_labels": classes})
    with quiet():
        return transformers.AutoModelForSequenceClassification.from_config(built).float()  # type: ignore[no-untyped-call]


def encoder_digest(name: str) -> str:
    """The sha256 over weights, configuration and tokenizer. What it is called and where it lies make no difference.

    Raises:
        ModelFolderError: where there are no weights, or none in safetensors.
        AssetError: for a name of the hub that is neither in the cache of the hub nor to be had.
    """
    folder = _folder(name)
    files = sorted({path for pattern in _DIGESTED for path in folder.glob(pattern)}, key=lambda path: path.name)
    if not any(path.suffix == ".safetensors" for path in files):
        raise ModelFolderError(
            f"The encoder '{name}' has no model.safetensors. Load it with transformers and write it anew: "
            "save_pretrained makes that file."
        )
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def _folder(name: str) -> Path:
    """The folder of an encoder; one of the hub is fetched into the hub's own cache."""
    return download(locate_encoder(name), _DIGESTED)


def download(name: str, patterns: Sequence[str]) -> Path:
    """A local folder as it is; a name of the hub as a folder in the hub's own cache, with the files of these patterns.

    Raises:
        AssetError: for a name that cannot be had.
    """
    path = Path(name).expanduser()
    if path.exists() or name.startswith((".", "/", "~")) or path.is_absolute() or name.count("/") > 1:
        return path
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("The Hugging Face hub", "encoders")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(patterns)))
    except Exception as error:  # of the hub, of the connection, or ValueError for an impossible name
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
    """Keep transformers' report and bar of every loading off the screen; the bars of downloads stay."""
    noise: Any = import_module("transformers.utils.logging")  # neither module is typed
    hub: Any = import_module("huggingface_hub.utils")
    verbosity, bar, silent = noise.get_verbosity(), noise.is_progress_bar_enabled(), hub.are_progress_bars_disabled()
    noise.set_verbosity_error()
    noise.disable_progress_bar()
    if not silent:
        hub.enable_progress_bars()  # the line before switched these off too
    try:
        yield
    finally:
        noise.set_verbosity(verbosity)
        if bar:
            noise.enable_progress_bar()
