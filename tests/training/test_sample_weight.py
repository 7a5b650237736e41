"""Weights of texts: what they mean in the loss, and which are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from toy import toy_texts, write_csv
from vmask import TextClassifier, load_dataset
from vmask.cli import main
from vmask.errors import DataError
from vmask.evaluation.dataset_training import fit_dataset

TEXTS, LABELS = toy_texts(24, seed=4)
ONE_STEP = {"embeddings": "random", "mask": "base", "epochs": 1, "batch_size": 100, "model__filters": 8, "seed": 3}
ONE_STEP |= {"learning_rate": 0.5, "clip": 1e6, "model__dropout": 0.0, "device": "cpu", "calibration": "none"}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A vector for every word, so that none depends on how often words occur."""
    words = sorted({word for text in TEXTS for word in text.replace(",", " ").split()})
    stream = np.random.default_rng(0)
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in stream.normal(size=12))}" for word in [*words, ","]]
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def trained(vectors, monkeypatch):
    """What a model says of all texts after a single step of gradient descent on some."""
    monkeypatch.setattr("vmask.training.loop.make_optimizer", plain_descent)

    def train(texts, labels, weights=None, **options):
        classifier = TextClassifier(**{**ONE_STEP, "embeddings": vectors, **options})
        return classifier.fit(texts, labels, weights, dev=(TEXTS, LABELS)).predict_proba(TEXTS)

    return train


def plain_descent(model, config, device):
    """Adam divides by the size of the gradient, so that a wrong one would go unnoticed."""
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "of_mask": False}]
    return torch.optim.SGD(groups, lr=config.learning_rate)


def apart(one, other):
    return float(np.abs(one - other).max())


@pytest.mark.parametrize("options", [{}, {"accumulate": 3}])
def test_twice_the_weight_is_the_text_twice(options, trained):
    weights = [2.0 if i in (1, 4, 7) else 1.0 for i in range(24)]
    rows = [i for i, weight in enumerate(weights) for _ in range(int(weight))]
    weighted = trained(TEXTS, LABELS, weights, **options)
    repeated = trained([TEXTS[i] for i in rows], [LABELS[i] for i in rows], **options)
    assert apart(weighted, repeated) < 1e-5 < 1e-3 < apart(weighted, trained(TEXTS, LABELS, **options))


def test_the_size_of_all_weights_does_not_matter_and_equal_ones_change_nothing(trained):
    weights = np.linspace(0.5, 3, 24)
    assert apart(trained(TEXTS, LABELS, weights), trained(TEXTS, LABELS, 7 * weights)) < 1e-5
    assert apart(trained(TEXTS, LABELS, np.ones(24)), trained(TEXTS, LABELS)) < 1e-5


def test_a_text_of_no_weight_is_not_there(trained):
    weights = [float(i % 4 != 0) for i in range(24)]
    rows = [i for i in range(24) if weights[i]]
    without = trained([TEXTS[i] for i in rows], [LABELS[i] for i in rows])
    assert apart(trained(TEXTS, LABELS, weights), without) < 1e-5


def test_weights_follow_their_texts_through_the_hold_out_and_empty_texts():
    texts = [f"word{i}" for i in range(40)] + [" "]
    labels = [i % 2 for i in range(40)] + [0]
    weights = [float(i + 1) for i in range(41)]
    classifier = TextClassifier(**{**ONE_STEP, "min_steps": 0})
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        from vmask.training import fit

        real = fit.train
        patch.setattr(
            fit,
            "train",
            lambda model, examples, *rest, **more: seen.append(examples) or real(model, examples, *rest, **more),
        )
        classifier.fit(texts, labels, sample_weight=weights)
    (examples,) = seen
    words = [classifier.predictor_.tokenizer.words[ids[0]] for ids in examples.ids]
    assert len(words) == 36
    assert [f"word{int(weight) - 1}" for weight in examples.weights] == words


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 23, "24 texts and 23 weights"),
        ([1.0] * 23 + [-1], r"Weight number 23 .* is -1\.0"),
        ([1.0] * 23 + [float("nan")], "Weight number 23"),
        ([1.0] * 23 + [float("inf")], "Weight number 23"),
        ([1.0] * 23 + [1e-30], "Weight number 23"),
        ([1.0] * 23 + ["much"], "no number"),
        ([0.0] * 24, "All weights are 0"),
        ([float(label == "pos") for label in LABELS], "All labels are 'pos'"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        TextClassifier(**ONE_STEP).fit(TEXTS, LABELS, weights)


def table(path, weights):
    text = "text,label,w\n" + "".join(
        f"some text number {i},{'ab'[i % 2]},{weight}\n" for i, weight in enumerate(weights)
    )
    path.write_text(text, encoding="utf-8")
    return path


def test_a_column_has_the_weights(tmp_path):
    dataset = load_dataset(table(tmp_path / "a.csv", range(40)), text="text", label="label", weight="w")
    assert dataset.weights == [float(id.removeprefix("row-")) for id in dataset.splits["train"].ids]
    classifier = fit_dataset(TextClassifier(**ONE_STEP), dataset)
    assert classifier.data_["train"] == 32 - dataset.weights.count(0.0)


@pytest.mark.parametrize("bad", ["-1", "", "much"])
def test_a_bad_weight_in_a_column_names_its_row(bad, tmp_path):
    with pytest.raises(DataError, match=r"--weight: 'w' of row row-7"):
        load_dataset(
            table(tmp_path / "a.csv", [bad if i == 7 else 1 for i in range(40)]), weight="w", text="text", label="label"
        )


def test_the_command_takes_the_column(tmp_path, capsys):
    path = write_csv(tmp_path / "a.csv", *toy_texts(60))
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([f"{lines[0]},w", *(f"{line},{1 + i % 3}" for i, line in enumerate(lines[1:]))]) + "\n")
    few = ["--embeddings", "random", "--epochs", "1", "--model.filters", "8", "--report", "none"]
    words = [
        "train",
        str(path),
        "--text",
        "text",
        "--label",
        "label",
        "--weight",
        "w",
        "--out",
        str(tmp_path / "m"),
        *few,
    ]
    assert main(words) == 0
    assert "Rows weigh in training what 'w' says." in capsys.readouterr().err
