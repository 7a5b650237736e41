"""MLflow: a run on the server of MLFLOW_TRACKING_URI, by default in the file FOLDER/mlflow.db."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.locks import taking_turns
from vmask.trackers import TRACKERS
from vmask.trackers.contract import HISTOGRAM_EDGES, Point, Status, Tracker

EXPERIMENT = "vmask"
"""Experiment of a training without a group."""
KEY = "vmask.run"
"""Tag by which a resumed training finds its run."""
MOST_NUMBERS, MOST_OPTIONS = 1_000, 100
"""Largest number of metrics and of parameters in a request to a server."""
STATUS = {"finished": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}


@TRACKERS.register("mlflow")
class MLflow(Tracker):
    """Writes a run by MLflow's client. Histograms and texts are artifacts; a group is an experiment of MLflow."""

    package = "mlflow"

    def open_run(self, step: int | None) -> None:
        """Make a run, or find that of the training that is resumed."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing is sent unless the user names a server
        import mlflow
        from mlflow.tracking import MlflowClient

        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
        local = not mlflow.is_tracking_uri_set()
        folder = self.folder.resolve()
        if not local:
            self.client: Any = MlflowClient()
            self._open_in(self.client, step, None)
            return
        with taking_turns(folder):  # two processes must not make the same database
            self.client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
            self._open_in(self.client, step, (folder / "mlflow-artifacts").as_uri())

    def _open_in(self, client: Any, step: int | None, artifacts: str | None) -> None:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or self.group or EXPERIMENT
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name, artifacts) if found is None else found.experiment_id
        runs = [] if step == 0 else client.search_runs([experiment], f"tags.`{KEY}` = '{self.key}'", max_results=1)
        if runs:
            self.id = runs[0].info.run_id
            if step is not None:
                client.update_run(self.id, "RUNNING")
            return
        self.id = client.create_run(experiment, tags={KEY: self.key}, run_name=self.name).info.run_id

    def write_options(self, options: Mapping[str, Any]) -> None:
        """Write the options as parameters."""
        from mlflow.entities import Param

        params = [Param(name, str(value)) for name, value in options.items()]
        for start in range(0, len(params), MOST_OPTIONS):
            self.client.log_batch(self.id, params=params[start : start + MOST_OPTIONS])

    def write_numbers(self, points: Sequence[Point]) -> None:
        """Write metrics."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(point.name, point.value, now, point.step) for point in points]
        for start in range(0, len(metrics), MOST_NUMBERS):
            self.client.log_batch(self.id, metrics=metrics[start : start + MOST_NUMBERS])

    def write_histogram(self, name: str, values: NDArray[np.float32], step: int) -> None:
        """Write the counts of the bins as JSON; MLflow has no histograms."""
        counts, edges = np.histogram(values, HISTOGRAM_EDGES)
        content = {"step": step, "edges": edges.round(4).tolist(), "counts": counts.tolist()}
        self.client.log_dict(self.id, content, f"{_path(name)}/step-{step:07d}.json")

    def write_text(self, name: str, text: str, step: int) -> None:
        """Write a text."""
        self.client.log_text(self.id, text, f"{_path(name)}/step-{step:07d}.md")

    def write_file(self, path: Path) -> None:
        """Keep a file as an artifact."""
        self.client.log_artifact(self.id, str(path))

    def close_run(self, status: Status) -> None:
        """Set the status of the run."""
        self.client.set_terminated(self.id, STATUS[status])


def _path(name: str) -> str:
    return name.replace(" ", "_")
