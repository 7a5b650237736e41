"""Modules that have moved, importable by their old names for one release, with a warning that names the new place."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "experiments": "grid",
    "fitting": "training",
    "model_report": "report.model",
    "web": "serve",
    "black_box": "inference.black_box",
    "cli.talk": "cli.console",
    "data.assets": "data.downloads",
    "data.batches": "text.batches",
    "data.check": "data.paper_check",
    "data.labelled": "data.labels",
    "data.parquet": "data.arrow",
    "data.pieces": "text.pieces",
    "data.tokenizer_file": "text.tokenizer_file",
    "data.vocabulary": "text.vocabulary",
    "data.words": "text.words",
    "demo": "report.demo",
    "distil": "pretrained.distillation",
    "embeddings": "pretrained.word_vectors",
    "encoders": "pretrained.encoders",
    "evaluation.chosen": "evaluation.resolve",
    "evaluation.kept": "evaluation.explanation_cache",
    "evaluation.texts": "evaluation.subjects",
    "experiments.cell": "grid.cell",
    "experiments.estimate": "grid.estimate",
    "experiments.facts": "grid.provenance",
    "experiments.grid": "grid.run",
    "experiments.models": "grid.model_store",
    "experiments.pool": "grid.engines.local",
    "grid.pool": "grid.engines.local",
    "experiments.result_shapes": "grid.result_schema",
    "experiments.search": "grid.search",
    "experiments.shown": "grid.result_summary",
    "experiments.spec": "grid.spec",
    "experiments.starts": "grid.warm_start",
    "experiments.store": "grid.store",
    "experiments.telling": "grid.informative_words",
    "experiments.training": "evaluation.dataset_training",
    "experiments.work": "grid.worker",
    "explaining": "explain.api",
    "explanations_file": "explain.explanation_file",
    "files": "_core.files",
    "fitting.checks": "training.inputs",
    "fitting.contract": "training.prepared",
    "fitting.pieces": "training.prepare_pieces",
    "fitting.train": "training.fit",
    "fitting.words": "training.prepare_words",
    "folders": "_core.folders",
    "folding": "inference.folding",
    "json_shapes": "_core.json_schema",
    "kept": "inference.perturb",
    "locks": "_core.locks",
    "model_card": "persistence.model_card",
    "model_report.baseline": "report.model.test_scores",
    "model_report.choose": "report.model.collect",
    "model_report.collect": "report.model.collect",
    "model_report.content": "report.model.content",
    "model_report.facts": "report.model.provenance",
    "model_report.figures": "report.model.figures",
    "model_report.lean": "report.model.word_table",
    "model_report.measured": "report.model.test_scores",
    "model_report.render": "report.model.page",
    "model_report.said": "report.model.headline",
    "model_report.uses": "report.model.usage_snippets",
    "model_report.words": "report.model.word_table",
    "model_report.write": "report.model.page",
    "outside": "_core.parsing",
    "piece_predictor": "inference.piece_predictor",
    "plan": "training.run_config",
    "planted": "evaluation.planted",
    "predictor": "inference.predictor",
    "report.highlight": "explain.highlight",
    "report.scores": "evaluation.score_tables",
    "seam": "inference.gradients",
    "splime": "explain.aggregate",
    "statistics": "evaluation.statistics",
    "stored": "persistence.predictor_io",
    "tensor_shapes": "pretrained.tensor_shapes",
    "terminal": "_core.terminal",
    "training.seeding": "_core.random_streams",
    "web.api": "serve.api",
    "web.app": "serve.app",
    "web.asking": "serve.queries",
    "web.batcher": "serve.batcher",
    "web.config": "serve.config",
    "web.describing": "serve.page",
    "web.docs_page": "serve.page",
    "web.examples": "serve.loaded_model",
    "web.jobs": "serve.jobs",
    "web.monitor": "serve.monitor",
    "web.protocol": "serve.protocol",
    "web.refusals": "serve.http_errors",
    "web.schemas": "serve.schemas",
    "web.security": "serve.security",
    "web.served": "serve.loaded_model",
    "web.server": "serve.server",
    "web.tables": "serve.tables",
    "web.waiting": "serve.jobs",
    "web.watched": "serve.queries",
}
"""Old names to new ones, inside of `vmask`."""


class MovedModules(MetaPathFinder, Loader):
    """Finds a module under its old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find old names only."""
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "vmask" and name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Use the default: `exec_module` replaces the module by the real one."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the module from its new place, with a warning."""
        old = module.__name__
        new = f"vmask.{MOVED[old.partition('.')[2]]}"
        warnings.warn(f"{old} has moved to {new}; the old name will go with the next release.", DeprecationWarning, 2)
        sys.modules[old] = importlib.import_module(new)


def install() -> None:
    """Make the old names importable. It goes first: a file found by an old package name would be loaded twice."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
