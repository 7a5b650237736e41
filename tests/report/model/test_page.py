"""The page: whole, safe, the same bytes every time, and complete without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape

import pytest

from vmask.explain.contract import Explanation
from vmask.report.formatting import STEPS
from vmask.report.model.collect import collect
from vmask.report.model.content import ClassScore, Confused
from vmask.report.model.page import CHARACTERS, PLAIN_ROWS, SECTIONS, render


@pytest.fixture(scope="module")
def page(content):
    return render(content)


def words_of(page):
    return json.loads(re.search(r'id="word-data">(.*?)</script>', page, re.DOTALL)[1])


def test_every_part_is_there_and_can_be_jumped_to(page, read):
    for part in SECTIONS:
        assert f'<section id="{part}">' in page
        assert f'<a href="#{part}">' in page
    assert read(page).open == []


def test_the_numbers_stand_on_the_page(page, content):
    one = content.scores.rivals[0].accuracy
    assert f"<h1>{content.headline}.</h1>" in page
    assert f"{100 * one.value:.1f}%" in page
    assert f"{100 * one.low:.1f} to {100 * one.high:.1f}%" in page
    assert content.scores.verdict in page
    assert f"Calibration error: {content.calibration.error.value:.3f}" in page
    assert f"{content.words.pearson.value:+.3f}" in page
    for row in content.classes:
        assert f'<th dir="auto">{row.label}</th><td class="num">{row.support:,}</td>' in page
    for count in {count for row in content.confusion for count in row}:
        assert f">{count:,}</td>" in page


def test_nothing_is_loaded_from_outside(page, read):
    reader = read(page)
    assert [load for load in reader.loads if not load.startswith("#")] == ["data:,"]
    assert not set(reader.tags) & {"img", "iframe", "object", "embed", "form", "base"}
    assert not re.search(r"url\(|@import|src=", page.partition("<script>")[0])


def test_the_one_script_is_the_one_that_the_policy_lets_run(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    assert len(re.findall("<script", page)) == 2  # and the data of words, which is no script
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_nothing_of_texts_words_and_labels_becomes_markup(evil, read):
    page = render(evil)
    reader = read(page)
    assert reader.open == []
    assert reader.handlers == []
    assert "img" not in reader.tags
    assert reader.tags.count("script") == 2
    assert reader.text.count("alert('x')") > 20  # it is shown
    data = words_of(page)
    assert any("<script>" in label for label in data["labels"])
    assert "\u2028" not in page.partition('id="word-data">')[2].partition("</script>")[0]


def test_the_same_content_is_the_same_bytes(content, page):
    assert render(content) == page


def test_the_table_has_all_words_for_the_script_and_some_without(page, content):
    data = words_of(page)
    assert [row[0] for row in data["words"]] == [word.word for word in content.words.rows]
    shown = page.partition('class="word-table"')[2].partition("</table>")[0]
    assert shown.count("<tr>") - 1 == min(PLAIN_ROWS, sum(word.count >= 3 for word in content.words.rows))
    assert "<noscript>" in page
    assert data["drawn"] == list(range(content.words.total))  # every point is a word of the table


def test_where_words_are_left_out_that_is_said(content):
    some = replace(content.words, rows=content.words.rows[:10], complete_from=7, drawn=content.words.drawn[:20])
    page = render(replace(content, words=some))
    assert f"10 of all {content.words.total:,} words" in page
    assert "every word that occurs at least 7 times is there" in page
    assert "grey: 20 words, drawn at random" in page
    assert words_of(page)["drawn"][:10] == list(range(10))
    assert words_of(page)["drawn"][10][0] == content.words.drawn[10][0]


def test_a_model_without_a_ranking_says_so(base, toys):
    from vmask.report.model.collect import collect

    page = render(collect(base, toys, "quick"))
    assert "gives words no importance" in page
    assert 'id="word-data"' not in page
    assert '<section id="words">' in page


def test_every_view_of_every_text_is_on_the_page(page, content):
    for method in ("mask", "lime", "shapley"):
        assert page.count(f'<div class="view" data-view="{method}">') == len(content.texts.examples)
        assert page.count(f'class="legend view" data-view="{method}"') == 1
    assert "fit R²" in page
    assert "standard errors up to" in page or "for:" in page
    assert page.count("true class: <b") == sum(one.label != one.predicted for one in content.texts.examples)
    assert "against</span>" in page  # the legend of signed colours
    assert "matters most" in page  # and of those without a sign


def example(content, text, scores=None):
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    words = tuple(text[start:end] for start, end in spans)
    scores = scores or tuple(range(len(words)))
    view = Explanation(text, words, tuple(spans), scores, "pos", 0.9, "mask")
    one = replace(content.texts.examples[0], text=text, explanations=(view,))
    return replace(content, texts=replace(content.texts, methods=("mask",), examples=(one,)))


def test_a_long_text_is_cut_and_that_is_said(content):
    text = "word " * 2000
    page = render(example(content, text))
    assert page.count(">word</mark>") == CHARACTERS // 5
    assert "… cut here, 10,000 characters in all" in page
    assert "cut here" not in render(example(content, "word " * 10))


def test_an_empty_text_is_called_so(content):
    assert "(an empty text)" in render(example(content, ""))


def test_half_a_character_is_no_reason_to_fail(content):
    render(example(content, "good \ud83d film")).encode("utf-8")


def test_words_have_the_shade_of_their_strength(content):
    page = render(example(content, "a b c", (0.0, 0.5, 1.0)))
    assert '<mark title="0.00">a</mark>' in page
    assert f'<mark class="f{STEPS}" title="1.00">c</mark>' in page
    assert f".f{STEPS}{{background:" in page


def test_many_classes_are_pairs_instead_of_a_matrix(content):
    labels = tuple(f"class {at}" for at in range(60))
    table = tuple(tuple(1 if one == other or other == one + 1 else 0 for other in range(60)) for one in range(60))
    many = replace(
        content,
        labels=labels,
        words=None,
        confusion=table,
        classes=tuple(ClassScore(label, 0.5, 0.5, 0.5, at, at) for at, label in enumerate(labels)),
        confused=(Confused("class 3", "class 4", 12, 0.6),),
    )
    page = render(many)
    assert 'class="matrix' not in page
    assert "<b>class 3</b> predicted as <b>class 4</b>: 12 texts, 60% of the class" in page
    assert "The 40 largest of 60 classes." in page
    assert "makes no mistakes" in render(replace(many, confused=()))
    assert '<table class="matrix tall">' in render(replace(content, labels=("a longer name", "b"), words=None))


def test_warnings_stand_above_all(content):
    page = render(replace(content, warnings=("Mind this.",)))
    assert page.index("Mind this.") < page.index('class="tiles"')


def test_curves_have_the_kept_epoch_marked(page, content):
    training = page.partition('<section id="training">')[2].partition("</section>")[0]
    assert training.count("<svg") == 6  # two dev scores, loss, penalty, beta, mask
    assert training.count('class="dot"') == 6
    assert training.count('class="band"') == 1
    assert f"epoch {content.training.best_epoch} of 3" in training


def test_two_stages_have_a_border(tiny_encoder, toys):
    from vmask.report.model.collect import collect

    page = render(collect(tiny_encoder(), toys))
    assert 'class="border"' in page
    assert "where the second stage begins" in page
    assert "This is the quick report" in page
    assert "With transformers, without vmask" in page


def test_the_strongest_words_are_named_once(content):
    page = render(example(content, "good film Good end good", (0.9, 0.2, 0.5, 0.3, 0.8)))
    assert "most: <bdi>good</bdi> 0.90, <bdi>end</bdi> 0.30, <bdi>film</bdi> 0.20</span>" in page


def test_a_word_that_is_markup_is_shown(content, read):
    word = "<img src=x onerror=alert(1)>"
    rows = (replace(content.words.rows[0], word=word, count=9, known=False), *content.words.rows[1:])
    drawn = ((word, 0.9, 9), *content.words.drawn[1:])
    page = render(replace(content, words=replace(content.words, rows=rows, drawn=drawn)))
    reader = read(page)
    assert reader.handlers == []
    assert "img" not in reader.tags
    assert f"{word} no vector" in reader.text
    assert words_of(page)["words"][0][0] == word


def test_one_text_alone_makes_a_page(model, toys, read):
    from vmask.report.model.collect import collect

    one = replace(toys, splits={**toys.splits, "test": toys.splits["test"].take([0])})
    content = collect(model, one, "quick")
    page = render(content)
    assert "nan" not in read(page).text.lower().replace("nanny", "")
    assert "1 test text</small>" in page
    assert "right on" in content.headline
    assert len(content.texts.examples) == 1


def test_a_model_that_hides_words_begins_with_those_that_it_reads(content, model, toys, read):
    plain = render(content)
    assert '<section id="visible">' not in plain
    assert "of running words above 0.5: a ranking, not a restriction." in plain
    made = collect(model.edit(hide=["superb", "the"]), toys, "quick")
    page = render(made)
    assert page.index('<section id="visible">') < page.index('<section id="accuracy">')
    assert f"This model reads {made.visible.count:,} words" in page
    assert "Hidden by hand: superb, the." in page
    listed = re.search(r'<section id="visible">(.*?)</section>', page, re.DOTALL)[1]
    words = set(re.findall(r">([^<]+)</span>", listed))
    assert not words & {"superb", "the"}
    assert len(words) == made.visible.count == made.visible.types - 2
    assert read(page).open == []
