"""Evaluate a model and its explanations: the entry point of Python and of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vmask import __version__
from vmask._core.random_streams import numpy_stream
from vmask.config import EvaluateConfig, WorkersConfig, make, to_dict
from vmask.errors import ConfigError
from vmask.evaluation.label_scores import label_scores
from vmask.evaluation.resolve import ALL, Named, fitting, names, plugins, ways_of_hiding
from vmask.evaluation.result import Evaluation
from vmask.evaluation.run import FLOOR, Kept, Run
from vmask.evaluation.subjects import confusion, digest_of, subject_of, texts_of
from vmask.explain import EXPLAINERS
from vmask.explain.api import as_predictor
from vmask.inference.work import Map
from vmask.metrics import METRICS
from vmask.registry import Registry


def evaluate(
    model: Any,
    data: Any,
    metrics: Named = EvaluateConfig.metrics,
    explainers: Named = EvaluateConfig.explainers,
    *,
    split: str | None = None,
    name: str = "",
    labelled: bool = True,
    n: int = EvaluateConfig.n,
    seed: int = 0,
    hide: str | Sequence[str] | None = None,
    explain_hide: str | None = None,
    rank: str = EvaluateConfig.rank,
    ranking: Mapping[str, float] | None = None,
    labels: Sequence[Any] | None = None,
    batch_size: int | None = None,
    workers: int = 1,
    planted: bool = False,
    progress: bool = False,
    keep: Kept | None = None,
    share: Map | None = None,
) -> Evaluation:
    """Evaluate a model and its explanations on labelled texts.

    Args:
        model: a `TextClassifier`, anything that `explain_texts` explains, or a list of trainings of one model with
            different seeds; intervals are then over seeds.
        data: a single file (all rows are used, with the columns that the model was trained on); a folder of splits, a
            `Dataset` or the name of one (one split is used); a `Split`; a table (pandas, polars, pyarrow, `datasets`)
            with the columns of the training, else obvious ones; a pair of texts and labels; or only texts.
            `vmask.data.datasets.load_table` reads other columns of a file.
        metrics: names (`vmask ls metrics`), `all` for all that apply, `all,-naopc` for all but one; or a mapping to
            options, `{"aopc": {"k": 10}}`.
        explainers: explanation methods in the same form; `random` is always included.
        split: split of a dataset; by default `test`.
        name: name of the data in the result if it is not a dataset.
        labelled: False to ignore the labels of the data, if they are not those of the model.
        n: maximum number of texts to explain, drawn at random. Predictions are evaluated on all texts.
        seed: random seed.
        hide: ways of hiding words; by default `remove`, and the first of `mask`, `zero` and `unk` that the model has.
        explain_hide: how explanation methods hide words; by default `remove`.
        rank: whether words are ranked by `signed` or by `absolute` scores.
        ranking: word importance of another model, for metrics of a model's own ranking.
        labels: the classes of a plain function, in the order of its columns.
        batch_size: maximum number of perturbed texts per call of the model.
        workers: number of threads that explain texts in parallel.
        planted: whether the rationales of the data are planted words.
        progress: show a progress bar.
        keep: stores explanations in files; used by the command line.
        share: lets other processes, which hold the same models in the same order, predict, explain and measure:
            `vmask.cluster.workers.Workers.map`.

    Raises:
        ConfigError: for invalid options; like UnknownName and DataError, before any computation.
    """
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    if not models:
        raise ConfigError("There is no model to evaluate. Give at least one.")
    settings = {"n": n, "seed": seed, "rank": rank, "explain_hide": explain_hide}
    config = make(EvaluateConfig, {**settings, "batch_size": batch_size})
    threads = make(WorkersConfig, {"workers": workers}).workers or 1
    chosen = _instances(METRICS, plugins(METRICS, metrics))
    methods = {
        name: to_dict(method.options)
        for name, method in _instances(EXPLAINERS, {**plugins(EXPLAINERS, explainers), FLOOR: {}}).items()
    }
    predictors = [as_predictor(each, labels) for each in models]
    first = predictors[0]
    if batch_size is not None:
        predictors = [predictor.batched(batch_size) for predictor in predictors]
    if any((*predictor.labels, predictor.task) != (*first.labels, first.task) for predictor in predictors):
        raise ConfigError(
            "These models have different labels, so they are not trainings of one model. Evaluate them separately."
        )
    hides = ways_of_hiding(predictors[0], hide)
    texts = texts_of(data, split, getattr(models[0], "about_", {}), labelled, predictors[0].labels)
    sample = np.sort(numpy_stream(config.seed, "evaluate").permutation(len(texts.texts))[: config.n])
    subjects = [
        # Agreement over training seeds is measured once, between the first model and the others.
        subject_of(
            predictor,
            texts,
            sample,
            hides,
            config.seed,
            ranking,
            planted,
            tuple(predictors[1:]) if not number else (),
            share,
            number,
        )
        for number, predictor in enumerate(predictors)
    ]
    fit, notes = fitting(chosen, subjects, everything=ALL in names(metrics))
    run = Run(config, methods, fit, len(subjects), progress, keep, threads, share)
    results = [run.measure(subject, number) for number, subject in enumerate(subjects)]
    notes = list(dict.fromkeys([*texts.notes, *notes, *run.notes]))
    facts = {
        "data": name,
        **texts.facts,
        "texts": texts.digest,
        "n": len(sample),
        "models": len(predictors),
        "seed": config.seed,
        "hide": list(hides),
        "explain_hide": config.explain_hide or "remove",
        "rank": config.rank,
        "ranking": None if ranking is None else digest_of(sorted(ranking.items())),
        "explainers": {name: methods[name] for name in run.used},
        "frequencies_of": subjects[0].counted_name,
        "vmask": __version__,
    }
    return Evaluation(
        found=tuple(series for series, _ in results),
        metrics={name: to_dict(metric.options) for name, metric in fit.items()},
        ids=texts.ids,
        sample=sample.tolist(),
        labels=list(predictors[0].labels),
        confusion=[table for subject in subjects if subject.labels is not None and (table := confusion(subject))],
        by_label=[rows for subject in subjects if (rows := label_scores(subject))],
        words={name: words for name, words in results[0][1].items() if name in run.used},
        facts=facts,
        notes=tuple(notes),
    )


def _instances(registry: Registry[Any], named: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Instances of plug-ins with their options, which are checked."""
    instances = {}
    for name, options in named.items():
        kind = registry.get(name)
        instances[name] = kind(make(kind.Options, options, f"{name}."))
        instances[name].name = name  # the file of another package's plug-in may have another name
    return instances
