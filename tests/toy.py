"""Toy data, written by us: sentences whose label hangs on one word."""

from __future__ import annotations

import csv
import random

GOOD = ["lovely", "superb", "charming", "brilliant", "delightful"]
BAD = ["dreadful", "boring", "clumsy", "awful", "tedious"]
FRAMES = [
    "a {} film about a small town",
    "the plot is {} and the cast tries hard",
    "what a {} evening at the cinema",
    "the second half turns {} , the music too",
    "{} from the first scene to the last",
    "my neighbour called it {}",
    "this story of two sisters feels {}",
]


def toy_texts(n, seed=0):
    """`n` sentences and their labels, half of them `neg`, half `pos`."""
    stream = random.Random(seed)
    rows = []
    for i in range(n):
        word = stream.choice(GOOD if i % 2 else BAD)
        rows.append((stream.choice(FRAMES).format(word), "pos" if i % 2 else "neg"))
    stream.shuffle(rows)
    return [text for text, _ in rows], [label for _, label in rows]


def write_csv(path, texts, labels, header=("text", "label")):
    """Write texts and labels as CSV."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(zip(texts, labels, strict=True))
    return path


TOPICS = {
    "billing": ["invoice", "charge", "payment"],
    "login": ["password", "account", "signin"],
    "refund": ["refund", "return", "money"],
}
OTHERS = ["window", "garden", "bicycle"]
REQUESTS = ["the {} is wrong again", "please look at my {}", "what about the {} today", "i have a {} problem"]


def toy_label_sets(n, seed=0):
    """`n` requests and the topics of each: any number of three, or none."""
    stream = random.Random(seed)
    texts, sets = [], []
    for _ in range(n):
        topics = [topic for topic in TOPICS if stream.random() < 0.4]
        words = [stream.choice(TOPICS[topic]) for topic in topics]
        if not words or stream.random() < 0.5:  # so that neither length nor "and" says anything
            words.insert(stream.randrange(len(words) + 1), stream.choice(OTHERS))
        texts.append(" and ".join(stream.choice(REQUESTS).format(word) for word in words))
        sets.append(tuple(topics))
    return texts, sets
