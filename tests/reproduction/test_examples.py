"""Explained texts from made-up result files: which are shown, which words are marked, and how they are written."""

import subprocess
import sys

import pytest

from explained_results import Grid, explained, spans
from reproduction.examples import (
    INTRODUCTION,
    TABLE,
    all_examples,
    examples,
    examples_markdown,
    examples_view,
    introduction,
)
from reproduction.templating import environment
from vmask.report.grid.examples import Piece, marked

PHRASES = ["a fine day", "a dull day", "an odd day", "one long day", "no good day"]


@pytest.fixture
def grid(tmp_path):
    return Grid(tmp_path)


def text_of(pieces):
    return "".join(piece.text for piece in pieces)


def ranked(pieces):
    return [piece.text for piece in sorted(pieces, key=lambda piece: piece.rank) if piece.rank]


def test_the_three_words_with_the_highest_scores_are_marked():
    text = "an exceedingly clever piece of cinema"
    pieces = marked(text, spans(text), [0.0, 0.2, 0.8, 0.1, -0.9, 0.4])
    assert ranked(pieces) == ["clever", "cinema", "exceedingly"]
    assert text_of(pieces) == text
    assert pieces[0] == Piece("an ")
    assert {piece.text: piece.strength for piece in pieces if piece.rank} == pytest.approx(
        {"clever": 1.0, "cinema": 0.5, "exceedingly": 0.25}
    )


def test_ties_go_to_the_earlier_word():
    text = "to be or not to be"
    assert [(piece.text, piece.rank) for piece in marked(text, spans(text), [0.5] * 6)] == [
        ("to", 1), (" ", 0), ("be", 2), (" ", 0), ("or", 3), (" not to be", 0),
    ]  # fmt: skip


def test_words_that_do_not_speak_for_the_class_are_not_marked():
    text = "not good at all"
    assert ranked(marked(text, spans(text), [0.7, -0.4, 0.0, -0.1])) == ["not"]
    assert marked(text, spans(text), [-1, -2, 0, -3]) == (Piece(text),)


def test_only_texts_that_both_have_right_are_shown(grid):
    only_vmask, only_base, both_wrong, both_right, elsewhere = PHRASES
    grid.local("imdb", "cnn", "base", 0, [
        explained(only_vmask, "1", "0"), explained(only_base), explained(both_wrong, "1", "0"), explained(both_right),
        explained(elsewhere),
    ])  # fmt: skip
    grid.local("imdb", "cnn", "vmask", 0, [
        explained(only_vmask), explained(only_base, "1", "0"), explained(both_wrong, "1", "0"), explained(both_right),
    ])  # fmt: skip
    assert [text_of(one.base) for one in examples(grid.results)] == [both_right]


def test_the_first_of_the_sample_are_shown_three_of_each_model(grid):
    grid.both("imdb", "lstm", [explained(text) for text in PHRASES[::-1]])
    grid.both("imdb", "cnn", [explained(text) for text in PHRASES])
    found = examples(grid.results)
    assert [(one.model, text_of(one.vmask)) for one in found] == [
        *(("cnn", text) for text in PHRASES[:3]),
        *(("lstm", text) for text in PHRASES[:-4:-1]),
    ]
    assert len(examples(grid.results, most=1)) == 2


def test_how_good_an_explanation_is_does_not_matter(grid):
    """Other scores, the same texts."""
    grid.both("imdb", "cnn", [explained(text) for text in PHRASES])
    before = [text_of(one.base) for one in examples(grid.results)]
    grid.local("imdb", "cnn", "vmask", 0, [explained(text, lime=[0.0, 0.0, 0.0]) for text in PHRASES])
    assert [text_of(one.base) for one in examples(grid.results)] == before


def test_short_texts_come_before_long_ones(grid):
    long = " ".join(["day"] * 60)
    grid.both("imdb", "cnn", [explained(text) for text in (long, "not so short a day", "a day")])
    assert [text_of(one.base) for one in examples(grid.results)] == ["not so short a day", "a day", long]


def test_both_sides_have_the_same_seed_the_lowest(grid):
    grid.local("imdb", "cnn", "base", 0, [explained("of base alone")])
    for seed in (2, 1):
        grid.both("imdb", "cnn", [explained(f"of seed {seed}")], seed)
    grid.local("imdb", "cnn", "vmask", 3, [explained("of vmask alone")])
    (one,) = examples(grid.results)
    assert one.seed == 1
    assert text_of(one.base) == text_of(one.vmask) == "of seed 1"


def test_each_side_has_its_own_marks(grid):
    grid.local("sst2", "cnn", "base", 0, [explained("a fine day", lime=[0.9, 0.1, -0.2])])
    grid.local("sst2", "cnn", "vmask", 0, [explained("a fine day", lime=[0.1, 0.9, 0.2])])
    (one,) = examples(grid.results)
    assert ranked(one.base) == ["a", "fine"]
    assert ranked(one.vmask) == ["fine", "day", "a"]


def test_imdb_is_preferred_then_sst2_for_each_model(grid):
    for dataset in ("trec", "sst2"):
        for model in ("cnn", "minilm"):
            grid.both(dataset, model, [explained(f"a {dataset} day")])
    grid.both("trec", "lstm", [explained("a trec day")])
    grid.both("imdb", "cnn", [explained("an imdb day")])
    assert {one.model: one.dataset for one in examples(grid.results)} == {
        "cnn": "imdb", "minilm": "sst2", "lstm": "trec",
    }  # fmt: skip


def test_a_dataset_without_a_fitting_text_gives_way(grid):
    grid.both("imdb", "cnn", [explained("a day", "1", "0")])
    grid.both("sst2", "cnn", [explained("a fine day")])
    assert [one.dataset for one in examples(grid.results)] == ["sst2"]


def test_the_introduction_shows_two_classes_by_two_explainers(grid):
    ways = {"lime": [0.1, 0.9, 0.2], "shapley": [0.9, 0.1, 0.2]}
    labels = ("1", "1", "0", "0")
    texts = [explained(text, label, **ways) for text, label in zip(PHRASES, labels, strict=False)]
    grid.both("sst2", "cnn", texts)
    grid.both("sst2", "lstm", texts)
    grid.both("imdb", "cnn", texts[::-1])
    found = introduction(grid.results)
    assert {(one.dataset, one.model) for one in found} == {("sst2", "cnn")}
    assert [(text_of(one.base), one.label, one.by) for one in found] == [
        (PHRASES[0], "1", "lime"),
        (PHRASES[0], "1", "shapley"),
        (PHRASES[2], "0", "lime"),
        (PHRASES[2], "0", "shapley"),
    ]
    assert ranked(found[0].vmask)[0] == PHRASES[0].split()[1]
    assert ranked(found[1].vmask)[0] == PHRASES[0].split()[0]
    assert [one.group for one in all_examples(grid.results)] == [INTRODUCTION] * 4 + [TABLE] * 6


def test_one_class_does_for_an_introduction(grid):
    ways = {"lime": [0.1, 0.9, 0.2], "shapley": [0.9, 0.1, 0.2]}
    grid.both("sst2", "cnn", [explained(text, **ways) for text in PHRASES])
    assert [text_of(one.base) for one in introduction(grid.results)] == [PHRASES[0]] * 2 + [PHRASES[1]] * 2


def test_without_explained_texts_there_are_no_examples(grid):
    grid.local("imdb", "cnn", "vmask", 0, [explained("a fine day")])
    assert all_examples(grid.results) == []
    grid.local("imdb", "cnn", "base", 0, [])
    assert all_examples(grid.results) == []


def section(grid):
    """The part of the page that has the texts."""
    return environment().get_template("examples.html").render(examples=examples_view(examples(grid.results)))


def test_html_is_escaped(grid):
    bad = "<script>alert(1)</script> & <b>bold</b> day"
    grid.both("imdb", "cnn", [explained(bad, "<i>1", lime=[0.9, 0.1, 0.3, 0.2])])
    page = section(grid)
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;<sup>1</sup></mark> &amp; " in page
    assert "&lt;i&gt;1" in page


def test_html_has_a_legend_and_deeper_colours_for_higher_scores(grid):
    grid.both("imdb", "cnn", [explained("a fine day", lime=[0.2, 0.8, 0.4])])
    page = section(grid)
    assert "The deeper the colour" in page
    assert "Not picked by how they look" in page
    assert 'rgba(17,94,163,1.00);color:#fff">fine<sup>1</sup></mark>' in page
    assert 'rgba(17,94,163,0.50);color:inherit">day<sup>2</sup></mark>' in page
    assert 'rgba(17,94,163,0.25);color:inherit">a<sup>3</sup></mark>' in page
    assert page.count("<th>CNN-base</th>") == page.count("<th>CNN-VMASK</th>") == 1
    assert "IMDB, LIME, seed 0" in page


def test_markdown_has_the_words_in_bold_with_their_rank(grid):
    grid.both("imdb", "cnn", [explained("a fine\nday ! *again* | <b>", lime=[0.0, 0.8, 0.4, 0.0, 0.0, 0.0])])
    grid.both("imdb", "lstm", [explained("good !", lime=[0.1, 0.3])])
    said = examples_markdown(examples(grid.results))
    # A mere sign in bold stands between tags: Markdown does not see asterisks between a letter and a sign.
    assert "| LSTM-VMASK | **good**² <b>!</b>¹ | 1 | IMDB, LIME, seed 0 |" in said
    line = next(line for line in said.splitlines() if line.startswith("| CNN-base"))
    assert line == r"| CNN-base | a **fine day**¹ <b>!</b>² \*again\* \| &lt;b&gt; | 1 | IMDB, LIME, seed 0 |"


def importance(top, frequent=(), drawn=100):
    rows = [[word, score, 9] for word, score in top]
    return {
        "words": 1000,
        "top": rows,
        "top_seen_5": rows,
        "frequent": [[word, score, 900] for word, score in frequent],
        "drawn": [[10, 0.5]] * (drawn // 2) + [[1, 0.5]] * (drawn // 2),
    }


def test_reports_are_made_without_torch():
    code = "import sys, reproduction.examples, reproduction.figures; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
