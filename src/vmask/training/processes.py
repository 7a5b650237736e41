"""Several processes that train one model: what they tell each other, and what happens if one of them ends.

Batches and weights derive from the same data and options in every process, so little has to be sent: gradients (by
torch), sums of losses and dev scores, and the checkpoint that the main process resumes from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.errors import ConfigError, ProcessLost
from vmask.training.checkpoints import MOMENTS, Checkpoints, Resumed, learnt_state

if TYPE_CHECKING:
    from accelerate import Accelerator, PartialState


def share_of(rows: NDArray[np.int64], accelerator: Accelerator) -> NDArray[np.int64]:
    """This process's share of the rows; empty where there are fewer rows than processes."""
    return rows[accelerator.process_index :: accelerator.num_processes]


def total_of(accelerator: Accelerator, *values: float) -> list[float]:
    """The sums of numbers over all processes."""
    if accelerator.num_processes == 1:
        return list(values)
    summed: Tensor = accelerator.reduce(torch.tensor(values, dtype=torch.float64, device=accelerator.device), "sum")
    return summed.tolist()


def total_counts(accelerator: Accelerator, values: NDArray[Any]) -> NDArray[Any]:
    """The sums of arrays of numbers over all processes."""
    if accelerator.num_processes == 1:
        return values
    summed: Tensor = accelerator.reduce(torch.from_numpy(values).to(accelerator.device), "sum")
    counts: NDArray[Any] = summed.cpu().numpy()
    return counts


def check_same(accelerator: Accelerator, run: Mapping[str, Any]) -> None:
    """Check that all processes train on the same data with the same options, which machines may have other copies of.

    Raises:
        ConfigError: in every process.
    """
    if accelerator.num_processes == 1:
        return
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).digest()[:8]
    mine = torch.tensor([int.from_bytes(digest, "big", signed=True)], device=accelerator.device)
    digests = accelerator.gather(mine).tolist()
    if others := [str(number) for number, other in enumerate(digests) if other != digests[0]]:
        raise ConfigError(
            f"Not all processes have the training texts, vectors and options of the main one: {', '.join(others)} of "
            f"{len(digests)} differ. Start the same command on every machine, with the same files."
        )


def main_says(state: PartialState, answer: bool) -> bool:
    """The answer of the main process, in every process."""
    if state.num_processes == 1:
        return answer
    sent = torch.tensor([int(answer)])
    with others_watched(state):
        _send(sent, state)
    return bool(sent)


@contextmanager
def others_watched(state: Accelerator | PartialState) -> Iterator[None]:
    """Turn the error of a lost connection into one that says what has happened.

    Raises:
        ProcessLost: if another process has ended.
    """
    try:
        yield
    except RuntimeError as error:
        if state.num_processes == 1 or not is_lost_connection(error):
            raise
        raise ProcessLost(str(error)) from None


def is_lost_connection(error: RuntimeError) -> bool:
    """Whether torch raised this because another process could not be reached; gloo has no class of its own for it."""
    return isinstance(error, getattr(torch.distributed, "DistError", ())) or "gloo" in str(error)


def resume_together(
    checkpoints: Checkpoints, model: torch.nn.Module, optimizer: torch.optim.Optimizer, accelerator: Accelerator
) -> Resumed | None:
    """Resume from the checkpoint, if there is one; the main process alone reads it, so no other needs its disk."""
    found = None
    if accelerator.is_main_process and checkpoints.exists():
        found = checkpoints.resume(model, optimizer)
    return found if accelerator.num_processes == 1 else _sent(found, model, optimizer, accelerator)


def _sent(
    found: Resumed | None, model: torch.nn.Module, optimizer: torch.optim.Optimizer, accelerator: Accelerator
) -> Resumed | None:
    """Send what the main process found, weights and moments included, to the others."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    moved = [place for place, parameter in enumerate(parameters) if parameter in optimizer.state]
    header = _send_json(None if found is None else {"history": found.history, "moved": moved}, accelerator)
    if header is None:
        return None
    resumed = found or Resumed(header["history"], learnt_state(model))
    if found is None:
        empty = {place: _no_moments(parameters[place]) for place in header["moved"]}
        optimizer.load_state_dict({**optimizer.state_dict(), "state": empty})
    state = model.state_dict()
    for name in sorted(resumed.best):
        _send(state[name], accelerator)
        _send(resumed.best[name], accelerator)
    for place in header["moved"]:
        for name in MOMENTS:
            _send(optimizer.state[parameters[place]][name], accelerator)
    return resumed


def _no_moments(parameter: Tensor) -> dict[str, Tensor]:
    """Adam's state of a parameter before its first step."""
    return {name: torch.zeros(()) if name == "step" else torch.zeros_like(parameter) for name in MOMENTS}


def _send(tensor: Tensor, state: Accelerator | PartialState) -> None:
    """Replace the content of a tensor by that of the main process."""
    on_device = tensor.to(state.device)  # the tensor itself, where it is there already
    torch.distributed.broadcast(on_device, 0)
    if on_device is not tensor:
        tensor.copy_(on_device)


def _send_json(value: Any, accelerator: Accelerator) -> Any:
    """The value of the main process, in every process."""
    content = np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
    size = torch.tensor([len(content)])
    _send(size, accelerator)
    sent = torch.zeros(int(size), dtype=torch.uint8)
    if accelerator.is_main_process:
        sent.copy_(torch.from_numpy(content.copy()))
    _send(sent, accelerator)
    return json.loads(sent.numpy().tobytes())
