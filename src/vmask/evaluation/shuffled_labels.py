"""Train on random labels, to check that explanations depend on what was learnt (Adebayo et al., NeurIPS 2018).

Explanations of the two models must differ. Their agreement is measured by the parts `training kendall` and `training
overlap` of the metric `stability`:

    shuffled = train_on_shuffled_labels(classifier, texts, labels)
    evaluate([classifier, shuffled], test, "stability", "lime,mask")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmask._core.random_streams import numpy_stream
from vmask.classifier import TextClassifier


def train_on_shuffled_labels(
    classifier: TextClassifier, texts: Sequence[str], labels: Sequence[Any], seed: int = 0
) -> TextClassifier:
    """A new classifier with the same parameters, trained on the same texts with their labels in a random order.

    Args:
        classifier: fitted or not; it is not changed.
        texts: the training texts.
        labels: the label of each.
        seed: random seed of the order.
    """
    order = numpy_stream(seed, "shuffled labels").permutation(len(labels))
    trained = TextClassifier(**classifier.get_params())
    return trained.fit(texts, [labels[i] for i in order])
