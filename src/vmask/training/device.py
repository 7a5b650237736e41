"""Where to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from vmask.errors import ConfigError

if TYPE_CHECKING:
    from accelerate import Accelerator

DEVICES = ("auto", "cpu", "cuda", "mps")


def find_device(name: str) -> torch.device:
    """The device of that name; `auto` takes CUDA where it is there and else the CPU.

    Models of this size are fast on a CPU, and older versions of torch lack an operation of the CNN on MPS: that one is
    used only when it is asked for.

    Raises:
        ConfigError: for a device that this machine does not have.
    """
    if name not in DEVICES:
        raise ConfigError(f"device is {name!r}. Choose one of: {', '.join(DEVICES)}.")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "cpu")
    if not there[name]:
        raise ConfigError(f"This machine has no {name!r} that torch can use. Use --device auto or cpu.")
    return torch.device(name)


def make_accelerator(name: str, precision: str = "no") -> Accelerator:
    """Accelerate's handle on device and processes; `accelerate launch` decides how many there are.

    Args:
        name: of the device.
        precision: `no`, `bf16`, `fp16`, or `auto`: what a GPU is fast at; on a CPU none, so that a training gives the
            same on every CPU of a kind.
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
            AcceleratorState._reset_state(reset_partial_state=True)  # it is global; an earlier fit chose otherwise
    return Accelerator(cpu=device.type == "cpu", mixed_precision=precision)
