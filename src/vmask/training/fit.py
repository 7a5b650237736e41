"""From texts and labels to a trained predictor, in one stage or in two."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors import SafetensorError
from torch import Tensor

from vmask.config import Duplicates
from vmask.errors import ModelFolderError
from vmask.inference.edits import Edit, find
from vmask.inference.predictor import TextPredictor
from vmask.inference.word_importance import WordImportance
from vmask.masks import MASKS
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.training.baseline import NAMES, baseline_of, set_baseline
from vmask.training.checkpoints import Checkpoints
from vmask.training.device import make_accelerator
from vmask.training.inputs import split
from vmask.training.loop import Trained, train
from vmask.training.prepare_pieces import prepare_pieces
from vmask.training.prepare_words import prepare_words
from vmask.training.prepared import Prepared
from vmask.training.processes import check_same, others_watched
from vmask.training.progress import ProgressCallback
from vmask.training.run_config import Plan
from vmask.training.torch_random import own_randomness, reseed_torch

log = logging.getLogger(__name__)
FIRST = "base"
"""The mask of the first of two stages, which masks nothing."""


def prepare_data(
    plan: Plan,
    texts: Sequence[str],
    labels: Sequence[Any],
    dev: tuple[Sequence[str], Sequence[Any]] | None,
    dev_fraction: float,
    vocabulary_texts: Iterable[str] | None = None,
    duplicates: Duplicates = "ignore",
    sample_weight: Sequence[float] | None = None,
    names: Sequence[Any] | None = None,
) -> Prepared:
    """Check the data and encode the texts for the model; `names` are those of the columns of a matrix of labels.

    Raises:
        DataError: for data that cannot be trained on.
    """
    data = split(texts, labels, dev, dev_fraction, plan.train.seed, duplicates, sample_weight, names)
    plan = plan.for_task(data.task)
    return prepare_pieces(plan, data) if plan.reads_pieces else prepare_words(plan, data, vocabulary_texts)


def words_edit(plan: Plan) -> Edit | None:
    """The words that a model is trained without, or that alone it is trained with; None without any."""
    hide, only = plan.data.hide_words, plan.data.only_words
    return Edit(hide=hide, only=only) if hide or only is not None else None


def train_plan(
    plan: Plan,
    data: Prepared,
    device: str,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: ProgressCallback | None = None,
    start: Encoder | None = None,
) -> tuple[TextPredictor, Trained]:
    """Train a model and wrap it with its words.

    With two stages the encoder is first trained without a mask (section 4 of the paper: "we fine-tune it ..., and then
    fix the embedding layer and train the mask layer with the rest of the model together").

    Args:
        plan: the options, for the task of the data.
        data: the training data.
        device: `auto`, `cpu`, `cuda` or `mps`.
        checkpoint: folder for checkpoints.
        resume: continue from the checkpoint, if there is one.
        progress: callback of the training; only the main process calls it.
        start: an encoder that has been through the first stage already.

    Raises:
        ProcessLost: if another of several processes has ended.
    """
    accelerator = make_accelerator(device, plan.train.precision)
    with others_watched(accelerator):
        if accelerator.num_processes > 1:
            log.info("%s processes train together, each on its share of every batch.", accelerator.num_processes)
            check_same(accelerator, _what_is_trained(plan, data))
        return _train_stages(plan, data, accelerator, checkpoint, resume, progress, start)


def _what_is_trained(plan: Plan, data: Prepared) -> dict[str, Any]:
    """What must be the same in all processes; paths may differ between machines."""
    options = plan.to_dict()
    of_train = {name: value for name, value in options["train"].items() if name != "init_from"}
    return {"mask": plan.mask, "mask_options": options["mask_options"], "train": of_train, "data": data.digest()}


def _train_stages(
    plan: Plan,
    data: Prepared,
    accelerator: Accelerator,
    checkpoint: Path | None,
    resume: bool,
    progress: ProgressCallback | None,
    start: Encoder | None,
) -> tuple[TextPredictor, Trained]:
    progress = progress if progress is not None and accelerator.is_main_process else ProgressCallback()
    pad_length = data.pad_length if plan.train.pad_to_max else 0
    stages = [plan]
    if plan.train.stages == 2 and start is None:
        stages = [replace(plan, mask=FIRST, mask_options=MASKS.get(FIRST).Options()), plan]
    encoder, done = start, Trained([], 0)
    edits: Tensor | None = None
    for number, stage in enumerate(stages, 1):
        with own_randomness():
            # The mask of a second stage has its own random stream, whether the first stage ran here or before.
            reseed_torch(plan.train.seed, "weights" if encoder is None else "mask")
            second = encoder is not None
            encoder = encoder or data.encoder(plan)
            baseline = baseline_of(plan, encoder, data.mask_token)
            if edits is None and (edit := words_edit(plan)) is not None:
                edits = find(data.finder(), edit, encoder.table_size).edits
            model = stage.with_mask(encoder, len(data.labels), data.task)
            model.edits = edits
            if stage is plan:
                set_baseline(model.mask, baseline, encoder, data.mask_token)
        if data.tuned is False or (second and plan.data.train_embeddings is not True):
            encoder.freeze_embeddings()
        progress.begin(plan.to_dict(), partial(_ranked_words, data, model, accelerator.device, pad_length))
        if len(stages) > 1:
            progress.stage(number, len(stages))
        if stage is plan and baseline != "zero":
            progress.note(f"in place of a hidden word stands {NAMES[baseline]} (--mask.baseline {baseline})")
        folder = checkpoint / f"stage-{number}" if checkpoint and len(stages) > 1 else checkpoint
        trained = _train_stage(stage, model, data, accelerator, folder, resume, progress)
        done = _joined(done, trained)
    progress.end(done.history[done.best_epoch - 1])
    predictor = data.predictor(model, accelerator.device, pad_length)
    predictor.thresholds = done.thresholds
    return predictor, done


def _train_stage(
    plan: Plan,
    model: MaskedClassifier,
    data: Prepared,
    accelerator: Accelerator,
    folder: Path | None,
    resume: bool,
    progress: ProgressCallback,
) -> Trained:
    checkpoints = None
    if folder is not None:
        run = {**plan.to_dict(), "training_data": data.digest(), "processes": accelerator.num_processes}
        checkpoints = Checkpoints(folder, run)
    try:
        return train(
            model,
            data.examples,
            data.dev,
            plan.train,
            accelerator,
            pad_length=data.pad_length,
            checkpoints=checkpoints,
            resume=resume,
            progress=progress,
        )
    except SafetensorError as error:  # raised if the disk is full
        raise ModelFolderError(
            f"The checkpoint could not be written to {folder}: {error}. Free some space and add --resume to go on "
            "from the last epoch that was kept."
        ) from None


def _ranked_words(
    data: Prepared, model: MaskedClassifier, device: torch.device, pad_length: int
) -> list[WordImportance]:
    """The words with their masks at the moment, highest first; none for a method that does not rank words."""
    return data.predictor(model, device, pad_length).word_importance() if model.mask.ranks else []


def _joined(before: Trained, after: Trained) -> Trained:
    """Two stages as one history: epochs are numbered through, and the best one is that of the last stage."""
    if not before.history:
        return after
    done = len(before.history)
    rows = [{**row, "stage": 1} for row in before.history]
    rows += [{**row, "stage": 2, "epoch": row["epoch"] + done} for row in after.history]
    return Trained(rows, after.best_epoch + done, after.thresholds)
