"""Rankings of words without a neural model, measured as a stage of the grid measures masks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reproduction import simple_rankings
from reproduction.plausibility import STAGE
from reproduction.results import Results, ScoreKey
from reproduction.simple_rankings import GRID, SIMPLE, WordRanking, main, rankings_of
from toy import BAD, GOOD, toy_texts
from vmask.data.datasets import load_dataset
from vmask.evaluation.measure import evaluate
from vmask.grid.spec import read_experiment
from vmask.text.vocabulary import WordTokenizer

YAML = """
out: results
models: {cnn: {embeddings: random}}
grid: [{datasets: [marked], models: [cnn], masks: [base, vmask]}]
stages:
  - {name: plausibility, metrics: [token_f1, auprc], explainers: [lime], n: 20}
"""


def rows(count):
    """Texts whose marked words are those that tell the class."""
    for text, label in zip(*toy_texts(count), strict=True):
        tokens = text.split()
        spans = [[at, at + 1] for at, token in enumerate(tokens) if token in (*GOOD, *BAD)]
        yield {"tokens": tokens, "rationale_spans": spans, "label": label}


@pytest.fixture
def marked(tmp_path):
    folder = tmp_path / "marked"
    folder.mkdir()
    for split, count in (("train", 60), ("dev", 20), ("test", 30)):
        lines = [json.dumps(row) for row in rows(count)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "marked.yaml").write_text(YAML, encoding="utf-8")
    return folder


def test_words_score_by_their_place_and_others_come_last():
    tokenizer = WordTokenizer.build(["a", "fine", "film"], "gentle", 4)
    ranking = WordRanking(["fine", "a"], tokenizer, ["no", "yes"], np.array([0.25, 0.75]))
    (doc,) = ranking.prepare(["A fine film xyz today"])
    assert (doc.words, doc.unseen) == (("A", "fine", "film", "xyz"), 1)
    assert ranking.mask_scores([doc])[0].tolist() == [0.5, 1.0, 0.0, 0.0]
    assert ranking.predict_docs([doc, doc]).tolist() == [[0.25, 0.75]] * 2
    assert ranking.predict_kept([doc], [np.ones((3, 4), np.bool_)])[0].shape == (3, 2)


def test_the_weights_find_marked_words_and_frequency_does_not(marked):
    dataset = load_dataset(str(marked))
    found = {}
    for name, ranking in rankings_of(dataset).items():
        evaluation = evaluate(ranking, dataset, ["token_f1"], ["mask"], hide="remove")
        found[name] = next(score.value for score in evaluation.scores if score.by == "mask")
    assert found["linear"] == 1.0
    assert found["frequency"] < 0.5


def test_the_command_writes_what_the_table_reads(marked, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--grid", str(tmp_path / "marked.yaml"), "--out", str(tmp_path / "results")]
    assert main(words) == 0
    first = {path.name: path.read_text() for path in (tmp_path / "results" / "cells").iterdir()}
    assert sorted(first) == [f"marked--words--{name}--s0.plausibility.json" for name in SIMPLE]
    assert capsys.readouterr().out.splitlines()[1] == "marked, linear: token F1 1.000"
    results = Results.read(tmp_path / "results")
    score = results.score("marked", "words", "frequency", STAGE, ScoreKey("token_f1", "mask"))
    assert (score.n, score.how) == (20, "over texts")
    assert score.low < score.value < score.high
    assert results.datasets["marked"]["rows"] == {"train": 60, "dev": 20, "test": 30}
    assert main(words) == 0  # the same again

    def numbers(text):
        return {key: value for key, value in json.loads(text).items() if key not in ("seconds", "facts")}

    again = {path.name: path.read_text() for path in (tmp_path / "results" / "cells").iterdir()}
    assert {name: numbers(text) for name, text in again.items()} == {
        name: numbers(text) for name, text in first.items()
    }


def test_data_that_is_not_there_is_an_error(tmp_path, monkeypatch, capsys):
    grid = tmp_path / "other.yaml"
    grid.write_text(YAML, encoding="utf-8")
    assert main(["--grid", str(grid), "--data-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_the_texts_are_those_of_the_grid():
    first = read_experiment(GRID).stages[0]
    assert (first.name, first.n, set(first.metrics)) == (STAGE, 500, {"token_f1", "auprc"})
    assert all(stage.n == first.n and stage.metrics == first.metrics for stage in read_experiment(GRID).stages)
    assert set(SIMPLE) <= set(simple_rankings.RANKINGS)
