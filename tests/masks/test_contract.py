"""The contract that every registered mask keeps."""

from __future__ import annotations

import pytest
import torch

from vmask.config import make
from vmask.errors import NoWordScores
from vmask.masks import MASKS
from vmask.masks.contract import Embedded, Masked, mean_over_words

DIM, VOCABULARY = 6, 9


def embedded(rows=((1, 2, 3, 0, 0), (4, 2, 2, 5, 6)), seed=0):
    """Two texts, padding where the id is 0."""
    table = torch.randn(VOCABULARY, DIM, generator=torch.Generator().manual_seed(seed))
    index = torch.tensor(rows)
    return Embedded(table, index, index != 0)


def fresh(name, seed=0):
    torch.manual_seed(seed)
    cls = MASKS.get(name)
    mask = cls(DIM, make(cls.Options, {}))
    mask.prepare([embedded()])
    return mask


@pytest.fixture(params=MASKS.names())
def name(request):
    return request.param


def test_every_file_registers_its_own_name(name):
    if name in MASKS.own():
        assert MASKS.get(name).__module__ == f"vmask.masks.{name}"
    assert len(MASKS.describe(name)) > 20


@pytest.mark.parametrize("training", [True, False])
def test_shapes_and_ranges(name, training):
    x = embedded()
    masked = fresh(name).train(training)(x)
    assert masked.scale.shape == masked.scores.shape == x.index.shape
    assert masked.penalty.shape == ()
    assert masked.shift is None or masked.shift.shape == (*x.index.shape, DIM)
    assert ((masked.scores >= 0) & (masked.scores <= 1)).all()
    assert torch.isfinite(masked.apply(x.dense())).all()


@pytest.mark.parametrize("training", [True, False])
def test_padding_is_left_alone(name, training):
    x = embedded()
    masked = fresh(name).train(training)(x)
    assert (masked.scale[~x.words] == 1).all()
    assert (masked.scores[~x.words] == 0).all()
    assert masked.shift is None or (masked.shift[~x.words] == 0).all()


def test_what_stands_at_padding_changes_nothing(name):
    x = embedded()
    other = Embedded(x.table.index_fill(0, torch.tensor([0]), 99.0), x.index, x.words)
    mask = fresh(name).eval()
    one, two = mask(x), mask(other)
    torch.testing.assert_close(one.scale, two.scale)
    torch.testing.assert_close(one.scores, two.scores)
    torch.testing.assert_close(one.penalty, two.penalty)


def test_neighbours_and_more_padding_change_nothing(name):
    mask = fresh(name).eval()
    both, alone = mask(embedded()), mask(embedded(((1, 2, 3),)))
    torch.testing.assert_close(both.scale[:1, :3], alone.scale)
    torch.testing.assert_close(both.scores[:1, :3], alone.scores)


def test_eval_is_deterministic(name):
    mask, x = fresh(name).eval(), embedded()
    torch.testing.assert_close(mask(x).apply(x.dense()), mask(x).apply(x.dense()), rtol=0, atol=0)


def test_every_trainable_parameter_gets_a_gradient(name):
    mask, x = fresh(name).train(), embedded()
    masked = mask(x)
    weights = torch.randn(x.dense().shape, generator=torch.Generator().manual_seed(3))
    loss = (masked.apply(x.dense()) * weights).sum() + masked.penalty
    parameters = [p for p in mask.parameters() if p.requires_grad]
    if parameters:
        loss.backward()
    for parameter in parameters:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def test_state_round_trips(name):
    x, mask, other = embedded(), fresh(name).eval(), fresh(name, seed=5).eval()
    other.load_state_dict(mask.state_dict())
    torch.testing.assert_close(mask(x).apply(x.dense()), other(x).apply(x.dense()), rtol=0, atol=0)


def test_word_level_means_that_the_table_says_it_all(name):
    """A word-level mask can be run once over the vocabulary and gives what it gives in any text."""
    mask, x = fresh(name).eval(), embedded()
    if not mask.word_level():
        pytest.skip(f"{name} looks at the whole text")
    ids = torch.arange(VOCABULARY).unsqueeze(0)
    table = mask(Embedded(x.table, ids, torch.ones_like(ids, dtype=torch.bool))).apply(x.table.unsqueeze(0))[0]
    torch.testing.assert_close(mask(x).apply(x.dense())[x.words], table[x.index[x.words]])


def test_scores_of_words_are_the_scores_in_texts_or_an_error_says_that_there_are_none(name):
    mask, x = fresh(name).eval(), embedded()
    if mask.ranks:
        torch.testing.assert_close(mask(x).scores[x.words], mask.scores_of(x.table)[x.index[x.words]])
    else:
        with pytest.raises(NoWordScores, match="--mask vmask"):
            mask.scores_of(x.table)


def test_a_batch_without_words_is_legal(name):
    x = Embedded(torch.zeros(1, DIM), torch.zeros(2, 3, dtype=torch.long), torch.zeros(2, 3, dtype=torch.bool))
    for training in (True, False):
        masked = fresh(name).train(training)(x)
        assert torch.isfinite(masked.penalty)
        assert (masked.scale == 1).all()


def test_equal_words_are_computed_once(name):
    mask, x = fresh(name).eval(), embedded()
    seen = []
    for module in mask.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda m, args, out: seen.append(len(args[0])))
    mask(x)
    assert all(rows == len(x.table) for rows in seen)


def test_apply_scales_and_shifts():
    masked = Masked(torch.tensor([[2.0]]), torch.tensor([[[1.0, -1.0]]]), torch.zeros(1, 1), torch.zeros(()))
    assert masked.apply(torch.tensor([[[3.0, 4.0]]])).tolist() == [[[7.0, 7.0]]]


def test_mean_over_words_leaves_padding_out():
    x = embedded(((1, 2, 2, 0),))
    values = torch.full((VOCABULARY,), 100.0)
    values[1], values[2] = 1.0, 4.0
    assert mean_over_words(values, x).item() == 3.0
