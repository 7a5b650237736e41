"""The training loop: the paper's objective, its random draws and its beta schedule, in one place.

`max E_q[log p(y|R,x)] - beta * KL(q(R|x) || p0(R))` (eq. 8 of the paper), with one sample of R in each step.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask._core.random_streams import numpy_stream
from vmask.config import TrainConfig
from vmask.errors import TrainingDiverged, VmaskWarning
from vmask.inference.decisions import decided
from vmask.inference.output import to_probabilities
from vmask.masks.contract import Embedded, WordMask
from vmask.models.contract import MaskedClassifier
from vmask.text.batches import Batch, collate, random_batches, shuffled_buckets, sorted_buckets
from vmask.text.words import PAD
from vmask.training.checkpoints import Checkpoints, learnt_state, restore
from vmask.training.objective import objective_of
from vmask.training.optimizer import OF_MASK, make_optimizer
from vmask.training.processes import resume_together, share_of, total_counts, total_of
from vmask.training.progress import ProgressCallback
from vmask.training.schedules import annealing_at, beta_at, rate_at
from vmask.training.selection import Selection, restart_epoch, with_enough_epochs
from vmask.training.thresholds import best_thresholds
from vmask.training.torch_random import own_randomness, reseed_torch

if TYPE_CHECKING:
    from accelerate import Accelerator

VISIBLE = 0.5
"""Score from which a word counts as visible."""
VERSION = 1
"""Version of the numbers of a training. Raise it when they change on purpose, so that older results can be redone."""


@dataclass(frozen=True)
class Examples:
    """Encoded texts with their classes.

    Attributes:
        ids: ids of the words or pieces of each text.
        labels: (N,) class of each text; or (N, C) whether it has each label, 0 or 1.
        pad: id of padding.
        weights: (N,) weight of each text in the loss, above 0; None if all weigh the same.
    """

    ids: Sequence[NDArray[np.int32]]
    labels: NDArray[Any]
    pad: int = PAD
    weights: NDArray[np.float32] | None = None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) number of ids of each text."""
        return np.array([len(ids) for ids in self.ids], dtype=np.int64)

    def batch(self, rows: NDArray[np.int64], length: int = 0) -> Batch:
        """The texts in `rows`, padded to at least `length`."""
        return collate([self.ids[i] for i in rows], self.labels[rows], length, self.pad)


@dataclass(frozen=True)
class Trained:
    """The course of a training.

    Attributes:
        history: a row for every epoch: loss, penalty, beta, dev scores, mean and spread of the masks, share of running
            words of dev with a mask of at least 0.5, how far that misses a constraint of the mask, whether the epoch
            competes for the best dev score, seconds.
        best_epoch: number of the epoch whose weights are kept, from 1.
        thresholds: (C,) probability from which each label is predicted, where a text may have several; else None.
    """

    history: list[dict[str, Any]]
    best_epoch: int
    thresholds: NDArray[np.float64] | None = None


def train(
    model: MaskedClassifier,
    examples: Examples,
    dev: Examples,
    config: TrainConfig,
    accelerator: Accelerator,
    *,
    pad_length: int = 0,
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    progress: ProgressCallback | None = None,
) -> Trained:
    """Train `model` in place and leave it with the weights of its best epoch on `dev`, of those that compete.

    Args:
        model: a fresh classifier.
        examples: training texts.
        dev: texts that select the best epoch; never trained on.
        config: the options.
        accelerator: device and processes.
        pad_length: length of every batch with `config.pad_to_max`.
        checkpoints: writes the state after every epoch.
        resume: continue from the checkpoint, if there is one; the result is that of an uninterrupted run.
        progress: callback that shows the progress.

    Raises:
        TrainingDiverged: if the loss is not finite; the last good checkpoint is kept.
    """
    progress = progress or ProgressCallback()
    config = with_enough_epochs(config, model.mask, len(examples.labels))
    selection = Selection.of(config, model.mask)
    with own_randomness(), progress:
        run = _Run(model, examples, dev, config, accelerator, pad_length if config.pad_to_max else 0, progress)
        best: dict[str, Tensor] = {}
        history: list[dict[str, Any]] = []
        resumed = None
        if resume and checkpoints is not None:
            resumed = resume_together(checkpoints, model, run.plain_optimizer, accelerator)
        if resumed is not None:
            history, best = resumed.history, resumed.best
        else:
            _prepare_mask(model, examples, accelerator.device)
        progress.start(config.epochs * run.steps, len(history) * run.steps)
        for epoch in range(len(history), config.epochs):
            if selection.is_over(history):
                break
            try:
                history.append({**run.epoch(epoch), "competes": selection.competes(epoch + 1)})
            except TrainingDiverged as error:
                if not history or checkpoints is None:
                    raise
                kept = (
                    f"The checkpoint of epoch {epoch} is kept in {checkpoints.folder}; to start anew add --overwrite."
                )
                raise TrainingDiverged(f"{error} {kept}") from None
            if improved := selection.best(history) == epoch + 1:
                best = learnt_state(model)
            progress.epoch(history[-1], improved and selection.competes(epoch + 1))
            if checkpoints is not None and accelerator.is_main_process:
                checkpoints.save(epoch + 1, model, run.plain_optimizer, best, history)
        accelerator.wait_for_everyone()
        run.end()
        restore(model, best)
        thresholds = run.thresholds()
    trained = Trained(history, selection.best(history), thresholds)
    _warn_of_collapse(model.mask, history[trained.best_epoch - 1])
    _warn_of_excess(history[trained.best_epoch - 1])
    return trained


class _Run:
    """One training run: the wrapped model, its optimiser and the steps of an epoch."""

    def __init__(
        self,
        model: MaskedClassifier,
        examples: Examples,
        dev: Examples,
        config: TrainConfig,
        accelerator: Accelerator,
        pad_length: int,
        progress: ProgressCallback,
    ) -> None:
        self.model, self.examples, self.dev, self.config = model, examples, dev, config
        self.accelerator, self.pad_length, self.progress = accelerator, pad_length, progress
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.clipped = list(model.encoder.head.parameters()) if config.clip_scope == "head" else self.parameters
        model.to(accelerator.device)
        self.plain_optimizer = make_optimizer(model, config, accelerator.device)
        self.rates = [group["lr"] for group in self.plain_optimizer.param_groups]
        self.wrapped, self.optimizer = accelerator.prepare(model, self.plain_optimizer)
        self.lengths = examples.lengths
        self.steps = math.ceil(len(self.lengths) / config.batch_size)
        self.objective = objective_of(examples.labels, dev.labels, config).to(accelerator.device)
        self.restart = restart_epoch(config, model.mask)
        self.start = {} if self.restart is None else _without_vectors(learnt_state(model.encoder), model)

    def epoch(self, epoch: int) -> dict[str, Any]:
        """Train for one epoch, then score the dev texts. Returns the row of the history."""
        started = time.perf_counter()
        config, accelerator = self.config, self.accelerator
        reseed_torch(config.seed, "epoch", epoch, accelerator.process_index)
        if epoch + 1 == self.restart:
            restore(self.model.encoder, self.start)
            self.plain_optimizer.state.clear()
        self.wrapped.train()
        losses: list[float] = []
        penalties: list[float] = []
        beta = beta_at(config, epoch / config.epochs)
        fixed = self.restart is not None and epoch + 1 >= self.restart
        for step, rows in enumerate(self._batches(epoch)):
            done = (epoch + step / self.steps) / config.epochs
            self.model.mask.progress = annealing_at(config, done)
            beta = beta_at(config, done)
            self._set_rate(rate_at(config, done), fixed)
            loss, penalty = self._step(rows, beta)
            if not math.isfinite(loss):
                raise self._diverged(f"The loss is {loss} in epoch {epoch + 1}, step {step + 1}.")
            losses.append(loss)
            penalties.append(penalty)
            self.progress.step(loss)
        if not all(bool(torch.isfinite(p).all()) for p in self.parameters):  # possible after the last step
            raise self._diverged(f"Weights are not finite after epoch {epoch + 1}.")
        _calibrate_mask(self.model, self.examples)
        return {
            "epoch": epoch + 1,
            "loss": float(np.mean(losses)),
            "penalty": float(np.mean(penalties)),
            "beta": beta,
            **_score(self.model, self.dev, accelerator, self.pad_length),
            "seconds": round(time.perf_counter() - started, 3),
        }

    def _diverged(self, reason: str) -> TrainingDiverged:
        rate, clip = self.config.learning_rate, self.config.clip
        return TrainingDiverged(f"{reason} Try a lower --learning-rate (now {rate:g}) or --clip (now {clip:g}).")

    def _batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """The batches of an epoch, the same in every process."""
        stream = numpy_stream(self.config.seed, "batches", epoch)
        make_batches = random_batches if self.config.batches == "random" else shuffled_buckets
        yield from make_batches(self.lengths, self.config.batch_size, stream)

    def _set_rate(self, factor: float, fixed: bool) -> None:
        """Scale every learning rate. The factor derives from the step, so that no state has to be saved.

        Once the mask is `fixed`, it and the vectors that it reads are not trained on.
        """
        for group, rate in zip(self.plain_optimizer.param_groups, self.rates, strict=True):
            group["lr"] = 0.0 if fixed and group[OF_MASK] else rate * factor

    def _step(self, rows: NDArray[np.int64], beta: float) -> tuple[float, float]:
        """One sample of R, one step of Adam on a batch. Returns loss and penalty.

        Each process computes its share, in as many parts as every other. The mean of their gradients is that of the
        whole batch, because the terms of a part weigh as its texts do in the batch, times the number of processes.
        """
        accelerator, world = self.accelerator, self.accelerator.num_processes
        parts = np.array_split(share_of(rows, accelerator), min(self.config.accumulate, math.ceil(len(rows) / world)))
        total = self._weight(rows)
        losses, penalties = 0.0, 0.0
        self.optimizer.zero_grad()
        for number, part in enumerate(parts, 1):
            with accelerator.no_sync(self.wrapped) if number < len(parts) else nullcontext():
                # A process without texts has to take part too: it computes one with a weight of 0.
                shown = part if len(part) else rows[:1]
                batch = self.examples.batch(shown, self.pad_length).to(accelerator.device)
                output = self.wrapped(batch)
                assert batch.labels is not None
                error = self._error(output.logits, batch.labels, shown)
                if output.masked.logits is not None:
                    error = error + self._error(output.masked.logits, batch.labels, shown)
                penalty = output.masked.penalty * (world * len(part) / len(rows))
                loss = error * (world * self._weight(part) / total) + beta * penalty
                accelerator.backward(loss)
            losses += float(loss.detach()) / world
            penalties += float(penalty.detach()) / world
        accelerator.clip_grad_norm_(self.clipped, self.config.clip)
        self.optimizer.step()
        losses, penalties = total_of(accelerator, losses, penalties)
        return losses, penalties

    def _weight(self, rows: NDArray[np.int64]) -> float:
        """Total weight of the texts in `rows` in the loss."""
        return self.objective.total_weight(self.examples.labels[rows], self._weights(rows))

    def _error(self, logits: Tensor, labels: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """() error of the texts in `rows`: their mean by weight of class and text."""
        return self.objective.error(logits, labels, self._weights(rows))

    def _weights(self, rows: NDArray[np.int64]) -> Tensor | None:
        """(B,) weights of the texts in `rows`; None if all weigh the same."""
        weights = self.examples.weights
        return None if weights is None else torch.from_numpy(weights[rows]).to(self.accelerator.device)

    def thresholds(self) -> NDArray[np.float64] | None:
        """(C,) the thresholds of labels that are best on dev, where a text may have several; else None."""
        if self.dev.labels.ndim == 1:
            return None
        return best_thresholds(_read(self.model, self.dev, self.accelerator, self.pad_length)[0], self.dev.labels)

    def end(self) -> None:
        """Remove the wrapper of mixed precision from the model."""
        self.accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)


def _without_vectors(state: dict[str, Tensor], model: MaskedClassifier) -> dict[str, Tensor]:
    """The state of an encoder without its word vectors, which the mask reads."""
    vectors = {id(parameter) for parameter in model.encoder.embeddings.parameters()}
    names = {name for name, parameter in model.encoder.named_parameters() if id(parameter) in vectors}
    return {name: value for name, value in state.items() if name not in names}


def _prepare_mask(model: MaskedClassifier, examples: Examples, device: torch.device) -> None:
    """Pass the training texts to the mask once, if its method needs it."""
    if type(model.mask).prepare is WordMask.prepare:
        return

    def embedded() -> Iterator[Embedded]:
        for rows in sorted_buckets(examples.lengths):
            yield model.encoder.embedded(examples.batch(rows).to(device))

    model.mask.prepare(embedded())


def _calibrate_mask(model: MaskedClassifier, examples: Examples) -> None:
    """Pass the distinct words of the training texts to the mask, if its method needs it."""
    if type(model.mask).calibrate is WordMask.calibrate or not model.encoder.by_word:
        return
    distinct, counts = np.unique(np.concatenate(examples.ids), return_counts=True)
    ids = torch.from_numpy(distinct).long()
    device = next(model.mask.parameters()).device
    words = model.encoder.words(ids.to(device))
    if model.edits is not None:  # a word that a person has hidden takes no place of another
        words = words & (model.edits[ids.to(device)] >= 0)
    with torch.no_grad():
        vectors = model.encoder.vectors(ids.to(device)[words])
        model.mask.calibrate(vectors, torch.from_numpy(counts).to(device)[words])


@torch.no_grad()
def _read(
    model: MaskedClassifier, examples: Examples, accelerator: Accelerator, pad_length: int
) -> tuple[NDArray[Any], tuple[float, float, float, float]]:
    """What the model says of texts, and what its mask does to them.

    Returns:
        (N,) the predicted classes, or (N, C) the probabilities of the labels, where a text may have several; number of
        words, of visible words, sum of the scores of words and of their squares.
    """
    model.eval()
    predicted = np.zeros(examples.labels.shape, examples.labels.dtype)
    count, visible, total, squares = 0.0, 0.0, 0.0, 0.0
    for rows in (share_of(bucket, accelerator) for bucket in sorted_buckets(examples.lengths)):
        if not len(rows):
            continue
        batch = examples.batch(rows, pad_length).to(accelerator.device)
        output = model(batch)
        answers = (
            output.logits.argmax(1) if predicted.ndim == 1 else to_probabilities(output.logits.float(), task=model.task)
        )
        predicted[rows] = answers.cpu().numpy()
        scores = output.masked.scores[output.words].cpu().double()
        count += len(scores)
        visible += int((scores >= VISIBLE).sum())
        total += float(scores.sum())
        squares += float(scores.square().sum())
    predicted = total_counts(accelerator, predicted)
    count, visible, total, squares = total_of(accelerator, count, visible, total, squares)
    return predicted, (count, visible, total, squares)


def _score(
    model: MaskedClassifier, examples: Examples, accelerator: Accelerator, pad_length: int
) -> dict[str, float | None]:
    """Accuracy and F1 on held-out texts, and mean and standard deviation of the masks of their words.

    Each process reads its share of the texts; all get the same scores, by which they stop at the same epoch. Labels of
    which a text may have several are predicted by the thresholds that are best on these texts.
    """
    from vmask.metrics.accuracy import accuracy
    from vmask.metrics.macro_f1 import macro_f1
    from vmask.metrics.micro_f1 import micro_f1

    predicted, (count, visible, total, squares) = _read(model, examples, accelerator, pad_length)
    several = {}
    labels = examples.labels
    if labels.ndim == 2:
        labels, predicted = labels > 0, decided(predicted, best_thresholds(predicted, labels))
        several = {"dev_micro_f1": micro_f1(labels, predicted)}
    mean = total / max(count, 1)
    ranks = model.mask.ranks
    return {
        "dev_accuracy": accuracy(labels, predicted),
        "dev_macro_f1": macro_f1(labels, predicted),
        **several,
        "mask_mean": mean if ranks else None,
        "mask_std": max(squares / max(count, 1) - mean**2, 0.0) ** 0.5 if ranks else None,
        "mask_visible": visible / max(count, 1) if ranks else None,
        "excess": model.mask.excess(visible / max(count, 1)),
    }


def _warn_of_excess(row: dict[str, Any]) -> None:
    """Warn if the constraint of a mask is missed on dev."""
    if row["excess"] > 0:
        warnings.warn(
            f"No epoch kept to the mask's budget: the closest one shows {row['mask_visible']:.1%} of the running words "
            f"of dev, {row['excess']:.1%} too many. Train for more epochs, or raise --mask.budget.",
            VmaskWarning,
            stacklevel=3,
        )


def _warn_of_collapse(mask: WordMask, row: dict[str, Any]) -> None:
    """Warn if the masks of all words are almost equal: the ranking of words then means little."""
    mean, std = row["mask_mean"], row["mask_std"]
    if not mask.ranks or std > 0.02:
        return
    fixes = {0.0: "Raise the mask's pi or lower beta", 1.0: "Raise beta", 0.5: "Lower beta"}
    for value, fix in fixes.items():
        if abs(mean - value) < 0.05:
            warnings.warn(
                f"The masks of all words are near {value:g} (mean {mean:.3f}, spread {std:.3f}): "
                f"their ranking means little. {fix}, or train for more epochs.",
                VmaskWarning,
                stacklevel=3,
            )
