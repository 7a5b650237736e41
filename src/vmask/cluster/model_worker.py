"""A process of a cluster that holds models and does work by them."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from vmask import __version__
from vmask.cluster.connection import import_ray
from vmask.errors import ConfigError, VmaskError

if TYPE_CHECKING:
    from vmask.cluster.parcels import Parcel


class ModelWorker:
    """Becomes an actor of Ray. Errors of the user are returned, as Ray would wrap what is raised."""

    def __init__(self) -> None:
        self._models: list[Any] = []
        self._begun: dict[int, Callable[[Any], Any]] = {}
        self._settings = ExitStack()

    def load(self, version: str, parcels: Sequence[Parcel], device: str, batch_size: int | None) -> VmaskError | None:
        """Load the models, once.

        Args:
            version: version of vmask in the process that wants the work done.
            parcels: the model folders.
            device: where to compute.
            batch_size: maximum number of texts computed at a time; None for that of the models.
        """
        if version != __version__:
            return ConfigError(
                f"The machine {platform.node()} of the cluster has vmask {__version__}, this one has {version}. "
                "Install the same version on both."
            )
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a worker has one core

        from vmask.inference.threads import single_threaded
        from vmask.persistence.model_folder import load_model

        self._settings.enter_context(single_threaded())
        try:
            self._models = [load_model(parcel.unpacked(), device).predictor for parcel in parcels]
        except VmaskError as error:
            return error
        if batch_size is not None:
            self._models = [predictor.batched(batch_size) for predictor in self._models]
        return None

    def do(self, number: int, work: Sequence[Any], job: Any) -> Any:
        """Do a job.

        Args:
            number: number of the work, which is begun with its first job.
            work: a list with the reference of the `Work`.
            job: the job.
        """
        try:
            if number not in self._begun:
                self._begun[number] = import_ray().get(work[0]).begin(self._models)
            return self._begun[number](job)
        except VmaskError as error:
            return error
