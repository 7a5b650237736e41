"""The report of a model as one HTML file: nothing from outside, complete without its script, beside its model.

It is written whole or not at all, and never over anything but a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vmask import __version__
from vmask._core.files import write_text
from vmask.errors import OutputExists
from vmask.explain import EXPLAINERS
from vmask.persistence.model_folder import CONFIG, GENERATOR, REPORT, is_report, note_report
from vmask.report import templating
from vmask.report.figures.labels import printed_word
from vmask.report.model.charts import (
    Cloud,
    annealing_epochs,
    cloud,
    last_of_first_stage,
    reliability,
    scatter,
    training_curves,
)
from vmask.report.model.content import MOST_ROWS, ClassScore, Content, Word, Words
from vmask.report.model.suspects import CONFLICTS, SUSPECTS, write_lists
from vmask.report.model.word_table import CLEAR, MIN_COUNT, PRIOR, frequent_enough
from vmask.report.svg import Scale
from vmask.training.calibrate import NAMES

SECTIONS = {
    "accuracy": "Accuracy",
    "training": "Training",
    "words": "Words",
    "texts": "Texts",
    "labels": "Labels",
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
        sections=SECTIONS if content.visible is None else {"visible": "What it reads", **SECTIONS},
        share_scale=Scale(0, 1, 2, 238),
        classes=largest_classes(content.classes),
        curves=training_curves(content.training),
        two_stages=last_of_first_stage(content.training.epochs) > 0,
        annealed=annealing_epochs(content.training.epochs)[1] > 0,
        reliability=reliability(content.calibration),
        score_names=NAMES,
        signs={view.method: view.signed for example in content.texts.examples for view in example.explanations},
        describe=EXPLAINERS.describe,
        characters=CHARACTERS,
        listed=MOST_ROWS,
        suspects_file=SUSPECTS,
        conflicts_file=CONFLICTS,
        words=content.words,
        **({} if content.words is None else _word_variables(content.words, content.labels)),
    )


def largest_classes(classes: Sequence[ClassScore], most: int = MOST_CLASSES) -> list[ClassScore]:
    """The classes with the most texts, in the order of the report."""
    by_size = sorted(range(len(classes)), key=lambda at: (-classes[at].support, at))
    return [classes[at] for at in sorted(by_size[:most])]


def _word_variables(words: Words, labels: Sequence[str]) -> dict[str, Any]:
    """What `model_words.html` shows, beside the words themselves."""
    return {
        "first_words": frequent_enough(words.rows, PLAIN_ROWS),
        "clouds": _clouds(words, labels),
        "scatter": scatter(words),
        "colour": partial(colour_of, labels=labels),
        "coloured": len(labels) <= COLOURS,
        "word_data": _script_data(words, labels),
        "min_count": MIN_COUNT,
        "clear": CLEAR,
        "prior": PRIOR,
    }


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


def check_replaceable(path: Path) -> None:
    """Refuse a place where something else stands.

    Raises:
        OutputExists: with the way out.
    """
    if path.is_dir():
        raise OutputExists(f"{path} is a folder. Name a file.")
    if path.exists() and not is_report(path):
        raise OutputExists(f"{path} exists and is no report of a model. Choose another file, or move it away.")


def write_report(content: Content, path: Path, digest: str | None = None) -> Path:
    """Write the page and the lists beside it; where it lies in a model's folder, `digest` is that of the model.

    Raises:
        OutputExists: where something else stands there.
        ModelFolderError: where the folder holds another model by now.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render(content)
    write_lists(content, path)
    write_text(path, page)
    if path.name == REPORT and (path.parent / CONFIG).is_file():
        note_report(path.parent, digest)
    return path
