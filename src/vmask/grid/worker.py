"""Do one piece of a grid's work: search, train or measure, and write its file."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from vmask._core.files import remove_folder, sha256
from vmask._core.locks import taking_turns
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import DataError, VmaskError
from vmask.evaluation.dataset_training import fit_dataset
from vmask.evaluation.explanation_cache import KeptExplanations
from vmask.evaluation.measure import evaluate
from vmask.grid.cell import Cell, Combination, identity, short_name
from vmask.grid.model_store import Model, find_model, find_or_train
from vmask.grid.provenance import facts, number_versions, peak_memory
from vmask.grid.result_summary import described, examples, importance, kept_values, numbers, short
from vmask.grid.search import asked_of_search, chosen_options, run_search
from vmask.grid.spec import Experiment, Search, Stage
from vmask.grid.store import TRAIN, Store
from vmask.grid.warm_start import start_of
from vmask.persistence.model_folder import read_config
from vmask.pretrained.encoders import public_name
from vmask.pretrained.word_vectors import DISTIL

log = logging.getLogger("vmask")


@dataclass(frozen=True)
class Places:
    """Where a grid finds and leaves things.

    Attributes:
        results: folder of result files.
        models: folder of model folders, which may be deleted at any time: a model that is missing is trained again.
        data_dir: folder of datasets, or None.
        vectors_dir: folder in which files of word vectors are looked for, or None.
        threads: of every process.
    """

    results: Path
    models: Path
    data_dir: str | None = None
    vectors_dir: str | None = None
    threads: int = 1

    @property
    def store(self) -> Store:
        """The result files."""
        return Store(self.results)


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Attributes:
        of: the combination that is searched for, or the cell.
        stage: what is measured of the cell; None to search or to train.
        ranker: the cell whose model ranks the words for the stage, if another's does.
    """

    of: Combination | Cell
    stage: Stage | None = None
    ranker: Cell | None = None

    @property
    def kind(self) -> str:
        """`search`, `train` or the name of the stage."""
        if isinstance(self.of, Combination):
            return "search"
        return TRAIN if self.stage is None else self.stage.name

    @property
    def combination(self) -> Combination:
        """What it is about, whatever the seed."""
        return self.of if isinstance(self.of, Combination) else self.of.combination

    @property
    def uses(self) -> frozenset[str]:
        """Names of the dataset, model, mask, metrics and explainers; other packages may have added them."""
        return uses_of(self.combination, self.stage)

    @property
    def title(self) -> str:
        """What people are shown."""
        return f"{self.of.key} {self.kind}"

    def path(self, store: Store) -> Path:
        """The file that it writes."""
        return store.search(self.of.key) if isinstance(self.of, Combination) else store.cell(self.of.key, self.kind)

    def asked(self, store: Store, search: Search | None) -> dict[str, Any] | None:
        """All that decides its result; None where a search comes first."""
        if isinstance(self.of, Combination):
            assert search is not None
            return asked_of_search(search, self.of)
        trained = asked_of_training(store, search, self.of)
        if self.stage is None or trained is None:
            return trained
        asked = {"train": identity(trained), **self.stage.asked()}
        if self.ranker is not None:
            other = asked_of_training(store, search, self.ranker)
            return None if other is None else {**asked, "ranker": identity(other)}
        return asked


def uses_of(of: Combination, stage: Stage | None = None) -> frozenset[str]:
    """What a combination, and a stage of it, is made of."""
    measured = () if stage is None else (*stage.metrics, *stage.explainers)
    return frozenset((of.dataset, of.model, of.mask, *measured))


def asked_of_training(store: Store, search: Search | None, cell: Cell) -> dict[str, Any] | None:
    """All that decides a cell's training; None where a search comes first."""
    options = chosen_options(store, search, cell.combination)
    return None if options is None else {**cell.to_dict(), "options": options}


class Worker:
    """Does tasks, one after the other, and keeps the last dataset at hand.

    Args:
        experiment: what is run.
        places: where things are.
    """

    def __init__(self, experiment: Experiment, places: Places) -> None:
        self.experiment, self.places, self.store = experiment, places, places.store
        self.dataset = lru_cache(maxsize=2)(self._dataset)

    def do(self, task: Task) -> str:
        """Do a task and write its file, which says so where the task failed.

        Returns:
            The error's message, or nothing.
        """
        about: dict[str, Any] = {}
        try:
            asked = task.asked(self.store, self.experiment.search)
            assert asked is not None, f"{task.title} was started before its search"
            about = {"identity": identity(asked), "asked": asked}
            if isinstance(task.of, Combination):
                self._search(task.of)
            elif task.stage is None:
                self._train(task.of, about)
            else:
                self._measure(task, task.of, task.stage, about)
            return ""
        except Exception as error:  # a failure is a result too, and must not stop the others
            said = str(error) if isinstance(error, VmaskError) else f"{type(error).__name__}: {error}"
            write_failure(self.store, task, about, said, traceback.format_exc())
            return said

    def _dataset(self, name: str) -> Dataset:
        return load_dataset(name, data_dir=self.places.data_dir)

    def _options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with the paths of word vectors."""
        embeddings = options.get("embeddings")
        if embeddings is None or self.places.vectors_dir is None:
            return dict(options)
        return {**options, "embeddings": located(embeddings, self.places.vectors_dir)}

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

    def _model(self, cell: Cell, asked: Mapping[str, Any]) -> Model:
        """The model of a cell by the versions that there are now, trained where it is missing."""
        return find_or_train(
            self.folder(cell, asked, number_versions(uses_of(cell.combination))),
            self.dataset(cell.combination.dataset),
            lambda: self._classifier(cell.combination, cell.seed, {**asked["options"], **self._start(cell)}),
        )

    def _start(self, cell: Cell) -> dict[str, str]:
        """The option that spares the first of two stages, where another cell is that."""
        start = start_of(self.experiment, cell)
        return {} if start is None else {"init_from": str(self._recorded_model(start).folder)}

    def _recorded_model(self, cell: Cell) -> Model:
        """The model that the file of a cell's training is about, also where its numbers are of an older version."""
        asked = asked_of_training(self.store, self.experiment.search, cell)
        assert asked is not None
        record = self.store.read(self.store.cell(cell.key))
        if record is not None and record["status"] == "done" and record["identity"] == identity(asked):
            folder = self.folder(cell, asked, record["facts"].get("numbers", {}))
            if found := find_model(folder, self.dataset(cell.combination.dataset)):
                return found
        return self._model(cell, asked)

    def folder(self, cell: Cell, asked: Mapping[str, Any], numbers: Mapping[str, int]) -> Path:
        """The model folder of a cell, another one for other options or versions of the numbers."""
        return self.places.models / f"{cell.key}--{identity({**asked, 'numbers': dict(numbers)})}"

    def _train(self, cell: Cell, about: Mapping[str, Any]) -> None:
        started = time.perf_counter()
        self._describe_dataset(cell.combination.dataset)
        found = self._model(cell, about["asked"])
        classifier, trained = found.classifier, found.trained
        dataset = self.dataset(cell.combination.dataset)
        seconds = time.perf_counter() - started
        if trained is None:  # cut off between the model and the file
            trained = {**classifier.about_, "memory_mb": None, "resumed": True}
            seconds = trained["seconds"]
        history = short(classifier.history_)
        model = classifier.predictor_.model
        self.store.write(
            self.store.cell(cell.key),
            {
                "cell": cell.to_dict(),
                "stage": TRAIN,
                "status": "done",
                **about,
                "options": _portable(classifier.plan_.to_dict()),
                "facts": self._facts(uses_of(cell.combination)),
                "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint, "notes": list(dataset.notes)},
                "vectors": {
                    "files": self._vectors(about["asked"]["options"]),
                    "coverage": trained["coverage"],
                    "of": _sources(classifier),
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
                    "all": sum(one.numel() for one in model.parameters()),
                    "trained": sum(one.numel() for one in model.parameters() if one.requires_grad),
                },
                "history": history,
                "test": _predictions(classifier, dataset),
            },
        )

    def _measure(self, task: Task, cell: Cell, stage: Stage, about: Mapping[str, Any]) -> None:
        started = time.perf_counter()
        model = self._recorded_model(cell)
        kept = model.folder.with_name(f"{model.folder.name}.{stage.name}")
        with taking_turns(kept):  # another grid may be at it too
            self.store.write(
                self.store.cell(cell.key, stage.name),
                {
                    "cell": cell.to_dict(),
                    "stage": stage.name,
                    "status": "done",
                    **about,
                    "facts": self._facts(task.uses),
                    **self._measured(task, stage, model, kept, started),
                },
            )
            remove_folder(kept)

    def _measured(self, task: Task, stage: Stage, model: Model, kept: Path, started: float) -> dict[str, Any]:
        """What a stage finds of a model; explanations are kept in a folder as long as it is at it."""
        classifier, dataset = model.classifier, self.dataset(task.combination.dataset)
        with peak_memory() as memory:
            keep = KeptExplanations(kept, [read_config(model.folder)["sha256"]], overwrite=True)
            found = evaluate(
                classifier,
                dataset,
                stage.metrics,
                stage.explainers,
                n=stage.n,
                hide=stage.hide,
                ranking=self._ranking(task.ranker),
                keep=keep,
            )
            keep.finish()
        return {
            "measured": dict(found.facts),
            "metrics": dict(found.metrics),
            "seconds": round(time.perf_counter() - started, 1),
            **memory,
            "scores": numbers(found),
            "sample": list(found.sample),
            "values": kept_values(found),
            "splime": short(dict(found.words)),
            "examples": examples(kept / "explanations", stage.examples, stage.long, dataset),
            "importance": importance(classifier),
            "notes": list(found.notes),
        }

    def _ranking(self, ranker: Cell | None) -> dict[str, float] | None:
        if ranker is None:
            return None
        classifier = self._recorded_model(ranker).classifier
        return {word.word.lower(): word.score for word in classifier.word_importance()}

    @lru_cache(maxsize=8)  # noqa: B019 - a worker lives as long as its process
    def _facts(self, names: frozenset[str]) -> dict[str, Any]:
        return {**facts(names), "threads": self.places.threads}

    def _vectors(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The files of word vectors, with the beginning of their digests."""
        parts = [part.strip() for part in (self._options(options).get("embeddings") or "").split(",")]
        paths = [Path(part) for part in parts if part and not part.startswith(DISTIL)]
        return {path.name: _digest(path) for path in paths if path.is_file()}

    def _describe_dataset(self, name: str) -> None:
        """Write what reports say about a dataset, once."""
        dataset = self.dataset(name)
        path = self.store.data(short_name(name))
        before = self.store.read(path)
        if before is not None and before["fingerprint"] == dataset.fingerprint:
            return
        self.store.write(path, described(dataset, short_name(name)))


def located(embeddings: str, folder: str) -> str:
    """Names of vector files with the folder in front of those that are there."""
    parts = [part.strip() for part in embeddings.split(",")]
    return ",".join(str(Path(folder) / part) if (Path(folder) / part).is_file() else part for part in parts)


def write_failure(store: Store, task: Task, about: Mapping[str, Any], error: str, trace: str = "") -> None:
    """Write down that a task failed, and why; not where another grid has done it meanwhile."""
    with suppress(DataError):
        if store.state(task.path(store), about.get("identity", ""), number_versions(task.uses)) == "done":
            return
    what = task.of.to_dict() if isinstance(task.of, Cell) else {"key": task.of.key}
    record = {"cell": what, "stage": task.kind, "status": "failed", **about, "error": error}
    store.write(task.path(store), {**record, "traceback": trace.splitlines(), "facts": facts(task.uses)})


@lru_cache(maxsize=8)
def _digest(path: Path) -> str:
    return sha256(path)[:16]


def _sources(classifier: TextClassifier) -> Any:
    return classifier.data_.get("vectors")


def _portable(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan without the folders of the machine."""
    embeddings = str(plan["data"]["embeddings"])
    names = [part if part.startswith(DISTIL) else Path(part).name for part in embeddings.split(",")]
    model = {key: public_name(one) if key == "encoder" else one for key, one in plan["model_options"].items()}
    start = plan["train"]["init_from"]
    train = {**plan["train"], "init_from": None if start is None else Path(start).name}
    data = {**plan["data"], "embeddings": ",".join(names)}
    return {**plan, "model_options": model, "data": data, "train": train}


def _predictions(classifier: TextClassifier, dataset: Dataset) -> dict[str, Any] | None:
    """For every test text, in the order of the split, the number of the predicted class and its probability."""
    test = dataset.splits.get("test")
    if test is None:
        return None
    probabilities = classifier.predict_proba(test.texts)
    return {
        "labels": [str(label) for label in classifier.classes_],
        "predicted": probabilities.argmax(1).tolist(),
        "probability": [round(float(one), 3) for one in probabilities.max(1)],
    }
