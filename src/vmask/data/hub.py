"""Datasets of the Hugging Face hub, by the `datasets` package if it is installed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

from vmask.data.card import Hub
from vmask.errors import AssetError, DataError, MissingExtra

SECONDS_TO_ANSWER = 10
"""Seconds after which the hub counts as unreachable."""

_FIX = "Download it on another machine and point --data-dir (or VMASK_DATA) at the folder that has it."


def hub_rows(hub: Hub | str, probe: bool = True) -> dict[str, Iterator[dict[str, Any]]]:
    """The rows of every split of a hub dataset, with the names of labels in place of their codes.

    Args:
        hub: the entry of a card, or just the id.
        probe: check first whether the hub can be reached, so that being offline is noticed at once.

    Raises:
        MissingExtra: if `datasets` is not installed.
        AssetError: if the hub or the dataset is not available.
        DataError: if the labels are codes without names.
    """
    if importlib.util.find_spec("datasets") is None:
        raise MissingExtra("Loading a dataset from the Hugging Face hub", "hub")
    id = hub if isinstance(hub, str) else hub.id
    if probe and os.environ.get("HF_HUB_OFFLINE", "0") in ("", "0"):
        _probe(id)
    import datasets

    datasets.disable_progress_bars()
    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # older versions would offer to run a dataset's code
    try:
        loaded = datasets.load_dataset(id)
    except Exception as error:  # the package raises errors of a dozen kinds
        raise AssetError(f"The hub dataset '{id}' cannot be loaded: {_first_line(error)}. {_FIX}") from None
    if isinstance(hub, Hub):
        _check_names(hub, loaded)
    return {name: _named(split) for name, split in loaded.items() if name != "unsupervised"}


def _probe(id: str) -> None:
    """Ask the hub for the dataset once: the package itself retries for minutes."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info(id, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # offline, unknown name, private: the message says which
        raise AssetError(f"The hub dataset '{id}' cannot be had: {_first_line(error)}. {_FIX}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().partition("\n")[0] or type(error).__name__).rstrip(".")


def _check_names(hub: Hub, loaded: Any) -> None:
    """Refuse label codes without names: their order cannot be known."""
    for split in loaded.values():
        feature = split.features.get(hub.label)
        if feature is not None and not hasattr(feature, "names") and feature.dtype not in ("string", "large_string"):
            raise DataError(
                f"The labels of the hub dataset '{hub.id}' are numbers without names, which vmask's card "
                f"does not expect: the dataset was changed there. {_FIX}"
            )


def _named(split: Any) -> Iterator[dict[str, Any]]:
    names = {column: kind.names for column, kind in split.features.items() if hasattr(kind, "names")}
    for row in split:
        for column, labels in names.items():
            code = row[column]
            row[column] = labels[code] if code is not None and code >= 0 else None  # -1: the label is not published
        yield row
