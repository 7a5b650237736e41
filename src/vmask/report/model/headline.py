"""What a report says at its head, in sentences that a customer understands."""

from __future__ import annotations

from math import floor

from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.pretrained.encoders import public_name
from vmask.training.run_config import Plan

THINGS = (
    "questions",
    "reviews",
    "sentences",
    "comments",
    "messages",
    "tweets",
    "headlines",
    "titles",
    "articles",
    "emails",
    "posts",
    "abstracts",
    "documents",
    "descriptions",
)
"""What texts may be called, where the name of the column or the title of the dataset says so."""
FEW = 100
"""Texts below which the headline gives their true number."""


def things(dataset: Dataset) -> str:
    """What the texts are: `questions`, where a column is called `question`; else `texts`."""
    title = dataset.card.title if dataset.card is not None else ""
    said = f"{dataset.text} {title}".lower()
    return next((thing for thing in THINGS if thing.removesuffix("s") in said), "texts")


def model_name(plan: Plan) -> str:
    """A model as it is called behind an article: `CNN`, or the name of an encoder."""
    return f"encoder ({public_name(plan.model_options.encoder)})" if plan.reads_pieces else plan.model.upper()


def headline(plan: Plan, dataset: Dataset, right: int, texts: int, split: str, classes: int) -> str:
    """What the model is and how good, in a sentence.

    >>> of_texts(461, 500), of_texts(11, 12), of_texts(5000, 5000), of_texts(2999, 3000)
    ('92 of 100', '11 of 12', 'all 5,000', '999 of 1,000')
    """
    name = model_name(plan)
    article = "An" if name.startswith(("LSTM", "encoder")) else "A"
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
        f"The word mask that it learnt ({mask}) says how much of each word it sees."
        if classifier.predictor_.ranks_words
        else f"It was trained by a method that ranks no words ({mask})."
    )
    return f"Trained on {classifier.data_['train']:,} texts. Data: {title}. {ranking}"
