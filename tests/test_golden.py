"""Models saved in an older format keep loading, and answer as they did."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from vmask import TextClassifier
from vmask.errors import VmaskWarning

FORMATS = Path(__file__).parent / "golden" / "formats"


@pytest.mark.parametrize("folder", sorted(FORMATS.iterdir()), ids=lambda p: p.name)
def test_a_stored_model_loads_and_answers_as_it_did(folder):
    warns = folder.name.startswith("1-")
    with pytest.warns(VmaskWarning, match="older format") if warns else nullcontext():
        classifier = TextClassifier.load(folder)
    known = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert classifier.predict_proba(known["texts"]).tolist() == pytest.approx(
        [pytest.approx(row, abs=1e-6) for row in known["probabilities"]]
    )
    scores = [list(e.scores) for e in classifier.explain(known["texts"])]
    for ours, theirs in zip(scores, known["scores"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)
