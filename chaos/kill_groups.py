"""The commands that are killed, what they start from, and how their output is read."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chaos.harness import Result, command

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # toy texts, tiny encoders, a tiny grid

TINY = "--embeddings random --epochs 2 --batch-size 20 --learning-rate 0.02 --model.filters 4"
MEASURE = "--metrics accuracy,aopc --explainers lime,occlusion --lime.samples 20 --n 4"
MOST = 30
"""Points of a group, at most."""
TIMES = {"seconds", "seconds_per_epoch", "memory_mb", "resumed", "commit", "digest", "report", "files"}
"""Keys of JSON files that may differ between two runs: times, digests of files with times, which of two names it is."""
TALK = re.compile(rb"[\d.,]+ ?(seconds|second|minutes|s|ms|hours)\b|\d{4}-\d\d-\d\d( \d\d:\d\d)?")
"""Times and dates in pages."""
EVALUATION = ("scores", "explanations", "explanations with new ones")
"""What `evaluation` gives."""

Unit = Callable[[], Sequence[Any]]
"""What an ordinary reader finds of a part of the output: one or more pieces, of which the first decides, each None
where there is nothing yet. It raises where something is damaged."""


@dataclass(frozen=True)
class Group:
    """A command to kill.

    Attributes:
        name: of the group of cases.
        start: names of what is there before it, by where it is copied from in the folder of what is made once.
        words: the command, or a function that does the work.
        units: parts of its output that must be whole.
        more: added to the command when it goes on.
        needs: imported before anything is killed.
        most: points at which it is killed, at most.
    """

    name: str
    start: Mapping[str, str]
    words: Sequence[str] | Callable[[], None]
    units: Mapping[str, Unit]
    more: Sequence[str] = ()
    needs: Sequence[str] = ()
    most: int = MOST

    def run(self, more: Sequence[str] = ()) -> Result:
        """Do it, in this process."""
        if callable(self.words):
            self.words()
            return Result(0, "", "")
        return command(*self.words, *more)

    def found(self) -> dict[str, list[str | None]]:
        """Digests of what there is of every unit, and of its parts."""
        return {name: list(map(digest, read())) for name, read in self.units.items()}

    def work(self) -> None:
        """Do it, to be killed or counted."""
        result = self.run()
        if result.code:
            raise RuntimeError(result.err)


def tree(folder: Path) -> dict[str, Any]:
    """All files of a folder, without what may differ between two runs; folders are None."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        plain = name.replace("model-2.", "model.").replace("tokenizer-2.", "tokenizer.")  # one or the other is there
        found[name if plain in found else plain] = content(path) if path.is_file() else None
    return found


def content(path: Path) -> Any:
    """What is in a file, without times."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return _timeless(json.loads(data))
    return TALK.sub(b"", data) if path.suffix in (".html", ".md") else data


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def model(folder: Path) -> Sequence[Any]:
    """A model folder, as `TextClassifier.load` reads it, and its page, where the manifest says that it is its own."""
    from vmask._core.files import sha256
    from vmask.classifier import TextClassifier
    from vmask.persistence.model_folder import CONFIG, REPORT, read_config

    if not (folder / CONFIG).exists():
        return None, None
    loaded = TextClassifier.load(folder, "cpu")
    noted = read_config(folder).get("report")
    page = file(folder / REPORT) if noted and noted["sha256"] == sha256(folder / REPORT) else (None,)
    weights = {name: one.numpy().tobytes() for name, one in loaded.predictor_.model.state_dict().items()}
    history = [{**row, "seconds": 0} for row in loaded.history_]
    return (weights, history, loaded.classes_.tolist(), loaded.get_params()), *page


def export(folder: Path) -> Sequence[Any]:
    """An export: the files that its `config.json` names."""
    from vmask.export.folder import exported_files

    if not (folder / "config.json").exists():
        return (None,)
    names = exported_files(folder)
    if names is None or any(not (folder / name).is_file() for name in names):
        raise ValueError(f"{folder} is no complete export: it should have {names}")
    return ({name: content(folder / name) for name in ("config.json", *names)},)


def file(path: Path) -> Sequence[Any]:
    """A file that is whole in itself."""
    return (content(path) if path.exists() else None,)


def lines(path: Path) -> Sequence[Any]:
    """A file of explanations."""
    from vmask.explain.explanation_file import read_explanations

    return ([one.to_json() for one in read_explanations(path)] if path.exists() else None,)


def evaluation(folder: Path) -> Sequence[Any]:
    """An evaluation, as `Evaluation.load` reads it, and the explanations that it was made of.

    These may still wait in the folder `new` of those that replace others.
    """
    from vmask.evaluation.result import SCORES, Evaluation

    if not (folder / SCORES).exists():
        return None, None, None
    found = Evaluation.load(folder)
    values = {key: [one.tolist() for one in found.values(key)] for key in found.measured()}
    numbers = (_timeless(found.to_dict()), values)
    kept = {path.name: lines(path) for path in sorted((folder / "explanations").glob("*.jsonl"))}
    new = {path.name: lines(path) for path in sorted((folder / "explanations" / "new").glob("*.jsonl"))}
    return numbers, kept, {**kept, **new}


def results(folder: Path) -> Sequence[Any]:
    """Every file of a grid's results is whole; which ones there are is for the grid to know."""
    from vmask.grid.store import Store

    for name in ("cells", "search", "data"):
        for record in Store(folder).records(name):
            if record.get("status", "done") not in ("done", "running"):
                raise ValueError(f"a piece of work failed: {record.get('error')}")
    return ()


def pages(folder: Path) -> Sequence[Any]:
    """A report with its tables and figures."""
    if not (folder / "report.md").exists():
        return (None,)
    found = tree(folder).items()
    return ({name: one for name, one in found if one is not None and not Path(name).name.startswith(".")},)


def digest(value: Any) -> str | None:
    """Of what a reader found; None of nothing."""
    return None if value is None else hashlib.sha256(repr(value).encode()).hexdigest()


def save_again() -> None:
    from vmask.classifier import TextClassifier

    TextClassifier.load("model").save("out", overwrite=True)


def inline_grid(*words: str) -> None:
    import vmask.grid.run
    from grid.tiny import Inline

    vmask.grid.run.Pool = Inline  # other processes are not seen, and take seconds to start
    result = command("grid", "tiny.yaml", "--models", "models", "--quiet", *words)
    if result.code:
        raise RuntimeError(f"code {result.code}: {result.out[-500:]} {result.err[-500:]}")


def groups() -> Iterator[Group]:
    """All of them."""
    out, data = Path("out"), {"reviews.csv": "reviews.csv"}
    train = words(f"train reviews.csv --out out --report quick --quiet {TINY}")
    of_model = {"model": partial(model, out)}
    yield Group("train", data, train, of_model, ("--resume",))
    yield Group("train-overwrite", {**data, "out": "other"}, [*train, "--overwrite"], of_model, ("--resume",))
    yield Group("save-overwrite", {"model": "model", "out": "other"}, save_again, of_model, most=60)
    of_export = {"export": partial(export, out)}
    for kind, name, older in (("onnx", "model", "other-onnx"), ("hf", "encoder-model", "other-hf")):
        export_ = words(f"export {name} out --format {kind} --quiet")
        yield Group(f"export-{kind}", {name: name}, export_, of_export)
        yield Group(f"export-{kind}-overwrite", {name: name, "out": older}, [*export_, "--overwrite"], of_export)
    explain = words("explain model --input reviews.csv --limit 4 --method lime --method.samples 20 --quiet")
    explain += words("--out x.jsonl --html x.html")
    files = {"lines": partial(lines, Path("x.jsonl")), "page": partial(file, Path("x.html"))}
    yield Group("explain", {**data, "model": "model"}, explain, files)
    old = {"x.jsonl": "other.jsonl", "x.html": "other.html"}
    yield Group("explain-overwrite", {**data, **old, "model": "model"}, [*explain, "--overwrite"], files)
    evaluate = words(f"evaluate model reviews.csv --out out --quiet {MEASURE}")
    of_scores = {"evaluation": partial(evaluation, out)}
    yield Group("evaluate", {**data, "model": "model"}, evaluate, of_scores, most=20)
    replaced = {**data, "model": "model", "out": "other-scores"}
    yield Group("evaluate-overwrite", replaced, [*evaluate, "--overwrite"], of_scores, most=20)
    compare = words(f"compare model other reviews.csv --out out --html out/page.html --quiet {MEASURE}")
    parts = {name: partial(file, out / name) for name in ("comparison.json", "page.html")}
    parts |= {side: partial(evaluation, out / side) for side in ("a", "b")}
    two = {**data, "model": "model", "other": "other"}
    yield Group("compare", two, compare, parts, most=12)
    yield Group("compare-overwrite", {**two, "out": "other-compared"}, [*compare, "--overwrite"], parts, most=12)
    grid = {**data, "tiny.yaml": "tiny.yaml"}
    yield Group("grid", grid, inline_grid, {"files": partial(results, Path("results"))}, most=20)
    report = words("report results --out out --quiet")
    draws = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "wordcloud", "PIL.PngImagePlugin")
    of_pages = {"report": partial(pages, out)}
    yield Group("report", {"results": "results"}, report, of_pages, needs=draws, most=8)
    yield Group("report-again", {"results": "results", "out": "other-report"}, report, of_pages, needs=draws, most=8)
    show = words("show out reviews.csv --report quick --figures figures --quiet")
    yield Group("show", {**data, "out": "model-reported"}, show, of_model, needs=draws, most=8)
    demo = words("demo --data reviews.csv --embeddings random --epochs 1 --out out --quiet")
    demos = {f"cnn-{mask}": partial(model, out / f"cnn-{mask}") for mask in ("base", "vmask")}
    yield Group("demo", data, demo, demos, most=6)
    yield Group("demo-again", {**data, "out": "other-demo"}, demo, demos, most=6)
    distil = words("train reviews.csv --out out --report none --embeddings distil:encoder --epochs 1 --quiet")
    yield Group("distil", {**data, "encoder": "encoder"}, distil, of_model, ("--resume",), most=8)


def make_all() -> None:
    """Make, once, in the current folder, what the groups start from."""
    from grid.tiny import TINY as GRID
    from grid.tiny import write_tiny
    from tiny_encoders import save_encoder
    from toy import toy_texts, write_csv

    def done(line: str) -> None:
        if (result := command(*words(line), "--quiet")).code:
            raise RuntimeError(f"{line}: {result.err}")

    write_tiny(Path(), grid=[{**GRID["grid"][0], "seeds": 0}])
    write_csv(Path("reviews.csv"), *toy_texts(60))
    for seed, name in enumerate(("model", "other")):
        done(f"train reviews.csv --out {name} --report none --seed {seed} {TINY}")
    shutil.copytree("model", "model-reported")
    for name in ("model-reported", "other"):
        done(f"show {name} reviews.csv --report quick")
    save_encoder("bert", Path("encoder"))
    for seed, name in enumerate(("encoder-model", "encoder-other")):
        done(f"train reviews.csv --out {name} --seed {seed} --model encoder --epochs 1 --report none")
    done("export other other-onnx")
    done("export encoder-other other-hf")
    done("explain other --input reviews.csv --limit 3 --method occlusion --out other.jsonl --html other.html")
    done(f"evaluate other reviews.csv --out other-scores {MEASURE}")
    shutil.copytree("other", "third")
    done(f"compare other third reviews.csv --out other-compared --html other-compared/page.html {MEASURE}")
    inline_grid()
    shutil.copytree("results", "fewer-results", ignore=shutil.ignore_patterns("*.local.json"))
    done("report fewer-results --out other-report")
    done("demo --data reviews.csv --embeddings random --epochs 1 --seed 5 --out other-demo")


def words(line: str) -> list[str]:
    """The words of a command."""
    return line.split()
