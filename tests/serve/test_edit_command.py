"""The command of an edit names the same words, however odd, once a shell and the command line have read it."""

from __future__ import annotations

import argparse
import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmask.cli import edit as edit_cli
from vmask.cli.options import words_of
from vmask.inference.edits import Edit, find
from vmask.serve.edit_command import edit_command

ODD = [
    ",",
    "a,b",
    "@",
    "@home",
    "-",
    "--hide",
    "'",
    '"',
    "$HOME",
    "`ls`",
    "\\",
    "a b",
    "(",
    "^$",
    "!",
    "*",
    "#1",
    "ö",
    "é,",
]


class Known:
    """A vocabulary of a few words."""

    def __init__(self, words):
        self.known, self.special = list(words), ()

    def ids_of(self, word):
        import numpy as np

        return np.array([i for i, one in enumerate(self.known) if one.casefold() == word.casefold()], np.int64)

    def touched(self, changed, named):
        return ()


def parsed(command):
    """The arguments of a command, as `vmask edit` reads them."""
    program, verb, *rest = shlex.split(command)
    assert (program, verb) == ("vmask", "edit")
    parser = argparse.ArgumentParser()
    edit_cli.add_arguments(parser, rest)
    return parser.parse_args(rest)


def read(command, known):
    """The edit of a command, found in a vocabulary as the command finds it."""
    args = parsed(command)
    edit = Edit(
        words_of(",".join(args.hide)),
        words_of(",".join(args.show)),
        tuple(args.hide_pattern),
        tuple(args.show_pattern),
    )
    return find(Known(known), edit, len(known))


words = st.sampled_from([*ODD, "he", "she", "refund", "film"])


@given(st.sets(words, min_size=1), st.sets(words))
@example(set(ODD), set())
@example({"he"}, set(ODD))
def test_the_command_names_the_same_words(hide, show):
    show -= hide
    found = read(edit_command("cnn", sorted(hide), sorted(show)), [*ODD, "he", "she", "refund", "film", "others"])
    assert (set(found.hidden), set(found.shown)) == (hide, show)


@pytest.mark.parametrize("name", ["cnn", "my model", "-rf", "it's", "a;b", "$(ls)"])
def test_the_folder_is_an_argument_whatever_its_name(name):
    args = parsed(edit_command(name, ["he"], []))
    assert args.model.removeprefix("./") == name
    assert args.out == f"{args.model}-edited"
    assert args.hide == ["he"]


def test_without_words_there_is_no_command():
    assert edit_command("cnn", [], []) == ""
