"""The training loop: it learns, repeats exactly, resumes, and stops when it must."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from registered import WORD_MODELS
from toy import toy_texts
from vmask import TextClassifier
from vmask.config import TrainConfig, make
from vmask.errors import ModelFolderError, TrainingDiverged, VmaskWarning
from vmask.masks import MASKS
from vmask.training.fit import prepare_data, train_plan
from vmask.training.loop import _Run, _warn_of_collapse
from vmask.training.progress import ProgressCallback, TrainingBar
from vmask.training.selection import restart_epoch

SMALL = {"embeddings": "random", "epochs": 3, "model__filters": 8, "mask__hidden": 20, "learning_rate": 0.02}


def weights(classifier):
    return {name: t.clone() for name, t in classifier.predictor_.model.state_dict().items()}


def equal(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("model", WORD_MODELS)
@pytest.mark.parametrize("mask", MASKS.names())
def test_every_mask_trains_every_model(model, mask):
    texts, labels = toy_texts(160)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)  # a short training may leave masks alike
        options = {"embeddings": "random", "epochs": 15, "learning_rate": 0.006, "dev_fraction": 0.3}
        classifier = TextClassifier(model, mask, **options).fit(texts, labels)
    test_texts, test_labels = toy_texts(60, seed=9)
    assert classifier.score(test_texts, test_labels) > 0.85


def test_history_has_a_row_for_every_epoch():
    row = TextClassifier(**SMALL).fit(*toy_texts(80)).history_[-1]
    assert {"epoch", "loss", "penalty", "beta", "dev_accuracy", "dev_macro_f1", "mask_mean", "mask_std"} <= set(row)
    assert row["epoch"] == 3
    assert row["seconds"] >= 0


def test_training_repeats_exactly_and_another_seed_does_not():
    texts, labels = toy_texts(80)
    first = weights(TextClassifier(**SMALL).fit(texts, labels))
    assert equal(first, weights(TextClassifier(**SMALL).fit(texts, labels)))
    assert not equal(first, weights(TextClassifier(**SMALL, seed=1).fit(texts, labels)))


def test_training_leaves_the_callers_random_stream_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    TextClassifier(**SMALL).fit(*toy_texts(40))
    assert torch.equal(torch.rand(3), expected)


class StopAfter(ProgressCallback):
    """Ends the training in the middle of an epoch, as a kill would."""

    def __init__(self, steps):
        self.left = steps

    def step(self, loss):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("model", WORD_MODELS)
@pytest.mark.parametrize("mask", ["vmask", "iba", "select"])
def test_a_resumed_training_ends_where_an_unbroken_one_does(model, mask, tmp_path):
    texts, labels = toy_texts(100)
    options = {"embeddings": "random", "epochs": 4, "batch_size": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VmaskWarning)
        whole = TextClassifier(model, mask, **options).fit(texts, labels)
        with pytest.raises(KeyboardInterrupt):
            TextClassifier(model, mask, **options).fit(
                texts, labels, checkpoint=tmp_path / "c", progress=StopAfter(5 * 2 + 3)
            )
        resumed = TextClassifier(model, mask, **options).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)
    assert equal(weights(whole), weights(resumed))
    assert [r["loss"] for r in whole.history_] == [r["loss"] for r in resumed.history_]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    texts, labels = toy_texts(60)
    TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c")
    with pytest.raises(ModelFolderError, match=r"was .*, is "):
        TextClassifier(**{**SMALL, "learning_rate": 0.5}).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)
    for other in ({"X": texts[::-1]}, {"dev": (texts[:9], labels[:9])}):
        with pytest.raises(ModelFolderError, match="training texts differ"):
            TextClassifier(**SMALL).fit(
                **{"X": texts, "y": labels, "checkpoint": tmp_path / "c", "resume": True, **other}
            )
    with pytest.raises(ModelFolderError, match="training texts differ"):
        TextClassifier(**SMALL, dev_fraction=0.3).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize("damaged", ["epoch-*.safetensors", "best-*.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_said(tmp_path, damaged):
    texts, labels = toy_texts(60)
    TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c")
    (path,) = (tmp_path / "c").glob(damaged)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFolderError, match="cannot be read"):
        TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize(
    "forge",
    [
        lambda state, tensors: state["history"][0].update(loss=None),
        lambda state, tensors: state["history"][0].update(epoch="1"),
        lambda state, tensors: state["history"][0].update(dev_accuracy="0.5"),
        lambda state, tensors: tensors.pop("adam.0.exp_avg"),
        lambda state, tensors: tensors.update({"adam.999.step": torch.tensor(1.0)}),
        lambda state, tensors: tensors.update({"adam.0.exp_avg": torch.tensor(1.0)}),
        lambda state, tensors: tensors.update({"adam.0.exp_avg": tensors["adam.0.exp_avg"].half()}),
        lambda state, tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("adam.")],
    ],
)
def test_a_forged_checkpoint_is_said(tmp_path, forge):
    texts, labels = toy_texts(60)
    TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c")
    state = json.loads((tmp_path / "c" / "state.json").read_text(encoding="utf-8"))
    path = tmp_path / "c" / state["files"]["last"]
    tensors = load_file(path)
    forge(state, tensors)
    save_file(tensors, path)
    (tmp_path / "c" / "state.json").write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="cannot be read"):
        TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.filterwarnings("ignore::vmask.errors.VmaskWarning")  # of a few toy texts as dev
def test_the_classifier_starts_anew_where_its_mask_says_so_and_the_mask_stays(monkeypatch):
    begun = []
    step = _Run._step

    def recorded(self, rows, beta):
        if self.model.mask.progress in (0.0, 1.0) and len(begun) < 2:
            begun.append({name: t.clone() for name, t in self.model.state_dict().items()})
            assert not self.plain_optimizer.state
        return step(self, rows, beta)

    monkeypatch.setattr(_Run, "_step", recorded)
    options = {**SMALL, "epochs": 6, "anneal_until": 0.5, "weight_decay": 0.01}
    classifier = TextClassifier("cnn", "select", **options).fit(*toy_texts(40, seed=1))
    first, again = begun
    last = weights(classifier)
    kept = [name for name in first if name.startswith("mask.") or "embedding" in name]
    assert not equal({name: first[name] for name in kept}, again)
    assert equal({name: again[name] for name in kept if name != "mask.threshold"}, last)
    others = first.keys() - set(kept)
    assert equal({name: first[name] for name in others}, again)
    assert not equal({name: again[name] for name in others}, last)
    assert len({row["mask_visible"] for row in classifier.history_ if row["competes"]}) == 1


@pytest.mark.parametrize(("epochs", "until", "first"), [(10, 0.6, 7), (10, 1.0, None), (2, 0.6, None), (20, 0.6, 13)])
def test_the_classifier_starts_anew_only_if_an_epoch_begins_after_the_annealing(epochs, until, first):
    mask = MASKS.get("select")(4, MASKS.get("select").Options())
    assert restart_epoch(TrainConfig(epochs=epochs, anneal_until=until), mask) == first
    assert (
        restart_epoch(
            TrainConfig(epochs=epochs, anneal_until=until), MASKS.get("vmask")(4, MASKS.get("vmask").Options())
        )
        is None
    )


def test_only_the_newest_checkpoint_is_kept_and_nothing_is_a_pickle(tmp_path):
    TextClassifier(**SMALL).fit(*toy_texts(60), checkpoint=tmp_path / "c")
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [
        "best-3.safetensors",
        "epoch-3.safetensors",
        "state.json",
    ]


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    texts, labels = toy_texts(100)

    class Poison(ProgressCallback):
        """Ruins the weights in the second epoch."""

        steps = 0

        def step(self, loss):
            self.steps += 1
            if self.steps == 3:
                with torch.no_grad():
                    held[0].encoder.output.weight.fill_(float("nan"))

    held = []
    monkeypatch.setattr(
        "vmask.models.contract.MaskedClassifier.train",
        lambda self, mode=True: held.append(self) or torch.nn.Module.train(self, mode),
    )
    classifier = TextClassifier(**SMALL)
    with pytest.raises(TrainingDiverged, match="--learning-rate"):
        classifier.fit(texts, labels, checkpoint=tmp_path / "c", progress=Poison())
    monkeypatch.undo()
    resumed = TextClassifier(**SMALL).fit(texts, labels, checkpoint=tmp_path / "c", resume=True)
    assert equal(weights(resumed), weights(TextClassifier(**SMALL).fit(texts, labels)))


def test_weights_that_the_last_step_ruins_are_not_kept(monkeypatch):
    step = _Run._step

    def ruining(self, rows, beta):
        answer = step(self, rows, beta)
        self.parameters[-1].data.fill_(float("inf"))
        return answer

    monkeypatch.setattr(_Run, "_step", ruining)
    with pytest.raises(TrainingDiverged, match="not finite after epoch 1"):
        TextClassifier(embeddings="random", epochs=1, batch_size=1000).fit(*toy_texts(60))


def test_training_does_not_change_the_prepared_vectors():
    plan = TextClassifier(**SMALL).plan()
    data = prepare_data(plan, *toy_texts(60), dev=None, dev_fraction=0.2)
    before = data.matrix.copy()
    train_plan(plan, data, "cpu")
    assert (data.matrix == before).all()


def test_texts_without_a_word_after_cleaning_are_dropped_and_counted():
    texts, labels = toy_texts(60)
    classifier = TextClassifier(mask="base", embeddings="random", epochs=1, cleaning="paper")
    with pytest.warns(VmaskWarning, match="2 training texts have no word after cleaning"):
        classifier.fit([*texts, "……", "你好"], [*labels, "pos", "neg"], dev=(texts[:9], labels[:9]))
    assert classifier.data_["train"] == 60


def test_patience_stops_early():
    texts, labels = toy_texts(80)
    classifier = TextClassifier(embeddings="random", mask="base", epochs=50, patience=2, learning_rate=0.02)
    classifier.fit(texts, labels)
    assert len(classifier.history_) == classifier.best_epoch_ + 2


def test_balanced_weights_help_the_rare_class():
    texts, labels = toy_texts(200)
    rare = [i for i, label in enumerate(labels) if label == "pos"][:6]
    rows = [i for i, label in enumerate(labels) if label == "neg"] + rare
    texts, labels = [texts[i] for i in rows], [labels[i] for i in rows]
    options = {"embeddings": "random", "epochs": 6, "select": "macro_f1", "learning_rate": 0.005}

    def share(class_weight):
        classifier = TextClassifier(mask="base", class_weight=class_weight, **options).fit(texts, labels)
        return np.mean(classifier.predict_proba(toy_texts(40, seed=3)[0])[:, 1])

    assert share("balanced") > share(None) + 0.05


@pytest.mark.parametrize(("mean", "fix"), [(0.01, "mask's pi"), (0.99, "Raise beta"), (0.49, "Lower beta")])
def test_collapsed_masks_are_warned_of(mean, fix):
    mask = MASKS.get("vmask")(4, make(MASKS.get("vmask").Options, {}))
    with pytest.warns(VmaskWarning, match=fix):
        _warn_of_collapse(mask, {"mask_mean": mean, "mask_std": 0.001})
    _warn_of_collapse(mask, {"mask_mean": mean, "mask_std": 0.2})  # masks that differ are fine
    _warn_of_collapse(MASKS.get("base")(4, None), {"mask_mean": None, "mask_std": None})


def test_a_collapse_in_training_is_warned_of():
    with pytest.warns(VmaskWarning, match=r"near 0\.5"):
        TextClassifier(embeddings="random", epochs=3, beta=50.0, beta_end=50.0).fit(*toy_texts(120))


def test_the_bar_shows_every_epoch():
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=120)
    TextClassifier(**SMALL).fit(*toy_texts(60), progress=TrainingBar("cnn", console))
    shown = console.file.getvalue()
    assert all(f"epoch   {epoch}" in shown for epoch in (1, 2, 3))
    assert "best" in shown
