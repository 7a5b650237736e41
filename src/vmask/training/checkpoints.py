"""Checkpoints after every epoch: the trained weights, the optimiser's moments and the history. Safetensors and JSON.

No generator state is saved: random streams derive from (seed, epoch), see `_core.random_streams`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from vmask._core.files import replacing, to_json, write_text
from vmask._core.parsing import read_json
from vmask.errors import ModelFolderError, short

STATE = "state.json"
_ROW = {"loss", "dev_accuracy", "dev_macro_f1", "mask_mean", "mask_std"}
"""Keys of a row of the history."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""Adam's state of a parameter."""


@dataclass(frozen=True)
class Resumed:
    """The content of a checkpoint besides the weights.

    Attributes:
        history: a row for each finished epoch.
        best: weights of the best epoch so far.
    """

    history: list[dict[str, Any]]
    best: dict[str, Tensor]


def learnt_state(module: nn.Module) -> dict[str, Tensor]:
    """Copies of the trained parameters and the buffers, without frozen word vectors."""
    frozen = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    return {name: t.detach().cpu().clone() for name, t in module.state_dict().items() if name not in frozen}


def restore(module: nn.Module, state: dict[str, Tensor]) -> None:
    """Put a `learnt_state` back."""
    module.load_state_dict(state, strict=False)


class Checkpoints:
    """The checkpoints of one training run, in a folder of their own.

    Args:
        folder: the folder, made when first needed.
        run: everything that determines the result; a checkpoint of another run is refused.
    """

    def __init__(self, folder: Path, run: dict[str, Any]) -> None:
        self.folder = folder
        self.run: dict[str, Any] = json.loads(json.dumps(run))

    def exists(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return (self.folder / STATE).is_file()

    def save(
        self,
        epoch: int,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        best: dict[str, Tensor],
        history: list[dict[str, Any]],
    ) -> None:
        """Write the state after `epoch` epochs; the previous one is kept until this one is complete."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files = {"last": f"epoch-{epoch}.safetensors", "best": f"best-{epoch}.safetensors"}
        self._write(files["last"], {**_prefixed("model.", learnt_state(module)), **_moments(optimizer)})
        self._write(files["best"], best)
        state = {"epoch": epoch, "files": files, "history": history, "run": self.run}
        write_text(self.folder / STATE, to_json(state))
        for path in self.folder.glob("*.safetensors"):
            if path.name not in files.values():
                path.unlink()

    def _write(self, name: str, tensors: dict[str, Tensor]) -> None:
        with replacing(self.folder / name) as temporary:
            save_file({key: value.contiguous() for key, value in tensors.items()}, temporary)

    def resume(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> Resumed:
        """Load the last state into the module and the optimiser.

        Raises:
            ModelFolderError: if the checkpoint is of another run or cannot be read.
        """
        try:
            state = read_json(self.folder / STATE)
            if different := list(_differences(state["run"], self.run)):
                raise ModelFolderError(
                    f"The checkpoint in {self.folder} is of another run: {'; '.join(different)}. "
                    "Resume with the options it was started with, or choose another --out."
                )
            tensors, best = (self._read(state["files"][name]) for name in ("last", "best"))
            if type(state["epoch"]) is not int or len(state["history"]) != state["epoch"] or not state["epoch"]:
                raise ValueError("its history does not have a row for each epoch")
            if not all(map(_is_row, state["history"])):
                raise ValueError("its history has rows of another kind")
            _check_like(learnt_state(module), best)
            learnt = {k.removeprefix("model."): t for k, t in tensors.items() if k.startswith("model.")}
            _check_like(learnt_state(module), learnt)
            restore(module, learnt)
            _restore_moments(optimizer, tensors)
        except ModelFolderError:
            raise
        except Exception as error:  # anything that the libraries raise for a damaged file
            reason = " ".join(str(error).split()).rstrip(".")
            raise ModelFolderError(
                f"The checkpoint in {self.folder} cannot be read: {reason:.200}. Delete that folder to start anew."
            ) from None
        return Resumed(state["history"], best)

    def _read(self, name: Any) -> dict[str, Tensor]:
        path = self.folder / str(name)
        if path.parent != self.folder or not path.is_file():
            raise ValueError(f"it has no file '{name!s:.60}'")
        return load_file(path)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The options that differ between two runs, such as `epochs was 300, is 200`."""
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new)
        elif old != new:
            yield "the training texts differ" if key == "training_data" else f"{key} was {short(old)}, is {short(new)}"


def _is_row(row: Any) -> bool:
    """Whether this is a row of a history: finite numbers, or None for scores of a mask that does not rank words."""
    if not isinstance(row, dict) or not row.keys() >= {*_ROW, "epoch"} or type(row["epoch"]) is not int:
        return False
    numbers = [row[name] for name in _ROW if row[name] is not None or not name.startswith("mask_")]
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in numbers)


def _check_like(expected: dict[str, Tensor], loaded: dict[str, Tensor]) -> None:
    """Check that loaded tensors have the names and shapes of those that a module learns.

    Raises:
        ValueError: with the name of a tensor.
    """
    for name in expected.keys() | loaded.keys():
        if name not in expected or name not in loaded or expected[name].shape != loaded[name].shape:
            raise ValueError(f"{name:.60} is not as the model has it")
        if loaded[name].is_floating_point() and not loaded[name].isfinite().all():
            raise ValueError(f"{name:.60} has values that are no numbers")


def _prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's state as tensors named `adam.<number of the parameter>.<field>`."""
    return {
        f"adam.{number}.{field}": torch.as_tensor(value).detach().cpu().clone()
        for number, fields in optimizer.state_dict()["state"].items()
        for field, value in fields.items()
    }


def _restore_moments(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, number, field = name.split(".")
            state.setdefault(int(number), {})[field] = tensor
    learnt = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not state:
        raise ValueError("it has no moments of the optimizer")
    for place, fields in state.items():
        if not 0 <= place < len(learnt) or fields.keys() != set(MOMENTS):
            raise ValueError(f"the moments of parameter {place} are not complete")
        for field, value in fields.items():
            shape, dtype = learnt[place].shape, learnt[place].dtype
            if field == "step":
                shape, dtype = torch.Size(), torch.float32
            if value.shape != shape or value.dtype != dtype or not value.isfinite().all():
                raise ValueError(f"the moments of parameter {place} are of another shape or kind")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
