"""Measure a model and its explanations: what Python and the command line both call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vmask import __version__
from vmask._core.random_streams import numpy_stream
from vmask.config import EvaluateConfig, make, to_dict
from vmask.errors import ConfigError
from vmask.evaluation.resolve import ALL, Named, fitting, names, plugins, ways_of_hiding
from vmask.evaluation.result import Evaluation
from vmask.evaluation.run import FLOOR, Kept, Run
from vmask.evaluation.subjects import confusion, digest_of, subject_of, texts_of
from vmask.explain import EXPLAINERS
from vmask.explain.api import as_predictor
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
) -> Evaluation:
    """Measure a model and its explanations on labelled texts.

    Args:
        model: a `TextClassifier`, anything that `explain_texts` explains, or a list of trainings of one model with
            different seeds: then intervals are over seeds.
        data: a single file, of which all rows are measured, with the columns that the model was trained on; a folder
            of splits, a `Dataset` or the name of one, of which a split is measured; a `Split`; texts and labels as a
            pair; or texts alone. `vmask.data.datasets.load_table` reads other columns of a file.
        metrics: names (`vmask ls metrics`), `all` for all that apply, `all,-naopc` for all but one; or a mapping to
            options, `{"aopc": {"k": 10}}`.
        explainers: likewise, of explanation methods; `random` is always measured with them.
        split: which split of a dataset; by default `test`.
        name: what data that is no dataset is called.
        labelled: False to leave the labels of the data out, where they are not those of the model.
        n: texts that are explained, at most, drawn at random. Predictions are measured on all.
        seed: of everything random.
        hide: ways of hiding words; by default `remove` and `mask`, `zero` or `unk`, the first that the model has.
        explain_hide: how the methods hide words; by default `remove`.
        rank: whether words are ranked by `signed` or by `absolute` scores.
        ranking: importance of words, of another model, for metrics of a model's own ranking.
        labels: the classes of a plain function, in the order of its columns.
        batch_size: perturbed texts that the model is given at a time, at most.
        workers: threads that explain texts side by side.
        planted: whether the rationales of the data are words that were planted.
        progress: show a progress bar.
        keep: keeps explanations in files; for the command line.

    Raises:
        ConfigError: for options that cannot work; UnknownName and DataError likewise, before the work begins.
    """
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    if not models:
        raise ConfigError("There is no model to evaluate. Give at least one.")
    asked = {"n": n, "seed": seed, "rank": rank, "explain_hide": explain_hide}
    config = make(EvaluateConfig, {**asked, "batch_size": batch_size, "workers": workers})
    chosen = _made(METRICS, plugins(METRICS, metrics))
    methods = {
        name: to_dict(method.options)
        for name, method in _made(EXPLAINERS, {**plugins(EXPLAINERS, explainers), FLOOR: {}}).items()
    }
    predictors = [as_predictor(one, labels) for one in models]
    if batch_size is not None:
        predictors = [one.batched(batch_size) for one in predictors]
    if any(list(one.labels) != list(predictors[0].labels) for one in predictors):
        raise ConfigError("These models have different labels, so they are no trainings of one. Evaluate them apart.")
    hides = ways_of_hiding(predictors[0], hide)
    texts = texts_of(data, split, getattr(models[0], "about_", {}), labelled)
    sample = np.sort(numpy_stream(config.seed, "evaluate").permutation(len(texts.texts))[: config.n])
    subjects = [
        # Agreement over training seeds is measured once, of the first model with the others.
        subject_of(
            one, texts, sample, hides, config.seed, ranking, planted, tuple(predictors[1:]) if not number else ()
        )
        for number, one in enumerate(predictors)
    ]
    fit, notes = fitting(chosen, subjects, everything=ALL in names(metrics))
    run = Run(config, methods, fit, len(subjects), progress, keep)
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
        found=tuple(found for found, _ in results),
        metrics={name: to_dict(metric.options) for name, metric in fit.items()},
        ids=texts.ids,
        sample=sample.tolist(),
        labels=list(predictors[0].labels),
        confusion=[] if subjects[0].labels is None else [confusion(one) for one in subjects],
        words={name: words for name, words in results[0][1].items() if name in run.used},
        facts=facts,
        notes=tuple(notes),
    )


def _made(registry: Registry[Any], named: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The plug-ins with their options, which are checked."""
    made = {}
    for name, options in named.items():
        kind = registry.get(name)
        made[name] = kind(make(kind.Options, options, f"{name}."))
        made[name].name = name  # of another package's plug-in, the file may be called otherwise
    return made
