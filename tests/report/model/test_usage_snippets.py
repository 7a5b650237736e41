"""Lines to copy: with the real names, and they run."""

from __future__ import annotations

import ast
import shlex

from vmask.cli.main import build_parser
from vmask.report.model.usage_snippets import example, uses


def blocks(classifier, folder="my model", texts=("a lovely film",)):
    return {use.title: [code for _, code in use.code] for use in uses(classifier, folder, texts)}


def test_commands_are_ours_and_name_the_folder(model, tiny_encoder):
    for classifier in (model, tiny_encoder()):
        lines = [line for code in blocks(classifier).values() for one in code for line in one.splitlines()]
        commands = [shlex.split(line) for line in lines if line.startswith("vmask ")]
        assert len(commands) >= 5
        for command in commands:
            assert command[2] == "my model"
            build_parser(command[1:]).parse_args(command[1:])  # leaves where an argument is wrong


def test_python_is_python(model, base, tiny_encoder):
    for classifier in (model, base, tiny_encoder(), tiny_encoder("base")):
        for title, code in blocks(classifier, 'a "b"', ['say "hi"']).items():
            if title != "On the command line":
                ast.parse(code[-1])
                assert 'a \\"b\\"' in code[-1]


def test_the_python_of_the_report_runs(model, tmp_path, capsys):
    folder = model.save(tmp_path / "m")
    exec(blocks(model, str(folder))["In Python"][0], {})
    out = capsys.readouterr().out
    assert "pos" in out or "neg" in out


def test_only_encoders_go_to_transformers_and_only_rankings_to_words(model, base, tiny_encoder):
    assert set(blocks(model)) == {"On the command line", "In Python", "As ONNX, without vmask and torch"}
    assert "With transformers, without vmask" in blocks(tiny_encoder())
    assert "vmask words" in blocks(model)["On the command line"][0]
    assert "vmask words" not in blocks(base)["On the command line"][0]


def test_the_example_is_short_and_on_one_line():
    assert example(["word " * 100, "a\n lovely   film"]) == "a lovely film"
    assert example(["word " * 100, ""]) == "some text"
