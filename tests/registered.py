"""Names of registered models, by what they read."""

from __future__ import annotations

from vmask.models import MODELS
from vmask.models.contract import WordEncoder

WORD_MODELS = [name for name in MODELS.names() if issubclass(MODELS.get(name), WordEncoder)]
"""Those that read words. Encoders over pieces have tests of their own: `models/test_transformer.py` and `fitting/`."""
