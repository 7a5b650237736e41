"""What a report says at its head, in sentences that a customer understands: what the model is, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

import numpy as np

from vmask._core.wording import plural
from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.data.duplicates import normalise
from vmask.inference.visibility import binds
from vmask.pretrained.encoders import public_name
from vmask.report.model.test_scores import Predicted
from vmask.training.run_config import Plan

THINGS = (
    *("questions", "reviews", "sentences", "comments", "messages", "tweets", "headlines"),
    *("titles", "articles", "emails", "posts", "abstracts", "documents", "descriptions"),
)
"""What texts may be called, where the name of the column or the title of the dataset says so."""
FEW = 100
"""Texts below which the headline gives their true number, and a reader is warned that they are few."""
SAME_IMPORTANCE = 0.02
"""Spread of the masks of words up to which their ranking means little, as training warns."""
KNOWN_TEXTS = 0.05
"""Share of texts that stand in train too from which on a reader is warned."""


def things(dataset: Dataset) -> str:
    """What the texts are: `questions`, where a column is called `question`; else `texts`."""
    title = dataset.card.title if dataset.card is not None else ""
    said = f"{dataset.text} {title}".lower()
    return next((thing for thing in THINGS if thing.removesuffix("s") in said), "texts")


def model_name(plan: Plan) -> str:
    """A model as it is called behind an article: `CNN`, or the name of an encoder."""
    return f"encoder ({public_name(plan.model_options.encoder)})" if plan.reads_pieces else plan.model.upper()


def headline(
    plan: Plan, dataset: Dataset, right: int, texts: int, split: str, classes: int, several: bool = False
) -> str:
    """What the model is and how good, in a sentence.

    >>> of_texts(461, 500), of_texts(11, 12), of_texts(5000, 5000), of_texts(2999, 3000)
    ('92 of 100', '11 of 12', 'all 5,000', '999 of 1,000')
    """
    name = model_name(plan)
    article = "An" if name.startswith(("LSTM", "encoder")) else "A"
    if several:
        return (
            f"{article} {name} that gives {things(dataset)} any of {classes:,} labels, all of them right on "
            f"{of_texts(right, texts)} {split} texts"
        )
    kinds = f"{classes:,} kinds" if classes != 1 else "one kind"
    return (
        f"{article} {name} that sorts {things(dataset)} into {kinds}, right on {of_texts(right, texts)} {split} texts"
    )


def of_texts(right: int, texts: int) -> str:
    """How many are right, of 100 where there are many; never rounded up to all."""
    if right == texts > 1:
        return f"all {texts:,}"
    if texts < FEW:
        return f"{right:,} of {texts:,}"
    rounded = round(100 * right / texts)
    return f"{rounded} of 100" if rounded < 100 else f"{floor(1000 * right / texts)} of 1,000"


def lead(classifier: TextClassifier, dataset: Dataset) -> str:
    """What it was trained on, and what its mask does."""
    title = dataset.card.title if dataset.card is not None and dataset.card.title else dataset.name
    mask = classifier.plan_.mask
    ranking = (
        f"The word mask that it learnt ({mask}) decides which words it sees at all."
        if binds(classifier.predictor_.model)
        else f"The word mask that it learnt ({mask}) says how much of each word it sees."
        if classifier.predictor_.ranks_words
        else f"It was trained by a method that ranks no words ({mask})."
    )
    return f"Trained on {classifier.data_['train']:,} texts. Data: {title}. {ranking}"


def report_warnings(classifier: TextClassifier, dataset: Dataset, predictions: Predicted) -> Iterator[str]:
    """What a reader must know before all else."""
    trained_on = classifier.about_.get("dataset_fingerprint")
    if trained_on and trained_on != dataset.fingerprint:
        yield other_data(dataset)
    if predictions.measured.instead:
        yield predictions.measured.instead
    if known := _known_texts(dataset, predictions):
        yield known
    if predictions.unknown:
        strange = predictions.names[len(classifier.classes_) :]
        verb = "has" if predictions.unknown == 1 else "have"
        texts = plural(predictions.unknown, f"{predictions.measured.split} text")
        yield (
            f"{texts} {verb} a label that "
            f"the model was not trained on ({', '.join(strange[:5])}); it cannot get these right."
        )
    spread = classifier.history_[classifier.best_epoch_ - 1].get("mask_std")
    if spread is not None and spread <= SAME_IMPORTANCE:
        yield (
            f"The importance of all words came out nearly the same (spread {spread:.3f}): their ranking means little. "
            "Train for more epochs, or with another --beta."
        )
    if predictions.measured.texts < FEW:
        few = f"are only {predictions.measured.texts} {predictions.measured.split} texts"
        if predictions.measured.texts == 1:
            few = f"is only one {predictions.measured.split} text"
        yield f"There {few}: every number here is a rough one."


def _known_texts(dataset: Dataset, predictions: Predicted) -> str:
    """What to say where many of the texts that the model is measured on are those it has learnt from."""
    train = {normalise(text) for text in dataset.splits["train"].texts}
    new = np.array([normalise(text) not in train for text in predictions.split.texts])
    old = int((~new).sum())
    if old < KNOWN_TEXTS * len(new):
        return ""
    others, correct = int(new.sum()), int(predictions.right[new].sum())
    rest = ""
    if others:
        verb = "is" if correct == 1 else "are"
        rest = f" Of the other {plural(others, 'text')}, {correct:,} {verb} classified correctly."
    return (
        f"{old:,} of {len(new):,} {predictions.measured.split} texts also occur among the training texts, so the model "
        f"may be less accurate on new texts.{rest}"
    )


def other_data(dataset: Dataset) -> str:
    """What to say where the data is not what the model was trained on."""
    return (
        f"The texts of {dataset.name} are not those that the model was trained on: their fingerprints differ. Some of "
        "the texts that it is measured on here may have been among its training texts."
    )
