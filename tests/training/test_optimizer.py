"""The optimiser: which weights decay, and which have a learning rate of their own."""

from __future__ import annotations

import pytest
import torch

from tiny_encoders import network, tokenizer
from vmask.config import TrainConfig
from vmask.masks import MASKS
from vmask.models.transformer import Transformer
from vmask.training.optimizer import OF_MASK, make_optimizer
from vmask.training.run_config import make_plan

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model():
    """A tiny BERT with a mask; its embedding block is frozen."""
    plan = make_plan("transformer", "vmask", model__encoder="tiny")
    special = tokenizer("wordpiece").all_special_ids
    made = plan.with_mask(Transformer(network("bert"), special, plan.model_options), 2)
    made.encoder.freeze_embeddings()
    return made


def settings_by_name(model, optimizer):
    """(learning rate, weight decay) of every parameter that is trained."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    return {names[p]: (g["lr"], g["weight_decay"]) for g in optimizer.param_groups for p in g["params"]}


def test_adamw_decays_matrices_and_neither_biases_nor_the_scales_of_layernorm(model):
    config = TrainConfig(optimizer="adamw", learning_rate=0.2, weight_decay=0.01)
    optimizer = make_optimizer(model, config, CPU)
    assert isinstance(optimizer, torch.optim.AdamW)
    found = settings_by_name(model, optimizer)
    for name, (rate, decay) in found.items():
        assert rate == 0.2
        assert decay == (0.0 if name.endswith("bias") or "LayerNorm" in name else 0.01), name
    assert "encoder.network.bert.encoder.layer.0.attention.self.query.weight" in found
    assert "encoder.network.bert.encoder.layer.0.attention.self.query.bias" in found
    assert any("LayerNorm" in name for name in found)


def test_the_mask_may_have_a_learning_rate_of_its_own(model):
    config = TrainConfig(optimizer="adamw", learning_rate=0.2, mask_learning_rate=0.5, weight_decay=0.01)
    for name, (rate, _) in settings_by_name(model, make_optimizer(model, config, CPU)).items():
        assert rate == (0.5 if name.startswith("mask.") else 0.2), name


def test_frozen_weights_are_left_out_and_all_others_are_in_once(model):
    for kind in ("adam", "adamw"):
        optimizer = make_optimizer(model, TrainConfig(optimizer=kind), CPU)
        listed = [p for group in optimizer.param_groups for p in group["params"]]
        assert {id(p) for p in listed} == {id(p) for p in model.parameters() if p.requires_grad}
        assert len(listed) == len({id(p) for p in listed})
    assert not any(".embeddings." in name for name in settings_by_name(model, optimizer))


def test_adam_decays_all_in_the_gradient_as_it_did(model):
    optimizer = make_optimizer(model, TrainConfig(weight_decay=0.3, learning_rate=0.2), CPU)
    assert type(optimizer) is torch.optim.Adam
    assert set(settings_by_name(model, optimizer).values()) == {(0.2, 0.3)}
    assert len(optimizer.param_groups) == 1


def test_decay_of_adamw_shrinks_a_weight_without_a_gradient():
    def after(kind):
        mask = MASKS.get("base")(2, MASKS.get("base").Options())
        layer = torch.nn.ModuleDict({"encoder": torch.nn.Linear(2, 2), "mask": mask})
        torch.nn.init.ones_(layer["encoder"].weight)
        torch.nn.init.ones_(layer["encoder"].bias)
        config = TrainConfig(optimizer=kind, learning_rate=0.1, weight_decay=0.5)
        optimizer = make_optimizer(layer, config, CPU)
        for parameter in layer.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        return float(layer["encoder"].weight[0, 0].detach()), float(layer["encoder"].bias[0].detach())

    assert after("adamw") == pytest.approx((0.95, 1.0))
    assert after("adam") == pytest.approx((0.9, 0.9))


@pytest.mark.parametrize("mask", ["select", "vmask"])
def test_a_mask_that_is_fixed_and_the_vectors_that_it_reads_have_groups_of_their_own(mask):
    plan = make_plan("transformer", mask, model__encoder="tiny")
    special = tokenizer("wordpiece").all_special_ids
    made = plan.with_mask(Transformer(network("bert"), special, plan.model_options), 3)
    vectors = {id(parameter) for parameter in made.encoder.embeddings.parameters()}
    names = {parameter: name for name, parameter in made.named_parameters()}
    for group in make_optimizer(made, plan.train, CPU).param_groups:
        for parameter in group["params"]:
            of_mask = names[parameter].startswith("mask.") or id(parameter) in vectors
            assert group[OF_MASK] == (mask == "select" and of_mask)
