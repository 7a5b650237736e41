"""Words that a person hides from a model, or shows to it, whatever its mask has learnt."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmask.errors import ConfigError, VmaskWarning, did_you_mean, short
from vmask.inference.piece_predictor import PiecePredictor
from vmask.inference.predictor import TextPredictor, WordPredictor
from vmask.text.pieces import PieceTokenizer
from vmask.text.vocabulary import WordTokenizer
from vmask.text.words import PAD, SPECIALS

MOST_WORDS = 1_000_000
"""Largest number of words of an edit."""
LONGEST_PATTERN = 1_000


@dataclass(frozen=True)
class Edit:
    """What a person decided about words, ignoring case.

    Attributes:
        hide: words that the model must not see.
        show: words that it sees as they are.
        hide_patterns: regular expressions; every known word in which one is found is hidden.
        show_patterns: the same for words that are shown.
        only: all other words, unknown ones too, are hidden, unless they are shown; what is seen of these is up to the
            mask. None if other words are not touched.
    """

    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    hide_patterns: tuple[str, ...] = ()
    show_patterns: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        words = (*self.hide, *self.show, *(self.only or ()))
        if len(words) > MOST_WORDS:
            raise ConfigError(f"The edit has more than {MOST_WORDS:,} words. Use a pattern instead.")
        for word in words:
            if not isinstance(word, str) or not word.strip():
                raise ConfigError(f"{short(word)} is no word. Write words, without empty ones between commas.")
        for pattern in (*self.hide_patterns, *self.show_patterns):
            _compiled(pattern)


@dataclass(frozen=True)
class Edited:
    """What an edit comes to in a model.

    Attributes:
        edits: (V,) -1 for hidden ids, 1 for shown ones, 0 for the others.
        hidden: words that were found and are hidden, as they were given.
        shown: words that are shown.
        unknown: words that the model does not know; it reads all of them as the same unknown word.
        also: words of an encoder that lose or gain a piece because they share one with an edited word; or, where only
            some words may be seen, that are seen in part.
        only: words that were found of those that alone may be seen; None if others are not touched.
    """

    edits: Tensor
    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    unknown: tuple[str, ...]
    also: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def record(self) -> dict[str, list[str]]:
        """The words as a model folder keeps them; an edit on top of this one reads them there."""
        only = {} if self.only is None else {"only": sorted(self.only)}
        return {"hidden": sorted(self.hidden), "shown": sorted(self.shown), **only}


def resolve(
    predictor: TextPredictor,
    edit: Edit,
    before: Mapping[str, Sequence[str]] | None = None,
    finder: Finder | None = None,
) -> Edited:
    """Find the ids of the words of an edit in the vocabulary of a model.

    Args:
        predictor: the model.
        edit: the words.
        before: the `record` of earlier edits, which stay unless this one decides otherwise.
        finder: that of `finder_of`, for many edits of a model.

    Raises:
        ConfigError: if a word is to be hidden and shown, is read as several words, or nothing of it is known.
    """
    finder = finder or finder_of(predictor)
    return find(finder, _merged(before or {}, edit, finder.known), predictor.model.encoder.table_size)


def finder_of(predictor: TextPredictor) -> Finder:
    """What finds words in the vocabulary of a model. It takes a while to make, so keep it for further edits."""
    if isinstance(predictor, WordPredictor):
        return WordFinder(predictor.tokenizer)
    assert isinstance(predictor, PiecePredictor)
    return PieceFinder(predictor.tokenizer, predictor.table.words)


def find(finder: Finder, edit: Edit, size: int) -> Edited:
    """Find the ids of the words of an edit. A piece of a hidden word stays hidden, also if another word has it.

    Args:
        finder: finds words in a vocabulary.
        edit: the words.
        size: V, the number of ids.

    Raises:
        ConfigError: as `resolve`.
    """
    hide = {*edit.hide, *_matches(finder.known, edit.hide_patterns)}
    show = {*edit.show, *_matches(finder.known, edit.show_patterns)}
    if both := {word.casefold() for word in hide} & {word.casefold() for word in show}:
        raise ConfigError(f"'{min(both)}' is to be hidden and to be shown. Decide for one of them.")
    special = [id for id in finder.special if id < size]
    edits = torch.full((size,), 0 if edit.only is None else -1, dtype=torch.int8)
    edits[special] = 0
    found: dict[str, list[str]] = {"only": [], "show": [], "hide": []}
    unknown: set[str] = set()
    decisions = (("only", set(edit.only or ()), 0), ("show", show, 1), ("hide", hide, -1))  # the last one wins
    for name, words, decision in decisions:
        for word in sorted(words):
            ids = finder.ids_of(word)
            if len(ids):
                edits[torch.from_numpy(ids)] = decision
                found[name].append(word)
            else:
                unknown.add(word)
    if not any(found.values()) or (edit.only and not found["only"] and not found["show"]):
        named = f": {', '.join(sorted(unknown)[:5])}" if unknown else ""
        near = did_you_mean(min(unknown), finder.known) if len(unknown) == 1 else ""
        raise ConfigError(f"The model knows none of these words{named}.{near} See them with: vmask words DIR --top 0")
    changed = edits.numpy() != 0 if edit.only is None else edits.numpy() >= 0
    changed[special] = False
    also = finder.touched(changed, {word.casefold() for word in (*hide, *show, *(edit.only or ()))})
    only = None if edit.only is None else tuple(found["only"])
    return Edited(edits, tuple(found["hide"]), tuple(found["show"]), tuple(sorted(unknown)), also, only)


class Finder(Protocol):
    """Finds words in the vocabulary of a model.

    Attributes:
        known: the words that patterns are matched with.
        special: ids that are no words: padding and special tokens.
    """

    known: Sequence[str]
    special: Sequence[int]

    def ids_of(self, word: str) -> NDArray[np.int64]:
        """The ids of a word in any case; none if it is unknown."""

    def knows(self, words: Sequence[str]) -> list[bool]:
        """Whether each word of the training texts has an id; it can be neither hidden nor shown without one."""

    def touched(self, changed: NDArray[np.bool_], named: set[str]) -> tuple[str, ...]:
        """Words that are not `named` and have an id that is changed (V,)."""


class WordFinder:
    """Finds words in the vocabulary of a model over words."""

    def __init__(self, tokenizer: WordTokenizer) -> None:
        self.tokenizer = tokenizer
        self.known: Sequence[str] = tokenizer.words[len(SPECIALS) :]
        self.special: Sequence[int] = (PAD,)  # all unknown words are one word
        self._by_case: dict[str, list[int]] = {}
        for id, word in enumerate(self.known, len(SPECIALS)):
            self._by_case.setdefault(word.casefold(), []).append(id)

    def ids_of(self, word: str) -> NDArray[np.int64]:
        """The ids of a word in any case; none if it is unknown."""
        if ids := self._by_case.get(word.casefold()):
            return np.array(ids, np.int64)
        (tokens,) = self.tokenizer.encode([word])
        read = [self.tokenizer.words[id] for id in tokens.ids]
        if len(read) > 1:
            raise ConfigError(f"The model reads '{word}' as several words: {' '.join(read)}. Name these instead.")
        return np.array([id for id in tokens.ids if id >= len(SPECIALS)], np.int64)

    def knows(self, words: Sequence[str]) -> list[bool]:
        """Whether each word has an id."""
        return [word.casefold() in self._by_case for word in words]

    def touched(self, changed: NDArray[np.bool_], named: set[str]) -> tuple[str, ...]:
        """No other word is touched: every word has an id of its own."""
        return ()


class PieceFinder:
    """Finds the pieces of words in the vocabulary of an encoder."""

    def __init__(self, tokenizer: PieceTokenizer, known: Sequence[str] = ()) -> None:
        self.tokenizer = tokenizer
        self.known = known
        self.special: Sequence[int] = sorted({*tokenizer.special, tokenizer.pad})
        self._nothing = {*tokenizer.special, tokenizer.named("unk")}

    def ids_of(self, word: str) -> NDArray[np.int64]:
        """The ids of all pieces of a word, at the start of a text and within it, in the usual and the known cases."""
        folded = word.casefold()
        usual = (word, word.lower(), word.capitalize(), word.upper(), folded)
        cases = dict.fromkeys((*usual, *self._by_case.get(folded, ())))
        texts = [text for case in cases for text in (case, f"a {case}")]
        found: set[int] = set()
        for text, pieces in zip(texts, self.tokenizer.encode(texts), strict=True):
            start = 2 if text.startswith("a ") and text[2:] in cases else 0
            own = [number for number, (first, _) in enumerate(pieces.spans.tolist()) if first >= start]
            found |= {int(pieces.ids[place]) for place, number in pieces.owners.tolist() if number in own}
        return np.array(sorted(found - self._nothing), np.int64)

    def knows(self, words: Sequence[str]) -> list[bool]:
        """Whether each word has a piece that is not the unknown one."""
        read = (set(pieces.ids.tolist()) for pieces in self.tokenizer.encode(words))
        return [not ids <= self._nothing or len(self.ids_of(word)) > 0 for word, ids in zip(words, read, strict=True)]

    def touched(self, changed: NDArray[np.bool_], named: set[str]) -> tuple[str, ...]:
        """Words of the training texts that share a piece with an edited word, most frequent first."""
        ids, rows = self._pieces
        words = (self.known[row] for row in np.unique(rows[changed[ids]]))
        return tuple(word for word in words if word.casefold() not in named)

    @cached_property
    def _by_case(self) -> dict[str, list[str]]:
        """The known words that differ in case alone."""
        words: dict[str, list[str]] = {}
        for word in self.known:
            words.setdefault(word.casefold(), []).append(word)
        return words

    @cached_property
    def _pieces(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """(P,) ids of the pieces of all known words, and the number of the word that each belongs to."""
        ids = [pieces.ids for pieces in self.tokenizer.encode(self.known)]
        return np.concatenate([np.zeros(0, np.int32), *ids]), np.repeat(np.arange(len(ids)), [len(one) for one in ids])


def _merged(before: Mapping[str, Sequence[str]], edit: Edit, known: Sequence[str]) -> Edit:
    """An edit on top of earlier ones, with the known words that its patterns match in place of the patterns."""
    new = {
        "hidden": [*edit.hide, *_matches(known, edit.hide_patterns)],
        "shown": [*edit.show, *_matches(known, edit.show_patterns)],
    }
    decided = {word.casefold() for words in (*new.values(), edit.only or ()) for word in words}
    kept = {name: [word for word in before.get(name, ()) if word.casefold() not in decided] for name in new}
    only = edit.only
    if only is None:
        only = None if before.get("only") is None else tuple(before["only"])
    else:
        kept["shown"] = []  # of these words alone, not of those and these
    hide, show = (tuple(dict.fromkeys([*kept[name], *new[name]])) for name in ("hidden", "shown"))
    return Edit(hide, show, only=only)


def _matches(known: Iterable[str], patterns: Sequence[str]) -> Iterator[str]:
    """The known words in which a pattern is found."""
    compiled = [_compiled(pattern) for pattern in patterns]
    for word in known if compiled else ():
        if any(pattern.search(word) for pattern in compiled):
            yield word


def _compiled(pattern: str) -> re.Pattern[str]:
    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(f"The pattern {short(pattern)} is longer than {LONGEST_PATTERN:,} characters.")
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"The pattern {short(pattern)} is no regular expression: {error}.") from None


def warn_of(edited: Edited) -> None:
    """Warn of words that an edit does not reach, and of those that it reaches too."""
    if edited.unknown:
        named = ", ".join(edited.unknown[:10])
        warnings.warn(f"The model does not know {len(edited.unknown):,} of these words: {named}.", VmaskWarning, 3)
    if edited.also:
        named = ", ".join(edited.also[:10])
        warnings.warn(f"These words share a piece with an edited word and change too: {named}.", VmaskWarning, 3)
