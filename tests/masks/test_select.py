"""Hard gates under a budget."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toy import toy_texts
from vmask import TextClassifier
from vmask.config import make
from vmask.errors import ConfigError
from vmask.inference.folding import fold
from vmask.masks.contract import Embedded
from vmask.masks.select import DROPOUT, MARGIN, STRONGEST, WEAKEST, Select, SelectOptions
from vmask.models.contract import masked_and_edited

DIM, WORDS = 6, 40
pytestmark = pytest.mark.filterwarnings("ignore::vmask.errors.VmaskWarning")  # of a few toy texts as dev
SMALL = {"model": "cnn", "mask": "select", "embeddings": "random", "model__filters": 8, "epochs": 8, "device": "cpu"}


def fresh(seed=0, **options):
    torch.manual_seed(seed)
    return Select(DIM, make(SelectOptions, options))


def vocabulary(seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(WORDS, DIM, generator=draw), torch.randint(1, 50, (WORDS,), generator=draw)


def embedded(seed=0):
    table, _ = vocabulary(seed)
    index = torch.arange(WORDS).view(4, 10)
    return Embedded(table, index, index != 0)


@given(st.integers(0, 1000), st.floats(0.01, 1.0), st.none() | st.integers(1, 60))
def test_after_calibration_the_texts_keep_to_the_budget_and_no_more_words_would_fit(seed, budget, most):
    mask, (table, counts) = fresh(seed, budget=budget, max_words=most), vocabulary(seed)
    mask.calibrate(table, counts)
    with torch.no_grad():
        visible = mask.scores_of(table) >= 0.5
        logits = mask.log_odds(table)
    share = counts[visible].sum() / counts.sum()
    assert share <= MARGIN * budget + 1e-6
    assert most is None or visible.sum() <= most
    if not visible.all() and (most is None or visible.sum() < most):
        following = logits.masked_fill(visible, -torch.inf).argmax()
        assert (counts[visible].sum() + counts[following]) / counts.sum() > MARGIN * budget - 1e-6


@pytest.mark.parametrize("gate", ["gumbel", "hard_concrete", "kumaraswamy"])
def test_at_inference_a_word_is_whole_or_hidden_and_its_score_says_which(gate):
    mask, x = fresh(gate=gate, budget=0.5).eval(), embedded()
    mask.calibrate(*vocabulary())
    masked = mask(x)
    assert set(masked.scale[x.words].tolist()) == {0.0, 1.0}
    assert torch.equal(masked.scale[x.words] == 1, masked.scores[x.words] >= 0.5)
    assert torch.equal(masked.scale[x.words] == 1, mask.scores_of(x.table)[x.index[x.words]] >= 0.5)


def test_a_hidden_word_is_the_same_vector_whatever_the_word():
    mask, x = fresh(budget=0.5).eval(), embedded()
    mask.calibrate(*vocabulary())
    hidden = mask.scores_of(x.table) < 0.5
    table = fold(mask, x.table, torch.ones(WORDS, dtype=torch.bool))
    assert (table[hidden] == 0).all()
    assert torch.equal(table[~hidden], x.table[~hidden])


def test_draws_are_0_and_1_with_a_gradient():
    mask, x = fresh(gate="gumbel").train(), embedded()
    scale = mask(x).scale
    assert set(scale.tolist()[0]) <= {0.0, 1.0}
    scale.sum().backward()
    assert mask.net.net[0].weight.grad.abs().sum() > 0


def test_the_multiplier_follows_the_constraint_and_stays_above_0():
    x = embedded()
    for bias, falls in ((-5.0, True), (5.0, False)):
        mask = fresh().train()
        torch.nn.init.constant_(mask.net.net[2].bias, bias)
        before = float(mask.multiplier)
        mask(x)
        assert (float(mask.multiplier) < before) == falls
        for _ in range(2000):
            mask(x)
        assert WEAKEST <= float(mask.multiplier) <= STRONGEST
    mask.eval()
    before = float(mask.multiplier)
    mask(x)
    assert float(mask.multiplier) == before


def test_when_the_annealing_is_over_only_visible_words_are_trained_on():
    mask, x = fresh(budget=0.5).train(), embedded()
    mask.calibrate(*vocabulary())
    mask.progress = 1.0
    masked = mask(x)
    assert masked.logits is None
    assert torch.equal(masked.scale, mask.eval()(x).scale)


def test_the_evidence_of_a_text_is_the_sum_of_its_words_over_the_root_of_their_number():
    mask, x = fresh().train(), embedded()
    mask.set_classes(3)
    totals = []
    for _ in range(4000):
        with torch.no_grad():
            totals.append(mask(x).logits)
    with torch.no_grad():
        each = mask.evidence_of(x.table)
    assert torch.allclose(each.sum(1), torch.zeros(WORDS), atol=1e-6)
    words = x.words.sum(1, keepdim=True)
    expected = (1 - DROPOUT) * (each[x.index] * x.words.unsqueeze(-1)).sum(1) / words.sqrt()
    assert torch.allclose(torch.stack(totals).mean(0), expected, atol=0.03)


def test_words_with_more_evidence_have_higher_odds():
    mask = fresh().eval()
    table, _ = vocabulary()
    none, much = torch.zeros(WORDS, 2), torch.full((WORDS, 2), 3.0)
    assert (mask.log_odds(table, much) > mask.log_odds(table, none)).all()


@pytest.mark.parametrize("options", [{"budget": 0.0}, {"budget": 1.1}, {"max_words": 0}, {"pi": 1.0}, {"tau": 0.0}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigError):
        make(SelectOptions, options)


def test_a_training_keeps_to_its_budget_and_its_number_of_words():
    classifier = TextClassifier(**SMALL, mask__budget=0.4, mask__max_words=7).fit(*toy_texts(200))
    row = classifier.history_[classifier.best_epoch_ - 1]
    assert row["competes"]
    assert row["excess"] == max(row["mask_visible"] - 0.4, 0.0)
    visible = [word for word in classifier.word_importance() if word.score >= 0.5]
    assert 0 < len(visible) <= 7
    everything = sum(word.count for word in classifier.word_importance())
    assert sum(word.count for word in visible) <= 0.4 * everything


def test_words_that_a_person_hides_take_no_place_of_others():
    texts, labels = toy_texts(200)
    options = {**SMALL, "mask__budget": 0.4, "mask__max_words": 4}
    free = TextClassifier(**options).fit(texts, labels)
    chosen = [word.word for word in free.word_importance() if word.score >= 0.5]
    without = TextClassifier(**options, hide_words=chosen).fit(texts, labels)
    visible = [word.word for word in without.word_importance() if word.score >= 0.5]
    assert 0 < len(visible) <= 4
    assert not {*visible} & {*chosen}
    assert len(visible) >= len(chosen) - 1


def test_nothing_is_learnt_from_words_that_a_person_hides():
    x = embedded()
    edits = torch.zeros(WORDS, dtype=torch.int8)
    edits[10:] = -1
    grads = []
    for table in (x.table, torch.cat([x.table[:10], torch.randn(WORDS - 10, DIM)])):
        torch.manual_seed(1)
        mask = fresh().train()
        masked = masked_and_edited(mask, Embedded(table, x.index, x.words), edits, x.index)
        assert (masked.scale[x.index >= 10] == 0).all()
        (masked.logits.square().sum() + masked.penalty).backward()
        grads.append(mask.evidence.weight.grad.clone())
    assert torch.equal(*grads)


def test_a_saved_model_reads_the_same_words(tmp_path):
    classifier = TextClassifier(**SMALL, mask__budget=0.4).fit(*toy_texts(120))
    again = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert [w.word for w in again.word_importance() if w.score >= 0.5] == [
        w.word for w in classifier.word_importance() if w.score >= 0.5
    ]


def test_it_repeats_exactly():
    one, two = (TextClassifier(**SMALL, seed=3).fit(*toy_texts(120)) for _ in range(2))
    assert [{**row, "seconds": 0} for row in one.history_] == [{**row, "seconds": 0} for row in two.history_]


@pytest.mark.parametrize("options", [{"budget": 0.5}, {"budget": 1.0, "max_words": 3}])
def test_words_with_equal_vectors_are_hidden_together(options):
    mask = Select(4, SelectOptions(**options)).eval()
    table = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    table[2:8] = table[2]
    mask.calibrate(table, torch.ones(10))
    visible = mask.scores_of(table) >= 0.5
    assert visible[2:8].unique().numel() == 1
    assert int(visible.sum()) <= options.get("max_words", 5)
