"""The command line as a function, and a model that it trained."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from toy import toy_texts, write_csv
from vmask.cli import main

AS_DRAWN = ["--duplicates", "ignore"]  # toy reviews have few different texts
SMALL = ["--embeddings", "random", "--epochs", "3", "--learning-rate", "0.01", "--model.filters", "8"]


@dataclass
class Done:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        """The one object on standard output, which has nothing else."""
        (line,) = self.lines
        return json.loads(line)


@pytest.fixture
def vmask(capsys):
    """Run a command line and catch what it prints."""

    def run(*words):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:  # argparse
            code = stop.code
        caught = capsys.readouterr()
        return Done(code, caught.out, caught.err)

    return run


@pytest.fixture
def fails(vmask):
    """Run a command line that must fail as the user's errors do: code 2, a line or two, no traceback."""

    def run(*words):
        done = vmask(*words)
        assert done.code == 2, done
        assert done.out == ""
        last = done.err.splitlines()[-2:]
        assert any(line.startswith("error: ") for line in last), done.err
        assert "Traceback" not in done.err
        return done.err

    return run


@pytest.fixture(scope="session")
def reviews_csv(tmp_path_factory):
    """A CSV with the columns `review` and `stars`, which are numbers."""
    texts, labels = toy_texts(120)
    stars = [5 if label == "pos" else 1 for label in labels]
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", texts, stars, header=("review", "stars"))


@pytest.fixture(scope="session")
def trained(reviews_csv, tmp_path_factory):
    """The folder of a model that `vmask train` made of it. Do not write to it."""
    out = tmp_path_factory.mktemp("runs") / "model"
    assert main(["train", str(reviews_csv), "--out", str(out), "--quiet", *AS_DRAWN, *SMALL]) == 0
    return out


@pytest.fixture(scope="session")
def other_seed(reviews_csv, tmp_path_factory):
    """The same model, trained with another seed."""
    out = tmp_path_factory.mktemp("runs") / "other"
    assert main(["train", str(reviews_csv), "--out", str(out), "--quiet", "--seed", "1", *AS_DRAWN, *SMALL]) == 0
    return out


@pytest.fixture(scope="session")
def base_model(reviews_csv, tmp_path_factory):
    """A model without word scores."""
    out = tmp_path_factory.mktemp("runs") / "base"
    assert main(["train", str(reviews_csv), "--out", str(out), "--quiet", "--mask", "base", *AS_DRAWN, *SMALL]) == 0
    return out
