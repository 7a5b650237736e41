"""The section about the model's words: a cloud, a table, a scatter plot."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import exp
from typing import Any

from vmask.report.figures.labels import named
from vmask.report.model.content import Content, Word, Words
from vmask.report.model.embed import embedded_json
from vmask.report.model.svg_cloud import cloud_svg
from vmask.report.model.svg_scatter import scatter_svg
from vmask.report.model.word_class_association import CLEAR, PRIOR

CLOUD = 48
"""Words of the cloud."""
MIN_COUNT = 3
"""A word must stand so often in the training texts to be in the cloud, and in the table at first."""
PLAIN_ROWS = 25
"""Rows of the table before a script shows more."""
COLOURS = 7
"""Classes up to which words have the colour of theirs; more cannot be told apart."""
DIGITS = 6
"""Of importance, as the script has it: enough to sort words as the ranking does."""
GREATEST = 999
"""Odds above this are not written out."""
SIZES = {"wide-cloud": (760, 330, 46.0, 15.0), "narrow-cloud": (340, 400, 33.0, 13.0)}
"""Width, height and font sizes of the cloud on a screen and on a phone."""


def words_section(content: Content) -> str:
    """The words of the model; a sentence where its method ranks none."""
    words = content.words
    if words is None:
        return (
            '<section id="words"><h2>The words it uses</h2><p>This model was trained by a method that gives words no '
            "importance. Train with <code>--mask vmask</code> to see which words it uses.</p></section>"
        )
    legend = _legend(content.labels, words)
    return (
        '<section id="words"><h2>The words it uses</h2><p>A word’s importance is the chance that its mask keeps it: 1 '
        f"is always, 0.5 is indifferent, 0 is never. There are {words.total:,} words in the training texts.</p>"
        f"{_cloud(words, content.labels)}{legend}{_table(words, content.labels)}{_scatter(words)}</section>"
    )


def colour_of(word: Word, labels: Sequence[str]) -> str:
    """The colour of the class that a word speaks for, as a class of the style sheet."""
    if len(labels) > COLOURS:
        return "k0"
    return f"k{labels.index(word.label)}" if word.label and word.z >= CLEAR else "kx"


def cloud_words(words: Sequence[Word], most: int = CLOUD) -> list[Word]:
    """The most important words that are not too rare."""
    seen = [word for word in words if word.count >= MIN_COUNT] or list(words)
    return seen[:most]


def _cloud(words: Words, labels: Sequence[str]) -> str:
    chosen = [(named(word.word, 24), colour_of(word, labels), _said(word)) for word in cloud_words(words.rows)]
    pictures = "".join(cloud_svg(chosen, *size, name) for name, size in SIZES.items())
    return f'<figure class="clouds">{pictures}</figure>'


def _said(word: Word) -> str:
    """A word of the cloud in numbers."""
    lean = f", speaks for {word.label}{'' if word.z >= CLEAR else ' (not clearly)'}" if word.label else ""
    return f"{word.word}: importance {word.importance:.3f}, {word.count:,} times{lean}"


def _legend(labels: Sequence[str], words: Words) -> str:
    size = f"The larger, the more important; seen {MIN_COUNT} times or more."
    how = (
        f"Which class a word speaks for is counted in {words.leaning_texts:,} training texts and says nothing about "
        "the model: the class in whose texts the word is likelier than in all others, most clearly so (log-odds ratio "
        f"after {PRIOR:g} texts that lean nowhere were added, so that rare words say little; Monroe et al. 2008). It "
        f"is called clear from {CLEAR:g} standard errors on."
    )
    if len(labels) > COLOURS:
        return f'<p class="key">{size}</p><p class="fine">{how}</p>'
    keys = "".join(f'<span class="k{at}" dir="auto">{escape(label)}</span>' for at, label in enumerate(labels))
    return (
        f'<p class="key">{size} Its colour is the class it speaks for: {keys}<span class="kx">no clear one</span></p>'
        f'<p class="fine">{how}</p>'
    )


def _table(words: Words, labels: Sequence[str]) -> str:
    shown = [word for word in words.rows if word.count >= MIN_COUNT][:PLAIN_ROWS] or words.rows[:PLAIN_ROWS]
    rows = "".join(_row(word, labels) for word in shown)
    heads = "".join(
        f'<th class="{kind}" data-sort="{key}" aria-sort="{order}">{name}</th>'
        for key, name, kind, order in (
            ("word", "word", "", "none"),
            ("importance", "importance", "num", "descending"),
            ("count", "count", "num", "none"),
            ("label", "speaks for", "", "none"),
            ("z", "likelier there", "num", "none"),
        )
    )
    choices = "".join(f"<option>{escape(label)}</option>" for label in labels)
    place = {word.word: at for at, word in enumerate(words.rows)}
    data = {
        "labels": list(labels),
        "clear": CLEAR,
        "min_count": MIN_COUNT,
        "words": [_data(word, labels) for word in words.rows],
        # Points that have a row are known by its number.
        "drawn": [place.get(word, [word, round(score, DIGITS), count]) for word, score, count in words.drawn],
    }
    some = (
        ""
        if len(words.rows) == words.total
        else f" The table has {len(words.rows):,} of all {words.total:,} words, the most important and the most "
        f"frequent: every word seen {words.complete_from:,} times or more is there."
    )
    return (
        '<h3>All words</h3><div class="controls" hidden>'
        '<label>Search <input type="search" id="word-search" placeholder="a word" autocomplete="off"></label>'
        '<label>Seen at least <output id="word-least"></output> times '
        '<input type="range" id="word-count" min="0" step="1"></label>'
        f'<label>Speaks for <select id="word-class"><option value="">any class</option>{choices}</select></label></div>'
        f"<noscript><p>These are the first {len(shown)} words seen {MIN_COUNT} times or more; with JavaScript all can "
        "be searched and sorted.</p></noscript>"
        f'<div class="wide"><table class="word-table"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        f'<p class="table-foot"><span id="word-found"></span> <button type="button" id="word-more" hidden>Show more'
        f'</button></p><p class="fine">Behind the class: how many times the odds of meeting the word are in its texts, '
        f"compared with others. Rest the pointer on it for the texts.{some}</p>"
        f'<script type="application/json" id="word-data">{embedded_json(data)}</script>'
    )


def _row(word: Word, labels: Sequence[str]) -> str:
    unknown = "" if word.known else ' <small title="the word vectors do not know it">no vector</small>'
    return (
        f'<tr><th dir="auto">{escape(word.word)}{unknown}</th>'
        f'<td class="num"><span class="meter"><i style="width:{100 * word.importance:.0f}%"></i></span>'
        f'{word.importance:.3f}</td><td class="num">{word.count:,}</td>{_lean_cells(word, labels)}</tr>'
    )


def _lean_cells(word: Word, labels: Sequence[str]) -> str:
    if not word.label:
        return "<td></td><td></td>"
    said = f"{word.here:,} of its {word.texts:,} texts are {word.label}; z = {word.z:.1f}"
    return (
        f'<td class="lean {colour_of(word, labels)}" dir="auto" title="{escape(said)}">{escape(word.label)}</td>'
        f'<td class="num{"" if word.z >= CLEAR else " soft"}" title="{escape(said)}">{odds(word.log_odds)}</td>'
    )


def odds(log_odds: float) -> str:
    """How many times, in two digits.

    >>> odds(0.0), odds(2.5), odds(9.0)
    ('×1.0', '×12', '> ×999')
    """
    times = exp(log_odds)
    return f"> ×{GREATEST}" if times > GREATEST else f"×{times:.1f}" if times < 9.95 else f"×{times:.0f}"


def _data(word: Word, labels: Sequence[str]) -> list[Any]:
    """A row for the script."""
    return [
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


def _scatter(words: Words) -> str:
    one = words.pearson
    inside = f" [{one.low:+.3f}, {one.high:+.3f}]" if one.low == one.low else ""
    said = (
        f"Correlation of importance with count (Pearson) {one.value:+.3f}{inside}; with the logarithm of the count "
        f"{words.log.value:+.3f}. Near 0, the mask does not simply pick frequent words."
        if one.value == one.value
        else "Importance or count is the same for all words, so there is no correlation."
    )
    dots = (
        f"all {words.total:,} words"
        if len(words.drawn) == words.total
        else f"{len(words.drawn):,} words, drawn at random"
    )
    return (
        f"<h3>Importance and frequency</h3><p>{said}</p>"
        f'<figure class="scatter-figure">{scatter_svg(words.rows, words.drawn)}'
        '<div class="tip" role="status" hidden></div></figure>'
        '<p class="key"><span class="mark-top">▲ most important, of words seen 3 times or more</span>'
        '<span class="mark-frequent">■ most frequent</span>'
        f"<span>grey: {dots}</span><span>dashed: 0.5, indifferent</span></p>"
    )
