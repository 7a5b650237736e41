"""The search space of hyperparameters: for each option a list of values, or a range of numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from vmask.errors import ConfigError, short
from vmask.grid.yaml_values import known


@dataclass(frozen=True)
class Range:
    """A range of numbers, both ends included; of whole numbers if all that is given are whole.

    Attributes:
        low: the lowest number.
        high: the highest number.
        log: whether numbers are drawn on a logarithmic scale.
        step: distance of the numbers, None for 1 or for any number.

    Raises:
        ConfigError: if there is no such range.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigError(f"low is {self.low:g}, above high, which is {self.high:g}. Exchange them.")
        if self.log and self.low <= 0:
            raise ConfigError(f"low is {self.low:g}; with log it must be above 0.")
        if self.step is None:
            return
        if self.log:
            raise ConfigError("it has both log and step. Leave one of them out.")
        if self.step <= 0:
            raise ConfigError(f"step is {self.step:g}; it must be above 0.")
        if (Decimal(str(self.high)) - Decimal(str(self.low))) % Decimal(str(self.step)):
            raise ConfigError(f"steps of {self.step:g} from {self.low:g} miss {self.high:g}. Change high or step.")

    @classmethod
    def read(cls, loaded: Mapping[str, Any]) -> Range:
        """A range as it stands in a YAML or JSON file.

        Raises:
            ConfigError: if there is no such range.
        """
        known(loaded, [f.name for f in dataclasses.fields(cls)], "it")
        log = loaded.get("log", False)
        if not isinstance(log, bool):
            raise ConfigError(f"log is {short(log)}; it must be true or false.")
        numbers = {name: _number(loaded.get(name), name) for name in ("low", "high")}
        if loaded.get("step") is not None:
            numbers["step"] = _number(loaded["step"], "step")
        if not all(isinstance(number, int) for number in numbers.values()):
            numbers = {name: float(number) for name, number in numbers.items()}
        return cls(log=log, **numbers)

    @property
    def whole(self) -> bool:
        """Whether it is a range of whole numbers."""
        return isinstance(self.low, int)

    @property
    def count(self) -> float:
        """How many numbers it has."""
        if self.low == self.high:
            return 1
        step = self.step or (1 if self.whole else 0)
        return round((self.high - self.low) / step) + 1 if step else math.inf

    def nearest(self, value: Any) -> float:
        """The nearest number of the range; its lowest one if the value is no number."""
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            return self.low
        inside = min(max(value, self.low), self.high)
        step = self.step or (1 if self.whole else None)
        if step is not None:
            inside = min(self.low + round((inside - self.low) / step) * step, self.high)
        return inside if self.whole else float(inside)


Values: TypeAlias = "Sequence[Any] | Range"
"""What is tried of an option."""
Space: TypeAlias = Mapping[str, Values]
"""The options that are searched, with what is tried of each."""


def count_of(space: Space) -> float:
    """Number of combinations of values."""
    return math.prod(values.count if isinstance(values, Range) else len(values) for values in space.values())


def samples_of(space: Space) -> list[dict[str, Any]]:
    """A few sets of options that have every listed value and both ends of every range between them."""
    ends = {name: (v.low, v.high) if isinstance(v, Range) else tuple(v) for name, v in space.items()}
    first = {name: values[0] for name, values in ends.items()}
    return [first, *({**first, name: value} for name, values in ends.items() for value in values[1:])]


def space_to_json(space: Space) -> dict[str, Any]:
    """A search space as JSON values, in the order of the options' names."""
    return {
        name: dataclasses.asdict(values) if isinstance(values, Range) else list(values)
        for name, values in sorted(space.items())
    }


def space_from_json(loaded: Mapping[str, Any]) -> dict[str, Values]:
    """The search space that `space_to_json` was called on.

    Raises:
        ConfigError: for a range that is none.
    """
    return {name: Range.read(values) if isinstance(values, Mapping) else values for name, values in loaded.items()}


def _number(value: Any, name: str) -> float:
    """A number; YAML reads 1e-4, without a point, as a text."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf:
        return value
    raise ConfigError(f"{name} is {short(value)}; it must be a number.")
