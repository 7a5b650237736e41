"""Do one job of a grid: search, train or measure, and give its result file."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from vmask._core.files import remove_folder, sha256
from vmask._core.locks import taking_turns
from vmask.classifier import TextClassifier
from vmask.config import MULTI_LABEL
from vmask.data.datasets import Dataset
from vmask.data.splits import Split
from vmask.errors import ConfigError, VmaskError
from vmask.evaluation.dataset_training import fit_dataset
from vmask.evaluation.explanation_cache import KeptExplanations
from vmask.evaluation.measure import evaluate
from vmask.grid.cell import Cell, Combination, identity, short_name
from vmask.grid.experiment import OPTUNA, Experiment, Stage
from vmask.grid.job import Job, Product
from vmask.grid.model_store import Model, find_model, find_or_train
from vmask.grid.optuna_search import next_optuna_trial
from vmask.grid.optuna_study import import_optuna
from vmask.grid.provenance import facts, peak_memory
from vmask.grid.result_summary import describe_dataset, examples, importance, kept_values, numbers, short
from vmask.grid.search import next_trial
from vmask.grid.sources import LocalSources, Sources
from vmask.grid.store import TRAIN, Store
from vmask.grid.task import Task, uses_of
from vmask.grid.word_lists import WORD_LISTS, spelled_out
from vmask.inference.visible_words import visible_counts, visible_share_of
from vmask.metrics._temperature import temperature_for
from vmask.metrics.nll import negative_log_likelihoods
from vmask.persistence.model_folder import read_config
from vmask.pretrained.encoders import public_name
from vmask.pretrained.word_vectors import DISTIL
from vmask.trackers.contract import TRACKING, Tracker, make_trackers
from vmask.training.calibrate import NONE
from vmask.training.progress import ProgressCallback


@dataclass(frozen=True)
class Places:
    """The folders of a grid, and its threads.

    Attributes:
        results: folder of result files.
        models: folder of model folders, which may be deleted at any time: a missing model is trained again.
        data_dir: folder of datasets, or None.
        vectors_dir: folder of word vector files, or None.
        threads: threads of each process.
        device: where models are trained and asked, as for `TextClassifier`.
        track: names of trackers that trainings are written to, commas between.
        track_dir: folder of the trackers' files; by default beside the results.
    """

    results: Path
    models: Path
    data_dir: str | None = None
    vectors_dir: str | None = None
    threads: int = 1
    device: str = "cpu"
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


BELOW = Store(Path())
"""Its paths are relative to the results folder."""


def file_of(task: Task) -> str:
    """The result file of a task, below the results folder."""
    return task.path(BELOW).as_posix()


class Worker:
    """Does jobs one after the other, and keeps the last datasets in memory.

    Args:
        experiment: the experiment.
        places: folders and threads.
        sources: datasets and word vectors; by default those of the folders.
    """

    def __init__(self, experiment: Experiment, places: Places, sources: Sources | None = None) -> None:
        self.experiment, self.places = experiment, places
        self.sources: Sources = sources or LocalSources(places.data_dir, places.vectors_dir)
        self.dataset = lru_cache(maxsize=2)(self._dataset)

    def do(self, job: Job) -> Product:
        """Do a job; if it fails, the product says why."""
        task, about = job.task, {"identity": identity(job.request), "asked": job.request}
        try:
            if isinstance(task.of, Combination):
                return self._search(job, task.of)
            if task.stage is None:
                return self._train(job, task.of, about)
            return self._measure(job, task.of, task.stage, about)
        except Exception as error:  # a failure is a result too, and must not stop the others
            message = str(error) if isinstance(error, VmaskError) else f"{type(error).__name__}: {error}"
            return Product(error=message, trace=traceback.format_exc())

    def _dataset(self, name: str) -> Dataset:
        dataset = self.sources.dataset(name)
        if dataset.task == MULTI_LABEL:
            raise ConfigError(
                f"The texts of {name} may have several labels, and a grid is for one label a text. Train and measure "
                "such models by `vmask train` and `vmask evaluate`."
            )
        return dataset

    def _options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with the paths of word vectors and the words of lists."""
        return self.sources.located(spelled_out(options, self.experiment.word_lists))

    def _classifier(self, of: Combination, seed: int, options: Mapping[str, Any]) -> TextClassifier:
        defaults = self.dataset(of.dataset).defaults
        given = {"calibration": NONE, **defaults, **self._options(options)}  # methods are compared as they are trained
        return TextClassifier(self.sources.model(of.model), of.mask, seed=seed, device=self.places.device, **given)

    def _search(self, job: Job, of: Combination) -> Product:
        """The record of a search with one more trial."""
        assert self.experiment.search is not None
        facts = {**self._facts(uses_of(of)), "data": self.dataset(of.dataset).fingerprint}
        if self.experiment.search.engine == OPTUNA:
            return self._search_by_optuna(job, of, facts)
        return Product(
            {file_of(job.task): next_trial(of, job.request, job.unfinished, partial(self._trial, of), facts)}
        )

    def _search_by_optuna(self, job: Job, of: Combination, facts: Mapping[str, Any]) -> Product:
        """The same by Optuna, with its journal."""

        def train(options: Mapping[str, Any], number: int, reports: ProgressCallback) -> dict[str, Any]:
            name = f"{of.key}--trial-{number}"
            key = f"{self.places.results.resolve()}/{name}--{identity(job.request)}"
            return self._trial(of, options, [*self.places.trackers(name, self.experiment.name, key), reports])

        record, journal = next_optuna_trial(
            of,
            job.request,
            job.unfinished,
            job.journal,
            self._classifier(of, job.request["seed"], of.options).plan(),
            train,
            {**facts, "versions": {**facts["versions"], "optuna": import_optuna().__version__}},
        )
        return Product({file_of(job.task): record}, {BELOW.journal(of.key).as_posix(): journal})

    def _trial(
        self, of: Combination, options: Mapping[str, Any], callbacks: Sequence[ProgressCallback] = ()
    ) -> dict[str, Any]:
        """Train with some options, with the seed of the search, and score on dev alone."""
        assert self.experiment.search is not None
        started = time.perf_counter()
        classifier = self._classifier(of, self.experiment.search.seed, {**of.options, **options})
        fit_dataset(classifier, self.dataset(of.dataset), callbacks=callbacks)
        return {
            "dev_accuracy": classifier.history_[classifier.best_epoch_ - 1]["dev_accuracy"],
            "best_epoch": classifier.best_epoch_,
            "epochs": len(classifier.history_),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def _model(self, job: Job, cell: Cell) -> Model:
        """The model of a cell, trained if it is missing."""
        model, dataset = job.models[cell], self.dataset(cell.combination.dataset)
        for name in model.folders:
            path = self.sources.trained(name) or (None if name == model.folders[-1] else self.places.models / name)
            if path is not None and (found := find_model(path, dataset)):
                return found
        folder = self.places.models / model.folders[-1]
        return find_or_train(
            folder,
            dataset,
            lambda: self._classifier(
                cell.combination, cell.seed, {**model.request["options"], **self._start(job, cell)}
            ),
            self.places.trackers(cell.key, self.experiment.name, str(folder.resolve())),
        )

    def _start(self, job: Job, cell: Cell) -> dict[str, str]:
        """The option that skips the first of two stages, if another cell is that stage."""
        start = job.models[cell].start
        return {} if start is None else {"init_from": str(self._model(job, start).folder)}

    def _train(self, job: Job, cell: Cell, about: Mapping[str, Any]) -> Product:
        started = time.perf_counter()
        model = self._model(job, cell)
        classifier, trained = model.classifier, model.trained
        dataset = self.dataset(cell.combination.dataset)
        seconds = time.perf_counter() - started
        if trained is None:  # interrupted between saving the model and writing the file
            trained = {**classifier.about_, "memory_mb": None, "resumed": True}
            seconds = trained["seconds"]
        history = short(classifier.history_)
        parameters = list(classifier.predictor_.model.parameters())
        record = {
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
        }
        files = {file_of(job.task): record}
        if job.describe:
            name = short_name(cell.combination.dataset)
            files[BELOW.data(name).as_posix()] = describe_dataset(dataset, name)
        return Product(files, model=model.folder.name)

    def _measure(self, job: Job, cell: Cell, stage: Stage, about: Mapping[str, Any]) -> Product:
        started = time.perf_counter()
        model = self._model(job, cell)
        cache = model.folder.with_name(f"{model.folder.name}.{stage.name}")
        with taking_turns(cache):  # another grid may do the same
            record = {
                "cell": cell.to_dict(),
                "stage": stage.name,
                "status": "done",
                **about,
                "facts": self._facts(job.task.uses),
                **self._measured(job, stage, model, cache, started),
            }
            remove_folder(cache)
        return Product({file_of(job.task): record}, model=None if model.trained is None else model.folder.name)

    def _measured(self, job: Job, stage: Stage, model: Model, cache: Path, started: float) -> dict[str, Any]:
        """The result of a stage; explanations are kept in the folder `cache` until it is there."""
        task = job.task
        classifier, dataset = model.classifier, self.dataset(task.combination.dataset)
        metrics = dict(stage.metrics)
        if task.confident is not None:
            temperature = self._temperature(job, classifier, task.confident)
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
                ranking=self._ranking(job, task.ranker),
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

    def _ranking(self, job: Job, ranker: Cell | None) -> dict[str, float] | None:
        if ranker is None:
            return None
        classifier = self._model(job, ranker).classifier
        return {word.word.lower(): word.score for word in classifier.word_importance()}

    def _temperature(self, job: Job, classifier: TextClassifier, confident: Cell) -> float:
        """The temperature at which a model is, on dev, as confident as that of another cell."""
        dev = self.dataset(confident.combination.dataset).splits["dev"]
        target = self._model(job, confident).classifier.predict_proba(dev.texts).max(1).mean()
        return temperature_for(classifier.predict_proba(dev.texts).astype(np.float64), float(target))

    @lru_cache(maxsize=8)  # noqa: B019 - a worker lives as long as its process
    def _facts(self, names: frozenset[str]) -> dict[str, Any]:
        return {**facts(names), "threads": self.places.threads}

    def _vectors(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The word vector files with the first digits of their digests."""
        parts = [part.strip() for part in (self._options(options).get("embeddings") or "").split(",")]
        paths = [Path(part) for part in parts if part and not part.startswith(DISTIL)]
        return {path.name: _digest(path) for path in paths if path.is_file()}


@lru_cache(maxsize=8)
def _digest(path: Path) -> str:
    return sha256(path)[:16]


def _portable(plan: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """A plan without the paths of this machine, and with word lists as they were asked for, which may be by digest."""
    embeddings = str(plan["data"]["embeddings"])
    names = [
        DISTIL + public_name(part.removeprefix(DISTIL)) if part.startswith(DISTIL) else Path(part).name
        for part in embeddings.split(",")
    ]
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
