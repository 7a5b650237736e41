"""Two stages: first without a mask, then with it and frozen word vectors; cut off anywhere, the end is the same."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.torch import load_file

from toy import toy_texts
from vmask import TextClassifier
from vmask.errors import ConfigError, ModelFolderError, VmaskError
from vmask.masks import MASKS
from vmask.training.progress import ProgressCallback, TrainingBar
from vmask.training.torch_random import own_randomness, reseed_torch

STEPS = 3
"""Steps of an epoch of the toy texts."""
BLOCK = ".embeddings."


@pytest.fixture(scope="module")
def base_folder(fitted_encoder, tmp_path_factory):
    """A tiny BERT that went through the first stage. Do not write to it."""
    return fitted_encoder("bert", "base", epochs=2).save(tmp_path_factory.mktemp("models") / "base")


def test_epochs_are_counted_on_and_the_best_is_of_the_second_stage(fit_once):
    classifier = fit_once()
    assert [row["epoch"] for row in classifier.history_] == [1, 2, 3, 4]
    assert [row["stage"] for row in classifier.history_] == [1, 1, 2, 2]
    assert [row["mask_mean"] is None for row in classifier.history_] == [True, True, False, False]
    assert [row["penalty"] > 0 for row in classifier.history_] == [False, False, True, True]
    assert [row["competes"] for row in classifier.history_] == [
        True,
        True,
        False,
        True,
    ]  # beta falls in the second stage
    assert classifier.best_epoch_ == 4


@pytest.mark.parametrize("mask", ["base", "l2"])
def test_without_a_mask_there_is_one_stage(fit_once, mask):
    classifier = fit_once(mask)
    assert [row["epoch"] for row in classifier.history_] == [1, 2]
    assert not any("stage" in row for row in classifier.history_)


def test_the_first_stage_is_base_and_the_second_leaves_the_embedding_block_as_it_is(
    fit_once, weights, equal, encoder_folder
):
    base, both = weights(fit_once("base")), weights(fit_once())
    pretrained = load_file(encoder_folder("bert") / "model.safetensors")
    table = "bert.embeddings.word_embeddings.weight"
    assert not np.array_equal(base[f"encoder.network.{table}"], pretrained[table])  # the first stage trains it
    assert {name for name in base if BLOCK in name} >= {
        f"encoder.network.bert.embeddings.{part}.weight"
        for part in ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")
    }
    assert equal(base, both, BLOCK)
    assert not equal(base, both, ".layer.")  # what is behind it is trained on
    assert not equal(base, both, "classifier")


def test_the_second_stage_trains_the_mask(fit, weights):
    classifier = fit(seed=4)
    plan = classifier.plan_
    with own_randomness():
        reseed_torch(4, "mask")
        fresh = plan.with_mask(classifier.predictor_.model.encoder, 2).mask.state_dict()
    trained = classifier.predictor_.model.mask.state_dict()
    for name, tensor in fresh.items():
        moved = (trained[name] - tensor).abs().max()
        assert 0 < moved < 0.1  # it began there


@pytest.mark.parametrize("mask", [name for name in MASKS.names() if MASKS.get(name).recipe.get("stages") != 1])
def test_a_start_from_a_base_model_gives_the_weights_of_two_stages(fit, weights, equal, base_folder, toy, mask):
    texts, labels = toy
    data = {"texts": texts[:60], "labels": labels[:60], "dev": (texts[60:80], labels[60:80])}
    both = fit(mask, **data)
    started = fit(mask, init_from=str(base_folder), **data)
    assert equal(weights(both), weights(started))
    assert [row["epoch"] for row in started.history_] == [1, 2]
    assert started.best_epoch_ == both.best_epoch_ - 2
    assert [row["loss"] for row in started.history_] == [row["loss"] for row in both.history_[2:]]


def test_train_embeddings_says_what_is_trained(fit, fit_once, weights, equal, encoder_folder):
    pretrained = load_file(encoder_folder("bert") / "model.safetensors")
    never = weights(fit(train_embeddings=False))
    for name, tensor in pretrained.items():
        if BLOCK in name:
            assert (never[f"encoder.network.{name}"] == tensor).all()
    assert not equal(weights(fit_once("base")), weights(fit(train_embeddings=True)), BLOCK)
    one = weights(fit("base", train_embeddings=False))
    assert equal(one, never, BLOCK)


def test_one_stage_trains_mask_and_vectors_together(fit, weights, encoder_folder):
    classifier = fit(stages=1)
    assert [row["epoch"] for row in classifier.history_] == [1, 2]
    assert classifier.history_[0]["mask_mean"] is not None
    table = "bert.embeddings.word_embeddings.weight"
    pretrained = load_file(encoder_folder("bert") / "model.safetensors")[table]
    assert (weights(classifier)[f"encoder.network.{table}"] != pretrained).any()


def test_a_cnn_can_be_trained_in_two_stages_and_is_stored_exactly(tmp_path):
    options = {"embeddings": "random", "epochs": 2, "model__filters": 8, "learning_rate": 0.02, "dev_fraction": 0.3}
    texts, labels = toy_texts(80)
    saved = TextClassifier(stages=2, **options).fit(texts, labels)
    assert [row["stage"] for row in saved.history_] == [1, 1, 2, 2]
    base = TextClassifier(mask="base", **options).fit(texts, labels)
    vectors = [c.predictor_.model.encoder.embedding.weight for c in (base, saved)]
    assert (vectors[0] == vectors[1]).all()
    loaded = TextClassifier.load(saved.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(texts), saved.predict_proba(texts))


# A start that cannot work ---------------------------------------------------------------------------------


def test_a_cnn_is_no_start_for_an_encoder_nor_an_encoder_for_a_cnn(fit, model_folder, base_folder):
    with pytest.raises(ConfigError, match="It is no encoder"):
        fit(init_from=str(model_folder))
    with pytest.raises(ConfigError, match="Only an encoder can start from another model"):
        TextClassifier(embeddings="random", init_from=str(base_folder)).fit(*toy_texts(20))


def test_a_start_with_another_tokenizer_is_refused(fit, base_folder):
    with pytest.raises(ConfigError, match="another tokenizer"):
        fit(family="roberta", init_from=str(base_folder))


def test_a_start_with_other_labels_is_refused(fit, base_folder):
    with pytest.raises(ConfigError, match="labels are others"):
        fit(init_from=str(base_folder), texts=["one", "two"] * 5, labels=["x", "y"] * 5, dev=None)


def test_a_start_that_is_no_model_folder_is_said(fit, tmp_path):
    with pytest.raises(VmaskError, match="There is no model folder"):
        fit(init_from=str(tmp_path / "none"))


# Cut off and resumed --------------------------------------------------------------------------------------


class Stop(ProgressCallback):
    """Ends the training after some steps or as a stage begins, as a kill would."""

    def __init__(self, steps=0, stage=0):
        self.left, self.at = steps, stage

    def stage(self, number, total):
        if number == self.at:
            raise KeyboardInterrupt

    def step(self, loss):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("mask", "when"),
    [
        ("vmask", {"steps": STEPS + 1}),  # in the second epoch of the first stage
        ("vmask", {"stage": 2}),
        ("vmask", {"steps": 2 * STEPS + 2}),  # before the first checkpoint of the second stage
        ("vmask", {"steps": 3 * STEPS + 2}),
        ("iba", {"steps": 3 * STEPS + 1}),
        ("random_mask", {"stage": 2}),
    ],
)
def test_a_resumed_training_ends_where_an_unbroken_one_does(fit, fit_once, weights, equal, tmp_path, mask, when):
    whole = fit_once(mask)
    with pytest.raises(KeyboardInterrupt):
        fit(mask, checkpoint=tmp_path / "c", progress=Stop(**when))
    resumed = fit(mask, checkpoint=tmp_path / "c", resume=True)
    assert equal(weights(whole), weights(resumed))
    assert [row["loss"] for row in whole.history_] == [row["loss"] for row in resumed.history_]
    assert whole.best_epoch_ == resumed.best_epoch_


def test_stages_keep_their_checkpoints_apart_and_both_are_of_this_run(fit, tmp_path):
    fit(checkpoint=tmp_path / "c")
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["stage-1", "stage-2"]
    for number in (1, 2):
        names = sorted(path.name for path in (tmp_path / "c" / f"stage-{number}").iterdir())
        assert names == ["best-2.safetensors", "epoch-2.safetensors", "state.json"]
    with pytest.raises(ModelFolderError, match=r"of another run: learning_rate was 0\.001, is 0\.5"):
        fit(checkpoint=tmp_path / "c", resume=True, learning_rate=0.5)
    fit("base", checkpoint=tmp_path / "one")
    assert (tmp_path / "one" / "state.json").is_file()


def test_training_repeats_exactly_and_another_seed_does_not(fit, fit_once, weights, equal):
    first = weights(fit_once())
    assert equal(first, weights(fit()))
    assert not equal(first, weights(fit(seed=1)), "classifier")


def test_the_bar_tells_the_stages_apart(fit):
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=160)
    fit(progress=TrainingBar("tiny", console))
    shown = console.file.getvalue()
    assert shown.index("stage 1 of 2: without a mask") < shown.index("stage 2 of 2: with the mask")
    assert shown.count("epoch   1") == shown.count("epoch   2") == 2


def test_the_bar_of_the_second_stage_starts_from_nothing():
    bar = TrainingBar("tiny")
    for _ in range(2):
        bar.start(2, 0)
        task = bar.bar.tasks[0]
        assert (task.completed, task.total, task.finished) == (0, 2, False)
        bar.step(0.5)
        bar.step(0.5)
        assert task.finished
