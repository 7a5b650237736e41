"""Word vectors distilled from a pretrained encoder: one for every word, frequent or not.

The encoder reads each word alone. Its vector is the mean of the encoder's last layer over the pieces of the word;
special tokens are added around the word, as the encoder expects, but not averaged. All vectors together are centred and
reduced to their principal components. The result is cached, so the encoder runs once for a set of words.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import replacing
from vmask.data.downloads import cache_dir
from vmask.errors import ConfigError, DataError
from vmask.pretrained.encoders import encoder_digest, load_encoder, load_tokenizer, locate_encoder, public_name
from vmask.pretrained.word_vectors import DISTIL

log = logging.getLogger(__name__)

DIM = 256
LENGTH = 3.0
"""Default mean length of the vectors: about that of GoogleNews' vectors and of our random ones, with which the
defaults of training were measured."""
MAX_PIECES = 64
"""A longer word, such as a URL, is cut to this many pieces."""
PIECES_IN_A_BATCH = 4096
ROWS_IN_A_BLOCK = 4096
_RECIPE = "1"
"""Part of the cache key. Increase it when the same words would get other vectors."""


def parse(part: str) -> tuple[str, int]:
    """Parse `distil:NAME` or `distil:NAME@SIZE` into the encoder's name and the size of the vectors.

    >>> parse("distil:minilm@128")
    ('minilm', 128)
    """
    whole = part.removeprefix(DISTIL)
    name, at, size = whole.rpartition("@")
    if not at or not size.isdecimal() or Path(whole).is_dir():
        name, size = whole, str(DIM)
    if not name or not int(size):
        raise ConfigError(
            f"embeddings has {part!r}. Give an encoder and, if you like, a size above 0: `{DISTIL}minilm` or "
            f"`{DISTIL}minilm@128`."
        )
    return name, int(size)


def source(part: str) -> str:
    """The name of these vectors in a model card.

    Raises:
        VmaskError: if there is no such encoder; the hub is not asked.
    """
    name, _ = parse(part)
    locate_encoder(name)
    return DISTIL + public_name(name)


def distil(
    name: str, words: Collection[str], dim: int = DIM, length: float = LENGTH
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Make vectors of words from an encoder.

    The vectors depend on the set of words, which determines the principal components, not on their order.

    Args:
        name: see `vmask.pretrained.encoders.locate_encoder`.
        words: n words.
        dim: size D of a vector; smaller if the encoder has fewer units, or for D words or fewer.
        length: mean length of the vectors.

    Returns:
        (n, D) vectors, exact in float16, and (n,) whether the encoder knows the word. A word that its tokenizer turns
        into no pieces, or only into unknown ones, is not known and has a vector of zeros.
    """
    distinct = sorted(set(words))
    path = cache_dir() / "distil" / f"{_key(name, distinct, dim)}.safetensors"
    cached = _read(path, len(distinct))
    if cached is None:
        log.info("Distilling vectors of %s words from %s, once.", f"{len(distinct):,}", public_name(name))
        hidden, known = _encode(name, distinct)
        cached = _principal(hidden, known, dim, name), known
        _write(path, *cached)
    vectors, known = cached
    row = {word: i for i, word in enumerate(distinct)}
    order = np.array([row[word] for word in words], np.int64)
    scaled = vectors[order].astype(np.float32) * np.float32(length)
    return scaled.astype(np.float16).astype(np.float32), known[order]


def _encode(name: str, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(n, H) mean over the pieces of each word, zeros for a word without pieces, and (n,) whether it has any."""
    import torch

    tokenizer = load_tokenizer(name)
    with torch.random.fork_rng(devices=[]):  # weights that a checkpoint lacks are drawn, though unused here
        model = load_encoder(name)
    if model.config.is_encoder_decoder:
        raise ConfigError(f"'{public_name(name)}' has a decoder. Choose an encoder such as minilm or a BERT.")
    special = set(tokenizer.all_special_ids)
    pieces = _pieces(tokenizer, words)
    by_length: dict[int, list[int]] = {}  # words with the same number of pieces need no padding
    for i, word in enumerate(pieces):
        if not special.issuperset(word):
            by_length.setdefault(len(word), []).append(i)
    result = np.zeros((len(words), model.config.hidden_size), np.float32)
    known = np.zeros(len(words), np.bool_)
    with torch.inference_mode():
        for count, rows in sorted(by_length.items()):
            size = max(PIECES_IN_A_BATCH // count, 1)
            for start in range(0, len(rows), size):
                batch = rows[start : start + size]
                ids = torch.tensor([pieces[i] for i in batch])  # (B, P)
                counted = ~torch.isin(ids, torch.tensor(sorted(special)))  # (B, P) True at pieces of the word
                layer = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state  # (B, P, H)
                total = (layer * counted.unsqueeze(-1)).sum(1)
                result[batch] = (total / counted.sum(1, keepdim=True)).numpy()
                known[batch] = True
    return result, known


def _pieces(tokenizer: Any, words: Sequence[str]) -> list[list[int]]:
    """Ids of the pieces of each word, special tokens included.

    A space is put before the word, as within a text: byte-level tokenizers split ` film` and `film` differently.
    """
    if not words:
        return []
    most = min(MAX_PIECES, tokenizer.model_max_length)
    options = {"truncation": True, "max_length": most, "return_attention_mask": False}
    return list(tokenizer([f" {word}" for word in words], **options)["input_ids"])


def _principal(hidden: NDArray[np.float32], known: NDArray[np.bool_], dim: int, name: str) -> NDArray[np.float16]:
    """(n, H) to (n, D): centred, the first principal components, a mean length of 1; zeros where not known.

    In float64 and block by block. A component's sign is arbitrary: here its largest weight is positive.
    """
    if not np.isfinite(hidden).all():
        raise DataError(f"'{public_name(name)}' gives numbers that are NaN or infinite. Use another encoder.")
    count = int(known.sum())
    dim = max(min(dim, hidden.shape[1], count - 1), 1)
    blocks = [slice(start, start + ROWS_IN_A_BLOCK) for start in range(0, len(hidden), ROWS_IN_A_BLOCK)]
    mean = hidden.sum(0, dtype=np.float64) / max(count, 1)
    scatter = np.zeros((hidden.shape[1],) * 2)
    for block in blocks:
        centred = hidden[block][known[block]] - mean
        scatter += centred.T @ centred
    axes = np.linalg.eigh(scatter)[1][:, ::-1][:, :dim]  # eigh sorts ascending
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(dim)])
    result = np.zeros((len(hidden), dim), np.float32)
    for block in blocks:
        result[block] = np.where(known[block, None], (hidden[block] - mean) @ axes, 0.0)
    length = np.linalg.norm(result[known], axis=1).mean() if count > 1 else 1.0
    return (result / (length or 1.0)).astype(np.float16)


def _key(name: str, words: Sequence[str], dim: int) -> str:
    digest = hashlib.sha256(f"{_RECIPE} {encoder_digest(name)} {dim}".encode())
    for word in words:
        digest.update(b"\n" + word.encode())
    return digest.hexdigest()


def _read(path: Path, words: int) -> tuple[NDArray[np.float16], NDArray[np.bool_]] | None:
    """The cached vectors, or None if there are none or they are damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, "np") as file:
            vectors, known = file.get_tensor("vectors"), file.get_tensor("known")
            intact = (file.metadata() or {}).get("sha256") == _digest(vectors, known)
            if intact and vectors.ndim == 2 and len(vectors) == words and known.shape == (words,):
                return vectors, known
    except (OSError, SafetensorError):
        pass
    log.warning("The cached file %s is damaged and is made again.", path)
    return None


def _write(path: Path, vectors: NDArray[np.float16], known: NDArray[np.bool_]) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            save_file({"vectors": vectors, "known": known}, temporary, {"sha256": _digest(vectors, known)})
    except (OSError, SafetensorError) as error:  # such as a full disk: the vectors can still be used
        log.warning("The distilled vectors cannot be cached in %s: %s.", path.parent, error)


def _digest(vectors: NDArray[np.float16], known: NDArray[np.bool_]) -> str:
    return hashlib.sha256(vectors.tobytes() + known.tobytes()).hexdigest()
