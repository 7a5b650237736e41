"""Training data for models over words: vocabulary, word vectors, ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vmask._core.random_streams import numpy_stream
from vmask.errors import ConfigError, DataError
from vmask.inference.edits import WordFinder
from vmask.inference.predictor import WordPredictor
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.pretrained.word_vectors import Coverage, Vectors, coverage, read_vectors
from vmask.text.segmenters import Segmenter, choose_segmenter
from vmask.text.vocabulary import UNK, WordTokenizer, choose_words
from vmask.text.words import count_words
from vmask.training.inputs import Labelled, warn
from vmask.training.loop import Examples
from vmask.training.prepared import Prepared, examples_of
from vmask.training.run_config import Plan

DEFAULT_CLEANING = "gentle"
DEFAULT_MAX_WORDS = 256
RANDOM_DIM = 100
MISSING_WIDTH = 0.01
"""Words without a vector get a small random one, uniform within this of 0, as in the paper's released code."""


@dataclass(frozen=True)
class PreparedWords(Prepared):
    """Texts as words with vectors.

    Attributes:
        tokenizer: splits texts into words.
        counts: (V,) count of each word in the training texts.
        known: (V,) whether the word has a pretrained vector.
        matrix: (V, D) word vectors.
        coverage: share of the training texts that the vectors cover; None for random vectors.
        sources: names of the vector files.
    """

    tokenizer: WordTokenizer
    counts: NDArray[np.int64]
    known: NDArray[np.bool_]
    matrix: NDArray[np.float32]
    coverage: Coverage | None
    sources: tuple[str, ...]

    @property
    def pad_length(self) -> int:
        """Maximum length of a text."""
        return self.tokenizer.max_words

    def finder(self) -> WordFinder:
        """Finds words in the vocabulary."""
        return WordFinder(self.tokenizer)

    def encoder(self, plan: Plan) -> Encoder:
        """A fresh encoder over the word vectors."""
        return plan.word_encoder(torch.tensor(self.matrix), bool(self.tuned), len(self.labels))

    def predictor(self, model: MaskedClassifier, device: torch.device, pad_length: int) -> WordPredictor:
        """The trained model with its words."""
        return WordPredictor(model, self.tokenizer, self.labels, self.counts, self.known, device, pad_length)

    def source_digest(self) -> bytes:
        """Bytes of the word vectors."""
        return self.matrix.tobytes()

    def summary(self) -> dict[str, Any]:
        """The facts about the data for a model folder."""
        return {
            **super().summary(),
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
        }


def prepare_words(plan: Plan, data: Labelled, vocabulary_texts: Iterable[str] | None = None) -> PreparedWords:
    """Choose the words, look up their vectors and encode the texts.

    Raises:
        DataError: for data that cannot be trained on.
    """
    config = plan.data
    cleaning = config.cleaning or DEFAULT_CLEANING
    segmenter = choose_word_segmenter(config.segmenter, data.texts, cleaning)
    counts = count_words(data.texts, cleaning, segmenter)
    if not counts:
        raise DataError("No training text has a word. Check the text column, or use cleaning=gentle.")
    all_counts = counts + count_words(vocabulary_texts, cleaning, segmenter) if vocabulary_texts is not None else None
    wanted = choose_words(counts, all_counts, None, config, segmenter)
    vectors = _vectors(plan, wanted)
    words = wanted if vectors is None else choose_words(counts, all_counts, vectors.words, config, segmenter)
    tokenizer = WordTokenizer.build(words, cleaning, config.max_words or DEFAULT_MAX_WORDS, segmenter)
    matrix, known = _matrix(tokenizer, vectors, plan.train.seed, config.unknown_width)
    return PreparedWords(
        labelled=data,
        examples=_encode(tokenizer, data.texts, data.codes(data.labels), "training", data.weights),
        dev=_encode(tokenizer, data.dev_texts, data.codes(data.dev_labels), "dev"),
        tuned=vectors is None if config.train_embeddings is None else config.train_embeddings,
        tokenizer=tokenizer,
        counts=np.array([counts.get(word, 0) for word in tokenizer.words], dtype=np.int64),
        known=known,
        matrix=matrix,
        coverage=None if vectors is None else coverage(vectors, counts),
        sources=("random",) if vectors is None else vectors.sources,
    )


def choose_word_segmenter(name: str, texts: Sequence[str], cleaning: str) -> Segmenter | None:
    """The segmenter of the option for a model over words.

    Raises:
        ConfigError: if the cleaning leaves it nothing to cut.
        MissingExtra: if its package is not installed.
    """
    if cleaning != "paper":
        return choose_segmenter(name, texts)
    if name not in ("auto", "none"):
        raise ConfigError(f"segmenter={name} has nothing to cut: cleaning=paper drops all but ASCII. Use gentle.")
    return None


def _vectors(plan: Plan, words: Sequence[str]) -> Vectors | None:
    """The word vectors, or None for random ones."""
    config = plan.data
    if config.embeddings == "random":
        return None
    extra = config.vector_words if config.vocabulary == "vectors" else 0
    return read_vectors(config.embeddings, words, extra)


def _matrix(
    tokenizer: WordTokenizer, vectors: Vectors | None, seed: int, unknown_width: float
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(V, D) vectors and (V,) whether each is known. Rounded to float16, so that a model folder stores them exactly."""
    random = numpy_stream(seed, "vectors")
    size = len(tokenizer)
    if vectors is None:
        matrix = random.normal(0.0, 0.3, (size, RANDOM_DIM)).astype(np.float32)
        known = np.ones(size, dtype=np.bool_)
    else:
        matrix = random.uniform(-MISSING_WIDTH, MISSING_WIDTH, (size, vectors.dim)).astype(np.float32)
        matrix[UNK] *= unknown_width / MISSING_WIDTH
        known = np.zeros(size, dtype=np.bool_)
        row_of = {word: row for row, word in enumerate(vectors.words) if vectors.known[row].any()}
        pairs = [(i, row_of[word]) for i, word in enumerate(tokenizer.words) if i > UNK and word in row_of]
        if pairs:
            places, rows = np.array(pairs).T
            matrix[places], known[places] = vectors.matrix[rows], True
    matrix[0] = 0.0
    return matrix.astype(np.float16).astype(np.float32), known


def _encode(
    tokenizer: WordTokenizer,
    texts: Sequence[str],
    codes: NDArray[Any],
    name: str,
    weights: Sequence[float] | None = None,
) -> Examples:
    tokens = tokenizer.encode(texts)
    if cut := sum(text.total > len(text.ids) for text in tokens):
        warn(f"{cut} of {len(tokens)} {name} texts were cut to {tokenizer.max_words} words.")
    ids = {row: text.ids for row, text in enumerate(tokens) if len(text.ids)}
    if not ids:
        raise DataError(f"No {name} text has a word. Check the text column, or use cleaning=gentle.")
    if len(ids) < len(tokens):
        warn(f"{len(tokens) - len(ids)} {name} texts have no word after cleaning and were dropped.")
    return examples_of(ids, codes, weights=weights)
