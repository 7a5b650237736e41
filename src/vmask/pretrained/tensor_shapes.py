"""The shapes in a safetensors file, read before anything is allocated: they limit what may be built."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.modules import module as registration

from vmask.errors import ModelFolderError

Shapes = Mapping[str, tuple[int, ...]]

LONGEST_HEADER = 4 << 20
"""Bytes, enough for some 30,000 tensors. The time to read a header grows faster than its length."""
SLACK_TENSORS, SLACK_ELEMENTS = 64, 1 << 22
"""What a module may have beyond its file, for a fresh head."""
FACTOR = 4
"""How many times a tensor may be registered while a module is built."""
MODULES_A_TENSOR = 16
BUFFER_ELEMENTS = 1 << 26
"""Elements of computed buffers, such as tables of positions."""


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor of a safetensors file, from its header alone.

    Raises:
        SafetensorError: if it is not a safetensors file.
        ModelFolderError: if it lists more tensors than a model has.
    """
    with path.open("rb") as start:
        if int.from_bytes(start.read(8), "little") > LONGEST_HEADER:
            raise ModelFolderError(f"the header of {path.name} is longer than that of any model")
    with safe_open(path, framework="pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


@contextmanager
def no_larger_than(shapes: Shapes) -> Iterator[None]:
    """Refuse modules with many more or much larger tensors than a file, while they are built in this thread.

    Raises:
        ModelFolderError: at the first tensor or module too many.
    """
    budget = _Budget(shapes)
    hooks = [
        registration.register_module_parameter_registration_hook(budget.parameter),
        registration.register_module_buffer_registration_hook(budget.buffer),
        registration.register_module_module_registration_hook(budget.module),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def check_shapes(build: Callable[[], nn.Module], shapes: Shapes, prefix: str = "") -> None:
    """Build a module without allocating memory, and compare its tensors with those of a file.

    Args:
        build: makes the module.
        shapes: shapes in the file.
        prefix: prefix of the module's tensors in the file.

    Raises:
        ModelFolderError: if they differ; the message names a tensor.
    """
    with no_larger_than(shapes), torch.device("meta"):
        in_model = {f"{prefix}{name}": tuple(t.shape) for name, t in build().state_dict().items()}
    in_file = {name: shape for name, shape in shapes.items() if name.startswith(prefix)}
    for name in sorted(in_model.keys() | in_file.keys()):
        if in_model.get(name) != in_file.get(name):
            raise ModelFolderError(
                f"its weights are not those of its configuration: {name} is {_format(in_file.get(name))} in the file "
                f"and {_format(in_model.get(name))} in the model"
            )


def _format(shape: tuple[int, ...] | None) -> str:
    return "absent" if shape is None else " x ".join(map(str, shape)) or "a number"


class _Budget:
    """Limits what is registered on modules, in the thread that created it."""

    def __init__(self, shapes: Shapes) -> None:
        self.thread = threading.get_ident()
        self.tensors = FACTOR * len(shapes) + SLACK_TENSORS
        self.modules = MODULES_A_TENSOR * self.tensors
        self.elements = FACTOR * sum(math.prod(shape) for shape in shapes.values()) + SLACK_ELEMENTS
        self.buffers = max(self.elements, BUFFER_ELEMENTS)

    def parameter(self, module: nn.Module, name: str, tensor: Tensor | None) -> None:
        if tensor is not None:
            self._take(1, 0, tensor.numel(), 0)

    def buffer(self, module: nn.Module, name: str, tensor: Tensor | None) -> None:
        if tensor is not None:
            self._take(0, 0, 0, tensor.numel())

    def module(self, module: nn.Module, name: str, child: Any) -> None:
        self._take(0, 1, 0, 0)

    def _take(self, tensors: int, modules: int, elements: int, buffers: int) -> None:
        if threading.get_ident() != self.thread:
            return
        self.tensors -= tensors
        self.modules -= modules
        self.elements -= elements
        self.buffers -= buffers
        if min(self.tensors, self.modules, self.elements, self.buffers) < 0:
            raise ModelFolderError("its configuration asks for a larger model than its weights are")
