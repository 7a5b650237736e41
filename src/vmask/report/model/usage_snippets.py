"""How to use a model: lines to copy, with the real name of its folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence

from vmask.classifier import TextClassifier
from vmask.export import card
from vmask.report.model.content import Use

SHORT = 90
"""Characters of a text that stands in a command, at most."""
SOME_TEXT = "some text"
ANYWHERE = "Then, in Python:"


def example(texts: Sequence[str]) -> str:
    """The first text that is short enough for a command, on one line."""
    lines = (" ".join(text.split()) for text in texts)
    return next((line for line in lines if line and len(line) <= SHORT and line.isprintable()), SOME_TEXT)


def uses(classifier: TextClassifier, folder: str, texts: Sequence[str]) -> Iterator[Use]:
    """Ways to use a model: from the command line, from Python, and in programs without vmask.

    Args:
        classifier: the model.
        folder: where it is saved, as the user calls it.
        texts: some of which one is taken as an example, where it is short.
    """
    folder, text = folder.rstrip("/") or folder, example(texts)
    quoted, ranks = shlex.quote(folder), classifier.predictor_.ranks_words
    commands = [f"vmask predict {quoted} my-texts.csv", f"vmask explain {quoted} {shlex.quote(text)} --method lime"]
    if ranks:
        commands.append(f"vmask words {quoted} --top 20")
    commands.append(f"vmask evaluate {quoted} more-labelled-texts.csv")
    yield Use("On the command line", (("Every command has --help, and --json for machines.", "\n".join(commands)),))
    lines = [
        "from vmask import TextClassifier",
        "",
        f"classifier = TextClassifier.load({_literal(folder)})",
        f"texts = [{_literal(text)}]",
        "print(classifier.predict(texts))",
        'print(classifier.explain(texts, "lime")[0].top(3))',
    ]
    if ranks:
        lines.append("print([word.word for word in classifier.word_importance(top=20, min_count=3)])")
    yield Use("In Python", (("The classifier is a scikit-learn estimator.", "\n".join(lines)),))
    encoder = classifier.plan_.reads_pieces
    if encoder:
        target = f"{folder}-hf"
        code = _code(card.HF).replace('model="."', f"model={_literal(target)}").replace('  # "." is this folder', "")
        yield Use("With transformers, without vmask", (_export(quoted, target, "hf"), (ANYWHERE, code)))
    target = f"{folder}-onnx"
    code = _code(card.ENCODER_ONNX if encoder else card.ONNX)
    code = code.replace('Path(".")  # where this file is', f"Path({_literal(target)})")
    yield Use("As ONNX, without vmask and torch", (_export(quoted, target, "onnx"), (ANYWHERE, code)))


def _export(quoted: str, target: str, format: str) -> tuple[str, str]:
    """The command that writes an export."""
    return "Once, on the command line:", f"vmask export {quoted} {shlex.quote(target)} --format {format}"


def _code(markdown: str) -> str:
    """The Python of an export's README."""
    return markdown.partition(f"{card.FENCE}\n")[2].partition("```")[0].rstrip()


def _literal(text: str) -> str:
    """A string of Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)
