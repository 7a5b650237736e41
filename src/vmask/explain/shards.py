"""Explain many texts in shards, which several processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vmask.config import make
from vmask.explain import EXPLAINERS
from vmask.explain.api import as_predictor, at_once, checked, explain_texts
from vmask.explain.contract import Explanation
from vmask.inference.work import Map, Shard, numbered
from vmask.text.words import chunks

QUICK_BATCHES = 8
"""Batches of a shard for a quick model, which explains a batch in less than a second; one for others."""
SHARD_CHARACTERS = 1 << 20
"""Characters after which a shard ends with the current batch."""


@dataclass(frozen=True)
class ExplainWork:
    """Explain the texts of shards.

    Attributes:
        method: name of the method.
        options: options of the method.
        target: label to explain; by default the predicted label of each text.
        seed: random seed of the method.
        hide: how words are hidden; by default `remove`.
        model: number of the model.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    target: Any = None
    seed: int = 0
    hide: str | None = None
    model: int = 0

    def begin(self, models: Sequence[Any]) -> Callable[[Shard], list[Explanation]]:
        """Explain the predictions of the model."""
        return lambda shard: list(self.explain(models[self.model], shard.texts))

    def explain(self, model: Any, texts: Iterable[str], workers: int = 1) -> Iterator[Explanation]:
        """Explain texts here, by this many threads."""
        return explain_texts(
            model,
            texts,
            self.method,
            target=self.target,
            seed=self.seed,
            hide=self.hide,
            workers=workers,
            **self.options,
        )

    def at_once(self, model: Any) -> int:
        """Number of texts that a model explains together."""
        kind = EXPLAINERS.get(self.method)
        return at_once(model, kind(make(kind.Options, self.options)))


def explain_shards(
    share: Map, work: ExplainWork, model: Any, texts: Iterable[str], first: int = 0
) -> Iterator[Explanation]:
    """Explain texts as a stream, like `explain_texts`, by processes that share them.

    A shard consists of whole batches of `explain_texts`, so the explanations are the same.

    Args:
        share: shares the shards among processes.
        work: how to explain; `target` is one label for all texts, or None.
        model: the model; it explains nothing here, but checks the options and decides how large a shard is.
        texts: any iterable of texts.
        first: number of the first text, for messages.

    Raises:
        ConfigError: for invalid options, before the first text is read.
    """
    work.explain(model, ())  # checks the options
    quick = bool(getattr(as_predictor(model), "quick", False))
    shards = numbered(_parts(checked(texts), work.at_once(model), quick), first)
    return (explanation for explanations in share(work, shards) for explanation in explanations)


def _parts(texts: Iterable[str], batch: int, quick: bool) -> Iterator[list[str]]:
    """The texts in lists of whole batches."""
    part: list[str] = []
    for chunk in chunks(texts, batch):
        part += chunk
        if not quick or len(part) >= QUICK_BATCHES * batch or sum(map(len, part)) >= SHARD_CHARACTERS:
            yield part
            part = []
    if part:
        yield part
