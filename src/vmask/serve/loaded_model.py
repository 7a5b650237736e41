"""Models that are loaded, each with a name and its test examples."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmask.classifier import TextClassifier
from vmask.explain.contract import Explainer
from vmask.inference.predictor import WordImportance
from vmask.serve.cancellable import slice_positions
from vmask.serve.examples import Examples
from vmask.serve.http_errors import NotFound
from vmask.serve.page_options import applicable_explainers

CHARACTERS_PER_WORD = 4
"""For an estimate of the length of a text before it is split into words."""
BATCH_POSITIONS = 8192
"""Token positions of a call for predictions, at most. Larger ones are no faster, and other requests wait for them."""
FACTS = ("dataset", "test_accuracy", "test_n", "dev_accuracy", "best_epoch", "epochs")
"""Metadata of a model folder that the page shows. It contains no paths of this machine."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class LoadedModel:
    """A model that is served.

    Attributes:
        name: its name in requests.
        classifier: the model.
        examples: its test examples, if any.
        no_examples: the reason if there are none.
    """

    name: str
    classifier: TextClassifier
    examples: Examples | None = None
    no_examples: str = ""
    _words: list[WordImportance] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.predictor = self.classifier.predictor_
        self.labels = [str(label) for label in self.predictor.labels]
        self.ranks_words = self.predictor.ranks_words
        self.hides = list(self.predictor.hides)
        self.budget = min(slice_positions(self.predictor), BATCH_POSITIONS)
        self.max_words = self.predictor.max_length

    def size(self, text: str) -> int:
        """Return an estimate of the token positions of a text."""
        return min(len(text) // CHARACTERS_PER_WORD + 1, self.max_words)

    def words(self) -> Sequence[WordImportance]:
        """Return all words by importance; they are computed on the first call.

        Raises:
            NoWordScores: if the model learns no ranking of words.
        """
        with self._lock:
            if self._words is None:
                self._words = self.predictor.word_importance(0)
        return self._words

    @property
    def title(self) -> str:
        """Title of the model on the page."""
        title, dataset = self.classifier.plan_.title, self.classifier.about_.get("dataset")
        return f"{title} on {dataset}" if dataset else title

    def describe(self, explainers: Mapping[str, type[Explainer]]) -> dict[str, Any]:
        """Return the description of the model for the page.

        Args:
            explainers: the explainers that are available, by name.
        """
        plan = self.classifier.plan_
        description: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "model": plan.model,
            "mask": plan.mask,
            "labels": self.labels,
            "explainers": applicable_explainers(self.predictor, explainers),
            "hides": self.hides,
            "ranks": self.ranks_words,
            "max_words": self.max_words,
            "examples": self.examples.describe() if self.examples else None,
            "about": self.facts(),
        }
        return description if self.examples else {**description, "no_examples": self.no_examples}

    def facts(self) -> dict[str, str | int | float]:
        """Return facts about the training, by name."""
        about, data = self.classifier.about_, self.classifier.data_
        facts = {name: about[name] for name in FACTS if isinstance(about.get(name), (str, int, float))}
        facts |= {name: data[name] for name in ("train", "dev", "vocabulary") if isinstance(data.get(name), int)}
        if vectors := data.get("vectors"):
            facts["vectors"] = ", ".join(map(str, vectors))
        return facts


def load_models(
    folders: Sequence[str | Path],
    *,
    data: str | None = None,
    data_dir: str | None = None,
    device: str = "auto",
    examples: int = 2000,
    say: Callable[[str], None] = log.info,
) -> list[LoadedModel]:
    """Load model folders, each with its test examples if its data is found.

    Args:
        folders: the model folders.
        data: dataset, file or folder to take examples from; by default the one a model was trained on.
        data_dir: folder with local datasets.
        device: where to compute.
        examples: maximum number of examples of a model.
        say: called with a message for each model without examples.

    Raises:
        ModelFolderError: if a folder holds no model.
    """
    paths = [Path(folder) for folder in folders]
    models = []
    for path, name in zip(paths, unique_names(paths), strict=True):
        model = LoadedModel(name, TextClassifier.load(path, device))
        model.examples, model.no_examples = Examples.find(model.classifier.about_, data, data_dir, examples)
        if model.no_examples and examples:
            say(f"{name}: no examples. {model.no_examples}")
        models.append(model)
    return models


def unique_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of folders; a name that is taken gets a number.

    >>> unique_names([Path("runs/cnn"), Path("cnn-2"), Path("old/cnn")])
    ['cnn', 'cnn-2', 'cnn-3']
    """
    names: list[str] = []
    for path in paths:
        folder = path.resolve().name.encode("utf-8", "replace").decode() or "model"
        name, number = folder, 1
        while name in names:
            number += 1
            name = f"{folder}-{number}"
        names.append(name)
    return names


def find_model(models: Sequence[LoadedModel], name: str | None) -> LoadedModel:
    """Return the model of a name, or the first model if no name is given.

    Raises:
        NotFound: if there is no such model.
    """
    if not name:
        return models[0]
    for model in models:
        if model.name == name:
            return model
    raise NotFound(f"There is no model {name!r}. There are: {', '.join(model.name for model in models)}.")
