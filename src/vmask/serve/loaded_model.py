"""Models that are loaded, each with a name and test examples of the dataset that it was trained on."""

from __future__ import annotations

import copy
import logging
import os
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmask._core.wording import unused_name
from vmask.classifier import TextClassifier
from vmask.data.card import card_folder
from vmask.data.config import ReadConfig
from vmask.data.downloads import ASSETS, cache_dir
from vmask.data.label_sets import label_text
from vmask.data.recorded_source import dataset_of, is_local
from vmask.errors import PluginError, VmaskError
from vmask.explain.contract import Explainer
from vmask.inference.abstention import answered
from vmask.inference.predictor import TextPredictor
from vmask.inference.word_importance import WordImportance
from vmask.serve.http_errors import NotFound
from vmask.serve.page import applicable_explainers
from vmask.serve.queries import TopClass, class_name, slice_positions
from vmask.training.trained_model import NO_TEXTS

CHARACTERS_PER_WORD = 4
"""For an estimate of the length of a text before it is split into words."""
BATCH_POSITIONS = 8192
"""Token positions of a call for predictions, at most. Larger ones are no faster, and other requests wait for them."""
FACTS = ("dataset", "test_accuracy", "test_n", "dev_accuracy", "best_epoch", "epochs")
"""Metadata of a model folder that the page shows. It contains no paths of this machine."""
SPLIT = "test"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Examples:
    """Test texts and their labels.

    Attributes:
        dataset: name of the dataset.
        split: name of the split.
        texts: the texts.
        labels: a label for each text, or a tuple of labels.
        numbers: position of each text in the split.
    """

    dataset: str
    split: str
    texts: list[str]
    labels: list[Any]
    numbers: list[int]

    def describe(self) -> dict[str, Any]:
        """Return their description for the page."""
        return {"dataset": self.dataset, "split": self.split, "n": len(self.texts)}

    def with_predictions(self, answers: Sequence[TopClass], labels: Sequence[str]) -> list[dict[str, Any]]:
        """Return the examples as JSON values; `answers` are the index and probability of each text's best class."""
        return [
            {
                "number": number,
                "text": text,
                "label": name_of(label, labels),
                "predicted": class_name(labels, best),
                "probability": probability,
                "right": class_name(labels, best) == name_of(label, labels),
                **_several(label, best, labels),
            }
            for number, text, label, (best, probability) in zip(
                self.numbers, self.texts, self.labels, answers, strict=True
            )
        ]

    @classmethod
    def find(
        cls,
        about: Mapping[str, Any],
        data: str | None,
        data_dir: str | None,
        max_examples: int,
        reading: ReadConfig | None = None,
    ) -> tuple[Examples | None, str]:
        """Return the test examples of the data that a model was trained on, or None and the reason.

        Nothing is downloaded for them: without `data`, only local data is read.

        Args:
            about: metadata of the model folder.
            data: dataset, file or folder to use instead.
            data_dir: folder with local datasets.
            max_examples: maximum number of examples; 0 for none.
            reading: how files are read.
        """
        if not max_examples:
            return None, "They are switched off."
        if about.get(NO_TEXTS):
            return None, "The model was trained with --no-texts."
        source = data or str(about.get("source") or about.get("dataset") or "")
        if data is None and source and not _is_local(source, data_dir):
            name = about.get("dataset") or Path(source).name  # the page shows it: no path of this machine
            return None, f"The data '{name}' is not on this machine. Name it with --data or --data-dir."
        try:
            dataset = dataset_of(about, data, data_dir, reading)
        except VmaskError as error:
            return None, str(error)
        split = dataset.splits.get(SPLIT)
        if split is None or not len(split) or not split.labels:
            return None, f"The data '{dataset.name}' has no {SPLIT} split."
        rows = list(range(len(split)))
        if len(rows) > max_examples:  # the same sample every time
            rows = sorted(random.Random(0).sample(rows, max_examples))
        texts, labels = [split.texts[row] for row in rows], [split.labels[row] for row in rows]
        return cls(dataset.name, SPLIT, texts, labels, rows), ""


def name_of(label: Any, labels: Sequence[str]) -> str:
    """Return the name of a label, or of a tuple of labels in the order in which the model has them."""
    if not isinstance(label, tuple):
        return str(label)
    known = {name: number for number, name in enumerate(labels)}
    return label_text(tuple(sorted(label, key=lambda name: (known.get(name, len(known)), name))))


def _several(label: Any, best: int | tuple[int, ...], labels: Sequence[str]) -> dict[str, Any]:
    """Return the true and the predicted labels as lists, if a text may have several."""
    if isinstance(best, int):
        return {}
    return {"labels": list(label), "predicted_labels": [labels[index] for index in best]}


def _is_local(source: str, data_dir: str | None) -> bool:
    """Whether a dataset is on this machine, so that it can be read without a network."""
    root = data_dir or os.environ.get("VMASK_DATA")
    if is_local(source) or (root and os.path.isdir(Path(root).expanduser() / source)):  # noqa: PTH112
        return True  # unlike that of `Path`, this function accepts names that are too long
    if source in ASSETS:
        return (cache_dir() / source).is_dir()
    with suppress(PluginError):  # a dataset of another package
        return card_folder(source) is not None
    return False


@dataclass(eq=False)
class LoadedModel:
    """A model that is served.

    Attributes:
        name: its name in requests.
        classifier: the model.
        examples: its test examples, if any.
        no_examples: the reason if there are none.
        edit: its edit as a string that distinguishes its queries; empty for the model as it was loaded.
    """

    name: str
    classifier: TextClassifier
    examples: Examples | None = None
    no_examples: str = ""
    edit: str = ""
    _words: list[WordImportance] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.predictor: TextPredictor = self.classifier.predictor_
        self.labels = [str(label) for label in self.predictor.labels]
        self.ranks_words = self.predictor.ranks_words
        self.hides = list(self.predictor.hides)
        self.budget = min(slice_positions(self.predictor), BATCH_POSITIONS)
        self.max_words = self.predictor.max_length

    def answers(self, probabilities: Sequence[float]) -> bool:
        """Return whether it is sure enough, if it was trained with a threshold."""
        return answered(probabilities, self.predictor.abstain_below) is not None

    def size(self, text: str) -> int:
        """Return an estimate of the token positions of a text."""
        return min(len(text) // CHARACTERS_PER_WORD + 1, self.max_words)

    def words(self) -> Sequence[WordImportance]:
        """Return all words by importance, or by count without a ranking; computed on the first call."""
        with self._lock:
            if self._words is None:
                predictor = self.predictor
                self._words = predictor.word_importance(0) if self.ranks_words else predictor.words_by_count()
        return self._words

    def hides_words(self, words: Sequence[str]) -> list[bool]:
        """Return whether the model sees nothing of each of these words."""
        if self.predictor.visible is None:
            return [False] * len(words)
        return [doc.hidden is not None and bool(doc.hidden.all()) for doc in self.predictor.prepare(words)]

    def variant(self, predictor: TextPredictor, edit: str) -> LoadedModel:
        """Return the same model with a predictor whose words are edited."""
        other = copy.copy(self)
        other.predictor, other.edit = predictor, edit
        return other

    @property
    def title(self) -> str:
        """Title of the model on the page."""
        title, dataset = self.classifier.plan_.title, self.classifier.about_.get("dataset")
        return f"{title} on {dataset}" if dataset else title

    def describe(self, explainers: Mapping[str, type[Explainer]]) -> dict[str, Any]:
        """Return the description of the model for the page; `explainers` are those that are available, by name."""
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
            "about": self._facts(),
        }
        return description if self.examples else {**description, "no_examples": self.no_examples}

    def _facts(self) -> dict[str, str | int | float]:
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
    reading: ReadConfig | None = None,
    device: str = "auto",
    examples: int = 2000,
    say: Callable[[str], None] = log.info,
) -> list[LoadedModel]:
    """Load model folders, each with at most `examples` test examples if its data is found. See `create_app`."""
    paths = [Path(folder) for folder in folders]
    models = []
    for path, name in zip(paths, unique_names(paths), strict=True):
        model = LoadedModel(name, TextClassifier.load(path, device))
        model.examples, model.no_examples = Examples.find(model.classifier.about_, data, data_dir, examples, reading)
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
        names.append(unused_name(folder, names, "-"))
    return names


def find_model(models: Sequence[LoadedModel], name: str | None) -> LoadedModel:
    """Return the model of a name, or the first model if no name is given; an unknown name raises `NotFound`."""
    if not name:
        return models[0]
    for model in models:
        if model.name == name:
            return model
    raise NotFound(f"There is no model {name!r}. There are: {', '.join(model.name for model in models)}.")
