"""Show which words of a text the model uses."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from vmask.cli.options import add_device, add_json


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    from vmask.explain import EXPLAINERS

    parser.add_argument("model", metavar="DIR", help="a model folder")
    parser.add_argument("given", metavar="TEXT", nargs="?", help="a text")
    parser.add_argument("--input", metavar="FILE", help="many texts: a text a line, a CSV/TSV/JSONL column, or -")
    parser.add_argument("--text", metavar="COLUMN", help="column with the texts of --input [as in training]")
    parser.add_argument("--method", default="mask", metavar="NAME", help=f"{', '.join(EXPLAINERS.names())} [mask]")
    add_device(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    from vmask.classifier import TextClassifier
    from vmask.cli.predict import chunks, read_texts
    from vmask.cli.show import print_json, print_rich
    from vmask.errors import ConfigError

    if (args.given is None) == (args.input is None):
        raise ConfigError('Give either a text (vmask explain DIR "a text") or a file (--input FILE).')
    classifier = TextClassifier.load(args.model, args.device)
    texts: Iterable[str] = (
        [args.given] if args.input is None else read_texts(args.input, args.text, classifier.about_.get("text"))
    )
    for chunk in chunks(texts):
        for explanation in classifier.explain(chunk, method=args.method):
            if args.json:
                print_json(explanation.to_dict())
                continue
            print_rich(explanation.to_rich())
            best = ", ".join(f"{word} {score:.2f}" for word, score in explanation.top(5))
            unseen = f"  ({explanation.unseen} words past the length limit)" if explanation.unseen else ""
            print_rich(f"  {explanation.target} {explanation.probability:.2f}  top words: {best or 'none'}{unseen}")
    return 0
