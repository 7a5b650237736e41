"""The demo: a classifier with word masks beside one without and a linear model, and the report of the first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmask._core.files import write_text
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset, Split, load_dataset
from vmask.evaluation.dataset_training import describe_training, fit_dataset
from vmask.evaluation.statistics import mean_interval
from vmask.explain.contract import Explanation
from vmask.inference.word_importance import WordImportance
from vmask.report.model.collect import collect
from vmask.report.model.content import LINEAR_MODEL, Content, Rival
from vmask.report.model.page import render
from vmask.report.model.test_scores import predict

LINEAR = "linear"
TOP_WORDS, MIN_COUNT, TEXTS = 24, 3, 5


@dataclass(frozen=True)
class DemoResult:
    """What the demo found.

    Attributes:
        accuracy: name of a model -> its accuracy on the test texts.
        words: the words that the masked model uses most.
        explanations: some test texts as the masked model sees them, with the right class.
        report: the page of the masked model, with the other models beside it.
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
            yield Text(verdict + ("" if str(explanation.target) == true else f" (true class: {true})"), style="dim")
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
    classifiers: dict[str, TextClassifier] = {}
    for mask in ("base", "vmask"):
        name = f"{model}-{mask}"
        options: dict[str, Any] = {**dataset.defaults, "embeddings": embeddings, "epochs": epochs, "seed": seed}
        options["calibration"] = "none"  # masks are compared as they are trained
        training_started = time.perf_counter()
        classifier = fit_dataset(TextClassifier(model, mask, device=device, verbose=verbose, **options), dataset)
        describe_training(classifier, dataset, time.perf_counter() - training_started)
        classifier.save(out / name, overwrite=True)
        classifiers[name] = classifier
    unmasked, masked = classifiers.values()
    some = handy_texts(test)
    explanations = list(zip(masked.explain(some.texts), some.labels, strict=True))
    content = beside(collect(masked, dataset, folder=out / f"{model}-vmask"), unmasked, dataset)
    write_text(out / "report.html", render(content))
    accuracy = {name: float(classifier.about_["test_accuracy"]) for name, classifier in classifiers.items()}
    linear = {rival.name: rival.accuracy.value for rival in content.scores.rivals}.get(LINEAR_MODEL)
    return DemoResult(
        accuracy=accuracy if linear is None else {LINEAR: linear, **accuracy},
        test_n=len(test),
        words=masked.word_importance(TOP_WORDS, MIN_COUNT),
        explanations=explanations,
        report=out / "report.html",
        seconds=round(time.perf_counter() - started, 1),
    )


def beside(content: Content, unmasked: TextClassifier, dataset: Dataset) -> Content:
    """The report of a model, with the same model without a mask among those that it is compared with."""
    correct = predict(unmasked.predictor_, dataset).right
    first, *others = content.scores.rivals
    what = "the same model, trained without a word mask"
    rival = Rival(f"{first.name} without a mask", what, mean_interval(correct))
    return replace(content, scores=replace(content.scores, rivals=(first, rival, *others)))


def handy_texts(test: Split) -> Split:
    """The first texts of a handy length, so that the choice does not depend on what the model says of them."""
    rows = [row for row, text in enumerate(test.texts) if 8 <= len(text.split()) <= 24]
    return test.take((rows or list(range(len(test))))[:TEXTS])
