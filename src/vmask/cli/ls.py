"""List what there is: masks, models, explanation methods, metrics, trackers, datasets."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from vmask.cli.console import print_json, say_result
from vmask.cli.options import add_json, one_of
from vmask.errors import ConfigError

KINDS = ("masks", "models", "explainers", "metrics", "trackers", "datasets")
WIDTH = 110
ALSO = {"methods": "explainers"}
"""Alternative names of a kind."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    kinds = one_of((*KINDS, *ALSO))
    parser.add_argument("kind", nargs="?", type=kinds, metavar="KIND", help=f"{', '.join(KINDS)} [all]")
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of the metrics alone")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the names with their descriptions, one a line."""
    wanted = ALSO.get(args.kind, args.kind)
    if wanted == "metrics":
        return _metrics(args)
    if args.name is not None:
        raise ConfigError("NAME is for `vmask ls metrics`. Leave it out.")
    listed = {kind: _listed(kind) for kind in KINDS if wanted in (None, kind)}
    if args.json:
        print_json(listed[wanted] if wanted else listed)
        return 0
    for kind, names in listed.items():
        if wanted is None:
            say_result(kind)
        width = max(map(len, names))
        for name, description in names.items():
            say_result(f"{'' if wanted else '  '}{name:<{width}}  {description}")
    return 0


def _listed(kind: str) -> dict[str, str]:
    from vmask.data.card import working_cards
    from vmask.explain import EXPLAINERS
    from vmask.masks import MASKS
    from vmask.metrics import METRICS
    from vmask.models import MODELS
    from vmask.registry import Registry
    from vmask.trackers import TRACKERS

    if kind == "datasets":
        return {name: card.title for name, card in working_cards().items()}
    rooms: dict[str, Registry[Any]] = {
        "masks": MASKS,
        "models": MODELS,
        "explainers": EXPLAINERS,
        "metrics": METRICS,
        "trackers": TRACKERS,
    }
    return {name: rooms[kind].describe(name) for name in rooms[kind].working()}


def _metrics(args: argparse.Namespace) -> int:
    """Print what each metric is, with its range, direction, definition, citation and limits."""
    from vmask.config import to_dict
    from vmask.metrics import METRICS
    from vmask.metrics.contract import FAMILIES, Facts

    if args.name is not None:
        METRICS.get(args.name)
    facts = {name: Facts.read(name) for name in ([args.name] if args.name is not None else METRICS.working())}
    facts = dict(sorted(facts.items(), key=lambda item: FAMILIES.index(item[1].family)))
    if args.json:
        options = {name: to_dict(METRICS.get(name).Options()) for name in facts}
        print_json({name: {**dataclasses.asdict(fact), "options": options[name]} for name, fact in facts.items()})
        return 0
    for name, fact in facts.items():
        better = "no direction" if fact.better == "neither" else f"{fact.better} is better"
        say_result(fill(f"{name}  {fact.summary}", WIDTH, subsequent_indent="      "))
        about = f"range: {fact.low:g} to {fact.high:g}, {better}; {fact.family}"
        own = to_dict(METRICS.get(name).Options())
        about = f"{about}; options: {', '.join(f'{key}={value}' for key, value in own.items()) or 'none'}"
        for line in (about, *(f"{field}: {getattr(fact, field)}" for field in ("definition", "citation", "limits"))):
            say_result(fill(line, WIDTH, initial_indent="    ", subsequent_indent="      "))
    return 0
