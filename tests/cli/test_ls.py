"""`vmask ls`: everything there is, one a line with what it is."""

from __future__ import annotations

import pytest

from vmask.cli.ls import KINDS
from vmask.metrics import METRICS
from vmask.metrics.contract import Facts

MASKS = {"base", "iba", "l2", "l2x", "random_mask", "select", "vmask", "word_dropout"}


def test_the_masks_are_listed_one_a_line_with_what_they_are(vmask):
    done = vmask("ls", "masks")
    assert len(done.lines) == len(MASKS)
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


def test_metrics_are_listed_with_all_that_is_known_of_them(vmask):
    lines = vmask("ls", "metrics").lines
    heads = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    told = {}
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        told[lines[start].split()[0]] = " ".join(line.strip() for line in lines[start:end])
    assert sorted(told) == sorted(METRICS.names())
    for name, text in told.items():
        facts = Facts.read(name)
        assert text.startswith(f"{name} ")
        better = {"higher": "higher is better", "lower": "lower is better", "neither": "no direction"}[facts.better]
        assert f"range: {facts.low:g} to {facts.high:g}, {better}; {facts.family}" in text
        for what in ("definition", "citation", "limits"):
            assert f"{what}: {getattr(facts, what)}".replace("- ", "-") in text.replace("- ", "-"), name
    assert all(len(line) <= 110 for line in lines)
    assert next(iter(told)) == "accuracy"  # predictions come first


def test_metrics_as_json_have_every_field(vmask):
    listed = vmask("ls", "metrics", "--json").json
    assert sorted(listed) == sorted(METRICS.names())
    for facts in listed.values():
        fields = {"summary", "family", "low", "high", "better", "definition", "citation", "limits", "options"}
        assert set(facts) == fields
        assert facts["low"] < facts["high"]
    assert (listed["accuracy"]["low"], listed["accuracy"]["high"], listed["accuracy"]["better"]) == (0, 1, "higher")


def test_metrics_are_among_all_kinds(vmask):
    lines = vmask("ls").lines
    start = lines.index("metrics") + 1
    names = [line.split()[0] for line in lines[start : start + len(METRICS.names())]]
    assert names == list(METRICS.names())
    assert vmask("ls", "--json").json["metrics"]["accuracy"] == Facts.read("accuracy").summary


def test_one_metric_alone_with_its_options(vmask, fails):
    done = vmask("ls", "metrics", "naopc")
    assert done.lines[0].startswith("naopc  ")
    assert "options: beam=5, exact_up_to=8" in done.out
    assert "aopc  Mean" not in done.out
    assert vmask("ls", "metrics", "naopc", "--json").json["naopc"]["options"]["beam"] == 5
    assert "Did you mean 'naopc'" in fails("ls", "metrics", "naop")
    assert "NAME is for `vmask ls metrics`" in fails("ls", "masks", "vmask")
