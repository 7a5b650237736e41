"""From texts and labels to a trained predictor: checks, vocabulary, word vectors, training."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError

from vmask.data.vocabulary import UNK, WordTokenizer, choose_words
from vmask.data.words import count_words
from vmask.embeddings import Coverage, Vectors, coverage, read_vectors
from vmask.errors import DataError, ModelFolderError, VmaskWarning
from vmask.plan import Plan
from vmask.predictor import WordPredictor
from vmask.training.checkpoints import Checkpoints
from vmask.training.device import make_accelerator
from vmask.training.loop import Examples, Trained, train
from vmask.training.progress import Silence
from vmask.training.seeding import derive, numpy_stream, own_randomness, reseed_torch

DEFAULT_CLEANING = "gentle"
DEFAULT_MAX_WORDS = 256
RANDOM_DIM = 100
UNKNOWN_WIDTH = 0.01
"""Words without a vector get a small random one, uniform within this of 0, as in the paper's released code."""


@dataclass(frozen=True)
class Prepared:
    """Everything that training needs of the data.

    Attributes:
        tokenizer: cuts texts into words.
        labels: the classes, as they were given.
        examples: training texts.
        dev: texts that pick the best epoch.
        counts: (V,) how often each word stands in the training texts.
        known: (V,) whether the vectors know the word.
        matrix: (V, D) word vectors.
        tuned: whether they are trained.
        coverage: how much of the training texts the vectors know; None for random vectors.
        sources: names of the vector files.
        fingerprint: of the texts and labels.
    """

    tokenizer: WordTokenizer
    labels: list[Any]
    examples: Examples
    dev: Examples
    counts: NDArray[np.int64]
    known: NDArray[np.bool_]
    matrix: NDArray[np.float32]
    tuned: bool
    coverage: Coverage | None
    sources: tuple[str, ...]
    fingerprint: str

    def digest(self) -> str:
        """Of all that training sees: ids and classes of both sets, and the vectors. Another digest is another run."""
        digest = hashlib.sha256(self.matrix.tobytes())
        for examples in (self.examples, self.dev):
            digest.update(examples.labels.tobytes())
            for ids in examples.ids:
                digest.update(np.append(ids, -1).tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """What a model folder says about its data."""
        return {
            "train": len(self.examples.labels),
            "dev": len(self.dev.labels),
            "vocabulary": len(self.tokenizer),
            "vectors": list(self.sources),
            "dim": int(self.matrix.shape[1]),
            "coverage": None
            if self.coverage is None
            else {
                "types": round(self.coverage.types, 4),
                "tokens": round(self.coverage.tokens, 4),
                "missing": list(self.coverage.missing[:10]),
            },
            "fingerprint": self.fingerprint,
        }


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises:
        DataError: where something is not a text.
    """
    if isinstance(texts, str):
        raise DataError("A single text was given where a list of texts is expected. Put it in a list: [text].")
    if hasattr(texts, "columns"):
        raise DataError("A table was given where a list of texts is expected. Pass one column of it: table['text'].")
    listed = list(texts)
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(
                f"Text number {number} is {text!r}, of type {type(text).__name__}. Give strings, e.g. with str(text)."
            )
    return listed


def check_labels(labels: Sequence[Any], count: int) -> list[Any]:
    """The labels as plain strings, numbers or booleans.

    Raises:
        DataError: for a wrong number of labels or a missing one.
    """
    listed = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if len(listed) != count:
        raise DataError(f"There are {count} texts and {len(listed)} labels. Give one label for each text.")
    for number, label in enumerate(listed):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise DataError(f"Label number {number} is missing ({label}). Drop the rows without a label.")
        if not isinstance(label, (str, int, float)):
            raise DataError(f"Label number {number} is {label!r}. Labels must be strings or numbers.")
    if len({isinstance(label, str) for label in listed}) > 1:
        raise DataError("Some labels are strings and some are numbers. Make them all strings, e.g. with str(label).")
    return listed


def prepare_data(
    plan: Plan,
    texts: Sequence[str],
    labels: Sequence[Any],
    dev: tuple[Sequence[str], Sequence[Any]] | None,
    dev_fraction: float,
    vocabulary_texts: Iterable[str] | None = None,
) -> Prepared:
    """Check the data, choose the words, look up their vectors and encode the texts.

    Raises:
        DataError: for data that cannot be trained on.
    """
    train_texts, train_labels = _usable(texts, labels, "training")
    classes = sorted(set(train_labels))
    if len(classes) < 2:
        raise DataError(f"All labels are {classes[0]!r}. A classifier needs at least two classes.")
    fingerprint = _fingerprint(train_texts, train_labels)
    if dev is None:
        train_texts, dev_texts, train_labels, dev_labels = _hold_out(
            train_texts, train_labels, dev_fraction, plan.train.seed
        )
    else:
        dev_texts, dev_labels = _usable(*dev, "dev")
        if unseen := sorted(map(repr, set(dev_labels) - set(classes))):
            raise DataError(
                f"The dev set has labels that training lacks: {', '.join(unseen[:5])}. "
                "Drop those rows, or give training some of them."
            )

    config = plan.data
    cleaning = config.cleaning or DEFAULT_CLEANING
    counts = count_words(train_texts, cleaning)
    if not counts:
        raise DataError("No training text has a word. Check the text column, or use cleaning=gentle.")
    all_counts = counts + count_words(vocabulary_texts, cleaning) if vocabulary_texts is not None else None
    wanted = choose_words(counts, all_counts, None, config)
    vectors = _vectors(plan, wanted)
    words = wanted if vectors is None else choose_words(counts, all_counts, vectors, config)
    tokenizer = WordTokenizer.build(words, cleaning, config.max_words or DEFAULT_MAX_WORDS)
    matrix, known = _matrix(tokenizer, vectors, plan.train.seed)
    code = {label: number for number, label in enumerate(classes)}
    return Prepared(
        tokenizer=tokenizer,
        labels=classes,
        examples=_encode(tokenizer, train_texts, train_labels, code, "training"),
        dev=_encode(tokenizer, dev_texts, dev_labels, code, "dev"),
        counts=np.array([counts.get(word, 0) for word in tokenizer.words], dtype=np.int64),
        known=known,
        matrix=matrix,
        tuned=vectors is None if config.train_embeddings is None else config.train_embeddings,
        coverage=None if vectors is None else coverage(vectors, counts),
        sources=("random",) if vectors is None else vectors.sources,
        fingerprint=fingerprint,
    )


def train_plan(
    plan: Plan,
    data: Prepared,
    device: str,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Silence | None = None,
) -> tuple[WordPredictor, Trained]:
    """Train a fresh model and wrap it with its words."""
    accelerator = make_accelerator(device)
    with own_randomness():
        reseed_torch(plan.train.seed, "weights")
        model = plan.build(torch.tensor(data.matrix), data.tuned, len(data.labels))
    checkpoints = None
    if checkpoint is not None:
        run = {**plan.to_dict(), "training_data": data.digest(), "processes": accelerator.num_processes}
        checkpoints = Checkpoints(checkpoint, run)
    try:
        trained = train(
            model,
            data.examples,
            data.dev,
            plan.train,
            accelerator,
            pad_length=data.tokenizer.max_words,
            checkpoints=checkpoints,
            resume=resume,
            progress=progress if accelerator.is_main_process else None,
        )
    except SafetensorError as error:  # what a full disk raises
        raise ModelFolderError(
            f"The checkpoint could not be written to {checkpoint}: {error}. Free some space and add --resume to go on "
            "from the last epoch that was kept."
        ) from None
    pad_length = data.tokenizer.max_words if plan.train.pad_to_max else 0
    predictor = WordPredictor(
        model, data.tokenizer, data.labels, data.counts, data.known, accelerator.device, pad_length
    )
    return predictor, trained


def _usable(texts: Sequence[str], labels: Sequence[Any], name: str) -> tuple[list[str], list[Any]]:
    """Texts that have something in them, with their labels; the others are dropped and counted."""
    listed = check_texts(texts)
    checked = check_labels(labels, len(listed))
    rows = [i for i, text in enumerate(listed) if text.strip()]
    if not rows:
        raise DataError(f"There is no {name} text with anything in it.")
    if len(rows) < len(listed):
        _warn(f"{len(listed) - len(rows)} empty {name} texts were dropped.")
    return [listed[i] for i in rows], [checked[i] for i in rows]


def _hold_out(
    texts: list[str], labels: list[Any], fraction: float, seed: int
) -> tuple[list[str], list[str], list[Any], list[Any]]:
    from sklearn.model_selection import train_test_split

    rows = list(range(len(labels)))
    held_out = max(round(len(rows) * fraction), 1)
    classes = set(labels)
    stratified = min(Counter(labels).values()) >= 2 and min(held_out, len(rows) - held_out) >= len(classes)
    # Else a class could go to dev whole: its first text stays in training.
    first = [] if stratified else [labels.index(label) for label in sorted(classes)]
    rest = sorted({*rows} - {*first})
    if not rest:
        raise DataError(f"{len(rows)} texts are too few to hold any out. Give more, or pass dev=(texts, labels).")
    if stratified:
        kept, out = train_test_split(
            rest, test_size=held_out, stratify=labels, random_state=derive(seed, "dev") % 2**32
        )
    else:
        drawn = numpy_stream(seed, "dev").permutation(rest).tolist()
        kept, out = first + drawn[held_out:], drawn[:held_out]
    return [texts[i] for i in kept], [texts[i] for i in out], [labels[i] for i in kept], [labels[i] for i in out]


def _vectors(plan: Plan, words: Sequence[str]) -> Vectors | None:
    """The word vectors, or None for random ones."""
    config = plan.data
    if config.embeddings == "random":
        return None
    extra = config.vector_words if config.vocabulary == "vectors" else 0
    return read_vectors(config.embeddings, words, extra)


def _matrix(
    tokenizer: WordTokenizer, vectors: Vectors | None, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(V, D) vectors and (V,) whether each is known. Rounded to float16, so that a model folder stores them exactly."""
    random = numpy_stream(seed, "vectors")
    size = len(tokenizer)
    if vectors is None:
        matrix = random.normal(0.0, 0.3, (size, RANDOM_DIM)).astype(np.float32)
        known = np.ones(size, dtype=np.bool_)
    else:
        matrix = random.uniform(-UNKNOWN_WIDTH, UNKNOWN_WIDTH, (size, vectors.dim)).astype(np.float32)
        known = np.zeros(size, dtype=np.bool_)
        row_of = {word: row for row, word in enumerate(vectors.words) if vectors.known[row].any()}
        for i, word in enumerate(tokenizer.words):
            row = row_of.get(word) if i > UNK else None
            if row is not None:
                matrix[i], known[i] = vectors.matrix[row], True
    matrix[0] = 0.0
    return matrix.astype(np.float16).astype(np.float32), known


def _encode(
    tokenizer: WordTokenizer, texts: Sequence[str], labels: Sequence[Any], code: dict[Any, int], name: str
) -> Examples:
    tokens = tokenizer.encode(texts)
    if cut := sum(one.total > len(one.ids) for one in tokens):
        _warn(f"{cut} of {len(tokens)} {name} texts were cut to {tokenizer.max_words} words.")
    rows = [i for i, one in enumerate(tokens) if len(one.ids)]
    if not rows:
        raise DataError(f"No {name} text has a word. Check the text column, or use cleaning=gentle.")
    if len(rows) < len(tokens):
        _warn(f"{len(tokens) - len(rows)} {name} texts have no word after cleaning and were dropped.")
    return Examples([tokens[i].ids for i in rows], np.array([code[labels[i]] for i in rows], dtype=np.int64))


def _fingerprint(texts: Sequence[str], labels: Sequence[Any]) -> str:
    digest = hashlib.sha256()
    for text, label in zip(texts, labels, strict=True):
        digest.update(f"{label}\t{text}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _warn(message: str) -> None:
    warnings.warn(message, VmaskWarning, stacklevel=4)
