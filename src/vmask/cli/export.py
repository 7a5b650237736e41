"""Write a model for programs without vmask: ONNX, or a folder that transformers loads."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from vmask.cli.console import print_json, say, say_result
from vmask.cli.options import add_json, add_model, choices
from vmask.export import FORMATS


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    add_model(parser)
    parser.add_argument("out", metavar="OUT", help="folder for the export")
    parser.add_argument(
        "--format",
        **choices(FORMATS),
        help="hf: for transformers; onnx: for onnxruntime and others [onnx for cnn and lstm, hf for encoders]",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an export that is there")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Load the model, export it, print the result."""
    from vmask.classifier import TextClassifier

    result = TextClassifier.load(args.model, "cpu").export(args.out, args.format, args.overwrite)
    if args.json:
        print_json({**dataclasses.asdict(result), "path": str(result.path)})
        return 0
    for note in result.notes:
        say_result(note)
    say_result(f"greatest difference of a probability from the model's: {result.difference:.1e}")
    megabytes = sum(result.sizes.values()) / 1e6
    say_result(f"exported to {result.path} ({result.format}, {megabytes:.1f} MB): {', '.join(result.files)}")
    say(args, f"next: {result.path}/README.md shows how to run it")
    return 0
