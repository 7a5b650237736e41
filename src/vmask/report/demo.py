"""The demo: two classifiers and a linear baseline on one dataset, what they learnt, and a page about it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vmask import __version__
from vmask._core.files import write_text
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset, Split, load_dataset
from vmask.explain.contract import Explanation
from vmask.inference.predictor import WordImportance
from vmask.report.model.baselines import linear_baseline
from vmask.report.page import Page, render

LINEAR = "linear"
TOP_WORDS, MIN_COUNT, TEXTS = 24, 3, 5


@dataclass(frozen=True)
class DemoResult:
    """What the demo found.

    Attributes:
        accuracy: name of a model -> its accuracy on the test texts.
        test_n: how many test texts there are.
        words: the words CNN-VMASK uses most.
        explanations: some test texts as CNN-VMASK sees them, with the right class.
        report: the page.
        seconds: how long all of it took.
    """

    accuracy: dict[str, float]
    test_n: int
    words: list[WordImportance]
    explanations: list[tuple[Explanation, str]]
    report: Path
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "accuracy": self.accuracy,
            "n": self.test_n,
            "words": [{"word": w.word, "score": w.score, "count": w.count} for w in self.words],
            "texts": [{**e.to_dict(), "true": true} for e, true in self.explanations],
            "report": str(self.report),
            "seconds": self.seconds,
        }

    def lines(self) -> Iterator[Any]:
        """All of it for a terminal."""
        from rich.table import Table
        from rich.text import Text

        table = Table("model", "test accuracy", box=None, header_style="bold")
        table.columns[1].justify = "right"
        for name, value in self.accuracy.items():
            table.add_row(name, f"{value:.3f}")
        yield table
        yield Text.assemble(("\nwords it uses most  ", "bold"), "  ".join(w.word for w in self.words))
        yield Text("\ntest sentences, words coloured by importance", style="bold")
        for explanation, true in self.explanations:
            verdict = f"  {explanation.target} {explanation.probability:.2f}"
            yield explanation.to_rich()
            yield Text(verdict + ("" if str(explanation.target) == true else f" (in truth {true})"), style="dim")
        yield Text(f"\nreport: {self.report}   ({self.seconds:.0f} s)")


def run_demo(
    *,
    data: str,
    data_dir: str | None,
    embeddings: str,
    model: str,
    epochs: int | None,
    seed: int,
    device: str,
    out: Path,
    say: Callable[[str], None],
    verbose: bool,
) -> DemoResult:
    """Fetch, train, compare, explain, and write `out/report.html` and the two model folders."""
    started = time.perf_counter()
    say(f"loading {data}")
    dataset = load_dataset(data, data_dir=data_dir)
    for note in dataset.notes:
        say(note)
    train, dev, test = (dataset.splits[name] for name in ("train", "dev", "test"))
    say(f"{dataset.name}: {len(train):,} training, {len(dev):,} dev and {len(test):,} test texts")
    accuracy = {LINEAR: linear_baseline(train, test)}
    classifiers: dict[str, TextClassifier] = {}
    for mask in ("base", "vmask"):
        name = f"{model}-{mask}"
        options: dict[str, Any] = {
            **dataset.defaults,
            "embeddings": embeddings,
            "epochs": epochs,
            "seed": seed,
        }
        classifier = TextClassifier(model, mask, device=device, verbose=verbose, **options)
        classifier.fit(train.texts, train.labels, dev=(dev.texts, dev.labels))
        accuracy[name] = float(classifier.score(test.texts, test.labels))
        classifier.about_ = {
            "dataset": dataset.name,
            "text": dataset.text,
            "label": dataset.label,
            "test_accuracy": accuracy[name],
            "test_n": len(test),
        }
        classifier.save(out / name, overwrite=True)
        classifiers[name] = classifier
    masked = classifiers[f"{model}-vmask"]
    explanations = list(zip(masked.explain(chosen_texts(test)), chosen_labels(test), strict=True))
    seconds = time.perf_counter() - started
    result = DemoResult(
        accuracy=accuracy,
        test_n=len(test),
        words=masked.word_importance(TOP_WORDS, MIN_COUNT),
        explanations=explanations,
        report=out / "report.html",
        seconds=round(seconds, 1),
    )
    write_text(result.report, render(_page(result, dataset, classifiers, embeddings, seed)))
    return result


def _chosen(test: Split) -> list[int]:
    """The first texts of a handy length, so that the choice does not depend on what the model says of them."""
    handy = [i for i, text in enumerate(test.texts) if 8 <= len(text.split()) <= 24]
    return (handy or list(range(len(test))))[:TEXTS]


def chosen_texts(test: Split) -> list[str]:
    """The test texts that are shown."""
    return [test.texts[i] for i in _chosen(test)]


def chosen_labels(test: Split) -> list[str]:
    """Their right classes."""
    return [test.labels[i] for i in _chosen(test)]


def _page(
    result: DemoResult, dataset: Dataset, classifiers: dict[str, TextClassifier], embeddings: str, seed: int
) -> Page:
    what = {LINEAR: "TF-IDF and logistic regression", "base": "no mask", "vmask": "variational word masks"}
    title = dataset.card.title if dataset.card is not None else dataset.name
    return Page(
        title=f"Which words decide: {dataset.name}",
        summary=f"{title}. Two neural classifiers and a linear one, trained on {len(dataset.splits['train']):,} texts.",
        accuracy={name: (value, what[name.rpartition("-")[2]]) for name, value in result.accuracy.items()},
        histories={name: classifier.history_ for name, classifier in classifiers.items()},
        best_epochs={name: classifier.best_epoch_ for name, classifier in classifiers.items()},
        words=result.words,
        explanations=result.explanations,
        how={
            "Data": f"{dataset.name}, {len(dataset.splits['train']):,} / {len(dataset.splits['dev']):,} / "
            f"{result.test_n:,} texts for training, dev and test; " + (dataset.card.source if dataset.card else ""),
            "Word vectors": embeddings,
            "Seed": str(seed),
            "Time": f"{result.seconds:.0f} seconds on {platform.machine()}, {platform.system()}",
            "Versions": f"vmask {__version__}, torch {version('torch')}, Python {platform.python_version()}",
        },
    )
