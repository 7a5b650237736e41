"""Random streams by purpose."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vmask._core.random_streams import derive, numpy_stream


@given(st.integers(0, 2**31), st.integers(0, 500))
def test_a_stream_depends_on_seed_purpose_and_epoch_alone(seed, epoch):
    assert derive(seed, "epoch", epoch) == derive(seed, "epoch", epoch)
    others = {derive(seed, "epoch", epoch), derive(seed, "epoch", epoch + 1), derive(seed, "batches", epoch)}
    assert len(others | {derive(seed + 1, "epoch", epoch)}) == 4
    assert 0 <= derive(seed, "epoch", epoch) < 2**63


def test_a_known_value_does_not_move():
    """A checkpoint of an older version must resume to the same result."""
    assert derive(0, "epoch", 1) == 1054955345772067171
    assert numpy_stream(0, "batches", 0).integers(0, 1000) == 653
