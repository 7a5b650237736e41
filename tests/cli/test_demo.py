"""`vmask demo`, on toy data and random vectors."""

from __future__ import annotations

import re

from toy import toy_texts, write_csv
from vmask import TextClassifier
from vmask.report.model.page import SECTIONS


def test_the_demo_runs_end_to_end_and_writes_its_report(vmask, tmp_path):
    out = tmp_path / "demo"
    texts, labels = toy_texts(120)
    data = write_csv(tmp_path / "reviews.csv", [f"{text} {n}" for n, text in enumerate(texts)], labels)
    words = ["demo", "--data", data, "--embeddings", "random", "--epochs", "2", "--out", out]
    done = vmask(*words)
    assert done.code == 0, done.err
    for name in ("linear", "cnn-base", "cnn-vmask"):
        assert re.search(rf"^ {name} +[01]\.\d{{3}} $", done.out, re.MULTILINE)
    assert "words it uses most" in done.out
    assert str(out / "report.html") in done.out
    assert "No test split" in done.err
    html = (out / "report.html").read_text(encoding="utf-8")
    assert "CNN without a mask<small>the same model, trained without a word mask</small>" in html
    assert html.count('<tr class="ours">') == 1
    for section in SECTIONS:
        assert f'<section id="{section}">' in html
    assert set(re.findall(r'(?:src|href)="([^"]*)"', html)) == {"data:,", *(f"#{section}" for section in SECTIONS)}
    assert TextClassifier.load(out / "cnn-vmask").about_["dataset"] == "reviews.csv"

    value = vmask(*words, "--json", "--quiet").json  # again, into the same folder
    assert set(value["accuracy"]) == {"linear", "cnn-base", "cnn-vmask"}
    assert len(value["texts"]) == 5
    assert value["report"] == str(out / "report.html")


def test_a_demo_without_its_data_says_so(fails, tmp_path):
    assert "There is no file" in fails("demo", "--data", tmp_path / "none.csv", "--out", tmp_path / "demo")
