"""Models saved in an older format keep loading and answer as they did; all numbers are as they were recorded."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

import golden_values
from vmask import TextClassifier
from vmask.errors import VmaskWarning
from vmask.explain import EXPLAINERS
from vmask.masks import MASKS
from vmask.metrics import METRICS

FORMATS = Path(__file__).parent / "golden" / "formats"
RECORDED = json.loads(golden_values.FILE.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("part", golden_values.parts())
def test_numbers_are_as_recorded(part):
    now, recorded = golden_values.plain(golden_values.parts()[part]()), dict(RECORDED[part])
    if golden_values.machine() == RECORDED["machine"]:
        assert list(differences(now, recorded, rel=1e-6, abs=1e-7)) == []
    else:
        # Adam makes steps of rounding errors where a gradient is 0, so weights differ where answers do not.
        for values in (now, recorded):
            values.pop("digest", None)
            values.pop("sums", None)
        assert list(differences(now, recorded, rel=0.05, abs=0.01)) == []


def test_every_part_is_recorded():
    assert {"machine", *golden_values.parts()} == set(RECORDED)


def test_every_mask_and_method_is_recorded():
    builtin = {name: set(registry.names()) for name, registry in {"mask": MASKS, "explainer": EXPLAINERS}.items()}
    assert builtin == {"mask": set(golden_values.MASKS), "explainer": set(golden_values.EXPLAINERS)}
    measured = {key.split()[1] for key in RECORDED["measured cnn-vmask"]}
    assert set(METRICS.names()) - {"micro_f1"} <= measured  # of one label a text it is the accuracy


def differences(now, recorded, where="", **tolerance):
    """Where two values differ by more than rounding."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in sorted({*now, *recorded}):
            yield from differences(now.get(key, "missing"), recorded.get(key, "missing"), f"{where}/{key}", **tolerance)
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for number, pair in enumerate(zip(now, recorded, strict=True)):
            yield from differences(*pair, f"{where}/{number}", **tolerance)
    elif now != (pytest.approx(recorded, **tolerance) if isinstance(recorded, float) else recorded):
        yield f"{where}: {now}, recorded {recorded}"
