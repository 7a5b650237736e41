"""Explanations of many texts by any method, in bounded memory: what Python and the command line both call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch

from vmask.black_box import BlackBox
from vmask.config import ExplainConfig, make
from vmask.data.words import chunks
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explanation

CHUNK = 32
"""Texts that are explained together, by one thread. Their company may decide the last digit of a score."""


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
    """Explain texts one after the other, as they come; memory depends on neither their number nor that of samples.

    Args:
        model: a `TextClassifier`; or a function from a list of texts to (N, C) probabilities; or anything with a
            `predict_proba` that is one, as a scikit-learn pipeline.
        texts: any number of them, they may be a stream; or one text.
        method: `lime`, `shapley`, `occlusion`, …, see `vmask ls explainers`.
        target: label to explain, by default the predicted one of each text.
        seed: of random methods.
        hide: how words are hidden: `remove` (the default), `zero`, `unk` or `mask`.
        labels: the classes of a function, in the order of its columns.
        batch_size: perturbed texts that the model is given at a time, at most.
        workers: threads that explain texts side by side.
        options: of the method, e.g. `samples=5000`.

    Raises:
        ConfigError: for options that cannot work, before the first text is looked at.
    """
    predictor = as_predictor(model, labels)
    kind = EXPLAINERS.get(method)
    if kind.needs and not hasattr(predictor, kind.needs):
        raise ConfigError(f"method={method} looks into the model, and this one is a plain function. Use method=lime.")
    if hide is not None and not kind.hides:
        raise ConfigError(f"method={method} hides no words. Leave hide out.")
    explainer = kind(make(kind.Options, options))
    explainer.name = method
    asked = make(ExplainConfig, {"seed": seed, "hide": hide, "batch_size": batch_size, "workers": workers})
    hidden_by = asked.hide or "remove"
    if kind.hides:
        predictor.predict_kept([], [], hidden_by)  # a model that cannot hide words in this way says so now
    if asked.batch_size is not None:
        predictor = predictor.batched(asked.batch_size)
    number = None if target is None else number_of(target, predictor.labels)

    def explain_chunk(chunk: list[str]) -> list[Explanation]:
        docs = predictor.prepare(chunk)
        targets = None if number is None else [number] * len(docs)
        return list(explainer.explain(predictor, docs, targets, asked.seed, hidden_by))

    return _in_order(explain_chunk, checked([texts] if isinstance(texts, str) else texts), asked.workers)


def as_predictor(model: Any, labels: Sequence[Any] | None = None) -> Any:
    """What explainers may know of a model.

    Raises:
        ConfigError: for something that is no model.
    """
    if hasattr(model, "predict_kept"):
        return model
    if hasattr(model, "predictor_"):
        return model.predictor_
    if hasattr(model, "predict_proba"):
        return BlackBox(model.predict_proba, getattr(model, "classes_", None) if labels is None else labels)
    if callable(model):
        return BlackBox(model, labels)
    raise ConfigError(
        f"{type(model).__name__} is no model that can be explained. Give a fitted TextClassifier, or a function from a "
        "list of texts to probabilities."
    )


def number_of(target: Any, labels: Sequence[Any]) -> int:
    """The number of a label, given as it is or spelt out.

    Raises:
        UnknownName: where there is no such label.
    """
    if target in labels:
        return list(labels).index(target)
    spelt = [str(label) for label in labels]
    if str(target) not in spelt:
        raise UnknownName("label", str(target), spelt)
    return spelt.index(str(target))


def checked(texts: Iterable[str]) -> Iterator[str]:
    """The texts, one by one.

    Raises:
        DataError: where something is not a text.
    """
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"Text number {number} is {text!r}, of type {type(text).__name__}. Give strings.")
        yield text


def _in_order(
    job: Callable[[list[str]], list[Explanation]], texts: Iterable[str], workers: int
) -> Iterator[Explanation]:
    """Results of all texts in their order, however many threads work on them."""
    if workers == 1:
        for chunk in chunks(texts, CHUNK):
            yield from job(chunk)
        return
    with _shared_cores(workers), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[list[Explanation]]] = deque()
        for chunk in chunks(texts, CHUNK):
            waiting.append(pool.submit(job, chunk))
            if len(waiting) > workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


@contextmanager
def _shared_cores(workers: int) -> Iterator[None]:
    """Each of several threads computes on its share of the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(before // workers, 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)
