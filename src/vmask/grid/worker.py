"""Do one task of a grid: search, train or measure, and write its file."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vmask._core.files import remove_folder, sha256
from vmask._core.locks import taking_turns
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset, load_dataset
from vmask.data.splits import Split
from vmask.errors import DataError, VmaskError
from vmask.evaluation.dataset_training import fit_dataset
from vmask.evaluation.explanation_cache import KeptExplanations
from vmask.evaluation.measure import evaluate
from vmask.grid.cell import Cell, Combination, identity, short_name
from vmask.grid.experiment import Experiment, Stage
from vmask.grid.model_store import Model, find_model, find_or_train
from vmask.grid.provenance import facts, number_versions, peak_memory
from vmask.grid.result_summary import describe_dataset, examples, importance, kept_values, numbers, short
from vmask.grid.search import run_search
from vmask.grid.store import TRAIN, Store
from vmask.grid.task import Task, training_request, uses_of
from vmask.grid.warm_start import start_of
from vmask.grid.word_lists import WORD_LISTS, spelled_out
from vmask.inference.visible_words import visible_counts, visible_share_of
from vmask.metrics._temperature import temperature_for
from vmask.metrics.nll import negative_log_likelihoods
from vmask.persistence.model_folder import read_config
from vmask.pretrained.encoders import public_name
from vmask.pretrained.word_vectors import DISTIL
from vmask.trackers.contract import TRACKING, Tracker, make_trackers


@dataclass(frozen=True)
class Places:
    """The folders of a grid, and its threads.

    Attributes:
        results: folder of result files.
        models: folder of model folders, which may be deleted at any time: a missing model is trained again.
        data_dir: folder of datasets, or None.
        vectors_dir: folder of word vector files, or None.
        threads: threads of each process.
        track: names of trackers that trainings are written to, commas between.
        track_dir: folder of the trackers' files; by default beside the results.
    """

    results: Path
    models: Path
    data_dir: str | None = None
    vectors_dir: str | None = None
    threads: int = 1
    track: str = ""
    track_dir: str | None = None

    @property
    def store(self) -> Store:
        """The result files."""
        return Store(self.results)

    def trackers(self, name: str, group: str, key: str) -> list[Tracker]:
        """The trackers of a training, see `make_trackers`."""
        return make_trackers(
            self.track, self.track_dir or self.results.resolve().parent / TRACKING, name, group=group, key=key
        )


class Worker:
    """Does tasks one after the other, and keeps the last datasets in memory.

    Args:
        experiment: the experiment.
        places: folders and threads.
    """

    def __init__(self, experiment: Experiment, places: Places) -> None:
        self.experiment, self.places, self.store = experiment, places, places.store
        self.dataset = lru_cache(maxsize=2)(self._dataset)

    def do(self, task: Task) -> str:
        """Do a task and write its file; if the task fails, the file says so.

        Returns:
            The error message, empty if there is none.
        """
        about: dict[str, Any] = {}
        try:
            request = task.request(self.store, self.experiment)
            assert request is not None, f"{task.title} was started before its search"
            about = {"identity": identity(request), "asked": request}
            if isinstance(task.of, Combination):
                self._search(task.of)
            elif task.stage is None:
                self._train(task.of, about)
            else:
                self._measure(task, task.of, task.stage, about)
            return ""
        except Exception as error:  # a failure is a result too, and must not stop the others
            message = str(error) if isinstance(error, VmaskError) else f"{type(error).__name__}: {error}"
            write_failure(self.store, task, about, message, traceback.format_exc())
            return message

    def _dataset(self, name: str) -> Dataset:
        return load_dataset(name, data_dir=self.places.data_dir)

    def _options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with the paths of word vectors and the words of lists."""
        found = spelled_out(options, self.experiment.word_lists)
        if found.get("embeddings") is not None and self.places.vectors_dir is not None:
            found["embeddings"] = located(found["embeddings"], self.places.vectors_dir)
        return found

    def _classifier(self, of: Combination, seed: int, options: Mapping[str, Any]) -> TextClassifier:
        defaults = self.dataset(of.dataset).defaults
        given = {**defaults, **self._options(options)}
        return TextClassifier(of.model, of.mask, seed=seed, device="cpu", **given)

    def _search(self, of: Combination) -> None:
        assert self.experiment.search is not None
        seed = self.experiment.search.seed

        def trial(options: Mapping[str, Any]) -> dict[str, Any]:
            started = time.perf_counter()
            classifier = self._classifier(of, seed, {**of.options, **options})
            fit_dataset(classifier, self.dataset(of.dataset))
            return {
                "dev_accuracy": classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"],
                "best_epoch": classifier.best_epoch_,
                "epochs": len(classifier.history_),
                "seconds": round(time.perf_counter() - started, 1),
            }

        facts = {**self._facts(uses_of(of)), "data": self.dataset(of.dataset).fingerprint}
        run_search(self.store, self.experiment.search, of, trial, facts)

    def _model(self, cell: Cell, request: Mapping[str, Any]) -> Model:
        """The model of a cell by the current versions, trained if it is missing."""
        folder = self.folder(cell, request, number_versions(uses_of(cell.combination)))
        return find_or_train(
            folder,
            self.dataset(cell.combination.dataset),
            lambda: self._classifier(cell.combination, cell.seed, {**request["options"], **self._start(cell)}),
            self.places.trackers(cell.key, self.experiment.name, str(folder.resolve())),
        )

    def _start(self, cell: Cell) -> dict[str, str]:
        """The option that skips the first of two stages, if another cell is that stage."""
        start = start_of(self.experiment, cell)
        return {} if start is None else {"init_from": str(self._recorded_model(start).folder)}

    def _recorded_model(self, cell: Cell) -> Model:
        """The model described by the file of a cell's training, even if its numbers are of an older version."""
        request = training_request(self.store, self.experiment, cell)
        assert request is not None
        record = self.store.read(self.store.cell(cell.key))
        if record is not None and record["status"] == "done" and record["identity"] == identity(request):
            folder = self.folder(cell, request, record["facts"].get("numbers", {}))
            if model := find_model(folder, self.dataset(cell.combination.dataset)):
                return model
        return self._model(cell, request)

    def folder(self, cell: Cell, request: Mapping[str, Any], numbers: Mapping[str, int]) -> Path:
        """The model folder of a cell: different for different options or versions of the numbers."""
        return self.places.models / f"{cell.key}--{identity({**request, 'numbers': dict(numbers)})}"

    def _train(self, cell: Cell, about: Mapping[str, Any]) -> None:
        started = time.perf_counter()
        self._describe_dataset(cell.combination.dataset)
        model = self._model(cell, about["asked"])
        classifier, trained = model.classifier, model.trained
        dataset = self.dataset(cell.combination.dataset)
        seconds = time.perf_counter() - started
        if trained is None:  # interrupted between saving the model and writing the file
            trained = {**classifier.about_, "memory_mb": None, "resumed": True}
            seconds = trained["seconds"]
        history = short(classifier.history_)
        parameters = list(classifier.predictor_.model.parameters())
        self.store.write(
            self.store.cell(cell.key),
            {
                "cell": cell.to_dict(),
                "stage": TRAIN,
                "status": "done",
                **about,
                "options": _portable(classifier.plan_.to_dict(), about["asked"]["options"]),
                "facts": self._facts(uses_of(cell.combination)),
                "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint, "notes": list(dataset.notes)},
                "vectors": {
                    "files": self._vectors(about["asked"]["options"]),
                    "coverage": trained["coverage"],
                    "of": classifier.data_.get("vectors"),
                },
                "dev_accuracy": trained["dev_accuracy"],
                "test_accuracy": trained.get("test_accuracy"),
                "best_epoch": trained["best_epoch"],
                "epochs": trained["epochs"],
                "seconds": round(seconds, 1),
                "seconds_per_epoch": round(sum(row["seconds"] for row in history) / len(history), 3),
                "memory_mb": trained["memory_mb"],
                "resumed": trained["resumed"],
                "parameters": {
                    "all": sum(parameter.numel() for parameter in parameters),
                    "trained": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
                },
                "history": history,
                "visible": short(_visible(classifier, dataset)),
                "confidence": {
                    name: _confidence(classifier, split)
                    for name, split in dataset.splits.items()
                    if name in ("dev", "test")
                },
                "test": _predictions(classifier, dataset),
            },
        )

    def _measure(self, task: Task, cell: Cell, stage: Stage, about: Mapping[str, Any]) -> None:
        started = time.perf_counter()
        model = self._recorded_model(cell)
        cache = model.folder.with_name(f"{model.folder.name}.{stage.name}")
        with taking_turns(cache):  # another grid may do the same
            self.store.write(
                self.store.cell(cell.key, stage.name),
                {
                    "cell": cell.to_dict(),
                    "stage": stage.name,
                    "status": "done",
                    **about,
                    "facts": self._facts(task.uses),
                    **self._measured(task, stage, model, cache, started),
                },
            )
            remove_folder(cache)

    def _measured(self, task: Task, stage: Stage, model: Model, cache: Path, started: float) -> dict[str, Any]:
        """The result of a stage; explanations are kept in the folder `cache` until it is written."""
        classifier, dataset = model.classifier, self.dataset(task.combination.dataset)
        metrics = dict(stage.metrics)
        if task.confident is not None:
            temperature = self._temperature(classifier, task.confident)
            metrics["aopc"] = {**metrics["aopc"], "temperature": temperature}
        with peak_memory() as memory:
            keep = KeptExplanations(cache, [read_config(model.folder)["sha256"]], overwrite=True)
            evaluation = evaluate(
                classifier,
                dataset,
                metrics,
                stage.explainers,
                n=stage.n,
                hide=stage.hide,
                ranking=self._ranking(task.ranker),
                keep=keep,
            )
            keep.finish()
        return {
            "measured": dict(evaluation.facts),
            "metrics": dict(evaluation.metrics),
            "seconds": round(time.perf_counter() - started, 1),
            **memory,
            "scores": numbers(evaluation),
            "sample": list(evaluation.sample),
            "values": kept_values(evaluation),
            "splime": short(dict(evaluation.words)),
            "examples": examples(cache / "explanations", stage.examples, stage.long, dataset),
            "importance": importance(classifier),
            "notes": list(evaluation.notes),
        }

    def _ranking(self, ranker: Cell | None) -> dict[str, float] | None:
        if ranker is None:
            return None
        classifier = self._recorded_model(ranker).classifier
        return {word.word.lower(): word.score for word in classifier.word_importance()}

    def _temperature(self, classifier: TextClassifier, confident: Cell) -> float:
        """The temperature at which a model is, on dev, as confident as that of another cell."""
        dev = self.dataset(confident.combination.dataset).splits["dev"]
        target = self._recorded_model(confident).classifier.predict_proba(dev.texts).max(1).mean()
        return temperature_for(classifier.predict_proba(dev.texts).astype(np.float64), float(target))

    @lru_cache(maxsize=8)  # noqa: B019 - a worker lives as long as its process
    def _facts(self, names: frozenset[str]) -> dict[str, Any]:
        return {**facts(names), "threads": self.places.threads}

    def _vectors(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The word vector files with the first digits of their digests."""
        parts = [part.strip() for part in (self._options(options).get("embeddings") or "").split(",")]
        paths = [Path(part) for part in parts if part and not part.startswith(DISTIL)]
        return {path.name: _digest(path) for path in paths if path.is_file()}

    def _describe_dataset(self, name: str) -> None:
        """Write the facts about a dataset for reports, once."""
        dataset = self.dataset(name)
        path = self.store.data(short_name(name))
        record = self.store.read(path)
        if record is not None and record["fingerprint"] == dataset.fingerprint:
            return
        self.store.write(path, describe_dataset(dataset, short_name(name)))


def located(embeddings: str, folder: str) -> str:
    """Names of vector files, with the folder in front of those that it contains."""
    parts = [part.strip() for part in embeddings.split(",")]
    return ",".join(str(Path(folder) / part) if (Path(folder) / part).is_file() else part for part in parts)


def write_failure(store: Store, task: Task, about: Mapping[str, Any], error: str, trace: str = "") -> None:
    """Record that a task failed, and why, unless another grid has done it meanwhile."""
    with suppress(DataError):
        if store.state(task.path(store), about.get("identity", ""), number_versions(task.uses)) == "done":
            return
    cell = task.of.to_dict() if isinstance(task.of, Cell) else {"key": task.of.key}
    record = {"cell": cell, "stage": task.kind, "status": "failed", **about, "error": error}
    store.write(task.path(store), {**record, "traceback": trace.splitlines(), "facts": facts(task.uses)})


@lru_cache(maxsize=8)
def _digest(path: Path) -> str:
    return sha256(path)[:16]


def _portable(plan: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """A plan without the paths of this machine, and with word lists as they were asked for, which may be by digest."""
    embeddings = str(plan["data"]["embeddings"])
    names = [part if part.startswith(DISTIL) else Path(part).name for part in embeddings.split(",")]
    model = {key: public_name(value) if key == "encoder" else value for key, value in plan["model_options"].items()}
    start = plan["train"]["init_from"]
    train = {**plan["train"], "init_from": None if start is None else Path(start).name}
    lists = {name: asked[name] for name in WORD_LISTS if name in asked}
    data = {**plan["data"], "embeddings": ",".join(names), **lists}
    return {**plan, "model_options": model, "data": data, "train": train}


def _visible(classifier: TextClassifier, dataset: Dataset) -> dict[str, Any] | None:
    """Number of visible words of the training texts, share of the running words of each split; None if all are."""
    predictor = classifier.predictor_
    if predictor.visible is None:
        return None
    shares = {name: visible_share_of(predictor, split.texts) for name, split in dataset.splits.items()}
    return {"types": len(visible_counts(predictor)), **shares}


def _confidence(classifier: TextClassifier, split: Split) -> dict[str, float] | None:
    """Mean probability of the predicted class, and mean negative log-likelihood of the true one.

    None without texts of classes that the model knows.
    """
    columns = {str(label): column for column, label in enumerate(classifier.classes_)}
    known = [(row, columns[str(label)]) for row, label in enumerate(split.labels) if str(label) in columns]
    if not known:
        return None
    probabilities = classifier.predict_proba(split.texts)
    rows, classes = np.array(known).T
    nll = negative_log_likelihoods(probabilities[rows], classes).mean()
    return {"mean": round(float(probabilities.max(1).mean()), 5), "nll": round(float(nll), 5)}


def _predictions(classifier: TextClassifier, dataset: Dataset) -> dict[str, Any] | None:
    """For every test text, in the order of the split, the index of the predicted class and its probability."""
    test = dataset.splits.get("test")
    if test is None:
        return None
    probabilities = classifier.predict_proba(test.texts)
    return {
        "labels": [str(label) for label in classifier.classes_],
        "predicted": probabilities.argmax(1).tolist(),
        "probability": [round(float(probability), 3) for probability in probabilities.max(1)],
    }
