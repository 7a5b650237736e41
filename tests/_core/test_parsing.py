"""Small files from outside: what cannot be read is an error that says why, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from vmask._core.parsing import LIMIT_DEPTH, parse_json, read_json, read_yaml
from vmask.errors import DataError, FileMissing, VmaskError

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def nested(depth):
    return "[" * depth + "]" * depth


def test_json_and_yaml_are_read(tmp_path):
    path = tmp_path / "a"
    path.write_text('{"a": [1, 2.5, null, true, "é", -12345678901234567890]}', encoding="utf-8")
    wanted = {"a": [1, 2.5, None, True, "é", -12345678901234567890]}
    assert read_json(path) == read_yaml(path) == wanted
    path.write_text("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n", encoding="utf-8")
    assert read_yaml(path) == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}
    path.write_text("", encoding="utf-8")
    assert read_yaml(path) is None
    assert parse_json(nested(LIMIT_DEPTH), "it") is not None


@pytest.mark.parametrize("read", [read_json, read_yaml])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nested(LIMIT_DEPTH + 1), "nested too deep"),
        (nested(200_000), "nested too deep"),
        ("[" + "9" * 5000 + "]", "digits"),
        ("[" + "9" * 400 + "]", "digits"),
        (r'["\udfff"]', "half a character"),
        (r'{"\ud800": 1}', "half a character"),
        ("{", "is not"),
        (b"\xff\xfe[]", "not UTF-8"),
        (" " * (2 << 20), "larger than"),
    ],
    ids=range(9),
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path, read, text, message):
    path = tmp_path / "bad"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message) as raised:
        read(path, 1 << 20)
    assert "bad'" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "aliases counted"),
        ("&a [*a]", "alias that refers to a value around itself"),
        ("when: 2020-01-01", "Put quotes"),
        ("when: 2020-99-99", "is not YAML"),
        ("a: !!binary aGk=", "Put quotes"),
        ("a: !!python/object:os.system {}", "is not YAML"),
        (r'a: "\UFFFFFFFF"', "is not YAML"),
        ("a: " + ":".join(["59"] * 400) + ".5", "is not YAML"),
        ("a: 0x" + "f" * 400, "digits"),
        ("a: 1\n b: [\n", "is not YAML"),
    ],
)
def test_what_only_yaml_has_is_refused_too(tmp_path, text, message):
    path = tmp_path / "bad"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as raised:
        read_yaml(path)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("read", [read_json, read_yaml])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "loop", Path("a\0b"), Path("x" * 5000)):
        with pytest.raises(DataError):
            read(path)
    with pytest.raises(FileMissing):
        read(tmp_path / "none")


def test_a_line_of_json_says_what_it_is():
    assert parse_json(json.dumps({"a": "\u2028"}), "it") == {"a": "\u2028"}
    with pytest.raises(VmaskError, match="line 3 of 'x' is not JSON"):
        parse_json(b"\xff", "line 3 of 'x'")
