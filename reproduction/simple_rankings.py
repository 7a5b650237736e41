"""Measure rankings of words that need no neural model on the texts of `plausibility.yaml`, as its stage measures masks.

    python -m reproduction.simple_rankings --data-dir DATA

Words are ranked by how often they stand in the training texts, and by the weights of a logistic regression on them. The
results lie beside those of the grid, with the model `words` and the ranking in place of a training method.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.rankings import RANKINGS, Texts
from vmask.classifier import TextClassifier
from vmask.cli.console import say_result
from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import VmaskError
from vmask.evaluation.measure import evaluate
from vmask.grid.cell import identity
from vmask.grid.experiment import Stage
from vmask.grid.provenance import facts
from vmask.grid.result_summary import describe_dataset, kept_values, numbers, short
from vmask.grid.spec import read_experiment
from vmask.grid.store import Store
from vmask.inference.contract import BasePredictor, Doc
from vmask.text.vocabulary import WordTokenizer
from vmask.training.fit import prepare_data
from vmask.training.prepare_words import PreparedWords

HERE = Path(__file__).parent
GRID, RESULTS = HERE / "plausibility.yaml", HERE / "results" / "plausibility"
MODEL = "words"
"""Stands for the model in results: models of words read the same words of a text."""
SIMPLE = ("frequency", "linear")
"""The rankings, of `RANKINGS`."""
EXPLAINERS: dict[str, dict[str, Any]] = {"mask": {}}


class WordRanking(BasePredictor):
    """A ranking of words, measured as a model with a mask: its classes are guessed from their shares alone.

    Args:
        ranking: words, the most important first; a word that is not among them comes last.
        tokenizer: splits texts into words.
        labels: the classes.
        shares: (C,) shares of the classes.
    """

    ranks_words = True

    def __init__(
        self, ranking: Sequence[str], tokenizer: WordTokenizer, labels: Sequence[Any], shares: NDArray[np.float64]
    ) -> None:
        self.labels, self.tokenizer, self.shares = tuple(labels), tokenizer, shares.astype(np.float32)
        self._scores = np.zeros(len(tokenizer), np.float32)
        for place, word in enumerate(ranking):
            self._scores[tokenizer.id_of(word)] = 1 - place / len(ranking)

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Split texts into words, up to the length limit."""
        return [
            Doc(text, tuple(map(tuple, tokens.spans.tolist())), tokens.ids, tokens.total - len(tokens.ids))
            for text, tokens in zip(texts, self.tokenizer.encode(texts), strict=True)
        ]

    def predict_docs(self, docs: Sequence[Doc]) -> NDArray[np.float32]:
        """(N, C) probabilities, the same for every text."""
        return np.tile(self.shares, (len(docs), 1))

    def predict_kept(
        self, docs: Sequence[Doc], keep: Sequence[NDArray[Any]], hide: str = "remove"
    ) -> list[NDArray[np.float32]]:
        """(S_i, C) probabilities of each text under its rows of `keep` (S_i, W_i), the same for all."""
        return [np.tile(self.shares, (len(rows), 1)) for rows in keep]

    def mask_scores(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """(W_i,) 1 for the first word of the ranking, falling to 0."""
        return [self._scores[doc.ids] for doc in docs]


def rankings_of(dataset: Dataset) -> dict[str, WordRanking]:
    """The rankings by the training texts of a dataset, read as a CNN reads them."""
    train, dev = dataset.splits["train"], dataset.splits["dev"]
    plan = TextClassifier("cnn", "base", **{**dataset.defaults, "embeddings": "random"}).plan()
    prepared = prepare_data(plan, train.texts, train.labels, (dev.texts, dev.labels), 0.1)
    assert isinstance(prepared, PreparedWords)
    texts = Texts.of(prepared)
    shares = np.bincount(texts.codes) / len(texts.codes)
    return {name: WordRanking(RANKINGS[name](texts, 0), prepared.tokenizer, prepared.labels, shares) for name in SIMPLE}


def measure(ranking: WordRanking, name: str, dataset: Dataset, stage: Stage) -> dict[str, Any]:
    """The result of a ranking on a dataset, as a stage of a grid has it; intervals are over texts."""
    started = time.perf_counter()
    asked = {"metrics": dict(stage.metrics), "explainers": EXPLAINERS, "n": stage.n, "hide": list(stage.hide)}
    evaluation = evaluate(ranking, dataset, stage.metrics, EXPLAINERS, n=stage.n, hide=stage.hide)
    return {
        "cell": {"dataset": dataset.name, "model": MODEL, "mask": name, "variant": "", "seed": 0},
        "stage": stage.name,
        "status": "done",
        "identity": identity({**asked, "ranking": name, "data": dataset.fingerprint}),
        "asked": asked,
        "facts": facts({*stage.metrics, *EXPLAINERS}),
        "measured": dict(evaluation.facts),
        "metrics": dict(evaluation.metrics),
        "seconds": round(time.perf_counter() - started, 1),
        "scores": numbers(evaluation),
        "sample": list(evaluation.sample),
        "values": kept_values(evaluation),
        "splime": short(dict(evaluation.words)),
        "examples": [],
        "importance": None,
        "notes": list(evaluation.notes),
    }


def main(words: list[str] | None = None) -> int:
    """Measure all rankings on all datasets of the grid; the exit code is 2 where that cannot be done."""
    description = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m reproduction.simple_rankings", description=description)
    parser.add_argument("--data-dir", metavar="DIR", help="folder with local datasets [the VMASK_DATA variable]")
    parser.add_argument("--grid", type=Path, default=GRID, metavar="FILE", help="[reproduction/plausibility.yaml]")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="[reproduction/results/plausibility]")
    args = parser.parse_args(words)
    try:
        experiment = read_experiment(args.grid)
        store = Store(args.out)
        for name in dict.fromkeys(cell.combination.dataset for cell in experiment.cells):
            dataset = load_dataset(name, data_dir=args.data_dir)
            store.write(store.data(dataset.name), describe_dataset(dataset, dataset.name))
            for ranking, predictor in rankings_of(dataset).items():
                record = measure(predictor, ranking, dataset, experiment.stages[0])
                store.write(store.cell(f"{dataset.name}--{MODEL}--{ranking}--s0", record["stage"]), record)
                score = next(one for one in record["scores"] if (one["metric"], one["by"]) == ("token_f1", "mask"))
                say_result(f"{dataset.name}, {ranking}: token F1 {score['value']:.3f}")
    except VmaskError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
