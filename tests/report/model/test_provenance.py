"""Where a model comes from."""

from __future__ import annotations

from dataclasses import replace

from vmask import __version__
from vmask.data.card import load_card
from vmask.report.model.provenance import facts, options


def test_data_model_and_versions_are_there(model, toys):
    found = facts(model, toys, "full", 2.25, "ab" * 32)
    assert found["Data"]["Texts"] == "train 120, dev 30, test 40"
    assert found["Data"]["Fingerprint"] == "f" * 16
    assert found["Data"]["Columns"] == "texts from “review”, labels from “mood”"
    assert found["Data"]["Notes"] == "A note."
    assert found["Model"]["Seed"] == "1"
    assert found["Model"]["Weights"] == "sha256 abababababababab"
    assert "random" in found["Model"]["Word vectors"]
    assert f"vmask {__version__}" in found["Made by"]["Versions"]
    assert found["Made by"]["Training"] == "1.5 seconds"
    assert found["Made by"]["This page"] == "full, made in 2.2 seconds"


def test_what_is_not_known_has_no_row(model, toys):
    found = facts(model, replace(toys, notes=()), "full", 1.0, "")
    assert "Notes" not in found["Data"]
    assert "Weights" not in found["Model"]
    assert "Stages" not in found["Model"]


def test_another_fingerprint_is_said(model, toys):
    assert facts(model, replace(toys, fingerprint="0" * 64), "full", 1.0, "")["Data"]["Fingerprint"] == (
        f"{'0' * 16}; in training it was {'f' * 16}"
    )


def test_a_card_says_where_the_data_is_from(model, toys):
    found = facts(model, replace(toys, card=load_card("trec")), "full", 1.0, "")["Data"]
    assert found["Title"].startswith("TREC")
    assert "Li and Roth" in found["Source"]


def test_an_encoder_and_its_stages(tiny_encoder, toys, encoder_folder):
    found = facts(tiny_encoder(), toys, "quick", 1.0, "")["Model"]
    assert found["Encoder"].startswith("bert, ")
    assert "without a mask first" in found["Stages"]
    shown = options(tiny_encoder())
    assert shown["model.encoder"] == "bert"  # not where on this disk it lies
    assert str(encoder_folder("bert")) not in " ".join(shown.values())


def test_every_option_is_listed(model):
    shown = options(model)
    assert (shown["mask.pi"], shown["model.filters"], shown["seed"], shown["model.widths"]) == (
        "0.5",
        "8",
        "1",
        "3,4,5",
    )
    assert len(shown) > 30
