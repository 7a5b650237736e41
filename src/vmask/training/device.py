"""The device and the processes of a training."""

from __future__ import annotations

import logging
import os
import warnings
from typing import TYPE_CHECKING

import torch

from vmask.errors import ConfigError, VmaskWarning

if TYPE_CHECKING:
    from accelerate import Accelerator

log = logging.getLogger(__name__)
DEVICES = ("auto", "cpu", "cuda", "mps")


def find_device(name: str) -> torch.device:
    """The device of that name; `auto` is CUDA if available, else the CPU.

    Models of this size are fast on a CPU, and older versions of torch lack an operation of the CNN on MPS, which is
    therefore used only if requested.

    Raises:
        ConfigError: for a device that this machine does not have.
    """
    if name not in DEVICES:
        raise ConfigError(f"device is {name!r}. Choose one of: {', '.join(DEVICES)}.")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device("cuda" if available["cuda"] else "cpu")
    if not available[name]:
        raise ConfigError(f"This machine has no {name!r} that torch can use. Use --device auto or cpu.")
    return torch.device(name)


def make_accelerator(name: str, precision: str = "no") -> Accelerator:
    """Accelerate's handle on device and processes; `torchrun` or `accelerate launch` decides how many there are.

    Logs the number of processes if there are several, and warns if there are fewer than requested.

    Args:
        name: name of the device.
        precision: `no`, `bf16`, `fp16`, or `auto`: the fast one of a GPU, and `no` on a CPU, so that a training gives
            the same on every CPU of a kind.

    Raises:
        ConfigError: for an unavailable device or precision, and for processes that cannot connect.
    """
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, PartialState

    device = find_device(name)
    if precision == "auto":
        precision = "no"
        if device.type == "cuda":
            precision = "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    if precision == "fp16" and device.type == "cpu":
        raise ConfigError("A CPU has no mixed precision in fp16. Use --precision bf16 or no.")
    if PartialState._shared_state and PartialState().num_processes == 1:
        state = AcceleratorState._shared_state
        if PartialState().device.type != device.type or state.get("_mixed_precision", precision) != precision:
            AcceleratorState._reset_state(
                reset_partial_state=True
            )  # global state of an earlier fit with other settings
    try:
        accelerator = Accelerator(cpu=device.type == "cpu", mixed_precision=precision)
    except ValueError as error:  # WORLD_SIZE without the other variables that processes need to connect
        raise ConfigError(
            f"The processes cannot meet: {error}. Start them by `torchrun`, or unset WORLD_SIZE."
        ) from None
    if accelerator.num_processes > 1:
        log.info("%s processes train together, each on its share of every batch.", accelerator.num_processes)
    elif _several_requested():
        warnings.warn(
            "Several processes were requested, but this one trains alone: `accelerate launch` starts several on GPUs "
            "only. On CPUs use `torchrun --nproc-per-node 2 -m vmask train …`.",
            VmaskWarning,
            stacklevel=2,
        )
    return accelerator


def _several_requested() -> bool:
    """Whether the environment was set up for several processes.

    `accelerate launch --num_processes 2` without GPUs starts one process. It does not pass on the number requested,
    but sets an address to connect at, which it does not set for a single process.
    """
    environment = os.environ
    if "WORLD_SIZE" in environment:
        return environment["WORLD_SIZE"] != "1"
    return "ACCELERATE_MIXED_PRECISION" in environment and "MASTER_ADDR" in environment
