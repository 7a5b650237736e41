"""Small predictors whose answers hang on every word, of every kind of model, untrained."""

from __future__ import annotations

import numpy as np
import torch

from masked import CLASSES, VOCABULARY
from tiny_encoders import FAMILIES, SHORT, tokenizer
from vmask.inference.piece_predictor import PiecePredictor
from vmask.inference.predictor import SPECIAL_WORDS, WordPredictor
from vmask.text.pieces import PieceTokenizer
from vmask.text.vocabulary import WordTokenizer

WORDS = [f"w{number}" for number in range(VOCABULARY - SPECIAL_WORDS)]
LABELS = [f"class {number}" for number in range(CLASSES)]
MAX_WORDS = 48


def word_predictor(build, model, mask, factor=2.5, max_words=MAX_WORDS, **options):
    """A model over `WORDS`; `factor` makes its weights large, so that hiding a word shows."""
    made = build(model, mask, **options)
    with torch.no_grad():
        for name, tensor in made.encoder.named_parameters():
            if not name.startswith("embedding"):
                tensor.mul_(factor)
    words = WordTokenizer.build(WORDS, "gentle", max_words)
    ones = np.ones(VOCABULARY, np.int64)
    padded = max_words if options.get("pad_to_max") or options.get("preset") == "paper_code" else 0
    return WordPredictor(made, words, LABELS, ones, ones.astype(bool), torch.device("cpu"), padded)


def piece_predictor(build_encoder, family, mask, **options):
    """A tiny encoder."""
    pieces = PieceTokenizer.of(tokenizer(FAMILIES[family][0]), SHORT)
    padded = SHORT if options.get("pad_to_max") else 0
    return PiecePredictor(build_encoder(family, mask, **options), pieces, LABELS, None, torch.device("cpu"), padded)


def random_text(length, seed=0):
    """Words that the model knows, some of them often, and one that it does not."""
    random = np.random.default_rng([length, seed])
    chosen = random.integers(-1, len(WORDS) // 2, length)
    return " ".join("unknown" if number < 0 else WORDS[number] for number in chosen)
