"""--no-texts: no text of the data, and no run of its words, is in anything that is made of the model."""

from __future__ import annotations

import csv
import re
from itertools import pairwise

import pytest
from starlette.testclient import TestClient

from toy import toy_texts, write_csv
from vmask.persistence.model_folder import LISTS
from vmask.serve.app import create_app

SMALL = ["--embeddings", "random", "--epochs", "2", "--learning-rate", "0.01", "--model.filters", "8", "--quiet"]
SECRET = "Zorblat owes quimby forty glinting ducats since michaelmas"


def planted(tmp_path):
    """A table in which every text is a secret of its own kind, some with two labels, some in two splits."""
    texts, labels = toy_texts(80)
    texts = [f"{text}, {SECRET} {i % 60}" for i, text in enumerate(texts)]
    return write_csv(tmp_path / "mine.csv", [*texts, texts[0], texts[0]], [*labels, "pos", "neg"])


def leaks(content: str) -> list[str]:
    """Runs of two or more words of the secret sentence, whatever stands between them."""
    words = [word.lower() for word in SECRET.split()]
    found = []
    for pair in pairwise(words):
        if re.search(rf"{pair[0]}[^\w]{{1,20}}{pair[1]}", content.lower()):
            found.append(" ".join(pair))
    return found


def everything(folder):
    """The content of all files, however deep."""
    return {
        str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_no_file_has_a_text_of_the_data(vmask, tmp_path):
    data, out = planted(tmp_path), tmp_path / "runs" / "private"
    done = vmask("train", data, "--out", out, "--no-texts", "--track", "tensorboard", *SMALL)
    assert done.code == 0, done.err
    assert vmask("show", out, data, "--quiet").code == 0
    shown = vmask("show", out, data, "--json", "--quiet", "--out", tmp_path / "runs" / "page.html")
    assert vmask("edit", out, tmp_path / "runs" / "edited", "--hide", "zorblat", "--quiet").code == 0
    assert vmask("export", out, tmp_path / "runs" / "onnx", "--format", "onnx").code in (0, 2)
    files = everything(tmp_path / "runs")
    assert {"private/report.html", "private/config.json", "page.html", "private/suspect_labels.csv"} <= set(files)
    assert {name: leaks(content) for name, content in files.items() if leaks(content)} == {}
    assert leaks(shown.out) == []
    assert "zorblat" in files["private/tokenizer.json"]  # words stay
    assert "left out of this page" in files["private/report.html"]
    with (out / LISTS[0]).open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ["row", "split", "label", "model_label", "confidence"]
    with (out / LISTS[1]).open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ["number", "row", "split", "label"]


def test_the_same_without_it_has_texts(vmask, tmp_path):
    out = tmp_path / "open"
    assert vmask("train", planted(tmp_path), "--out", out, *SMALL).code == 0
    files = everything(out)
    assert leaks(files["report.html"])
    assert leaks(files["conflicting_labels.csv"])
    assert not leaks(files["config.json"] + files["README.md"] + files["tokenizer.json"])


def test_a_private_model_in_the_place_of_another_leaves_no_list_behind(vmask, tmp_path):
    data, out = planted(tmp_path), tmp_path / "m"
    assert vmask("train", data, "--out", out, *SMALL).code == 0
    assert (out / LISTS[1]).is_file()
    assert vmask("train", data, "--out", out, "--overwrite", "--no-texts", "--report", "none", *SMALL).code == 0
    assert not any((out / name).exists() for name in LISTS)
    assert not any(leaks(content) for content in everything(out).values())


def test_show_leaves_the_texts_out_of_a_page_on_request(vmask, tmp_path):
    data, out = planted(tmp_path), tmp_path / "m"
    assert vmask("train", data, "--out", out, "--report", "none", *SMALL).code == 0
    assert vmask("show", out, data, "--no-texts", "--quiet").code == 0
    assert not any(leaks(content) for content in everything(out).values())


def test_the_user_is_told_of_words_that_occur_once(vmask, tmp_path):
    texts, labels = toy_texts(60)
    texts[3] += " call 5551234"
    words = [word for word in SMALL if word != "--quiet"]
    data = write_csv(tmp_path / "a.csv", texts, labels)
    done = vmask("train", data, "--out", tmp_path / "m", "--no-texts", "--report", "none", *words)
    assert "words that occur once in training are in the folder; --min-count 2 leaves them out" in done.err
    done = vmask("train", data, "--out", tmp_path / "n", "--no-texts", "--report", "none", "--min-count", "2", *words)
    assert "occur once" not in done.err
    assert "5551234" not in (tmp_path / "n" / "tokenizer.json").read_text()


@pytest.mark.parametrize("named", [True, False])
def test_the_server_has_no_examples_even_if_the_data_is_named(vmask, tmp_path, named):
    data, out = planted(tmp_path), tmp_path / "m"
    assert vmask("train", data, "--out", out, "--no-texts", "--report", "none", *SMALL).code == 0
    with TestClient(
        create_app([out], data=str(data) if named else None, device="cpu"), base_url="http://localhost"
    ) as client:
        pages = [client.get("/").text, client.get("/api/options").text, client.get("/openapi.json").text]
        answer = client.get("/api/examples")
        assert answer.status_code in (400, 404), answer.text
        assert not any(map(leaks, [*pages, answer.text]))
        assert "--no-texts" in pages[1]
