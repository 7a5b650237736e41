"""Fixtures: small models with masks that do something."""

from __future__ import annotations

import functools
import warnings

import pytest

from toy import toy_texts
from vmask.errors import VmaskWarning

VOCABULARY, DIM, CLASSES = 30, 6, 3


def tell_apart(mask):
    """Give a mask weights under which it treats words differently, as those of a trained one do."""
    import torch

    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in mask.state_dict().items():
            noise = torch.randn(tensor.shape, generator=random)
            tensor.copy_(noise.abs() + 0.5 if name in ("std", "width") else noise)


@pytest.fixture(scope="session")
def build():
    """A masked classifier whose mask tells words apart, as a trained one would, in eval mode."""
    import torch

    from vmask.training.run_config import make_plan

    def make(model, mask, **options):
        random = torch.Generator().manual_seed(0)
        vectors = torch.randn(VOCABULARY, DIM, generator=random)
        vectors[0] = 0
        torch.manual_seed(0)
        classifier = make_plan(model, mask, **options).build(vectors, False, CLASSES).eval()
        tell_apart(classifier.mask)
        return classifier

    return make


@pytest.fixture(scope="session")
def build_encoder():
    """The same as `build` over a tiny encoder, by its family."""
    import torch

    from tiny_encoders import FAMILIES, network, tokenizer
    from vmask.models.transformer import Transformer
    from vmask.training.run_config import make_plan

    def make(family, mask, **options):
        plan = make_plan("transformer", mask, model__encoder="tiny", **options)
        made = tokenizer(FAMILIES[family][0])
        special = [made.pad_token_id, made.cls_token_id, made.sep_token_id, made.mask_token_id]
        torch.manual_seed(0)
        model = plan.with_mask(Transformer(network(family, CLASSES), special, plan.model_options), CLASSES).eval()
        tell_apart(model.mask)
        return model

    return make


@pytest.fixture(scope="session")
def hard():
    """A word model, hardly trained, whose mask shows some words and hides the others. Do not change it."""
    from vmask import TextClassifier

    @functools.cache
    def make(model="cnn", mask="vmask"):
        size = {"model__filters": 6} if model == "cnn" else {"model__hidden": 6}
        options = {"mask__inference": "threshold"} if mask == "vmask" else {}
        classifier = TextClassifier(model, mask, embeddings="random", epochs=1, **size, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VmaskWarning)  # that all words are masked alike
            classifier.fit(*toy_texts(80))
        tell_apart(classifier.predictor_.model.mask)
        classifier.predictor_ = classifier.predictor_.with_edits(None)  # what was stored is of the mask before
        return classifier

    return make


@pytest.fixture(scope="session")
def masking_encoder(encoder_folder):
    """A classifier over a tiny encoder, hardly trained, with a mask that does something. Do not change it."""
    from vmask import TextClassifier

    made = {}

    def make(family="bert", mask="vmask", labels=("neg", "pos"), **options):
        key = (family, mask, labels, *sorted(options.items()))
        if key not in made:
            texts, given = toy_texts(24)
            classifier = TextClassifier(str(encoder_folder(family)), mask, epochs=1, stages=1, device="cpu", **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VmaskWarning)  # that all words are masked alike
                classifier.fit(texts, [labels[label == "pos"] for label in given])
            tell_apart(classifier.predictor_.model.mask)
            classifier.predictor_ = classifier.predictor_.with_edits(None)  # what was stored is of the mask before
            made[key] = classifier
        return made[key]

    return make
