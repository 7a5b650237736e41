"""Files, pipes and bytes as lines of text; what is none is refused, and nothing is read for ever."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import pytest

from vmask.data import streams
from vmask.data.readers import iter_texts, read_rows
from vmask.data.streams import Content, existing
from vmask.errors import DataError, FileMissing


def test_names_that_no_file_can_have_are_missing_files(tmp_path):
    for name in ("a\0b.csv", "a" * 300, "\0", "none/" * 3000):
        with pytest.raises(FileMissing) as caught:
            existing(tmp_path / name)
        assert "Check the name" in str(caught.value)
        assert "\0" not in str(caught.value)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileMissing, match=r"symbolic links.*Check the name"):
        existing(tmp_path / "loop")
    (tmp_path / "file").write_text("a\n")
    with pytest.raises(FileMissing, match="There is no file"):
        existing(tmp_path / "file" / "below.csv")


def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero", "/dev/null"):
        with pytest.raises(FileMissing, match="is a pipe or a device, not a file"):
            existing(path)
    with pytest.raises(FileMissing, match="is a folder where a file is expected"):
        existing(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no process substitution here")  # noqa: PTH112
def test_a_pipe_from_the_shell_is_read_as_standard_input_is():
    reader, writer = os.pipe()
    os.write(writer, "one\ntwo é\r\n".encode())
    os.close(writer)
    try:
        assert list(iter_texts(f"/dev/fd/{reader}")) == ["one", "two é"]
    finally:
        os.close(reader)


def test_process_substitution(tmp_path):
    program = "import sys; from vmask.data.readers import iter_texts; print(list(iter_texts(sys.argv[1])))"
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"lovely\nawful\n"))
    command = f"{sys.executable} -c '{program}' <(zcat {tmp_path / 'a.gz'})"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['lovely', 'awful']\n", done.stderr


def test_lines_and_wholes_are_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(streams, "LONGEST_LINE", 1000)
    for room in ("pipes", "readers"):
        monkeypatch.setattr(f"vmask.data.{room}.LONGEST_LINE", 1000)
    monkeypatch.setattr(streams, "LARGEST_WHOLE", 1000)
    bomb = gzip.compress(b"a" * 100_000)
    for name in ("a.csv.gz", "a.tsv.gz", "a.jsonl.gz"):
        with pytest.raises(DataError, match=r"Line 1 of .* has more than 1,000 characters"):
            list(read_rows(Content.of_bytes(name, bomb)))
    with pytest.raises(DataError, match=r"more than 1,000 characters.*\.jsonl"):
        list(read_rows(Content.of_bytes("a.json.gz", bomb)))
    (tmp_path / "a.txt").write_bytes(b"fine\n" + b"a" * 1001)
    with pytest.raises(DataError, match=r"Line 2 of 'a\.txt' has more than"):
        list(iter_texts(tmp_path / "a.txt"))
    with pytest.raises(DataError, match="Line 2 of the input has more than"):
        list(iter_texts(io.BytesIO(b"fine\n" + b"a" * 1001)))
    with pytest.raises(DataError, match="field larger than field limit"):
        list(read_rows(Content.of_bytes("a.csv", b'text,n\n"stray' + b"x\n" * 1000)))


def test_a_file_that_cannot_be_read_says_why(monkeypatch, tmp_path):
    def broken():
        raise PermissionError(13, "Permission denied")

    with pytest.raises(DataError, match=r"'a\.csv' cannot be read: Permission denied\. Check"):
        list(read_rows(Content("a.csv", broken)))
