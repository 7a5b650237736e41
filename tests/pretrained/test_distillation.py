from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest

from tiny_encoders import save_encoder
from vmask.data.downloads import cache_dir
from vmask.errors import ConfigError, DataError, FileMissing
from vmask.pretrained import distillation as module
from vmask.pretrained.distillation import DIM, LENGTH, distil, parse
from vmask.pretrained.encoders import load_encoder, load_tokenizer
from vmask.pretrained.word_vectors import coverage, read_vectors

WORDS = ["film", "playing", "good", "unkind", "films", "bad", "played", "paris", "the", "n't", "plays", "a", ","]
NOTHING = ["☃", "½", "\u0007"]  # the vocabulary has no piece for two; a control character vanishes


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny encoder with 16 hidden units, as a path."""
    return str(save_encoder("bert", tmp_path_factory.mktemp("encoders") / "tiny"))


def hidden(tiny, word):
    """(P, H) the last layer at the pieces of a word, without [CLS] and [SEP], computed plainly."""
    import torch

    ids = load_tokenizer(tiny)(word, return_tensors="pt")
    with torch.no_grad():
        return load_encoder(tiny)(**ids).last_hidden_state[0, 1:-1].numpy()


def no_encoder(name):
    raise AssertionError("the encoder was loaded")


def test_a_word_is_the_mean_over_its_pieces(tiny):
    assert [len(hidden(tiny, word)) for word in ("film", "films", "n't")] == [1, 2, 3]
    vectors, known = module._encode(tiny, WORDS)
    assert known.all()
    for word, vector in zip(WORDS, vectors, strict=True):
        np.testing.assert_allclose(vector, hidden(tiny, word).mean(0), rtol=0, atol=1e-5)


def test_vectors_are_the_principal_components_at_the_length_asked_for(tiny):
    raw = np.array([hidden(tiny, word).mean(0) for word in WORDS], np.float64)
    centred = raw - raw.mean(0)
    _, _, axes = np.linalg.svd(centred)
    for i, axis in enumerate(axes):
        axes[i] = axis * np.sign(axis[np.abs(axis).argmax()])
    expected = centred @ axes[:5].T
    expected *= 2.5 / np.linalg.norm(expected, axis=1).mean()
    vectors, known = distil(tiny, WORDS, 5, 2.5)
    assert known.all()
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=5e-3)
    np.testing.assert_array_equal(vectors, vectors.astype(np.float16))
    assert np.linalg.norm(vectors, axis=1).mean() == pytest.approx(2.5, rel=1e-3)


def test_all_components_keep_the_angles(tiny):
    raw = np.array([hidden(tiny, word).mean(0) for word in WORDS], np.float64)
    raw -= raw.mean(0)
    vectors, _ = distil(tiny, WORDS)
    assert vectors.shape == (len(WORDS), len(WORDS) - 1)
    ratio = LENGTH / np.linalg.norm(raw, axis=1).mean()
    np.testing.assert_allclose(vectors @ vectors.T, raw @ raw.T * ratio**2, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("words", "dim", "expected"),
    [
        (WORDS, 4, 4),
        (WORDS, DIM, 12),
        ([*WORDS, *"nt'", "filmed", "uns", "bads"], DIM, 16),
        (["film"], 4, 1),
        ([], 4, 1),
    ],
)
def test_the_size_is_at_most_that_of_the_encoder_and_of_the_words(tiny, words, dim, expected):
    vectors, known = distil(tiny, words, dim)
    assert vectors.shape == (len(words), expected)
    assert np.isfinite(vectors).all()
    assert len(known) == len(words)


@pytest.mark.parametrize("fresh", [True, False])
def test_order_and_batches_make_no_difference(tiny, monkeypatch, tmp_path, fresh):
    one, known = distil(tiny, WORDS + NOTHING)
    if fresh:
        monkeypatch.setenv("VMASK_CACHE", str(tmp_path))
    turned = [*NOTHING[::-1], *WORDS[::-1]]
    two, known_two = distil(tiny, turned)
    np.testing.assert_array_equal(one, two[::-1])
    np.testing.assert_array_equal(known, known_two[::-1])
    monkeypatch.setenv("VMASK_CACHE", str(tmp_path / "small"))
    monkeypatch.setattr(module, "PIECES_IN_A_BATCH", 1)
    monkeypatch.setattr(module, "ROWS_IN_A_BLOCK", 2)
    three, _ = distil(tiny, WORDS + NOTHING)
    np.testing.assert_allclose(one, three, rtol=0, atol=5e-3)


def test_a_word_without_pieces_is_not_known_and_moves_nothing(tiny):
    vectors, known = distil(tiny, [*WORDS, *NOTHING])
    assert known.tolist() == [True] * len(WORDS) + [False] * len(NOTHING)
    assert not vectors[len(WORDS) :].any()
    np.testing.assert_array_equal(vectors[: len(WORDS)], distil(tiny, WORDS)[0])


def test_a_very_long_word_is_cut(tiny):
    vectors, known = distil(tiny, [*WORDS, "play" + "s" * 90, ",".join(["film"] * 500)])
    assert np.isfinite(vectors).all()
    assert known[-2:].tolist() == [True, True]


def test_a_second_time_the_encoder_is_not_loaded(tiny, monkeypatch):
    first, _ = distil(tiny, WORDS, 4)
    monkeypatch.setattr(module, "load_encoder", no_encoder)
    np.testing.assert_array_equal(distil(tiny, WORDS, 4)[0], first)
    np.testing.assert_allclose(distil(tiny, WORDS, 4, 2 * LENGTH)[0], 2 * first, rtol=0)
    for words, dim in ((WORDS[1:], 4), (WORDS, 5)):
        with pytest.raises(AssertionError, match="was loaded"):
            distil(tiny, words, dim)


def test_another_encoder_is_another_entry_of_the_cache(tiny, tmp_path):
    other = str(save_encoder("bert", tmp_path / "tiny", seed=1))
    assert not np.array_equal(distil(tiny, WORDS)[0], distil(other, WORDS)[0])
    assert len(list((cache_dir() / "distil").iterdir())) == 2


@pytest.mark.parametrize(
    "ruin",
    [lambda data: data[:-10], lambda data: b"", lambda data: data[:-1] + bytes([data[-1] ^ 1])],
    ids=["cut", "empty", "one bit"],
)
def test_a_damaged_cache_is_made_again(tiny, caplog, ruin):
    before, _ = distil(tiny, WORDS)
    (path,) = (cache_dir() / "distil").iterdir()
    whole = path.read_bytes()
    path.write_bytes(ruin(whole))
    np.testing.assert_array_equal(distil(tiny, WORDS)[0], before)
    assert "damaged and is made again" in caplog.text
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_costs_only_time(tiny, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    before, _ = distil(tiny, WORDS)
    monkeypatch.setenv("VMASK_CACHE", str(tmp_path / "file"))
    np.testing.assert_array_equal(distil(tiny, WORDS)[0], before)
    assert "cannot be cached" in caplog.text


def test_the_user_is_told_once(tiny, caplog):
    caplog.set_level(logging.INFO, "vmask")
    distil(tiny, WORDS)
    distil(tiny, WORDS)
    assert caplog.messages == ["Distilling vectors of 13 words from tiny, once."]


def test_randomness_of_the_caller_is_left_alone(tiny):
    import torch

    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    distil(tiny, WORDS)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_an_encoder_with_a_decoder_is_refused(tiny, monkeypatch):
    model = load_encoder(tiny)
    model.config.is_encoder_decoder = True
    monkeypatch.setattr(module, "load_encoder", lambda name: model)
    with pytest.raises(ConfigError, match=r"'tiny' has a decoder\. Choose"):
        distil(tiny, WORDS)


def test_numbers_that_are_not_finite_are_refused(tiny, monkeypatch):
    import torch

    model = load_encoder(tiny)
    torch.nn.init.constant_(model.encoder.layer[0].output.dense.weight, float("nan"))
    monkeypatch.setattr(module, "load_encoder", lambda name: model)
    with pytest.raises(DataError, match="'tiny' gives numbers that are NaN"):
        distil(tiny, WORDS)
    assert not (cache_dir() / "distil").exists()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("distil:minilm", ("minilm", DIM)),
        ("distil:org/name@64", ("org/name", 64)),
        ("distil:a@b", ("a@b", DIM)),
        ("distil:a@b@8", ("a@b", 8)),
    ],
)
def test_the_spec(part, expected):
    assert parse(part) == expected


def test_a_folder_may_end_like_a_size(tmp_path):
    (tmp_path / "tiny@8").mkdir()
    assert parse(f"distil:{tmp_path / 'tiny@8'}") == (str(tmp_path / "tiny@8"), DIM)


@pytest.mark.parametrize("part", ["distil:", "distil:@8", "distil:minilm@0"])
def test_a_spec_that_names_no_encoder_or_no_size(part):
    with pytest.raises(ConfigError, match="distil:minilm@128"):
        read_vectors(part, ["film"])


def test_alone_there_is_a_vector_for_every_word(tiny):
    vectors = read_vectors(f"distil:{tiny}@4", [*WORDS, "☃"], extra=100)
    assert vectors.words == [*WORDS, "☃"]
    assert (vectors.matrix.shape, vectors.sources) == ((14, 4), ("distil:tiny",))
    assert vectors.known.ravel().tolist() == [True] * 13 + [False]
    assert coverage(vectors, Counter(WORDS)).types == 1.0
    assert coverage(vectors, Counter([*WORDS, "☃"])).missing == ["☃"]
    assert np.linalg.norm(vectors.matrix[:13], axis=1).mean() == pytest.approx(LENGTH, rel=1e-3)


def write_vectors(path, words, dim, seed):
    rows = np.random.default_rng(seed).normal(size=(len(words), dim))
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in zip(words, rows, strict=True)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def test_joined_with_files_it_answers_for_all_their_words_at_their_length(tiny, tmp_path):
    one = write_vectors(tmp_path / "one.txt", ["film", "good", "bad", "paris"], 3, 0)
    two = write_vectors(tmp_path / "two.txt", ["film", "the", "a"], 2, 1)
    needed = ["unkind", "film", "☃", "good", "film"]
    plain = read_vectors(f"{one},{two}", needed, extra=3)
    joined = read_vectors(f"{one},distil:{tiny}@4,{two}", needed, extra=3)
    assert plain.words == ["film", "good", "bad", "the", "paris"]
    assert joined.words == ["unkind", "film", "☃", "good", "bad", "the", "paris"]
    assert joined.sources == ("one.txt", "distil:tiny", "two.txt")
    assert joined.known[:, 1].tolist() == [True, True, False, True, True, True, True]
    rows = [joined.words.index(word) for word in plain.words]
    np.testing.assert_array_equal(joined.matrix[rows][:, [0, 1, 2, 7, 8]], plain.matrix)
    np.testing.assert_array_equal(joined.known[rows][:, [0, 2]], plain.known)
    distilled = joined.matrix[joined.known[:, 1], 3:7]
    assert np.linalg.norm(distilled, axis=1).mean() == pytest.approx(
        np.linalg.norm(plain.matrix, axis=1).mean(), rel=1e-3
    )


def test_an_encoder_that_is_not_there_is_told_before_the_files_are_read(tmp_path):
    (tmp_path / "broken.bin").write_bytes(b"no vectors")
    with pytest.raises(FileMissing, match="no encoder folder"):
        read_vectors(f"{tmp_path / 'broken.bin'},distil:{tmp_path / 'nowhere'}", ["film"])
