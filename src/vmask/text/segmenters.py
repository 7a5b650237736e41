"""Cut scripts that are written without spaces into words, by packages with dictionaries.

A segmenter is given the runs of characters of its scripts, one at a time, and nothing else of a text: the rules of
`words` cut the rest as ever. Its words become words of these rules by spaces between them, which `Spaced` removes from
the offsets again.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmask.errors import MissingExtra, UnknownName

SCRIPTS = {
    "Han": "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff",
    "Kana": "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e5b",
    "Lao": "\u0e81-\u0edf",
    "Khmer": "\u1780-\u17ff",
    "Burmese": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
}
"""The characters of each script that is written without spaces, as ranges of a regular expression."""
_FOLLOWS = "\u0300-\u036f\u200c\u200d\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"  # marks and joiners within a word
LONGEST_RUN = 1_000
"""Characters that are given to a segmenter at a time; some fail on, or are slow with, very long ones."""
MEANINGFUL = 0.1
"""Share of such a script in the characters of the training texts from which `auto` cuts it into words."""
MAIN = 0.8
"""Share of a language in all that is written without spaces from which `auto` takes the segmenter of that language."""
_KANA_OF_JAPANESE = 0.05

NOTHING = np.zeros(0, np.int64)

Cut = Callable[[str], Iterable[str]]


class Spaced(NamedTuple):
    """A text with spaces between the words of a segmenter.

    Attributes:
        text: with the spaces.
        added: (n,) places of the added spaces in it, ascending.
    """

    text: str
    added: NDArray[np.int64]

    def in_original(self, spans: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n, 2) starts and ends in the text without the added spaces."""
        if not len(self.added):
            return spans
        return (spans - np.searchsorted(self.added, spans)).astype(np.int32)


@dataclass(frozen=True)
class Segmenter:
    """Cuts runs of some scripts into words.

    Attributes:
        name: as the option names it.
        packages: the distributions that it needs.
        scripts: names of `SCRIPTS`.
        load: gives the function that cuts a run; its words joined are the run.
        code: the same as lines of Python that define `cut`, for programs without vmask.
    """

    name: str
    packages: tuple[str, ...]
    scripts: tuple[str, ...]
    load: Callable[[], Cut]
    code: str

    @property
    def version(self) -> str:
        """The packages with their versions, as results record them."""
        return ", ".join(f"{package} {version(package)}" for package in self.packages)

    @property
    def run(self) -> str:
        """Regular expression of what is cut at a time."""
        characters = "".join(SCRIPTS[script] for script in self.scripts)
        return f"[{characters}][{characters}{_FOLLOWS}]{{0,{LONGEST_RUN - 1}}}"

    def record(self) -> dict[str, str]:
        """The name and the version, as folders keep them."""
        return {"name": self.name, "version": self.version}

    def spaced(self, text: str) -> Spaced:
        """The text with a space before and after each word of these scripts, where there is none."""
        runs = [] if text.isascii() else list(re.finditer(self.run, text))
        if not runs:
            return Spaced(text, NOTHING)
        cut = self.load()
        places = sorted({place for run in runs for place in _boundaries(run, cut)})
        parts = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
        return Spaced(" ".join(parts), np.array(places, np.int64) + np.arange(len(places)))


def _boundaries(run: re.Match[str], cut: Cut) -> Iterator[int]:
    """Where the words of a run begin and end, in the text; no word begins with a mark."""
    at, end = run.span()
    words = list(cut(run[0]))
    yield from (at, end)
    if "".join(words) != run[0]:
        return  # no segmenter changes a text; if one did, the run would stay whole
    for word in words:
        if word and not unicodedata.category(word[0]).startswith("M"):
            yield at
        at += len(word)


def spaced(texts: Sequence[str], segmenter: Segmenter | None) -> list[Spaced]:
    """The texts with spaces between the words of a segmenter, or as they are without one."""
    if segmenter is None:
        return [Spaced(text, NOTHING) for text in texts]
    return [segmenter.spaced(text) for text in texts]


@cache
def _jieba() -> Cut:
    import rjieba

    words: Cut = rjieba.cut
    return words


_own = threading.local()


def _sudachi() -> Cut:
    if not hasattr(_own, "sudachi"):  # a tokenizer cannot be used by two threads
        _own.sudachi = _dictionary().tokenizer("A")
    tokenizer = _own.sudachi
    return lambda run: (morpheme.surface() for morpheme in tokenizer.tokenize(run))


@cache
def _dictionary() -> Any:
    import sudachipy

    return sudachipy.Dictionary(dict="small")


@cache
def _pythainlp() -> Cut:
    with _read_only():
        from pythainlp.tokenize import word_tokenize

        word_tokenize("ไทย", engine="newmm-safe")  # reads its dictionary
    # newmm itself takes seconds on some texts of a thousand letters
    return lambda run: word_tokenize(run, engine="newmm-safe")


@contextmanager
def _read_only() -> Iterator[None]:
    """Keep PyThaiNLP from making a folder in the user's home as it is imported."""
    names = ("PYTHAINLP_READ_ONLY", "PYTHAINLP_READ_MODE")
    if any(name in os.environ for name in names):
        yield
        return
    os.environ[names[0]] = "1"
    try:
        yield
    finally:
        os.environ.pop(names[0], None)


def _icu() -> Cut:
    from icu4py.breakers import WordBreaker

    return lambda run: WordBreaker(run, "en")  # its dictionaries are chosen by script


_SUDACHI = """\
from sudachipy import Dictionary

sudachi = Dictionary(dict="small").tokenizer("A")


def cut(run):
    return [morpheme.surface() for morpheme in sudachi.tokenize(run)]"""
_PYTHAINLP = """\
from pythainlp.tokenize import word_tokenize


def cut(run):
    return word_tokenize(run, engine="newmm-safe")"""
_ICU = """\
from icu4py.breakers import WordBreaker


def cut(run):
    return WordBreaker(run, "en")"""

SEGMENTERS: Mapping[str, Segmenter] = {
    segmenter.name: segmenter
    for segmenter in (
        Segmenter("jieba", ("rjieba",), ("Han",), _jieba, "from rjieba import cut"),
        Segmenter("sudachi", ("sudachipy", "sudachidict_small"), ("Han", "Kana"), _sudachi, _SUDACHI),
        Segmenter("pythainlp", ("pythainlp",), ("Thai",), _pythainlp, _PYTHAINLP),
        Segmenter("icu", ("icu4py",), tuple(SCRIPTS), _icu, _ICU),
    )
}
_OF_LANGUAGE = {"Chinese": "jieba", "Japanese": "sudachi", "Thai": "pythainlp"}


def recorded(segmenter: Segmenter | None) -> dict[str, dict[str, str]]:
    """What a folder keeps of a segmenter; nothing where there is none."""
    return {} if segmenter is None else {"segmenter": segmenter.record()}


def find_segmenter(name: str, why: str = "") -> Segmenter | None:
    """The segmenter of a name; None for `none`.

    Args:
        name: `none`, or a name of `SEGMENTERS`.
        why: begins the message if it is not installed.

    Raises:
        UnknownName: for another name.
        MissingExtra: if its package is not installed.
    """
    if name == "none":
        return None
    if name not in SEGMENTERS:
        raise UnknownName("segmenter", name, ["none", *SEGMENTERS])
    segmenter = SEGMENTERS[name]
    try:
        _ = segmenter.version
    except PackageNotFoundError:
        needs = f"{why}The segmenter '{name}' ({', '.join(segmenter.packages)})"
        raise MissingExtra(needs, "segment") from None
    return segmenter


def choose_segmenter(name: str, texts: Iterable[str]) -> Segmenter | None:
    """The segmenter of an option; with `auto` that of the language of the texts.

    Raises:
        MissingExtra: if its package is not installed.
    """
    if name != "auto":
        return find_segmenter(name)
    language = unspaced_language(texts)
    if language is None:
        return None
    why = f"The texts are {language}, which is written without spaces; segmenter=none leaves it uncut. "
    return find_segmenter(_OF_LANGUAGE.get(language, "icu"), why)


def installed_segmenter(texts: Iterable[str]) -> Segmenter | None:
    """The segmenter of the language of the texts; None if it is not installed, as where models do without one."""
    try:
        return choose_segmenter("auto", texts)
    except MissingExtra:
        return None


def unspaced_language(texts: Iterable[str]) -> str | None:
    """The language without spaces in which the texts are written; None if they are written with spaces.

    A few words of such a language in other texts do not count: `MEANINGFUL`. Texts with kana are Japanese. If there are
    several such languages and none is the main one, it is `Asian`.

    >>> unspaced_language(["这部电影很好看"]), unspaced_language(["The film 英雄 is a fine one; we saw it twice."])
    ('Chinese', None)
    """
    counts: Counter[str] = Counter()
    total = 0
    for text in texts:
        total += len(text) - text.count(" ")
        if text.isascii():
            continue
        found = "".join(chain.from_iterable(_ANY.findall(text)))
        of_text = {script: len(found) - len(one.sub("", found)) for script, one in _EACH.items()} if found else {}
        han, kana = of_text.pop("Han", 0), of_text.pop("Kana", 0)
        of_text["Japanese" if kana > _KANA_OF_JAPANESE * (han + kana) else "Chinese"] = han + kana
        counts.update(of_text)
    if not counts.total() or counts.total() < MEANINGFUL * total:
        return None
    ((language, count),) = counts.most_common(1)
    return language if count >= MAIN * counts.total() else "Asian"


_ANY = re.compile(f"[{''.join(SCRIPTS.values())}]+")
_EACH = {script: re.compile(f"[{characters}]+") for script, characters in SCRIPTS.items()}
WIDE = re.compile(f"[{''.join(SCRIPTS.values())}\u3000-\u303f\uff01-\uff65]")
"""A character next to which no space is written: of these scripts, or a mark of their width."""
