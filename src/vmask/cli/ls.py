"""List what there is: masks, models, explanation methods, datasets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from vmask.cli.options import add_json, one_of

KINDS = ("masks", "models", "methods", "datasets")


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("kind", nargs="?", type=one_of(KINDS), metavar="KIND", help=f"{', '.join(KINDS)} [all]")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a name and its description a line."""
    from vmask.cli.show import print_json, say_result

    listed = {kind: _listed(kind) for kind in KINDS if args.kind in (None, kind)}
    if args.json:
        print_json(listed[args.kind] if args.kind else listed)
        return 0
    for kind, names in listed.items():
        if args.kind is None:
            say_result(kind)
        width = max(map(len, names))
        for name, description in names.items():
            say_result(f"{'' if args.kind else '  '}{name:<{width}}  {description}")
    return 0


def _listed(kind: str) -> dict[str, str]:
    from vmask.data.card import card_names, load_card
    from vmask.explain import EXPLAINERS
    from vmask.masks import MASKS
    from vmask.models import MODELS
    from vmask.registry import Registry

    if kind == "datasets":
        return {name: load_card(name).title for name in card_names()}
    registry: Registry[Any] = {"masks": MASKS, "models": MODELS, "methods": EXPLAINERS}[kind]  # type: ignore[assignment]
    return {name: registry.describe(name) for name in registry.names()}
