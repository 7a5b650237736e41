"""A loaded model, with its name and all that the page is told of it."""

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
from vmask.report.capable import ranks
from vmask.serve.cancellable import slice_positions
from vmask.serve.examples import Examples
from vmask.serve.http_errors import NotHere
from vmask.serve.page_options import explainers_of, hides_of

CHARACTERS_A_WORD = 4
"""For a guess at the size of a text before it is cut into words."""
BATCH_POSITIONS = 8192
"""Positions that predictions compute at a time, at most: larger batches are no faster, and others wait for them."""
FACTS = ("dataset", "test_accuracy", "test_n", "dev_accuracy", "best_epoch", "epochs")
"""What a model folder says about itself that the page shows. Paths of this machine are not among it."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Served:
    """A model that is served.

    Attributes:
        name: what requests call it.
        classifier: the model.
        examples: test texts, or
        no_examples: why there are none.
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
        self.ranks = ranks(self.predictor)
        self.hides = hides_of(self.predictor)
        self.budget = min(slice_positions(self.predictor), BATCH_POSITIONS)
        tokenizer: Any = getattr(self.predictor, "tokenizer")  # noqa: B009 - each kind of model has its own
        self.max_words = int(getattr(tokenizer, "max_words", 0) or tokenizer.max_tokens)

    def size(self, text: str) -> int:
        """About how many positions of a text the model computes."""
        return min(len(text) // CHARACTERS_A_WORD + 1, self.max_words)

    def words(self) -> Sequence[WordImportance]:
        """All words by importance, worked out when they are first asked for.

        Raises:
            NoWordScores: where the method learns no ranking.
        """
        with self._lock:
            if self._words is None:
                self._words = self.predictor.word_importance(0)
        return self._words

    @property
    def title(self) -> str:
        """What people call it."""
        title, dataset = self.classifier.plan_.title, self.classifier.about_.get("dataset")
        return f"{title} on {dataset}" if dataset else title

    def describe(self, kinds: Mapping[str, type[Explainer]]) -> dict[str, Any]:
        """All that the page is told of it.

        Args:
            kinds: the explainers that can run here.
        """
        plan = self.classifier.plan_
        found: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "model": plan.model,
            "mask": plan.mask,
            "labels": self.labels,
            "explainers": explainers_of(self.predictor, kinds),
            "hides": self.hides,
            "ranks": self.ranks,
            "max_words": self.max_words,
            "examples": self.examples.describe() if self.examples else None,
            "about": self.facts(),
        }
        return found if self.examples else {**found, "no_examples": self.no_examples}

    def facts(self) -> dict[str, str | int | float]:
        """What is known of the training, name by name."""
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
) -> list[Served]:
    """Load model folders and the test texts of each, where they are found.

    Args:
        folders: the model folders.
        data: dataset, file or folder to take examples from; by default the one a model was trained on.
        data_dir: folder with local datasets.
        device: where to compute.
        examples: test texts of a model, at most.
        say: where to tell what is missing.

    Raises:
        ModelFolderError: for a folder that holds no model.
    """
    paths = [Path(folder) for folder in folders]
    models = []
    for path, name in zip(paths, unique_names(paths), strict=True):
        served = Served(name, TextClassifier.load(path, device))
        served.examples, served.no_examples = Examples.find(served.classifier.about_, data, data_dir, examples)
        if served.no_examples and examples:
            say(f"{name}: no examples. {served.no_examples}")
        models.append(served)
    return models


def unique_names(paths: Sequence[Path]) -> list[str]:
    """The names of folders, the second of a name with a number behind it.

    >>> unique_names([Path("runs/cnn"), Path("cnn-2"), Path("old/cnn")])
    ['cnn', 'cnn-2', 'cnn-3']
    """
    names: list[str] = []
    for path in paths:
        plain = path.resolve().name.encode("utf-8", "replace").decode() or "model"
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names


def find_model(models: Sequence[Served], name: str | None) -> Served:
    """The model of that name; the first where none is named.

    Raises:
        NotHere: where there is no such model.
    """
    if not name:
        return models[0]
    for served in models:
        if served.name == name:
            return served
    raise NotHere(f"There is no model {name!r}. There are: {', '.join(one.name for one in models)}.")
