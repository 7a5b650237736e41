"""Where a worker finds datasets, word vectors and encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vmask.data.datasets import Dataset, load_dataset


class Sources(Protocol):
    """What a worker needs beside its job."""

    def dataset(self, name: str) -> Dataset:
        """The dataset of a name."""
        ...

    def located(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options in which the paths of files and folders are those of this machine."""
        ...

    def model(self, name: str) -> str:
        """The name of a model; if it is the path of an encoder, its path on this machine."""
        ...

    def trained(self, name: str) -> Path | None:
        """The folder of a trained model that came along; None if it is where this machine keeps its own."""
        ...


@dataclass(frozen=True)
class LocalSources:
    """Folders of this machine.

    Attributes:
        data_dir: folder of datasets, or None.
        vectors_dir: folder of word vector files, or None.
    """

    data_dir: str | None = None
    vectors_dir: str | None = None

    def dataset(self, name: str) -> Dataset:
        """The dataset of a name."""
        return load_dataset(name, data_dir=self.data_dir)

    def located(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with the folder of word vectors in front of the files that it contains."""
        if options.get("embeddings") is None or self.vectors_dir is None:
            return dict(options)
        return {**options, "embeddings": located(options["embeddings"], self.vectors_dir)}

    def model(self, name: str) -> str:
        """The name itself."""
        return name

    def trained(self, name: str) -> Path | None:
        """None."""
        return None


def located(embeddings: str, folder: str) -> str:
    """Names of vector files, with the folder in front of those that it contains."""
    parts = [part.strip() for part in embeddings.split(",")]
    return ",".join(str(Path(folder) / part) if (Path(folder) / part).is_file() else part for part in parts)
