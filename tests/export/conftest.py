"""Small models with masks that do something."""

from __future__ import annotations

import pytest
import torch

from vmask.plan import make_plan

VOCABULARY, DIM, CLASSES = 30, 6, 3


@pytest.fixture(scope="session")
def build():
    """A masked classifier whose mask tells words apart, as a trained one would, in eval mode."""

    def make(model, mask, **options):
        random = torch.Generator().manual_seed(0)
        vectors = torch.randn(VOCABULARY, DIM, generator=random)
        vectors[0] = 0
        torch.manual_seed(0)
        classifier = make_plan(model, mask, **options).build(vectors, False, CLASSES).eval()
        with torch.no_grad():
            for name, tensor in classifier.mask.state_dict().items():
                noise = torch.randn(tensor.shape, generator=random)
                tensor.copy_(noise.abs() + 0.5 if name in ("std", "width") else noise)
        return classifier

    return make
