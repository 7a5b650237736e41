from __future__ import annotations

import gzip
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.data import downloads
from vmask.errors import ConfigError, DataError, FileMissing
from vmask.pretrained.word_vectors import Vectors, coverage, read_vectors, remembering_vectors

SHARED = Path(__file__).parents[3] / "shared" / "embeddings"
WORDS = ["the", "Paris", "New_York", "film", "Film", "good", "NASA", "nasa", "été"]
ROWS = np.round(np.linspace(-1, 1, len(WORDS) * 3), 3).astype(np.float32).reshape(-1, 3)
ROUNDED = ROWS.astype(np.float16).astype(np.float32)


def write_bin(path: Path, words=WORDS, rows=ROWS, newline=b"\n") -> Path:
    body = b"".join(w.encode() + b" " + row.tobytes() + newline for w, row in zip(words, rows, strict=True))
    path.write_bytes(f"{len(words)} {rows.shape[1]}\n".encode() + body)
    return path


def write_text(path: Path, words=WORDS, rows=ROWS, header=True, end="\n") -> Path:
    lines = [f"{len(words)} {rows.shape[1]}"] if header else []
    lines += [f"{w} {' '.join(f'{x:.6f}' for x in row)}" for w, row in zip(words, rows, strict=True)]
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def write_npy(path: Path, words=WORDS, rows=ROWS) -> Path:
    np.save(path, rows.astype(np.float16))
    path.with_suffix(".vocab.txt").write_bytes("".join(f"{w}\n" for w in words).encode())
    return path


def write_gz(path: Path, plain: Path) -> Path:
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


FORMATS = {
    "bin": lambda d: write_bin(d / "v.bin"),
    "bin-without-newlines": lambda d: write_bin(d / "v.bin", newline=b""),
    "word2vec-text": lambda d: write_text(d / "v.txt"),
    "fasttext": lambda d: write_text(d / "v.vec", end=" \n"),
    "glove": lambda d: write_text(d / "v.txt", header=False),
    "npy": lambda d: write_npy(d / "v.npy"),
    "bin-gz": lambda d: write_gz(d / "v.bin.gz", write_bin(d / "v.bin")),
    "text-gz": lambda d: write_gz(d / "v.txt.gz", write_text(d / "v.txt")),
}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_vectors(format, tmp_path):
    path = FORMATS[format](tmp_path)
    vectors = read_vectors(str(path), ["good", "nope", "paris", "nasa", "film", "été"], extra=5)
    # `paris` only as `Paris`; `nasa` and `film` as written, not as `NASA`, `Film`; no phrase among the others
    assert vectors.words == ["good", "paris", "nasa", "film", "été", "the"]
    np.testing.assert_array_equal(vectors.matrix, ROUNDED[[5, 1, 7, 3, 8, 0]])
    assert vectors.known.all()
    assert (vectors.known.shape, vectors.dim, vectors.sources) == ((6, 1), 3, (path.name,))
    assert vectors.matrix.dtype == np.float32


def test_a_lower_case_form_that_comes_later_replaces_the_capitalised_one(tmp_path):
    path = write_bin(tmp_path / "v.bin", ["Paris", "PARIS", "paris"], ROWS[:3])
    for needed, extra in ((["paris"], 0), ([], 1)):
        vectors = read_vectors(str(path), needed, extra)
        assert vectors.words == ["paris"]
        np.testing.assert_array_equal(vectors.matrix[0], ROUNDED[2])


def test_extra_words_are_the_first_of_the_file_and_none_by_default(tmp_path):
    path = str(write_bin(tmp_path / "v.bin"))
    assert read_vectors(path, ["good"]).words == ["good"]
    assert read_vectors(path, ["good"], extra=2).words == ["good", "the", "paris"]
    assert read_vectors(path, [], extra=99).words == ["the", "paris", "film", "good", "nasa", "été"]


def test_joined_files_stand_side_by_side_with_zeros_where_one_lacks_the_word(tmp_path):
    one = write_bin(tmp_path / "one.bin", ["both", "left", "late"], ROWS[:3])
    two = write_text(tmp_path / "two.txt", ["right", "both"], ROWS[3:5, :2])
    vectors = read_vectors(f"{one}, {two}", ["left", "both", "none"], extra=1)
    assert vectors.words == ["left", "both", "late"]
    assert vectors.sources == ("one.bin", "two.txt")
    assert vectors.known.tolist() == [[True, False], [True, True], [True, False]]
    np.testing.assert_array_equal(vectors.matrix[0], [*ROUNDED[1], 0, 0])
    np.testing.assert_array_equal(vectors.matrix[1], [*ROUNDED[0], *ROUNDED[4, :2]])


def test_a_joined_file_is_asked_for_the_extra_words_of_the_other(tmp_path):
    one = write_bin(tmp_path / "one.bin", ["first", "second"], ROWS[:2])
    two = write_bin(tmp_path / "two.bin", ["x", "y", "first"], ROWS[:3])
    vectors = read_vectors(f"{one},{two}", [], extra=2)
    assert vectors.words == ["first", "x"]
    assert vectors.known.tolist() == [[True, True], [False, True]]


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(25))
def test_any_matrix_survives_the_binary_form_at_half_precision(tmp_path_factory, count, dim, seed):
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    words = [f"w{i}" for i in range(count)]
    path = write_bin(tmp_path_factory.mktemp("v") / "v.bin", words, rows)
    vectors = read_vectors(str(path), words)
    np.testing.assert_array_equal(vectors.matrix, rows.astype(np.float16))
    np.testing.assert_array_equal(vectors.matrix, vectors.matrix.astype(np.float16).astype(np.float32))


def test_a_word_with_spaces_is_not_taken_for_its_first_part(tmp_path):
    path = write_text(tmp_path / "v.txt", ["the", ". . .", "."], ROWS[:3], header=False)
    np.testing.assert_array_equal(read_vectors(str(path), ["."]).matrix, ROUNDED[2:3])


def test_words_that_are_not_utf8_are_passed_over(tmp_path):
    path = tmp_path / "v.bin"
    path.write_bytes(b"2 1\n\xff\xfe " + np.float32(1).tobytes() + b"\nok " + np.float32(2).tobytes() + b"\n")
    assert read_vectors(str(path), ["ok"], extra=5).words == ["ok"]


def cut(path: Path, by: int) -> Path:
    path.write_bytes(path.read_bytes()[:-by])
    return path


def cut_rows(path: Path) -> Path:
    np.save(path, ROWS[:2])
    return path


def forge(path: Path, old: bytes, new: bytes) -> Path:
    return raw(path, path.read_bytes().replace(old, new))


def raw(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: cut(write_bin(d / "v.bin"), 5), "v.bin' ends after 8 of its 9 words.*again"),
        (lambda d: cut(write_text(d / "v.txt", header=False), 20), "Line 9 of 'v.txt' is not a word and 3"),
        (lambda d: cut(write_text(d / "v.vec"), 40), "'v.vec' has 8 words, but its first line says 9"),
        (lambda d: cut(write_gz(d / "v.bin.gz", write_bin(d / "v.bin")), 9), "'v.bin.gz' cannot be unpacked"),
        (lambda d: write_text(d / "v.bin", header=False), "'v.bin' does not begin with its size.*rename it"),
        (lambda d: cut_rows(write_npy(d / "v.npy")), r"shape \(2, 3\).* 9 words.*one row per word"),
        (lambda d: cut(write_npy(d / "v.npy"), 20), "'v.npy'.*cannot be read"),
        (lambda d: forge(write_npy(d / "v.npy"), b"(9, 3)", b"(9**9,"), "'v.npy'.*cannot be read"),
        (lambda d: forge(write_npy(d / "v.npy"), b"(9, 3)", b"(9**9)"), "'v.npy'.*cannot be read"),
        (lambda d: write_bin(d / "v.bin", rows=np.full_like(ROWS, np.nan)), "vector of 'good'.*not finite"),
        (lambda d: write_bin(d / "v.bin", rows=np.full_like(ROWS, 1e6)), "vector of 'good'.*beyond 65504"),
        (lambda d: raw(d / "v.vec", b"5 999999999999\nlovely 1 2\n"), "with more than 100,000 of them"),
        (lambda d: raw(d / "v.vec", b"good " + b"9" * 5000), "vector of 'good'.*not finite"),
        (lambda d: raw(d / "v.vec", "good ²\n".encode()), "is not a word and"),
        (lambda d: raw(d / "v.bin", b"1000 3\n" + b"x" * (5 << 20)), "'v.bin' ends after 0 of its"),
        (lambda d: write_bin(d / "v.dat"), "'v.dat' is not a file of word vectors by its ending.*rename"),
    ],
)
def test_damaged_files_are_named(make, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_vectors(str(make(tmp_path)), ["good", "été"])


def test_a_pickle_in_an_npy_is_not_loaded(tmp_path):
    path = write_npy(tmp_path / "v.npy")
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(str(path), ["good"])


def test_missing_files_suggest_a_near_name(tmp_path):
    write_bin(tmp_path / "glove.bin")
    with pytest.raises(FileMissing, match=r"Did you mean 'glove\.bin'"):
        read_vectors(str(tmp_path / "glov.bin"), [])
    with pytest.raises(FileMissing, match=r"Did you mean 'word2vec-26k'.*`random`"):
        read_vectors("word2vec26k", [])
    np.save(tmp_path / "alone.npy", ROWS)
    with pytest.raises(FileMissing, match=r"needs its words in 'alone\.vocab\.txt'"):
        read_vectors(str(tmp_path / "alone.npy"), [])


@pytest.mark.parametrize("spec", ["random", "random,v.bin", "v.bin,", ""])
def test_spec_that_names_no_file(spec):
    with pytest.raises(ConfigError, match="`random` stands alone"):
        read_vectors(spec, [])


def test_a_download_is_fetched_by_name(tmp_path, monkeypatch):
    path = write_bin(tmp_path / "v.bin")
    monkeypatch.setattr(downloads, "fetch", lambda name: path)
    vectors = read_vectors("word2vec-26k", ["good"])
    assert (vectors.words, vectors.sources) == (["good"], ("word2vec-26k",))


def test_coverage_counts_types_and_tokens():
    known = np.array([[True, False], [False, False]])
    vectors = Vectors(["good", "zero"], np.zeros((2, 2), np.float32), known, ("a", "b"))
    result = coverage(vectors, Counter({"good": 6, "zero": 1, "bad": 3}))
    assert result.types == pytest.approx(1 / 3)
    assert result.tokens == pytest.approx(0.6)
    assert result.missing == ["bad", "zero"]
    assert coverage(vectors, Counter()).types == 0.0


MEASURE = """
import resource, sys
from vmask.pretrained.word_vectors import read_vectors
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
vectors = read_vectors(sys.argv[1], ["w7", "w149999"], extra=100)
assert len(vectors.words) == 102, len(vectors.words)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_memory_does_not_grow_with_the_file(tmp_path):
    count, dim = 150_000, 100  # 60 MB; GoogleNews is 60 times as large
    path, row = tmp_path / "big.bin", np.ones(100, np.float32).tobytes()
    with path.open("wb") as file:
        file.write(f"{count} {dim}\n".encode())
        for i in range(count):
            file.write(f"w{i} ".encode() + row + b"\n")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 15_000


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")
def test_real_vectors_side_by_side():
    spec = f"{SHARED / 'gnews300.npy'},{SHARED / 'glove100.npy'}"
    vectors = read_vectors(spec, ["film", "paris", ",", "qwertyuiop"], extra=50)
    assert vectors.matrix.shape == (53, 400)
    at = vectors.words.index(",")
    assert vectors.known[at].tolist() == [False, True]
    assert not vectors.matrix[at, :300].any()
    film = vectors.matrix[vectors.words.index("film"), :300]
    assert 2 < np.linalg.norm(film) < 4


# Vectors that are kept in memory ------------------------------------------------------------------------------


def test_vectors_are_read_once_while_they_are_remembered(tmp_path):
    path = write_bin(tmp_path / "v.bin")
    fresh = read_vectors(str(path), ["good", "film"], extra=2)
    with remembering_vectors():
        first = read_vectors(str(path), ["good", "film"], extra=2)
        path.unlink()
        assert read_vectors(str(path), ["good", "film"], extra=2) is first
    assert first.words == fresh.words
    np.testing.assert_array_equal(first.matrix, fresh.matrix)
    with pytest.raises(FileMissing):
        read_vectors(str(path), ["good", "film"], extra=2)


def test_what_is_asked_otherwise_is_not_what_is_remembered(tmp_path):
    paths = [str(write_bin(tmp_path / name)) for name in ("a.bin", "b.bin")]
    with remembering_vectors():
        first = read_vectors(paths[0], ["good"])
        assert read_vectors(paths[0], ["film"]).words == ["film"]
        assert read_vectors(paths[0], ["good"], extra=1).words == ["good", "the"]
        assert read_vectors(paths[1], ["good"]).sources == ("b.bin",)
        assert read_vectors(paths[0], ["good"]) is not first, "only the last are kept, for they are large"


def test_nothing_is_remembered_before_or_after(tmp_path):
    path = str(write_bin(tmp_path / "v.bin"))
    with remembering_vectors():
        inside = read_vectors(path, ["good"])
        with remembering_vectors():
            assert read_vectors(path, ["good"]) is not inside
        assert read_vectors(path, ["good"]) is inside
    one, other = (read_vectors(path, ["good"]) for _ in range(2))
    assert len({id(inside), id(one), id(other)}) == 3


def test_a_training_leaves_remembered_vectors_as_they_are(tmp_path, toy):
    from vmask import TextClassifier

    texts, labels = toy
    words = ["lovely", "boring", "the", "film", "plot", "is"]
    path = str(write_text(tmp_path / "v.txt", words, ROWS[: len(words)]))

    def trained():
        options = {"embeddings": path, "train_embeddings": True, "epochs": 2, "learning_rate": 0.05}
        return TextClassifier("cnn", "base", model__filters=4, device="cpu", **options).fit(texts, labels)

    alone = trained().predict_proba(texts[:20])
    with remembering_vectors():
        for _ in range(2):
            np.testing.assert_array_equal(trained().predict_proba(texts[:20]), alone)
