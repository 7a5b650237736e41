"""The device and the processes of a training."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from vmask.errors import ConfigError, VmaskWarning
from vmask.training.processes import is_lost_connection

if TYPE_CHECKING:
    from accelerate import Accelerator, PartialState

DEVICES = ("auto", "cpu", "cuda", "mps")
_OF_MPI = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Variables by which MPI, and SLURM for it, tells programs their number."""


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

    Warns if there are fewer processes than requested.

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
    with _meeting():
        accelerator = Accelerator(cpu=device.type == "cpu", mixed_precision=precision)
    if accelerator.num_processes == 1 and _several_requested():
        warnings.warn(
            "Several processes were requested, but this one trains alone: with --cpu, `accelerate launch` starts one. "
            "On CPUs use `torchrun --nproc-per-node 2 -m vmask train … --device cpu`.",
            VmaskWarning,
            stacklevel=2,
        )
    return accelerator


def connect_processes(name: str) -> PartialState:
    """Connect this process with the others, if `torchrun` has started several: from then on all notice when one ends.

    Args:
        name: name of the device.

    Raises:
        ConfigError: for an unavailable device, and for processes that cannot connect.
    """
    from accelerate.state import PartialState

    cpu = find_device(name).type == "cpu"
    with _meeting():
        return PartialState(cpu=cpu)


@contextmanager
def _meeting() -> Iterator[None]:
    """Report processes that cannot connect, and hide the variables of MPI from Accelerate.

    Every program that SLURM starts several times may have them, such as the nodes of a Ray cluster: a training on one
    of them would wait for others that do not exist. Those of `torchrun` and the like count.
    """
    hidden = {} if "WORLD_SIZE" in os.environ else {name: os.environ.pop(name, None) for name in _OF_MPI}
    try:
        yield
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            atexit.unregister(_leave_the_others)
            atexit.register(_leave_the_others)
    except ValueError as error:  # WORLD_SIZE alone
        raise ConfigError(
            f"The processes cannot meet: {error}. Start them by `torchrun`, or unset WORLD_SIZE."
        ) from None
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise ConfigError(
            "The processes cannot meet. Did another one end, or does the name of a machine stand for 127.0.0.1 there? "
            f"Then set GLOO_SOCKET_IFNAME (NCCL_SOCKET_IFNAME on GPUs) to its network interface. ({error!s:.200})"
        ) from None
    finally:
        os.environ.update({name: value for name, value in hidden.items() if value is not None})


def _leave_the_others() -> None:
    """Close the connections before the interpreter ends: threads of torch that outlive it abort the process."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _several_requested() -> bool:
    """Whether the environment was set up for several processes.

    `accelerate launch --num_processes 2` without GPUs starts one process. It does not pass on the number requested,
    but sets an address to connect at, which it does not set for a single process.
    """
    environment = os.environ
    if "WORLD_SIZE" in environment:
        return environment["WORLD_SIZE"] != "1"
    return "ACCELERATE_MIXED_PRECISION" in environment and "MASTER_ADDR" in environment
