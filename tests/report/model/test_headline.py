"""Sentences at the head of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vmask.data.card import load_card
from vmask.report.model.headline import headline, of_texts, things
from vmask.training.run_config import make_plan


@pytest.mark.parametrize(
    ("right", "texts", "said"),
    [
        (461, 500, "92 of 100"),
        (11, 12, "11 of 12"),
        (0, 12, "0 of 12"),
        (1, 1, "1 of 1"),
        (5000, 5000, "all 5,000"),
        (2999, 3000, "999 of 1,000"),  # never rounded up to all
        (996, 1000, "996 of 1,000"),
        (0, 500, "0 of 100"),
    ],
)
def test_how_many_are_right(right, texts, said):
    assert of_texts(right, texts) == said


def test_what_texts_are_called(toys):
    assert things(toys) == "reviews"  # the column is `review`
    assert things(replace(toys, text="text")) == "texts"
    assert things(replace(toys, text="text", card=load_card("trec"))) == "questions"
    assert things(replace(toys, text="text", card=load_card("sst2"))) == "sentences"


def test_the_headline_is_a_sentence_for_people(toys):
    said = headline(make_plan("cnn", "vmask"), toys, 461, 500, "test", 6)
    assert said == "A CNN that sorts reviews into 6 kinds, right on 92 of 100 test texts"
    assert headline(make_plan("lstm", "base"), toys, 1, 2, "dev", 2).startswith("An LSTM that")


def test_an_encoder_goes_by_its_name(toys, encoder_folder):
    said = headline(make_plan(str(encoder_folder("bert")), "vmask"), toys, 1, 2, "dev", 2)
    assert said.startswith("An encoder (bert) that sorts reviews into 2 kinds")
