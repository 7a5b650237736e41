"""Segmenters: words of scripts without spaces, with offsets into the text; other texts are cut as ever."""

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask.errors import MissingExtra, UnknownName
from vmask.text import segmenters
from vmask.text.segmenters import SEGMENTERS, Segmenter, choose_segmenter, find_segmenter, spaced, unspaced_language
from vmask.text.vocabulary import WordTokenizer
from vmask.text.words import count_words, make_tokenizer, whole_words

CHINESE = "这部电影很好看，iPhone15拍的😀！"
JAPANESE = "バッテリーがすぐ切れる。don't buy カメラ"
THAI = "อาหารอร่อยมาก 5 ดาว"
BY_EXAMPLE = [
    ("jieba", CHINESE, ["这部", "电影", "很", "好看", "，", "iPhone15", "拍", "的", "😀", "！"]),
    ("sudachi", JAPANESE, ["バッテリー", "が", "すぐ", "切れる", "。", "don't", "buy", "カメラ"]),
    ("pythainlp", THAI, ["อาหาร", "อร่อย", "มาก", "5", "ดาว"]),
    ("icu", THAI, ["อาหาร", "อร่อย", "มาก", "5", "ดาว"]),
    ("icu", "ອາຫານແຊບຫຼາຍ", ["ອາຫານ", "ແຊບ", "ຫຼາຍ"]),
    ("icu", "ម្ហូបនេះឆ្ងាញ់", ["ម្ហូប", "នេះ", "ឆ្ងាញ់"]),
    ("icu", "အစားအစာကောင်းတယ်", ["အစားအစာ", "ကောင်း", "တယ်"]),
]
NAMES = list(SEGMENTERS)


@pytest.mark.parametrize(("name", "text", "expected"), BY_EXAMPLE)
def test_words_by_example(name, text, expected):
    (spans,) = whole_words([text], SEGMENTERS[name])
    assert [text[start:end] for start, end in spans] == expected


def test_scripts_of_others_keep_their_rules():
    def words(text, name):
        return [text[a:b] for a, b in whole_words([text], SEGMENTERS[name])[0]]

    assert words("好吃カメ", "pythainlp") == list("好吃カメ")
    assert words("カメอาหารอร่อย", "jieba") == ["カ", "メ", "อาหารอร่อย"]


@pytest.mark.parametrize("name", NAMES)
def test_texts_with_spaces_have_the_same_words(name):
    texts = [
        "Isn't it a well-made film? 5/5 \U0001f600\u200d\U0001f525",
        "Привет, мир!",
        "좋은 영화",
        "naïve e\u0301",
        "",
    ]
    for whole, cut in zip(whole_words(texts), whole_words(texts, SEGMENTERS[name]), strict=True):
        np.testing.assert_array_equal(whole, cut)
    assert count_words(texts, "gentle") == count_words(texts, "gentle", SEGMENTERS[name])


def test_without_a_segmenter_the_rules_of_a_tokenizer_are_those_of_stored_models():
    assert "&&[^" in make_tokenizer("gentle").to_str()
    assert "&&[^" in make_tokenizer("gentle", segmenter=SEGMENTERS["pythainlp"]).to_str()
    assert "&&[^" not in make_tokenizer("gentle", segmenter=SEGMENTERS["icu"]).to_str()


PARTS = st.sampled_from(
    [CHINESE, JAPANESE, THAI, "か\u3099", "葛\U000e0100", " ", "\u3000", "a", "'", "ก", "ๆ", "ー", "\u200b"]
)
MIXED = st.lists(PARTS | st.text(max_size=3) | st.text("的好かカกาລກក၁ー々 a'", max_size=8), max_size=6).map("".join)


@pytest.mark.parametrize("name", NAMES)
@given(text=MIXED)
def test_words_are_in_order_and_with_the_gaps_they_are_the_text(name, text):
    tokens = WordTokenizer.build(["好"], "gentle", 10_000, SEGMENTERS[name]).encode([text])[0].spans
    for spans in (tokens, whole_words([text], SEGMENTERS[name])[0]):
        edges = [0, *spans.ravel().tolist(), len(text)]
        assert edges == sorted(edges)
        assert all(start < end for start, end in spans)
        gaps = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
        assert all(not gap.strip("\x1c\x1d\x1e\x1f") or gap.isspace() for gap in gaps)
        words = [text[start:end] for start, end in spans] + [""]
        assert "".join(gap + word for gap, word in zip(gaps, words, strict=True)) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_result_depends_on_nothing_but_its_text(name):
    texts = [CHINESE, JAPANESE, THAI, "a film", CHINESE * 300]
    tokenizer = WordTokenizer.build(["film"], "gentle", 50, SEGMENTERS[name])
    together = tokenizer.encode(texts)
    for text, tokens in zip(texts, together, strict=True):
        (alone,) = tokenizer.encode([text])
        np.testing.assert_array_equal(alone.spans, tokens.spans)
    assert together[-1].total > 50
    assert len(together[-1]) == 50


def test_long_runs_are_cut_in_parts():
    segmenter = SEGMENTERS["pythainlp"]
    text = "ก" * 5_000  # slow, if it were cut at once
    (spans,) = whole_words([text], segmenter)
    assert spans[0, 0] == 0
    assert spans[-1, 1] == 5_000


def test_a_segmenter_that_changes_a_text_leaves_it_whole():
    broken = Segmenter("broken", (), ("Han",), lambda: lambda run: ["x"], "")
    assert spaced(["a好看b"], broken)[0].text == "a 好看 b"


@pytest.mark.parametrize("name", NAMES)
def test_a_tokenizer_is_stored_with_its_rules(name, tmp_path):
    segmenter = SEGMENTERS[name]
    before = WordTokenizer.build(["好看", "切れる", "อร่อย"], "gentle", 20, segmenter)
    before.save(tmp_path / "tokenizer.json")
    after = WordTokenizer.load(tmp_path / "tokenizer.json", "gentle", 20, segmenter)
    for text in (CHINESE, JAPANESE, THAI):
        assert before.encode([text])[0].ids.tolist() == after.encode([text])[0].ids.tolist()


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["这部电影很好看", "服务员态度很差"], "Chinese"),
        (["電影好看", "iPhone 15 Pro 好用"], "Chinese"),
        (["この映画は面白い", "料理が冷めていた", "最高傑作"], "Japanese"),
        (["อาหารอร่อย", "บริการแย่มาก"], "Thai"),
        (["ອາຫານແຊບຫຼາຍ"], "Lao"),
        (["这部电影很好看", "หนังเรื่องนี้สนุกมาก"], "Asian"),
        (["A fine film, 英雄 in the original; I saw it twice and liked it.", "Dull."], None),
        (["좋은 영화", "Отличный фильм", "naïve", ""], None),
        ([], None),
    ],
)
def test_the_language_of_texts(texts, language):
    assert unspaced_language(texts) == language


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ([CHINESE], "jieba"),
        ([JAPANESE], "sudachi"),
        ([THAI], "pythainlp"),
        (["ອາຫານ"], "icu"),
        ([CHINESE, THAI], "icu"),
    ],
)
def test_auto_takes_the_segmenter_of_the_language(texts, name):
    assert choose_segmenter("auto", texts) is SEGMENTERS[name]
    assert choose_segmenter("icu", texts) is SEGMENTERS["icu"]
    assert choose_segmenter("none", texts) is None


def test_auto_leaves_texts_with_spaces_alone():
    assert choose_segmenter("auto", ["An English text of 中国 as such"]) is None


def test_a_package_that_is_not_installed(monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(segmenters, "version", version)
    with pytest.raises(MissingExtra, match=r"The segmenter 'icu' \(icu4py\) .*pip install 'vmask\[segment\]'"):
        find_segmenter("icu")
    with pytest.raises(MissingExtra, match=r"texts are Chinese.*segmenter=none.*pip install 'vmask\[segment\]'"):
        choose_segmenter("auto", [CHINESE])
    assert choose_segmenter("auto", ["A film."]) is None
    with pytest.raises(UnknownName, match="Did you mean 'jieba'"):
        find_segmenter("jeiba")


def test_nothing_is_imported_before_it_is_needed():
    import subprocess

    names = ("rjieba", "sudachipy", "pythainlp", "icu4py")
    code = f"import sys, vmask.text.words; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_written_to_the_home_folder(tmp_path):
    import os
    import subprocess

    code = "from vmask.text.segmenters import SEGMENTERS\nfor one in SEGMENTERS.values(): one.spaced('อาหาร好吃カメラ')"
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(tmp_path))
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **places}, check=True)
    assert list(Path(tmp_path).iterdir()) == []
