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
PRINTED = """\
for text, row in zip(texts, probabilities):
    print(labels[row.argmax()], f"{row.max():.4f}", text, sep="\\t")
```
"""
"""End of the code where each text has one label."""
ONNX = (
    _LOAD
    + """\
texts = ["a text", "another text, somewhat longer"]
ids = np.array([encoding.ids for encoding in tokenizer.encode_batch(texts)], dtype=np.int64)
(probabilities,) = session.run(None, {"ids": ids})
"""
    + PRINTED
    + """\

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
SEVERAL = """\
for text, row in zip(texts, probabilities):
    print([(labels[i], f"{row[i]:.4f}") for i in np.flatnonzero(row >= thresholds)], text, sep="\\t")
```
"""
HF_SEVERAL = """\
## Run it

An ordinary checkpoint: vmask is not needed, `pip install transformers torch`.

```python
import json
from pathlib import Path

from transformers import pipeline

folder = Path(".")  # where this file is
thresholds = json.loads((folder / "config.json").read_text(encoding="utf-8"))["vmask"]["thresholds"]
classify = pipeline("text-classification", model=str(folder), truncation=True, top_k=None)
for text, answers in zip(texts := ["a text", "another text, somewhat longer"], classify(texts)):
    print([(one["label"], f"{one['score']:.4f}") for one in answers if one["score"] >= thresholds[one["label"]]], text)
```

A text may have several labels or none: each has a probability of its own, and a threshold from which it is predicted.
Texts are cut after {max_tokens} tokens, as in training; `truncation=True` does it.
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
"""
    + PRINTED
    + """\

`tokenizer.json` adds the special tokens, cuts long texts and pads a batch.
"""
)


def onnx_card(trained: TrainedModel, notes: Sequence[str]) -> str:
    """The card of a word model in ONNX, as Markdown: facts of the model, notes on the export, code to run it."""
    assert isinstance(trained.predictor, WordPredictor)
    segmenter = trained.predictor.tokenizer.segmenter
    return _card(trained, "ONNX", notes, _for_task(trained, ONNX if segmenter is None else _segmented(segmenter)))


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
    return _card(trained, "ONNX", notes, _for_task(trained, ENCODER_ONNX))


def _for_task(trained: TrainedModel, use: str) -> str:
    """The code of an ONNX file, with thresholds where a text may have several labels."""
    if trained.predictor.thresholds is None:
        return use
    facts = 'labels = json.loads((folder / "config.json").read_text(encoding="utf-8"))["labels"]\n'
    several = (
        'config = json.loads((folder / "config.json").read_text(encoding="utf-8"))\n'
        'labels, thresholds = config["labels"], np.array(config["thresholds"])\n'
    )
    note = "A text may have several labels or none: each is predicted from a threshold of its own.\n"
    return use.replace(facts, several).replace(PRINTED, SEVERAL) + f"\n{note}"


def hf_card(trained: TrainedModel, notes: Sequence[str], masked: bool) -> str:
    """The card of a Hugging Face folder, with the metadata that the hub reads."""
    head = (
        "---\nlibrary_name: transformers\npipeline_tag: text-classification\ntags: [vmask, interpretability]\n---\n\n"
    )
    several = trained.predictor.thresholds is not None
    use = (HF_SEVERAL if several else HF).replace("{max_tokens}", str(trained.data["max_tokens"])) + (
        FOLDED if masked else ""
    )
    return head + _card(trained, "a Hugging Face checkpoint", notes, use)


def _card(trained: TrainedModel, format: str, notes: Sequence[str], use: str) -> str:
    facts = model_card(trained).partition(FENCE)[0].rstrip()  # without the code that loads it in vmask
    return f"{facts}\n\nExported to {format}: {'; '.join(notes)}.\n\n{use}"
