"""Where and how precisely to compute."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest
import torch

from vmask.errors import ConfigError, VmaskWarning
from vmask.training.device import find_device, make_accelerator

pytestmark = pytest.mark.full


def test_a_cpu_computes_in_full_precision_unless_told_otherwise():
    for precision, expected in (("auto", "no"), ("no", "no"), ("bf16", "bf16"), ("auto", "no"), ("bf16", "bf16")):
        accelerator = make_accelerator("cpu", precision)
        assert accelerator.mixed_precision == expected  # whatever an earlier training chose
        assert accelerator.device == torch.device("cpu")
    make_accelerator("cpu")


@pytest.mark.parametrize(
    ("environment", "warned"),
    [
        ({}, False),
        ({"ACCELERATE_MIXED_PRECISION": "no"}, False),
        ({"MASTER_ADDR": "127.0.0.1"}, False),  # of a cluster, say
        ({"ACCELERATE_MIXED_PRECISION": "no", "MASTER_ADDR": "127.0.0.1"}, True),
        ({"ACCELERATE_MIXED_PRECISION": "no", "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "1"}, False),
    ],
)
def test_a_process_that_was_to_have_company_and_has_none_is_warned_of(monkeypatch, environment, warned):
    for name in ("ACCELERATE_MIXED_PRECISION", "MASTER_ADDR", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert make_accelerator("cpu").num_processes == 1
    assert [str(one.message).partition(":")[0] for one in caught if one.category is VmaskWarning] == [
        "Several processes were requested, but this one trains alone"
    ] * warned


def test_accelerate_launch_on_a_cpu_is_warned_of(tmp_path):
    """It starts one process whatever it is asked for."""
    program = tmp_path / "program.py"
    program.write_text(
        "from vmask.training.device import make_accelerator\nmake_accelerator('cpu')\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes"]
    said = {
        number: subprocess.run([*command, number, str(program)], capture_output=True, text=True, timeout=300).stderr
        for number in ("1", "2")
    }
    assert "this one trains alone" in said["2"]
    assert "this one trains alone" not in said["1"]


def test_processes_that_cannot_meet_are_said(tmp_path):
    program = "from vmask.training.device import make_accelerator; make_accelerator('cpu')"
    environment = {name: value for name, value in os.environ.items() if name != "MASTER_ADDR"} | {"WORLD_SIZE": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert "ConfigError: The processes cannot meet: " in done.stderr


def test_variables_of_mpi_do_not_make_a_training_wait_for_others():
    """SLURM sets them for every program that it starts several times."""
    program = (
        "import os; from vmask.training.device import make_accelerator; "
        "print(make_accelerator('cpu').num_processes, os.environ['PMI_SIZE'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "WORLD_SIZE"}
    environment |= {"PMI_SIZE": "2", "PMI_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == "1 2\n", done.stderr


def test_fp16_on_a_cpu_is_refused():
    with pytest.raises(ConfigError, match=r"no mixed precision in fp16\. Use --precision bf16 or no"):
        make_accelerator("cpu", "fp16")


def test_a_device_that_is_not_there_or_unknown_is_refused():
    with pytest.raises(ConfigError, match="Choose one of: auto, cpu"):
        find_device("gpu")
    missing = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ConfigError, match="Use --device auto or cpu"):
        find_device(missing)
