"""Edits in requests: a model with words hidden or shown, and what that does to its examples. Nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask.evaluation.edit_cost import compare_predictions
from vmask.inference.edits import Edit, Edited, Finder, finder_of, resolve
from vmask.inference.predictor import TextPredictor
from vmask.serve.batcher import PendingQuery
from vmask.serve.edit_command import edit_command
from vmask.serve.http_errors import InvalidRequest, TooManyRequests
from vmask.serve.loaded_model import LoadedModel, name_of
from vmask.serve.queries import TopClass, class_name

MAX_KEPT = 16
"""Edits of a model that are kept, so that one step back is answered at once. An edited model shares the weights; it has
2 bytes for each word of the vocabulary, and an answer for each example with an edited word."""
MAX_LISTED = 20
"""Words and examples of each kind that an answer lists."""

Answers = Sequence[TopClass]
"""Index and probability of the most probable class of each text."""


@dataclass(eq=False)
class EditedModel:
    """A model with an edit.

    Attributes:
        model: the edited model.
        hide: the words to hide, as they were requested.
        show: the words to show.
        also: words that change too, because they share a piece with an edited word.
        affected: numbers of the examples that have an edited word; nothing changes for the others.
        pending: the query for the predictions of these examples.
        waiting: number of requests that wait for it.
    """

    model: LoadedModel
    hide: Sequence[str] = ()
    show: Sequence[str] = ()
    also: Sequence[str] = ()
    affected: Sequence[int] = ()
    pending: PendingQuery | None = None
    waiting: int = 0

    def describe(self) -> dict[str, Any]:
        """Return what is known of the edit before examples are predicted, as JSON values."""
        return {
            "model": self.model.name,
            "also": list(self.also[:MAX_LISTED]),
            "also_total": len(self.also),
            "command": edit_command(self.model.name, self.hide, self.show),
            "preparing": None,
            "cost": None,
        }

    def affected_texts(self) -> list[str]:
        """Return the texts of the examples that have an edited word."""
        return [self.model.examples.texts[row] for row in self.affected] if self.model.examples else []

    def cost(self, before: Answers, after: Answers) -> dict[str, Any]:
        """Return what the edit does to the examples, as JSON values.

        Args:
            before: answers of the model without the edit, for all examples.
            after: answers with it, for those that are affected.
        """
        examples, labels = self.model.examples, self.model.labels
        assert examples is not None
        old = [class_name(labels, best) for best, _ in before]
        new = list(old)
        for row, (best, _) in zip(self.affected, after, strict=True):
            new[row] = class_name(labels, best)
        truth = [name_of(label, labels) for label in examples.labels]
        cost = compare_predictions(examples.texts, old, new, truth)
        listed = [
            {"number": examples.numbers[flip.number], "text": flip.text, "label": flip.label}
            | {"before": flip.before, "after": flip.after}
            for flip in cost.flips[:MAX_LISTED]
        ]
        return {
            **cost.numbers(),
            "dataset": examples.dataset,
            "split": examples.split,
            "affected": len(self.affected),
            "examples": listed,
        }

    def drop(self, reason: Exception) -> None:
        """Cancel the predictions of the examples; the next request starts them anew."""
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.cancel(reason)


class Editor:
    """Makes edited models of a model, and keeps the latest of them.

    An edit is found by its words, not by who asks, and can be made again from any request at any time.
    """

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._predictor: TextPredictor = model.classifier.predictor_
        self._kept: dict[str, EditedModel] = {}  # the latest one last

    def edited(self, hide: Sequence[str], show: Sequence[str]) -> EditedModel:
        """Return the model with an edit, or as it is if there are no words. One thread at a time may call it.

        Raises:
            ConfigError: if a word is to be hidden and shown, or is read as several words.
            InvalidRequest: if the model does not know a word.
        """
        hide, show = sorted({word.strip() for word in hide}), sorted({word.strip() for word in show})
        if not hide and not show:
            return EditedModel(self._model)
        key = json.dumps([hide, show])
        found = self._kept.pop(key, None) or self._make(key, hide, show)
        self._kept[key] = found
        if len(self._kept) > MAX_KEPT:
            oldest = self._kept.pop(next(iter(self._kept)))
            oldest.drop(TooManyRequests("There are too many edits at a time. Try again soon."))
        return found

    def knows(self, words: Sequence[str]) -> list[bool]:
        """Return whether each word can be hidden or shown; the others are read as the unknown word."""
        return self._finder.knows(words)

    def _make(self, key: str, hide: Sequence[str], show: Sequence[str]) -> EditedModel:
        edit = Edit(tuple(hide), tuple(show))
        found = resolve(self._predictor, edit, self._model.classifier.about_.get("edits"), self._finder)
        if unknown := sorted({*hide, *show}.intersection(found.unknown)):
            named = ", ".join(unknown[:MAX_LISTED])
            raise InvalidRequest(f"The model does not know {len(unknown):,} of these words: {named}. Leave them out.")
        predictor = self._predictor.with_edits(found.edits)
        _ = predictor.visible  # computed here: everybody waits for the thread of the predictions
        return EditedModel(self._model.variant(predictor, key), hide, show, found.also, self._affected(found))

    def _affected(self, found: Edited) -> list[int]:
        """Return the numbers of the examples whose predictions may change."""
        model = self._predictor.model
        changed = found.edits.numpy() != (0 if model.edits is None else model.edits.cpu().numpy())
        # All hidden words are read as the first of them. Another one may be the first now, which only a mask that
        # compares the words of a text could see.
        compares = not model.mask.word_level()
        return [
            row
            for row, (ids, has_hidden) in enumerate(self._example_ids)
            if changed[ids].any() or (compares and has_hidden)
        ]

    @cached_property
    def _finder(self) -> Finder:
        return finder_of(self._predictor)

    @cached_property
    def _example_ids(self) -> list[tuple[NDArray[np.int32], bool]]:
        """The distinct ids of each example as they stand in its text, and whether the model hides some."""
        docs = self._predictor.prepare(self._model.examples.texts) if self._model.examples else []
        return [
            (np.unique(doc.ids if doc.text_ids is None else doc.text_ids), doc.text_ids is not None) for doc in docs
        ]
