"""Control characters of texts do not reach a terminal, and do reach a file."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

from vmask._core.terminal import Cleaned, clean, make_console, safe_streams

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
EVIL = f"a{CLIPBOARD}b\x1b[2J\x9b31m\u202eabc\x08\x7f\r!"


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def on_a_terminal(program):
    """What a program writes to standard output and standard error, both a terminal."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.Popen([sys.executable, "-c", program], stdout=writer, stderr=writer, env=environment)
    os.close(writer)
    written = b""
    try:
        while block := os.read(reader, 1 << 16):
            written += block
    except OSError:  # a terminal without a writer ends so
        pass
    os.close(reader)
    done.wait(timeout=60)
    return written.decode()


def test_control_characters_are_seen_and_not_obeyed():
    assert clean("a\tb\nc é 👍\u200d👩 \u200f") == "a\tb\nc é 👍\u200d👩 \u200f"
    assert clean("".join(map(chr, range(0xA0)))).count("\ufffd") == 32 - 2 + 1 + 32
    assert clean("\u202d\u2066") == "\ufffd\ufffd"


def test_only_terminals_are_cleaned(monkeypatch):
    screen, file = Screen(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", screen)
    with safe_streams():
        print(EVIL)  # noqa: T201
        print(EVIL, file=sys.stderr)  # noqa: T201
        sys.stderr.writelines([EVIL])
        assert sys.stderr.isatty()
    assert sys.stderr is screen
    assert file.getvalue() == f"{EVIL}\n"
    assert screen.getvalue() == f"{clean(EVIL)}\n{clean(EVIL)}"
    assert not set(screen.getvalue()) & set("\x1b\x07\x08\x7f\r\x9b\u202e")


def test_a_bar_of_a_library_may_return_to_the_start_of_its_line():
    screen = Screen()
    Cleaned(screen).write("\r50%\r")
    assert screen.getvalue() == "\r50%\ufffd"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_console_keeps_its_colours_and_cleans_what_it_shows(terminal):
    from rich.table import Table
    from rich.text import Text

    stream = Screen() if terminal else io.StringIO()
    console = make_console(file=stream, width=120, color_system="truecolor" if terminal else None, markup=False)
    table = Table("head", box=None)
    table.add_row(Text(EVIL, "bold red"))
    console.print(table)
    console.print(EVIL)
    written = stream.getvalue()
    assert (CLIPBOARD[0] + CLIPBOARD[1] in written) is not terminal
    assert ("\x1b[1;31m" in written) is terminal
    assert ("\x9b" in written) is not terminal


@pytest.mark.full
def test_everything_that_a_command_writes_is_cleaned_on_a_terminal():
    written = on_a_terminal(
        f"""
import logging, sys, time, warnings
import vmask.cli.ls
from vmask.cli.main import main
from vmask.cli.console import print_json, print_rich, say, say_result
from vmask.errors import DataError, VmaskWarning
from vmask.training.progress import TrainingBar
from vmask._core.progress import advancing
evil = {EVIL!r}
def run(args):
    say_result("one " + evil); say(args, "two " + evil); print_json({{"three": evil}})
    warnings.warn("four " + evil, VmaskWarning)
    logging.getLogger("vmask").warning("five " + evil)
    from rich.text import Text
    print_rich(Text("six " + evil, "bold red"))
    with advancing(3, "seven " + evil) as advance:
        warnings.warn("eight " + evil, VmaskWarning); say(args, "nine " + evil)
        advance(1); time.sleep(0.2)
    with TrainingBar("ten " + evil) as bar:
        bar.start(3, 1); bar.stage(1, 2); time.sleep(0.2)
    raise DataError("eleven " + evil)
vmask.cli.ls.run = run
assert main(["ls"]) == 2
assert main(["ls", "--debug"]) == 2
try: main(["ls", "twelve " + evil])
except SystemExit: pass
main(["thirteen " + evil])
"""
    )
    for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"):
        assert word in written, word
    assert "thirteen" in written
    assert "AssertionError" not in written
    for bad in ("\x1b]", "\x07", "\x9b", "\x1b[2J", "\x08", "\x7f", "\u202e", "\r!"):
        assert bad not in written, repr(bad)
    assert "\x1b[1;31m" in written  # our own colours
    assert "\x1b[2K" in written  # the bars'
