"""Explain many texts by any method, in bounded memory: the entry point of Python and of the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from vmask._core.ordered_map import map_in_order
from vmask.config import ExplainConfig, WorkersConfig, make
from vmask.data.frames import as_texts
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation
from vmask.inference.black_box import BlackBox
from vmask.inference.contract import Predictor
from vmask.text.words import chunks

CHUNK = 32
"""Maximum number of texts explained together by one thread. The batch may change the last digit of a score."""
SLOW_ROWS = 2048
"""Perturbations that suffice to fill the batches of a slow model; more texts would only delay the first result."""
TYPICAL_WORDS = 20


def explain_texts(
    model: Any,
    texts: Iterable[str],
    method: str = "lime",
    *,
    target: Any = None,
    seed: int = 0,
    hide: str | None = None,
    labels: Sequence[Any] | None = None,
    batch_size: int | None = None,
    workers: int = 1,
    **options: Any,
) -> Iterator[Explanation]:
    """Explain texts as a stream; memory depends on neither the number of texts nor of samples.

    Args:
        model: a `TextClassifier`; a function from a list of texts to (N, C) probabilities; or an object with such a
            method `predict_proba`, like a scikit-learn pipeline.
        texts: any iterable of texts; or a single text.
        method: `lime`, `shapley`, `occlusion`, …, see `vmask ls explainers`.
        target: label to explain, or a list with one label per text; by default the predicted label of each text.
        seed: random seed of the method.
        hide: how words are hidden: `remove` (the default), `zero`, `unk` or `mask`.
        labels: the classes of a function, in the order of its columns.
        batch_size: maximum number of perturbed texts per call of the model.
        workers: number of threads that explain texts in parallel; a plain function is called from all of them. torch
            divides its threads among them until the last text is done.
        options: options of the method, e.g. `samples=5000`.

    Raises:
        ConfigError: for invalid options, before the first text is read.
    """
    predictor = as_predictor(model, labels)
    kind = EXPLAINERS.get(method)
    if kind.needs and not hasattr(predictor, kind.needs):
        raise ConfigError(f"method={method} looks into the model, and this one is a plain function. Use method=lime.")
    if hide is not None and not kind.hides:
        raise ConfigError(f"method={method} hides no words. Leave hide out.")
    explainer = kind(make(kind.Options, options))
    explainer.name = method
    config = make(ExplainConfig, {"seed": seed, "hide": hide, "batch_size": batch_size})
    threads = make(WorkersConfig, {"workers": workers}).workers or 1
    hidden_by = config.hide or "remove"
    if kind.hides:
        predictor.predict_kept([], [], hidden_by)  # raises ConfigError if the model cannot hide words in this way
    if config.batch_size is not None:
        predictor = predictor.batched(config.batch_size)
    numbers = _numbers(target, predictor)

    def explain_chunk(start: int, chunk: list[str]) -> Iterator[Explanation]:
        docs = predictor.prepare(chunk)
        return explainer.explain(predictor, docs, numbers(start, len(docs)), config.seed, hidden_by)

    about = getattr(model, "about_", {})
    strings = checked([texts] if isinstance(texts, str) else as_texts(texts, about.get("text")))
    return _in_order(explain_chunk, strings, at_once(predictor, explainer), threads)


def at_once(model: Any, explainer: Explainer) -> int:
    """Number of texts explained together: enough to share batches, few enough to get first results soon."""
    if getattr(as_predictor(model), "quick", False):
        return CHUNK
    return max(min(SLOW_ROWS // explainer.rows(TYPICAL_WORDS), CHUNK), 1)


def _numbers(target: Any, predictor: Predictor) -> Callable[[int, int], list[int] | None]:
    """A function of `start` and `count` that gives the class numbers to explain for these texts."""
    target = target.tolist() if hasattr(target, "tolist") else target  # an array or a column of a table
    if target is None:
        return lambda start, count: None
    if isinstance(target, (list, tuple)):
        each = [number_of(label, predictor.labels) for label in target]

        def slice_of(start: int, count: int) -> list[int]:
            if start + count > len(each):
                raise DataError(f"There are {len(each)} targets and more texts. Give a target for every text.")
            return each[start : start + count]

        return slice_of
    number = number_of(target, predictor.labels)
    return lambda start, count: [number] * count


def as_predictor(model: Any, labels: Sequence[Any] | None = None) -> Any:
    """The predictor of a model, through which explainers use it.

    Raises:
        ConfigError: for something that is not a model.
    """
    if hasattr(model, "predict_kept") or hasattr(model, "predictor_"):
        if labels is not None:
            raise ConfigError("labels is for plain functions; this model knows its own. Leave labels out.")
        predictor = getattr(model, "predictor_", model)
        if lacking := [
            name
            for name in ("task", "hides", "ranks_words", "has_gradients", "predict_texts")
            if not hasattr(predictor, name)
        ]:
            raise ConfigError(
                f"{type(predictor).__name__} has no `{lacking[0]}`, which a predictor has. Derive it from "
                "vmask.inference.contract.BasePredictor."
            )
        return predictor
    if hasattr(model, "predict_proba"):
        return BlackBox(model.predict_proba, getattr(model, "classes_", None) if labels is None else labels)
    if callable(model):
        return BlackBox(model, labels)
    raise ConfigError(
        f"{type(model).__name__} is no model that can be explained. Give a fitted TextClassifier, something with "
        "predict_proba, or a function from a list of texts to probabilities."
    )


def number_of(target: Any, labels: Sequence[Any]) -> int:
    """The number of a label, given as itself or as a string.

    Raises:
        UnknownName: if there is no such label.
    """
    if target in labels:
        return list(labels).index(target)
    names = [str(label) for label in labels]
    if str(target) not in names:
        raise UnknownName("label", str(target), names)
    return names.index(str(target))


def checked(texts: Iterable[str]) -> Iterator[str]:
    """The texts, one by one.

    Raises:
        DataError: if one is not a string.
    """
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"Text number {number} (counted from 0) is {text!r}, of type {type(text).__name__}. Give strings."
            )
        yield text


def _in_order(
    job: Callable[[int, list[str]], Iterator[Explanation]], texts: Iterable[str], size: int, workers: int
) -> Iterator[Explanation]:
    """Results of all texts in their order, computed by `workers` threads in batches of `size` texts."""
    if workers == 1:
        for number, chunk in enumerate(chunks(texts, size)):
            yield from job(number * size, chunk)
        return
    with _shared_cores(workers):
        pool = ThreadPoolExecutor(workers)
        jobs = ((number * size, chunk) for number, chunk in enumerate(chunks(texts, size)))
        try:
            for explanations in map_in_order(lambda each: pool.submit(lambda: list(job(*each))), jobs, workers + 1):
                yield from explanations
        finally:
            pool.shutdown(cancel_futures=True)  # a caller that stops early waits only for running batches


@contextmanager
def _shared_cores(workers: int) -> Iterator[None]:
    """Divide torch's threads among the workers. Several such contexts may be open, and end in any order."""
    with _SHARING.lock:
        if not _SHARING.users:
            _SHARING.threads = torch.get_num_threads()
        _SHARING.users += 1
        torch.set_num_threads(max(_SHARING.threads // workers, 1))
    try:
        yield
    finally:
        with _SHARING.lock:
            _SHARING.users -= 1
            if not _SHARING.users:
                torch.set_num_threads(_SHARING.threads)


@dataclass
class _Sharing:
    """Number of open contexts of `_shared_cores`, and torch's number of threads before the first."""

    users: int = 0
    threads: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)


_SHARING = _Sharing()
