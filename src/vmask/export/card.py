"""The README.md of an export: the model card, and how to run the model without vmask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmask.inference.predictor import WordPredictor
from vmask.persistence.model_card import model_card
from vmask.text.segmenters import Segmenter

if TYPE_CHECKING:
    from vmask.training.trained_model import TrainedModel

FENCE = "```python"
_LOAD = """\
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

"""
ONNX = (
    _LOAD
    + """\
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
)

SEGMENTED = """
The words of texts without spaces were cut by {version}, which `pip install {packages}` installs. `tokenizer.json` alone
cuts such texts otherwise, and the answers are others: `spaced` puts spaces between their words first.
"""
_CONFIG = """\
config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
labels = config["labels"]
"""
_SPACED = """\
{code}


def spaced(text):
    def words(run):
        marked = lambda word: unicodedata.category(word[0]).startswith("M")
        return "".join(word if marked(word) else " " + word for word in cut(run[0])) + " "

    return re.sub(config["segmenter"]["run"], words, text)


"""

HF = """\
## Run it

An ordinary checkpoint: vmask is not needed, `pip install transformers torch`.

```python
from transformers import pipeline

classify = pipeline("text-classification", model=".", truncation=True)  # "." is this folder
for text, answer in zip(texts := ["a text", "another text, somewhat longer"], classify(texts)):
    print(answer["label"], f"{answer['score']:.4f}", text, sep="\\t")
```

Texts are cut after {max_tokens} tokens, as in training; `truncation=True` does it.
"""
FOLDED = """
What the mask learnt is in the rows of the embedding matrix: each word has the vector that the classifier sees of it. To
rank the words and to explain predictions, load the model folder that this was exported from with vmask.
"""
ENCODER_ONNX = (
    _LOAD
    + """\
texts = ["a text", "another text, somewhat longer"]
encodings = tokenizer.encode_batch(texts)
inputs = {
    "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
    "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
}
(probabilities,) = session.run(None, inputs)
for text, row in zip(texts, probabilities):
    print(labels[row.argmax()], f"{row.max():.4f}", text, sep="\\t")
```

`tokenizer.json` adds the special tokens, cuts long texts and pads a batch.
"""
)


def onnx_card(trained: TrainedModel, notes: Sequence[str]) -> str:
    """The card of a word model in ONNX, as Markdown: facts of the model, notes on the export, code to run it."""
    assert isinstance(trained.predictor, WordPredictor)
    segmenter = trained.predictor.tokenizer.segmenter
    return _card(trained, "ONNX", notes, ONNX if segmenter is None else _segmented(segmenter))


def _segmented(segmenter: Segmenter) -> str:
    """How to run a model that reads the words of a segmenter."""
    changes = (
        ("import json\n", "import json\nimport re\nimport unicodedata\n"),
        ('labels = json.loads((folder / "config.json").read_text(encoding="utf-8"))["labels"]\n', _CONFIG),
        ("onnxruntime tokenizers numpy`", f"onnxruntime tokenizers numpy {' '.join(segmenter.packages)}`"),
        ('texts = ["a', _SPACED.replace("{code}", segmenter.code) + 'texts = ["a'),
        ("encode_batch(texts)", "encode_batch([spaced(text) for text in texts])"),
    )
    use = ONNX
    for before, after in changes:
        use = use.replace(before, after, 1)
    return use + SEGMENTED.format(version=segmenter.version, packages=" ".join(segmenter.packages))


def encoder_onnx_card(trained: TrainedModel, notes: Sequence[str]) -> str:
    """The card of an encoder in ONNX."""
    return _card(trained, "ONNX", notes, ENCODER_ONNX)


def hf_card(trained: TrainedModel, notes: Sequence[str], masked: bool) -> str:
    """The card of a Hugging Face folder, with the metadata that the hub reads."""
    head = (
        "---\nlibrary_name: transformers\npipeline_tag: text-classification\ntags: [vmask, interpretability]\n---\n\n"
    )
    use = HF.replace("{max_tokens}", str(trained.data["max_tokens"])) + (FOLDED if masked else "")
    return head + _card(trained, "a Hugging Face checkpoint", notes, use)


def _card(trained: TrainedModel, format: str, notes: Sequence[str], use: str) -> str:
    facts = model_card(trained).partition(FENCE)[0].rstrip()  # without the code that loads it in vmask
    return f"{facts}\n\nExported to {format}: {'; '.join(notes)}.\n\n{use}"
