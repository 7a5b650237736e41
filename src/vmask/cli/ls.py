"""List what there is: masks, models, explanation methods, datasets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from vmask.cli.options import add_json, one_of

KINDS = ("masks", "models", "explainers", "datasets")
ALSO = {"methods": "explainers"}
"""Other names of a kind."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    kinds = one_of((*KINDS, *ALSO))
    parser.add_argument("kind", nargs="?", type=kinds, metavar="KIND", help=f"{', '.join(KINDS)} [all]")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a name and its description a line."""
    from vmask.cli.show import print_json, say_result

    asked = ALSO.get(args.kind, args.kind)
    listed = {kind: _listed(kind) for kind in KINDS if asked in (None, kind)}
    if args.json:
        print_json(listed[asked] if asked else listed)
        return 0
    for kind, names in listed.items():
        if asked is None:
            say_result(kind)
        width = max(map(len, names))
        for name, description in names.items():
            say_result(f"{'' if asked else '  '}{name:<{width}}  {description}")
    return 0


def _listed(kind: str) -> dict[str, str]:
    from vmask.data.card import card_names, load_card
    from vmask.explain import EXPLAINERS
    from vmask.masks import MASKS
    from vmask.models import MODELS
    from vmask.registry import Registry

    if kind == "datasets":
        return {name: load_card(name).title for name in card_names()}
    registry: Registry[Any] = {"masks": MASKS, "models": MODELS, "explainers": EXPLAINERS}[kind]  # type: ignore[assignment]
    return {name: registry.describe(name) for name in registry.names()}
