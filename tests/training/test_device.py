"""Where and how precisely to compute."""

from __future__ import annotations

import pytest
import torch

from vmask.errors import ConfigError
from vmask.training.device import find_device, make_accelerator


def test_a_cpu_computes_in_full_precision_unless_told_otherwise():
    for precision, expected in (("auto", "no"), ("no", "no"), ("bf16", "bf16"), ("auto", "no"), ("bf16", "bf16")):
        accelerator = make_accelerator("cpu", precision)
        assert accelerator.mixed_precision == expected  # whatever an earlier training chose
        assert accelerator.device == torch.device("cpu")
    make_accelerator("cpu")


def test_fp16_on_a_cpu_is_refused():
    with pytest.raises(ConfigError, match=r"no mixed precision in fp16\. Use --precision bf16 or no"):
        make_accelerator("cpu", "fp16")


def test_a_device_that_is_not_there_or_unknown_is_refused():
    with pytest.raises(ConfigError, match="Choose one of: auto, cpu"):
        find_device("gpu")
    missing = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ConfigError, match="Use --device auto or cpu"):
        find_device(missing)
