"""Train CNN-base and CNN-VMASK on movie reviews, print what they learnt, write an HTML report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vmask.cli.console import print_json, print_rich, say
from vmask.cli.options import add_data_dir, add_device, add_json, whole_number


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("--data", default="reviews", metavar="DATA", help="a dataset or a file [reviews]")
    parser.add_argument("--embeddings", default="word2vec-26k", metavar="VECTORS", help="word vectors [word2vec-26k]")
    parser.add_argument("--model", default="cnn", metavar="NAME", help="cnn or lstm [cnn]")
    parser.add_argument(
        "--epochs",
        type=whole_number(1, 100_000),
        default=12,
        metavar="N",
        help="passes over the training set, at most [12]",
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, metavar="N", help="seed of everything random [0]")
    parser.add_argument("--out", default="demo", metavar="DIR", help="folder for report.html and the models [demo]")
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Run the demo. Files of an earlier demo in the folder are replaced."""
    from vmask.report.demo import run_demo

    result = run_demo(
        data=args.data,
        data_dir=args.data_dir,
        embeddings=args.embeddings,
        model=args.model,
        epochs=args.epochs,
        seed=args.seed,
        device=args.device,
        out=Path(args.out),
        say=lambda message: say(args, message),
        verbose=not args.quiet,
    )
    if args.json:
        print_json(result.to_dict())
        return 0
    for line in result.lines():
        print_rich(line)
    return 0
