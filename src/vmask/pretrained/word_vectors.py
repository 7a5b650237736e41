"""Pretrained word vectors, read for the needed words only, from any of the usual files.

| file | format |
|---|---|
| `.bin` | word2vec's binary form, such as GoogleNews |
| `.txt` `.vec` | a word and its numbers per line, with a header line (word2vec, fastText) or without (GloVe) |
| `.npy` | a matrix, with the words in `NAME.vocab.txt` beside it, one per line |
| `distil:NAME` | no file: made from a pretrained encoder, for every word (see `distillation`) |

The first two may be gzipped (`.gz`). Files are streamed: memory grows with the words that are kept, not with the file.
Files are assumed to list frequent words first, as they all do.

Distilled vectors exist even for words that are in no file. They are scaled to the mean length of the vectors that they
are concatenated with, so that neither dominates the other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from vmask.errors import ConfigError, DataError, FileMissing, did_you_mean

Row = Callable[[], NDArray[np.float32]]
"""Parses the numbers of a word when called: most words of a file are skipped."""

DISTIL = "distil:"
"""Prefix of a part that is not a file: `distil:NAME`, vectors from an encoder."""

MOST_DIM = 100_000
LONGEST_WORD, LONGEST_LINE = 1 << 20, 1 << 23
"""In bytes: a file with a longer word or line does not hold vectors."""
_DAMAGED = "It is damaged or was cut short: download or copy it again."


@dataclass(frozen=True)
class Vectors:
    """Word vectors, of one file or of several side by side."""

    words: list[str]
    """The words that were asked for and found, then others in the order of the files."""
    matrix: NDArray[np.float32]
    """(n, D) a row a word; zeros in the part of a file that does not know it. Exact in float16."""
    known: NDArray[np.bool_]
    """(n, parts) True if the file has the word."""
    sources: tuple[str, ...]
    """Names of the files or downloads, one per part."""

    @property
    def dim(self) -> int:
        """D, the length of a vector."""
        return int(self.matrix.shape[1])


@dataclass(frozen=True)
class Coverage:
    """How many words of some texts have vectors."""

    types: float
    """Share of the distinct words that have a vector, 0 to 1."""
    tokens: float
    """Share of the tokens that have a vector, 0 to 1."""
    missing: list[str]
    """The most frequent words without a vector, at most 20."""


def coverage(vectors: Vectors, counts: Mapping[str, int]) -> Coverage:
    """Measure how many of the counted words have a vector in at least one of the files."""
    known = {word for word, parts in zip(vectors.words, vectors.known, strict=True) if parts.any()}
    missing = sorted((word for word in counts if word not in known), key=lambda w: (-counts[w], w))
    total = sum(counts.values())
    return Coverage(
        types=1 - len(missing) / len(counts) if counts else 0.0,
        tokens=1 - sum(counts[word] for word in missing) / total if total else 0.0,
        missing=missing[:20],
    )


def read_vectors(spec: str, needed: Collection[str], extra: int = 0) -> Vectors:
    """Read word vectors.

    A word is looked up as it is. If the file lacks it, the first word of the file that equals it in lower case is used:
    GoogleNews has `Paris` but no `paris`. Numbers are rounded to float16, the type in a model folder, so a loaded model
    equals the trained one exactly.

    Args:
        spec: a path, the name of a download such as `word2vec-26k`, or `distil:NAME` with the name or folder of an
            encoder, also `distil:NAME@128` for another size than 256; several, separated by commas, are
            concatenated.
        needed: the words to look up.
        extra: up to this many further words, the first of the files, so that words that occur only later have vectors
            too. Phrases and other entries that are never a single word of a text are skipped. An encoder has no list
            of words: it gives vectors for those of the files.

    Raises:
        FileMissing: if there is no such file or download.
        DataError: for a damaged file, or numbers that are NaN, infinite or beyond float16.
    """
    if _cache is None:
        return _read_vectors(spec, needed, extra)
    key = (spec, extra, tuple(needed))
    if key not in _cache:
        _cache.clear()  # only the last ones are kept: they are large
        _cache[key] = _read_vectors(spec, needed, extra)
    return _cache[key]


_cache: dict[tuple[str, int, tuple[str, ...]], Vectors] | None = None


@contextmanager
def remembering_vectors() -> Iterator[None]:
    """Cache the vectors that were read last, for programs that train on the same texts several times."""
    global _cache
    before, _cache = _cache, {}
    try:
        yield
    finally:
        _cache = before


def _read_vectors(spec: str, needed: Collection[str], extra: int) -> Vectors:
    parts = _parts(spec)
    sources = tuple(_source(part) for part in parts)  # a missing encoder fails at once
    paths = [_locate(part) for part in parts if not part.startswith(DISTIL)]
    tables = [_collect(path, needed, extra) for path in paths]
    words = _merge(tables, needed, extra)
    if len(paths) > 1 and extra:
        # Now that the words are settled, look up all of them in every file: a file may have one further down.
        tables = [_collect(path, words, 0) for path in paths]
        words = _merge(tables, words, extra)
    if len(paths) < len(parts):
        words = list(dict.fromkeys([*needed, *words]))
        tables = _with_distilled(parts, tables, words)
    dims = [table.dim for table in tables]
    matrix = np.zeros((len(words), sum(dims)), np.float32)
    known = np.zeros((len(words), len(tables)), np.bool_)
    left = 0
    for part, table in enumerate(tables):
        for i, word in enumerate(words):
            if word in table.rows:
                matrix[i, left : left + table.dim] = table.rows[word]
                known[i, part] = True
        left += table.dim
    return Vectors(words, matrix, known, sources)


@dataclass(frozen=True)
class _Table:
    """The vectors from one file, in the order of their first appearance."""

    dim: int
    rows: dict[str, NDArray[np.float16]]


def _collect(path: Path, needed: Collection[str], extra: int) -> _Table:
    needed = needed if isinstance(needed, (set, frozenset, dict)) else set(needed)
    dim, entries = _open_vectors(path)
    rows: dict[str, NDArray[np.float16]] = {}
    exact: set[str] = set()
    spare = extra
    for word, row in entries:
        key = word if word in needed else word.lower()
        if key in exact or (key in rows and key != word):
            continue  # an earlier, so more frequent, form is used
        if key not in rows and key not in needed:
            if spare <= 0 or not _may_be_a_word(key):
                continue
            spare -= 1
        rows[key] = _rounded(row(), word, path)
        if key == word:
            exact.add(key)
    return _Table(dim, rows)


def _merge(tables: Sequence[_Table], needed: Collection[str], extra: int) -> list[str]:
    """The needed words that are in a file, then up to `extra` others by their rank in the files."""
    needed = dict.fromkeys(needed)
    in_files = set().union(*(table.rows for table in tables))
    words = [word for word in needed if word in in_files]
    ranks: dict[str, int] = {}
    for table in tables:
        others = (word for word in table.rows if word not in needed)
        for rank, word in enumerate(others):
            ranks[word] = min(rank, ranks.get(word, rank))
    return words + sorted(ranks, key=ranks.__getitem__)[:extra]


def _with_distilled(parts: Sequence[str], tables: Sequence[_Table], words: Sequence[str]) -> list[_Table]:
    """The tables of all parts in order; those of encoders hold `words`, scaled to the mean length of the others."""
    from vmask.pretrained.distillation import LENGTH, distil, parse

    squares = [sum(_square(table.rows[word]) for table in tables if word in table.rows) for word in words]
    lengths = np.sqrt([square for square in squares if square])
    files = iter(tables)
    result = []
    for part in parts:
        if part.startswith(DISTIL):
            name, dim = parse(part)
            vectors, known = distil(name, words, dim, float(lengths.mean()) if len(lengths) else LENGTH)
            rows = {word: vectors[i].astype(np.float16) for i, word in enumerate(words) if known[i]}
            result.append(_Table(vectors.shape[1], rows))
        else:
            result.append(next(files))
    return result


def _square(row: NDArray[np.float16]) -> float:
    wide = row.astype(np.float32)
    return float(wide @ wide)


def _rounded(row: NDArray[np.float32], word: str, path: Path) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        rounded = row.astype(np.float16)
    if not np.isfinite(rounded).all():
        raise DataError(f"The vector of '{word}' in '{path.name}' is not finite or beyond 65504. {_DAMAGED}")
    return rounded


def _may_be_a_word(word: str) -> bool:
    """Whether it has only letters, marks, digits and apostrophes, or one character: not `New_York` or `</s>`."""
    return len(word) == 1 or all(c.isalnum() or c == "'" or category(c)[0] == "M" for c in word)


def _parts(spec: str) -> list[str]:
    if Path(spec).is_file():
        return [spec]  # a file name with a comma in it
    parts = [part.strip() for part in spec.split(",")]
    if not all(parts) or "random" in parts:
        raise ConfigError(
            f"embeddings is {spec!r}. Give files or downloads with commas between them, for example "
            "'word2vec-26k,glove.txt'; `random` stands alone and reads nothing."
        )
    return parts


def _source(part: str) -> str:
    """The name in a model card, without the folder, which is private."""
    if part.startswith(DISTIL):
        from vmask.pretrained.distillation import source

        return source(part)
    return Path(part).name


def _locate(part: str) -> Path:
    from vmask.data.downloads import VECTORS, fetch

    path = Path(part)
    if path.is_file():
        return path
    if part in VECTORS:
        return fetch(part)
    near = did_you_mean(part, VECTORS)
    if not near and path.parent.is_dir():
        near = did_you_mean(path.name, [p.name for p in path.parent.iterdir()])
    raise FileMissing(
        f"There are no word vectors '{part}'.{near} Give a file (.bin .txt .vec .npy), one of the downloads "
        f"({', '.join(VECTORS)}), `distil:ENCODER`, or `random`."
    )


def _open_vectors(path: Path) -> tuple[int, Iterator[tuple[str, Row]]]:
    """The dimension and the entries of a file, whose ending tells the format."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    if kind == ".npy" and not zipped:
        return _npy(path)
    if kind in (".bin", ".txt", ".vec"):
        entries = _guard(path, _binary(path, zipped) if kind == ".bin" else _text(path, zipped))
        _, first = next(entries)  # each format yields its dimension first
        return len(first()), entries
    raise DataError(
        f"'{path.name}' is not a file of word vectors by its ending. Known: .bin .txt .vec (also with .gz), .npy; "
        "rename it to the one it is."
    )


def _guard(path: Path, entries: Iterator[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    """Name the file in errors of decompression."""
    try:
        yield from entries
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"The gzip file '{path.name}' cannot be unpacked. {_DAMAGED}") from None


def _open(path: Path, zipped: bool) -> IO[bytes]:
    return gzip.open(path) if zipped else path.open("rb")  # type: ignore[return-value]


def _binary(path: Path, zipped: bool) -> Iterator[tuple[str, Row]]:
    with _open(path, zipped) as file:
        fields = file.readline(100).split()
        try:
            count, dim = (int(field) for field in fields)
        except ValueError:
            count = dim = 0
        if count < 1 or not 1 <= dim <= MOST_DIM:
            raise DataError(
                f"'{path.name}' does not begin with its size, as word2vec's binary form does. {_DAMAGED} "
                "If it is another format, rename it: .txt or .vec for text."
            )
        yield "", lambda: np.zeros(dim, np.float32)
        size, buffer, at = 4 * dim, b"", 0
        for number in range(count):
            space = buffer.find(b" ", at)
            while space < 0 or space + 1 + size > len(buffer):
                more = file.read(1 << 20)
                if not more or (space < 0 and len(buffer) - at > LONGEST_WORD):
                    raise DataError(f"'{path.name}' ends after {number:,} of its {count:,} words. {_DAMAGED}")
                buffer, at = buffer[at:] + more, 0
                space = buffer.find(b" ", at)
            word, start = buffer[at:space].lstrip(b"\n"), space + 1
            at = start + size
            # A word that is not UTF-8 (some files have a few) matches no text; U+FFFD keeps it out.
            yield word.decode("utf-8", "replace"), _from_bytes(buffer, start, dim)


def _from_bytes(buffer: bytes, start: int, dim: int) -> Row:
    return lambda: np.frombuffer(buffer, "<f4", dim, start).astype(np.float32)


def _text(path: Path, zipped: bool) -> Iterator[tuple[str, Row]]:
    with _open(path, zipped) as file:
        first = file.readline(LONGEST_LINE).decode("utf-8", "replace")
        fields = first.rstrip().split(" ")
        header = len(fields) == 2 and all(field.isdecimal() and len(field) < 16 for field in fields)
        dim = int(fields[1]) if header else len(fields) - 1
        if not 1 <= dim <= MOST_DIM:
            raise DataError(
                f"The first line of '{path.name}' is no word with numbers, or with more than {MOST_DIM:,} of them. "
                f"{_DAMAGED}"
            )
        yield "", lambda: np.zeros(dim, np.float32)
        if not header:
            yield fields[0], _from_line(first, dim, path, 1)
        number, line = 1, first
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 2):
            line = raw.decode("utf-8", "replace")
            # GloVe 840B has words such as `. . .`: the numbers are the last `dim` fields.
            simple = line.count(" ") <= dim
            word = line.partition(" ")[0] if simple else line.rstrip().rsplit(" ", dim)[0]
            yield word, _from_line(line, dim, path, number)
        lines = number - header
        if header and lines != int(fields[0]):
            raise DataError(
                f"'{path.name}' has {lines:,} words, but its first line says {int(fields[0]):,}. {_DAMAGED}"
            )
        if number > 1:
            _from_line(line, dim, path, number)()  # only the last line of a cut file is short


def _from_line(line: str, dim: int, path: Path, number: int) -> Row:
    def row() -> NDArray[np.float32]:
        fields = line.rstrip().rsplit(" ", dim)
        try:
            if len(fields) != dim + 1:
                raise ValueError
            return np.array([float(field) for field in fields[1:]], np.float32)
        except ValueError:
            raise DataError(f"Line {number} of '{path.name}' is not a word and {dim} numbers. {_DAMAGED}") from None

    return row


def _npy(path: Path) -> tuple[int, Iterator[tuple[str, Row]]]:
    names = path.with_suffix(".vocab.txt")
    if not names.is_file():
        raise FileMissing(
            f"'{path.name}' needs its words in '{names.name}' beside it, one per line. Put that file there."
        )
    try:
        matrix: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        words = names.read_bytes().decode("utf-8").split("\n")
    except Exception as error:  # numpy evaluates the header as Python, which raises many kinds of errors
        raise DataError(f"'{path.name}' or '{names.name}' cannot be read: {error}. {_DAMAGED}") from None
    if words[-1] == "":
        words.pop()
    whole = matrix.ndim == 2 and matrix.dtype.kind == "f" and len(matrix) == len(words)
    if not whole or not 1 <= matrix.shape[1] <= MOST_DIM:
        raise DataError(
            f"'{path.name}' has shape {matrix.shape!s:.60}, {matrix.dtype}, and '{names.name}' {len(words):,} "
            "words. Give a matrix of floats with one row per word."
        )
    return matrix.shape[1], ((word, _from_matrix(matrix, i)) for i, word in enumerate(words))


def _from_matrix(matrix: Any, i: int) -> Row:
    return lambda: np.array(matrix[i], np.float32)
