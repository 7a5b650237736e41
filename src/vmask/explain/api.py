"""Explanations of many texts by any method, in bounded memory: what Python and the command line both call."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from vmask.config import ExplainConfig, make
from vmask.errors import ConfigError, DataError, UnknownName
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer, Explanation
from vmask.inference.black_box import BlackBox
from vmask.inference.contract import Predictor
from vmask.text.words import chunks

CHUNK = 32
"""Texts that are explained together, by one thread, at most. Their company may decide the last digit of a score."""
SLOW_ROWS = 2048
"""Perturbations that are enough to pack batches of a slow model with; more texts would only make a user wait."""
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
    """Explain texts one after the other, as they come; memory depends on neither their number nor that of samples.

    Args:
        model: a `TextClassifier`; or a function from a list of texts to (N, C) probabilities; or anything with a
            `predict_proba` that is one, as a scikit-learn pipeline.
        texts: any number of them, they may be a stream; or one text.
        method: `lime`, `shapley`, `occlusion`, …, see `vmask ls explainers`.
        target: label to explain, or a list with one for every text; by default the predicted one of each text.
        seed: of random methods.
        hide: how words are hidden: `remove` (the default), `zero`, `unk` or `mask`.
        labels: the classes of a function, in the order of its columns.
        batch_size: perturbed texts that the model is given at a time, at most.
        workers: threads that explain texts side by side; a function of your own is then called by all of them. Until
            the last text is done torch has this share of its threads for each.
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
    numbers = _numbers(target, predictor)

    def explain_chunk(start: int, chunk: list[str]) -> Iterator[Explanation]:
        docs = predictor.prepare(chunk)
        return explainer.explain(predictor, docs, numbers(start, len(docs)), asked.seed, hidden_by)

    listed = checked([texts] if isinstance(texts, str) else texts)
    return _in_order(explain_chunk, listed, at_once(predictor, explainer), asked.workers)


def at_once(model: Any, explainer: Explainer) -> int:
    """How many texts are explained together: enough to share batches, few enough to see results soon."""
    if getattr(as_predictor(model), "quick", False):
        return CHUNK
    return max(min(SLOW_ROWS // explainer.rows(TYPICAL_WORDS), CHUNK), 1)


def _numbers(target: Any, predictor: Predictor) -> Callable[[int, int], list[int] | None]:
    """What gives the numbers of the classes to explain of `count` texts from the text `start` on."""
    target = target.tolist() if hasattr(target, "tolist") else target  # an array or a column of a table
    if target is None:
        return lambda start, count: None
    if isinstance(target, (list, tuple)):
        each = [number_of(one, predictor.labels) for one in target]

        def some(start: int, count: int) -> list[int]:
            if start + count > len(each):
                raise DataError(f"There are {len(each)} targets and more texts. Give a target for every text.")
            return each[start : start + count]

        return some
    number = number_of(target, predictor.labels)
    return lambda start, count: [number] * count


def as_predictor(model: Any, labels: Sequence[Any] | None = None) -> Any:
    """What explainers may know of a model.

    Raises:
        ConfigError: for something that is no model.
    """
    if hasattr(model, "predict_kept") or hasattr(model, "predictor_"):
        if labels is not None:
            raise ConfigError("labels is for plain functions; this model knows its own. Leave labels out.")
        predictor = getattr(model, "predictor_", model)
        if lacking := [
            name for name in ("task", "hides", "ranks_words", "has_gradients") if not hasattr(predictor, name)
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
            raise DataError(
                f"Text number {number} (counted from 0) is {text!r}, of type {type(text).__name__}. Give strings."
            )
        yield text


def _in_order(
    job: Callable[[int, list[str]], Iterator[Explanation]], texts: Iterable[str], size: int, workers: int
) -> Iterator[Explanation]:
    """Results of all texts in their order, however many threads work on them, `size` texts each at a time."""
    if workers == 1:
        for number, chunk in enumerate(chunks(texts, size)):
            yield from job(number * size, chunk)
        return
    with _shared_cores(workers):
        pool = ThreadPoolExecutor(workers)
        waiting: deque[Future[list[Explanation]]] = deque()
        try:
            for number, chunk in enumerate(chunks(texts, size)):
                waiting.append(pool.submit(lambda start, some: list(job(start, some)), number * size, chunk))
                if len(waiting) > workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)  # who leaves early waits for no more than what is being worked on


@contextmanager
def _shared_cores(workers: int) -> Iterator[None]:
    """Each of several threads computes on its share of the cores. Several may be open at once, and end in any order."""
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
    """Who computes on a share of the cores, and how many threads torch had before."""

    users: int = 0
    threads: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)


_SHARING = _Sharing()
