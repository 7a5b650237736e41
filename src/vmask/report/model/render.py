"""The report of a model as one HTML file: nothing from outside, and complete without its script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vmask import __version__
from vmask.explain import EXPLAINERS
from vmask.persistence.model_folder import GENERATOR
from vmask.report import templating
from vmask.report.figures.labels import printed_word
from vmask.report.model.charts import NamedPoint, last_of_first_stage, reliability, scatter, training_curves
from vmask.report.model.content import ClassScore, Content, Word, Words
from vmask.report.model.word_class_association import CLEAR, PRIOR
from vmask.report.model.word_cloud import Cloud, cloud
from vmask.report.model.word_table import MIN_COUNT, frequent_enough
from vmask.report.svg import Plot, Scale

SECTIONS = {
    "accuracy": "Accuracy",
    "training": "Training",
    "words": "Words",
    "texts": "Texts",
    "calibration": "Calibration",
    "use": "Use it",
    "facts": "Data and versions",
}
"""Id of each section -> its name in the navigation."""
MOST_CLASSES = 40
"""Classes that are listed, at most."""
CHARACTERS = 1500
"""Characters of a text that are shown, at most."""
PLAIN_ROWS = 25
"""Rows of the table of words before a script shows more."""
COLOURS = 7
"""Classes up to which a word has the colour of its class; more cannot be told apart."""
CLOUD_WORDS = 48
CLOUDS = {"wide-cloud": (760, 330, 46.0, 15.0), "narrow-cloud": (340, 400, 33.0, 13.0)}
"""Width, height and font sizes of the cloud on a screen and on a phone."""
DIGITS = 6
"""Of importance, as the script has it: enough to sort words as the ranking does."""


def render(content: Content) -> str:
    """The page; the same bytes whenever the content is the same."""
    return templating.render(
        "model.html",
        content=content,
        title=content.name,
        generator=f"{GENERATOR}, {__version__}",
        script=templating.asset("model.js"),
        sections=SECTIONS,
        share_scale=Scale(0, 1, 2, 238),
        classes=largest_classes(content.classes),
        curves=training_curves(content.training),
        two_stages=last_of_first_stage(content.training.epochs) > 0,
        reliability=reliability(content.calibration),
        signs={one.method: one.signed for example in content.texts.examples for one in example.explanations},
        describe=EXPLAINERS.describe,
        characters=CHARACTERS,
        words=None if content.words is None else _words(content.words, content.labels),
    )


def largest_classes(classes: Sequence[ClassScore], most: int = MOST_CLASSES) -> list[ClassScore]:
    """The classes with the most texts, in the order of the report."""
    by_size = sorted(range(len(classes)), key=lambda at: (-classes[at].support, at))
    return [classes[at] for at in sorted(by_size[:most])]


@dataclass(frozen=True)
class WordsSection:
    """What the section about words shows, see `model_words.html`.

    Attributes:
        all: the words of the model.
        first: rows of the table without a script.
        clouds: a cloud of words for a screen, and one for a phone.
        scatter: axes, points and named words of the scatter plot.
        colour: from a word to its class in the style sheet.
        coloured: whether classes have colours.
        data: all words for the script.
        min_count: occurrences of a word in the cloud, at least.
        clear: z-score from which on a word is clearly typical of a class.
        prior: texts that the prior of this score adds.
    """

    all: Words
    first: list[Word]
    clouds: list[Cloud]
    scatter: tuple[Plot, str, list[NamedPoint]]
    colour: Callable[[Word], str]
    coloured: bool
    data: dict[str, Any]
    min_count: int = MIN_COUNT
    clear: float = CLEAR
    prior: float = PRIOR


def _words(words: Words, labels: Sequence[str]) -> WordsSection:
    return WordsSection(
        all=words,
        first=frequent_enough(words.rows, PLAIN_ROWS),
        clouds=_clouds(words, labels),
        scatter=scatter(words),
        colour=partial(colour_of, labels=labels),
        coloured=len(labels) <= COLOURS,
        data=_script_data(words, labels),
    )


def colour_of(word: Word, labels: Sequence[str]) -> str:
    """The colour of the class that a word is typical of, as a class of the style sheet."""
    if len(labels) > COLOURS:
        return "k0"
    return f"k{labels.index(word.label)}" if word.label and word.z >= CLEAR else "kx"


def _clouds(words: Words, labels: Sequence[str]) -> list[Cloud]:
    chosen = []
    for word in frequent_enough(words.rows, CLOUD_WORDS):
        title = f"{word.word}: importance {word.importance:.3f}, {word.count:,} times"
        if word.label:
            title += f", typical of {word.label}" + ("" if word.z >= CLEAR else " (not clearly)")
        chosen.append((printed_word(word.word, 24), colour_of(word, labels), title))
    return [cloud(name, chosen, *size) for name, size in CLOUDS.items()]


def _script_data(words: Words, labels: Sequence[str]) -> dict[str, Any]:
    """All words for the script: rows of the table, and points of the scatter plot."""
    rows = {word.word: row for row, word in enumerate(words.rows)}
    return {
        "labels": list(labels),
        "clear": CLEAR,
        "min_count": MIN_COUNT,
        "words": [
            [
                word.word,
                round(word.importance, DIGITS),
                word.count,
                labels.index(word.label) if word.label else -1,
                round(word.log_odds, 3),
                round(word.z, 2),
                word.here,
                word.texts,
                int(word.known),
            ]
            for word in words.rows
        ],
        # A point that has a row in the table is known by its number.
        "drawn": [rows.get(word, [word, round(score, DIGITS), count]) for word, score, count in words.drawn],
    }
