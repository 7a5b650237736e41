"""The README.md of an export: what the model is, how good, and how to run it without vmask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmask.model_card import model_card

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier

FENCE = "```python"
ONNX = """\
## Run it

vmask is not needed: `pip install onnxruntime tokenizers numpy`, then in this folder

```python
import json
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

folder = Path(".")  # where this file is
labels = json.loads((folder / "config.json").read_text(encoding="utf-8"))["labels"]
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
session = onnxruntime.InferenceSession(folder / "model.onnx")

texts = ["a text", "another text, somewhat longer"]
ids = np.array([encoding.ids for encoding in tokenizer.encode_batch(texts)], dtype=np.int64)
(probabilities,) = session.run(None, {"ids": ids})
for text, row in zip(texts, probabilities):
    print(labels[row.argmax()], f"{row.max():.4f}", text, sep="\\t")
```

`model.onnx` takes `ids`, int64 (texts, words), padded with 0 behind the text, and gives `probabilities`, float32
(texts, labels), in the order of `labels` in `config.json`. `tokenizer.json` cuts texts into words, numbers them, drops
what is past the length limit and pads. Give at least one text; an empty string is one.
"""


def onnx_card(classifier: TextClassifier, notes: Sequence[str]) -> str:
    """The card as Markdown: the facts of the model card, how it was exported, code that runs it."""
    facts = model_card(classifier).partition(FENCE)[0].rstrip()  # behind them stands how to load it in vmask
    return f"{facts}\n\nExported to ONNX: {'; '.join(notes)}.\n\n{ONNX}"
