"""Figures of one model for a paper: a cloud, a scatter plot, post-hoc accuracy, texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vmask.classifier import TextClassifier
from vmask.data.datasets import Dataset
from vmask.evaluation.measure import evaluate
from vmask.report.figures.cloud import Sheet, draw_cloud
from vmask.report.figures.curves import FLOOR_LINES, Point, draw_curve, finish_post_hoc, legend_line
from vmask.report.figures.labels import printed_word
from vmask.report.figures.scatter import draw_scatter
from vmask.report.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDE,
    Picture,
    check_extra,
    new_figure,
    styled,
)
from vmask.report.figures.texts import ShownText, draw_texts, text_runs
from vmask.report.formatting import method_name
from vmask.report.model.content import Content, Example, Word
from vmask.report.model.page import COLOURS
from vmask.report.model.word_table import CLEAR, MIN_COUNT, frequent_enough, named_words

PALETTE = (BLUE, RED, GREEN, PURPLE, ORANGE, BLACK, SKY)
"""Of classes; no colour-blindness mixes them."""
SHEET = Sheet(width=900, height=420, largest=56, smallest=18, margin=18)
CLOUD = 30
"""Words of the cloud."""
POST_HOC = "post_hoc_accuracy"
MANY, FEW = 1000, 200
"""Texts that post-hoc accuracy is measured on, at most: of a model that is quick to ask, and of another."""
OF_A_KIND, LONG = 2, 40
"""Texts of each kind that are drawn, and their words, at most."""


def draw(classifier: TextClassifier, dataset: Dataset, content: Content) -> Iterator[Picture]:
    """The figures that a model has; one without a ranking of words has texts alone.

    Raises:
        MissingExtra: without matplotlib or wordcloud.
    """
    check_extra()
    if content.words is not None:
        yield cloud(content)
        yield scatter(content)
        yield post_hoc(classifier, dataset, content)
    if (picture := texts(content)) is not None:
        yield picture


@styled()
def cloud(content: Content) -> Picture:
    """The most important words; their colour is the class that each speaks for."""
    assert content.words is not None
    words = frequent_enough(content.words.rows, CLOUD)
    coloured = len(content.labels) <= COLOURS
    width = 0.99 * WIDE
    height = width * SHEET.height / SHEET.width
    legend = 0.3 if coloured else 0.04
    figure = new_figure(WIDE, height + legend)
    panel = figure.add_axes((0.005, legend / (height + legend), 0.99, height / (height + legend) - 0.01))
    colours = [_colour(word, content.labels) if coloured else BLUE for word in words]
    draw_cloud(panel, [printed_word(word.word, 24) for word in words], colours, SHEET, width)
    legend_note = ""
    if coloured:
        keys = [(label, PALETTE[at]) for at, label in enumerate(content.labels)] + [("no clear class", GREY)]
        handles = [legend_line(label, {"color": colour, "linewidth": 5}) for label, colour in keys]
        figure.legend(handles=handles, loc="lower center", ncols=len(handles), handlelength=1.0, columnspacing=1.4)
        legend_note = " Colours: the class in whose training texts the word is likelier than in others."
    caption = (
        f"The {len(panel.texts)} most important words of {content.name}, of those that stand {MIN_COUNT} times or more "
        f"in the training texts: the larger, the higher a word ranks; places mean nothing.{legend_note}"
    )
    return Picture("word_cloud", "The most important words", caption, figure)


def _colour(word: Word, labels: Sequence[str]) -> str:
    return PALETTE[labels.index(word.label)] if word.label and word.z >= CLEAR else GREY


@styled()
def scatter(content: Content) -> Picture:
    """Importance over count."""
    words = content.words
    assert words is not None
    top, frequent = ([[word.word, word.importance, word.count] for word in rows] for rows in named_words(words.rows))
    figure = draw_scatter([(count, score) for _, score, count in words.drawn], top, frequent)
    drawn = len(words.drawn)
    grey = f"all {drawn:,} words" if drawn == words.total else f"{drawn:,} of {words.total:,} words, at random"
    caption = (
        f"Words of {content.name}: how often each stands in the training texts, and its importance, the chance that "
        f"its mask keeps it; 0.5 (dashed) is indifferent. Grey: {grey}. Pearson's correlation of count and importance, "
        f"over all words: {words.pearson.value:+.3f}."
    )
    return Picture("frequency_importance", "Frequency and importance of words", caption, figure)


@styled()
def post_hoc(classifier: TextClassifier, dataset: Dataset, content: Content) -> Picture:
    """Share of texts that keep their class when the model sees their k most important words alone."""
    n = MANY if classifier.predictor_.quick else FEW
    evaluation = evaluate(classifier, dataset, [POST_HOC], split=content.measured.split, hide="remove", n=n)
    points: dict[str, list[Point]] = {}
    for score in evaluation.scores:
        k = int(score.part.removeprefix("k="))
        points.setdefault(score.by, []).append(Point(k, score.value, score.low, score.high, 1))
    figure = new_figure(4.4, 3.1, layout="constrained")
    panel = figure.subplots(1, 1)
    lines = {"mask": ("its own ranking", {"color": BLUE, "linewidth": 2.0}), **FLOOR_LINES}
    for by, (label, style) in reversed(lines.items()):  # its own comes to lie on top
        draw_curve(panel, points.get(by, []), style, label=label, band=by == "mask", unit=100)
    finish_post_hoc(figure, [panel])
    handles = [legend_line(label, style) for by, (label, style) in lines.items() if by in points]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    caption = (
        f"Share of {len(evaluation.sample):,} {content.measured.split} texts that keep their class when {content.name} "
        "sees only their k most important words, by the importance that its mask gives to words. The band is the 95% "
        "interval over texts. Black and grey: words by tf-idf, words at random, and what a constant answer would keep."
    )
    return Picture(POST_HOC, "Post-hoc accuracy", caption, figure)


@styled()
def texts(content: Content) -> Picture | None:
    """Some of the report's texts, by every method that it has; None where nothing was explained."""
    chosen = list(_chosen(content.texts.examples))
    if not chosen:
        return None
    figure = draw_texts(
        [
            ShownText(
                f"{example.predicted} {example.probability:.0%}"
                + (", correct" if example.predicted == example.label else f", true class: {example.label}"),
                {method_name(view.method): text_runs(view) for view in example.explanations},
            )
            for example in chosen
        ],
        sorted({view.signed for example in chosen for view in example.explanations}),
    )
    caption = (
        f"{content.measured.split.capitalize()} texts as {content.name} sees them, by {_listed(content)}: of the texts "
        f"of its report, which were chosen by a rule, the first {OF_A_KIND} of each kind (right, wrong, least certain) "
        f"of up to {LONG} words. Above each the predicted class with its probability."
    )
    return Picture("highlighted_texts", "Texts as the model sees them", caption, figure)


def _listed(content: Content) -> str:
    return ", ".join(map(method_name, content.texts.methods))


def _chosen(examples: Sequence[Example]) -> Iterator[Example]:
    """The first short texts of each kind."""
    counts: dict[str, int] = {}
    for example in examples:
        short = example.explanations and 0 < len(example.explanations[0].words) <= LONG
        if short and counts.get(example.kind, 0) < OF_A_KIND:
            counts[example.kind] = counts.get(example.kind, 0) + 1
            yield example
