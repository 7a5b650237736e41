from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "sklearn", "pyarrow", "datasets", "tokenizers", "huggingface_hub", "yaml")
LIGHT = [
    "card",
    "columns",
    "parquet",
    "readers",
    "streams",
    "datasets",
    "labelled",
    "rationales",
    "splits",
    "hub",
    "assets",
    "words",
    "vocabulary",
    "check",
]


@pytest.mark.full
def test_the_data_room_imports_nothing_heavy():
    code = "\n".join(
        [
            "import sys",
            *(f"import vmask.data.{name}" for name in LIGHT),
            "import vmask.pretrained.word_vectors",
            f"print([name for name in {HEAVY} if name in sys.modules])",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
