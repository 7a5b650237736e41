"""Models of Chinese, Japanese and Thai texts: words in training, explanations, folders, edits, exports and pages."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from forging import edit
from vmask import TextClassifier, explain_texts
from vmask.data.splits import Split
from vmask.errors import ConfigError, MissingExtra, ModelFolderError, VmaskWarning
from vmask.explain.highlight import html_text, rich_text
from vmask.inference.black_box import BlackBox
from vmask.report.model.test_scores import linear_predictions
from vmask.text import segmenters

PARTS = {
    "Chinese": ("jieba", ["好看", "喜欢", "推荐"], ["无聊", "失望", "难看"], "这部电影{}，我觉得很{}。", "好看"),
    "Japanese": (
        "sudachi",
        ["最高", "素敵", "感動"],
        ["退屈", "最悪", "残念"],
        "この映画は{}で、俳優も{}だった。",
        "最高",
    ),
    "Thai": ("pythainlp", ["สนุก", "อร่อย", "ชอบ"], ["น่าเบื่อ", "แพง", "สกปรก"], "ร้านนี้{} เพื่อนบอกว่า{}ด้วย", "สนุก"),
}


def texts_of(language):
    _, good, bad, sentence, _ = PARTS[language]
    pairs = [
        (sentence.format(a, b), label) for label, words in (("pos", good), ("neg", bad)) for a in words for b in words
    ]
    texts, labels = zip(*(pairs * 4), strict=True)
    return list(texts), list(labels)


@pytest.fixture(scope="module", params=PARTS)
def language(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(language):
    texts, labels = texts_of(language)
    options = {"embeddings": "random", "epochs": 4, "min_steps": 1, "learning_rate": 0.02, "device": "cpu"}
    return TextClassifier(**options).fit(texts, labels, dev=(texts, labels))


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    return fitted.save(tmp_path_factory.mktemp("unspaced") / "model")


def test_words_are_learnt_and_shown_where_they_stand(fitted, language):
    name, _, _, sentence, word = PARTS[language]
    assert fitted.predictor_.tokenizer.segmenter.name == name
    assert word in fitted.predictor_.word_counts()
    text = sentence.format(word, word)
    (explanation,) = fitted.explain([text])
    assert word in explanation.words
    assert [text[start:end] for start, end in explanation.spans] == list(explanation.words)
    assert re.sub("<[^>]*>", "", html_text(explanation)) == text
    assert rich_text(explanation).plain == text


def test_a_folder_keeps_the_segmenter(fitted, folder, language):
    texts, _ = texts_of(language)
    name = PARTS[language][0]
    recorded = json.loads((folder / "config.json").read_text(encoding="utf-8"))["segmenter"]
    assert recorded == {"name": name, "version": segmenters.SEGMENTERS[name].version}
    np.testing.assert_array_equal(TextClassifier.load(folder).predict_proba(texts), fitted.predict_proba(texts))


def test_a_folder_whose_segmenter_is_not_installed(folder, monkeypatch):
    def version(name):
        raise segmenters.PackageNotFoundError(name)

    monkeypatch.setattr(segmenters, "version", version)
    with pytest.raises(MissingExtra, match=r"reads texts without spaces.*pip install 'vmask\[segment\]'"):
        TextClassifier.load(folder)


def test_a_folder_of_another_version(folder, monkeypatch):
    monkeypatch.setattr(segmenters, "version", lambda name: "9.9")
    with pytest.warns(VmaskWarning, match=r"trained with .*; here is .* 9\.9.*which may cut some texts otherwise"):
        TextClassifier.load(folder)


@pytest.mark.parametrize("segmenter", [{"name": "os.system", "version": "1"}, {"name": ["jieba"]}, "jieba", 3, {}])
def test_a_folder_with_another_segmenter_is_refused(folder, tmp_path, segmenter):
    forged = shutil.copytree(folder, tmp_path / "forged")
    edit(forged, lambda config: config.update(segmenter=segmenter))
    with pytest.raises(ModelFolderError, match=r"its segmenter .* is none of jieba, sudachi, pythainlp, icu"):
        TextClassifier.load(forged)


def test_a_word_can_be_hidden(fitted, language):
    _, _, _, sentence, word = PARTS[language]
    edited = fitted.edit(hide=[word])
    (doc,) = edited.predictor_.prepare([sentence.format(word, word)])
    assert [doc.words[i] for i in np.flatnonzero(doc.hidden)] == [word, word]


@pytest.mark.full
def test_an_export_says_what_it_needs_and_its_example_answers_like_the_model(fitted, language, tmp_path):
    texts, _ = texts_of(language)
    export = fitted.export(tmp_path / "onnx", "onnx").path
    config = json.loads((export / "config.json").read_text(encoding="utf-8"))
    assert config["segmenter"]["name"] == PARTS[language][0]
    card = (export / "README.md").read_text(encoding="utf-8")
    assert f"must be cut by {PARTS[language][0]} before" in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    texts = [*texts[:4], "iPhone " + texts[5] + " isn't 😀"]
    code = code.replace('["a text", "another text, somewhat longer"]', repr(texts))
    blocked = "import sys\nsys.modules.update(dict.fromkeys(('vmask', 'torch', 'transformers')))\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + code],
        cwd=export,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    answers = zip(fitted.predict(texts), fitted.predict_proba(texts), texts, strict=True)
    assert done.stdout.splitlines() == [f"{label}\t{row.max():.4f}\t{text}" for label, row, text in answers]


def test_the_option(language):
    texts, labels = texts_of(language)
    options = {"mask": "base", "embeddings": "random", "epochs": 1, "device": "cpu"}
    icu = TextClassifier(segmenter="icu", **options).fit(texts, labels)
    assert icu.predictor_.tokenizer.segmenter.name == "icu"
    none = TextClassifier(segmenter="none", **options).fit(texts, labels)
    assert none.predictor_.tokenizer.segmenter is None
    assert "segmenter" not in none.predictor_.stored_config()
    with pytest.raises(ConfigError, match="cleaning=paper drops all but ASCII"):
        TextClassifier(segmenter="icu", cleaning="paper", **options).fit(texts, labels)


def test_words_of_an_encoder(language, encoder_folder, tmp_path):
    texts, labels = texts_of(language)
    name, _, _, sentence, word = PARTS[language]
    options = {"epochs": 1, "min_steps": 1, "batch_size": 20, "device": "cpu"}
    model = TextClassifier(str(encoder_folder()), "word_dropout", **options).fit(texts, labels, dev=(texts, labels))
    loaded = TextClassifier.load(model.save(tmp_path / "model"))
    text = sentence.format(word, word)
    for classifier in (model, loaded):
        (explanation,) = classifier.explain([text], method="occlusion")
        assert word in explanation.words
        assert name in explanation.options["merging"]
        assert name in classifier.data_["merging"]
    np.testing.assert_array_equal(model.predict_proba(texts), loaded.predict_proba(texts))


def test_a_function_is_asked_about_texts_without_new_spaces(language):
    name, _, _, sentence, word = PARTS[language]
    seen = []

    def ask(texts):
        seen.extend(texts)
        return np.array([[0.2, 0.8] if word in text else [0.7, 0.3] for text in texts])

    text = sentence.format(word, word)
    list(explain_texts(BlackBox(ask, segmenter=name), [text], "lime", samples=50))
    assert len(seen) > 20
    assert {text.count(" ") for text in seen} <= set(range(text.count(" ") + 1))


def test_the_linear_model_of_a_report_reads_words_too(language):
    texts, labels = texts_of(language)
    _, good, bad, _, _ = PARTS[language]
    train = Split(texts, labels, [str(i) for i in range(len(texts))])
    new = Split([f"{good[0]}{good[1]}", f"{bad[0]}{bad[2]}"], ["pos", "neg"], ["a", "b"])
    assert linear_predictions(train, new) == ["pos", "neg"]
