"""Odd texts to every command that takes one, and what a terminal is sent of them."""

from __future__ import annotations

import io
import os
import pty
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from chaos import bad_files
from chaos.bad_files import EVIL
from chaos.harness import Case
from chaos.judging import SMALL, command_case

OBEYED = ("\x1b]", "\x07", "\x9b", "\x1b[2J", "\x08", "\u202e")
"""Of `EVIL`, what a terminal must not be sent; rich sends other sequences of its own."""


def cases(work: Path, seed: int) -> Iterator[Case]:
    """Texts for `predict` and `explain`, and commands whose output or errors quote escape sequences."""
    model = work / "model"
    draw = random.Random(seed)
    odd: dict[str, bytes] = {
        "nothing": b"",
        "a blank": b" ",
        "controls": bytes(range(1, 32)),
        "a nul": b"a\0b",
        "escapes": EVIL.encode(),
        "emoji": "👩‍👩‍👧‍👦🇩🇪👍🏽".encode(),
        "right to left": "\u202eשלום مرحبا".encode(),
        "marks": ("a" + "\u0301" * 5_000).encode(),
        "joiners": ("👍\u200d" * 50_000).encode(),
        "apostrophes": ("a'" * 500_000).encode(),
        "a word of 20 million letters": b"x" * 20_000_000,
        "a million words": b"a b " * 500_000,
        "half a character": b"\xed\xa0\x80",
        "latin1": b"caf\xe9",
        "line separators": "a\u2028b\u2029c\x85d".encode(),
        "a million lines": b"\n" * 50_000,
        "specials": b"<pad> <unk> [CLS] [MASK] </s>",
        "html": b"<script>alert(1)</script>",
        **{f"random {i}": draw.randbytes(300) for i in range(10)},
        **{f"unicode {i}": "".join(map(chr, draw.choices(range(0x80, 0xD800), k=200))).encode() for i in range(10)},
    }
    for name, data in odd.items():
        yield command_case(f"text:predict {name}", "predict", model, "-", stdin=data)
        yield command_case(
            f"text:explain {name}", "explain", model, "--input", "-", "--method", "occlusion", stdin=data[:5_000]
        )
        if len(data) < 100_000:
            text = data.decode("utf-8", "surrogateescape")
            yield command_case(f"text:argument {name}", "explain", model, text, "--html", "a.html", "--method", "lime")
    evil_csv = bad_files.table([(f"{text} {EVIL}", EVIL + label) for text, label in bad_files.texts(40, seed)])
    named = bad_files.table([], (EVIL, f"{EVIL}2", "x"))
    for name, words in {
        "predict": ("predict", model, "evil.csv"),
        "explain": ("explain", model, f"a {EVIL} town", "--method", "lime"),
        "train": ("train", "evil.csv", "--out", "out", *SMALL),
        "columns": ("train", "named.csv", "--out", "out", *SMALL),
        "no column": ("train", "evil.csv", "--text", EVIL, "--out", "out", *SMALL),
        "no file": ("predict", model, EVIL),
        "no model": ("predict", EVIL, "evil.csv"),
        "no command": (EVIL,),
        "no option": ("ls", f"--{EVIL}"),
        "no target": ("explain", model, "a town", "--target", EVIL),
        "no choice": ("train", "evil.csv", "--select", EVIL),
        "debug": ("predict", model, EVIL, "--debug"),
        "json": ("predict", model, "evil.csv", "--json"),
        "evaluate": ("evaluate", model, "evil.csv", "--metrics", "accuracy"),
        "words": ("words", model),
    }.items():

        def seen(folder: Path, words: tuple[object, ...] = words) -> str | None:
            bad_files.write(folder, "evil.csv", evil_csv.encode())
            bad_files.write(folder, "named.csv", named.encode())
            shown = on_terminal(*map(str, words))
            obeyed = [one for one in OBEYED if one in shown]
            return f"sends {obeyed} to a terminal: {shown[-300:]!r}" if obeyed else None

        yield Case(f"terminal:{name}", seen)


def on_terminal(*words: str) -> str:
    """What a command writes to a terminal that is its standard output and its standard error."""
    reader, writer = pty.openpty()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        from vmask.cli import main

        os.close(reader)
        for number in (1, 2):
            os.dup2(writer, number)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", write_through=True)
        with suppress(BaseException):
            main(list(words))
        os._exit(0)
    os.close(writer)
    written = b""
    with suppress(OSError):  # a terminal without a writer ends so
        while block := os.read(reader, 1 << 16):
            written += block
    os.close(reader)
    os.waitpid(child, 0)
    return written.decode("utf-8", "replace")
