"""Explain many texts by the workers of a cluster, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vmask.cluster.workers import workers_of
from vmask.config import ExplainConfig, WorkersConfig, make
from vmask.explain.contract import Explanation
from vmask.explain.shards import ExplainWork, explain_shards
from vmask.persistence.model_folder import load_model


def explain_texts(
    folder: str | Path,
    texts: Iterable[str],
    method: str = "lime",
    *,
    workers: int | None = None,
    address: str | None = None,
    device: str = "auto",
    gpus: float | None = None,
    target: Any = None,
    seed: int = 0,
    hide: str | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> Iterator[Explanation]:
    """Explain texts as a stream, like `vmask.explain_texts`, by workers of a Ray cluster.

    The workers are there from the first explanation until the last, or until the iterator is closed.

    Args:
        folder: a model folder, which is sent to the machines.
        texts: any iterable of texts; a bounded number is read ahead.
        method: `lime`, `shapley`, `occlusion`, …, see `vmask ls explainers`.
        workers: number of workers; by default one for each CPU or GPU of the cluster.
        address: `auto` or HOST:PORT; by default that of the variable RAY_ADDRESS, else a cluster of this machine alone.
        device: where the workers compute.
        gpus: GPUs of each worker with `device="cuda"`; by default 1.
        target: label to explain; by default the predicted label of each text.
        seed: random seed of the method.
        hide: how words are hidden; by default `remove`.
        batch_size: maximum number of perturbed texts per call of the model.
        options: options of the method, e.g. `samples=5000`.

    Raises:
        ConfigError: for invalid options, at once; if there is no such cluster, with the first explanation.
        WorkFailed: if the worker of a text dies each time that it is tried.
    """
    config = make(WorkersConfig, {"engine": "ray", "workers": workers, "address": address, "gpus": gpus})
    make(ExplainConfig, {"seed": seed, "hide": hide, "batch_size": batch_size})
    work, model = ExplainWork(method, options, target, seed, hide), load_model(Path(folder), "cpu").predictor
    work.explain(model, ())  # checks the options

    def explanations() -> Iterator[Explanation]:
        with workers_of([Path(folder)], config, device, batch_size) as shared:
            yield from explain_shards(shared.map, work, model, texts)

    return explanations()
