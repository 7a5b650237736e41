"""`vmask ls`: everything there is, one a line with what it is."""

from __future__ import annotations

import pytest

from vmask.cli.ls import KINDS

MASKS = {"base", "iba", "l2", "l2x", "random_mask", "vmask", "word_dropout"}


def test_the_seven_masks_are_listed_one_a_line_with_what_they_are(vmask):
    done = vmask("ls", "masks")
    assert len(done.lines) == 7
    listed = dict(line.split(maxsplit=1) for line in done.lines)
    assert set(listed) == MASKS
    assert all(len(what) > 10 for what in listed.values())


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("models", {"cnn", "lstm"}),
        ("methods", {"mask"}),
        ("datasets", {"imdb", "sst1", "sst2", "yelp", "agnews", "trec", "subj", "reviews", "movies", "sst_trees"}),
    ],
)
def test_every_kind_can_be_listed(vmask, kind, names):
    listed = dict(line.split(maxsplit=1) for line in vmask("ls", kind).lines)
    assert names <= set(listed)
    assert vmask("ls", kind, "--json").json == listed


def test_without_a_kind_all_are_listed(vmask):
    lines = vmask("ls").lines
    assert [line for line in lines if not line.startswith(" ")] == list(KINDS)
    assert set(vmask("ls", "--json").json["masks"]) == MASKS


def test_an_unknown_kind_names_the_near_one(fails):
    assert "'mask' is not known. Did you mean 'masks'?" in fails("ls", "mask")
