"""Which encoding a text is in, by its bytes alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmask._core.encodings import Encoding, NoEncoding, by_mark, find_encoding, is_encoding, line_of_error


def found(content, size=7):
    """The encoding, the bytes given in small blocks."""
    return find_encoding(content[:1000], lambda: (content[at : at + size] for at in range(0, len(content), size)))


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), min_size=1)


@given(TEXT)
def test_utf8_is_always_utf8(text):
    assert found(text.encode()).name == "utf-8"
    assert found(text.encode("utf-8-sig")) == Encoding("utf-8", 3)


@given(TEXT)
def test_marks_decide(text):
    for name, mark, width in (
        ("utf-16-le", b"\xff\xfe", 2),
        ("utf-16-be", b"\xfe\xff", 2),
        ("utf-32-be", b"\0\0\xfe\xff", 4),
    ):
        assert found(mark + text.encode(name)) == Encoding(name, width)


@given(st.text("abcdefghij klmnop,.\n", min_size=20), st.sampled_from(["é", "ü", "“x”", "’", "€", "à la"]))
def test_western_text_that_is_not_utf8_is_windows_1252(text, letter):
    encoding = found((text + letter).encode("cp1252"))
    assert (encoding.name, "Windows-1252" in encoding.assumed) == ("cp1252", True)


def test_utf16_without_a_mark():
    for name in ("utf-16-le", "utf-16-be"):
        content = "text,label\nschön 日本,x\n".encode(name)
        assert by_mark(content).name == name
        assert by_mark(content + b"\0\0\0") is None
    for binary in (b"\x01\0\x02\0\x03\0", b"a\0b\0\0\0", b"\0\0\0\0", b"ab\0\0", b"", b"a\0"):
        assert by_mark(binary) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("schön und gut, größer ".encode() * 20 + b"\xe9", "nearly all of the file is"),
        (b"\x81\x40\xe9", "neither UTF-8 nor Windows-1252"),
        ("schön, größer ".encode() + b"h\xe9h\xe9 d\xe9j\xe0 " * 2, "some of the file is"),
        (b"\xe9\x01\x02", "neither UTF-8 nor Windows-1252"),
        ("Хороший фильм, плохой фильм".encode("cp1251"), "another script than Latin"),
        ("好电影，坏电影，好电影，坏电影".encode("gb18030") * 3, "another script than Latin"),
    ],
)
def test_what_speaks_against_the_fallback(content, message):
    with pytest.raises(NoEncoding, match=message):
        found(content)


def test_a_pair_of_bytes_that_could_be_utf8_does_not_make_a_western_text_utf8():
    assert found("É» ".encode("cp1252") + "déjà vu, été, forêt ".encode("cp1252") * 20).name == "cp1252"


def test_lines_of_errors():
    for name in ("utf-8", "utf-16-le", "shift_jis"):
        good = "one\ntwo\nthree\n".encode(name)
        bad = {"utf-8": b"\xff\n", "utf-16-le": b"\x00\xdc\n\x00", "shift_jis": b"\xff\n"}[name]
        blocks = [(good + bad)[at : at + 3] for at in range(0, len(good + bad), 3)]
        assert line_of_error(blocks, Encoding(name)) == 4
    assert line_of_error([b"\xff\xfea\0\n\0b"], Encoding("utf-16-le", 2)) == 2  # the last character is cut


def test_names():
    assert all(map(is_encoding, ("utf-8", "UTF8", "cp1252", "Windows-1252", "shift_jis", "utf-16")))
    assert not any(map(is_encoding, ("", "none", "hex", "rot13", "base64", "a\0", "undefined")))
