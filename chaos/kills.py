"""Commands that are killed at every one of their file operations: the old or the new is there, and they go on.

For every point a command is killed there, in a fork, and then:

1. every unit of its output (a model, a file, an evaluation) is whole: as before the command or as after it;
2. the same command, with `--resume` where the tool says so, ends with code 0, and then all files are those of a command
   that was never killed, byte by byte but for times; so nothing is left over of the one that was killed.

Commands with very many points are killed at a sample of them: each kind of operation on each file, and some more.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from chaos.harness import Case, wrong
from chaos.kill_groups import EVALUATION, Group, groups, make_all, tree
from chaos.killing import Point, killed_at, points_of

REFUSAL = "exists|already|finished"
"""What a command says that finds nothing left to do."""


@contextmanager
def suite(work: Path, seed: int) -> Iterator[list[Case]]:
    """The cases: what groups start from is made, and their points are counted, in forks."""
    made = work / "made"
    made.mkdir()
    cache = os.environ.get("VMASK_CACHE")
    os.environ["VMASK_CACHE"] = "cache"  # in the folder of each case
    _apart(made, make_all)
    cases = []
    for group in groups():
        for name in group.needs:
            importlib.import_module(name)
        whole = work / group.name
        _fill(whole, made, group)
        before = _apart(whole, group.found)
        with _inside(whole):
            points = points_of(group.work, whole)
        after = _apart(whole, group.found)
        chosen = some(points, group.most, seed)
        print(f"kills: {group.name}: {len(chosen)} of {len(points)} points", file=sys.stderr, flush=True)
        for point in chosen:
            case = partial(_case, group, made, whole, before, after, point)
            cases.append(Case(f"{group.name}:{point}", case, seconds=300.0))
    try:
        yield cases
    finally:
        os.environ.pop("VMASK_CACHE")
        os.environ.update({} if cache is None else {"VMASK_CACHE": cache})


def some(points: Sequence[Point], most: int, seed: int) -> list[Point]:
    """All points, or each kind of operation on each file once and others at random, in their order."""
    if len(points) <= most:
        return list(points)
    first: dict[tuple[str, str], int] = {}
    for at, point in enumerate(points):
        first.setdefault((point.kind, re.sub(r"\d+", "", point.path)), at)
    stream = random.Random(seed)
    kinds = sorted(first.values())
    kinds = kinds if len(kinds) <= most else sorted(stream.sample(kinds, most))
    rest = sorted({*range(len(points))} - {*kinds})
    drawn = stream.sample(rest, min(most - len(kinds), len(rest)))
    return [points[at] for at in sorted({*kinds, *drawn})]


def _case(group: Group, made: Path, whole: Path, before: Any, after: Any, point: Point, folder: Path) -> str | None:
    _fill(folder, made, group)
    if failure := killed_at(point, group.work, folder):
        return failure
    try:
        found = group.found()
    except Exception as error:
        return f"after the kill something is damaged: {type(error).__name__}: {error}"
    for name, parts in found.items():
        if not _is_whole(parts, before[name], after[name]):
            states = [_state(*one) for one in zip(parts, before[name], after[name], strict=True)]
            return f"after the kill the {name} is neither as before nor as after: {', '.join(states)}"
    try:
        result = group.run(group.more)
    except Exception as error:
        return f"the same command fails: {type(error).__name__}: {error}"
    there = result.code == 2 and found == after and re.search(REFUSAL, result.err)
    if not there and (failure := wrong(result, (0,))):
        return f"the same command: {failure}"
    return differing(tree(folder), tree(whole))


def differing(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """In what a folder is not that of a command which was never killed."""
    if extra := sorted({*found} - {*wanted}):
        return f"at the end there is something left over: {', '.join(extra[:6])}"
    if missing := sorted({*wanted} - {*found}):
        return f"at the end there is something missing: {', '.join(missing[:6])}"
    if other := sorted(name for name in wanted if found[name] != wanted[name]):
        return f"at the end there is something else in: {', '.join(other[:6])}"
    return None


def _is_whole(parts: list, before: list, after: list) -> bool:
    """Whether a unit is as before, or as after, or its first part is and the others are still to come."""
    if len(parts) == len(EVALUATION):
        return parts[:2] == before[:2] or parts[::2] == after[::2]
    rest = zip(parts[1:], after[1:], strict=True)
    return parts == before or (parts[0] == after[0] and all(one in (None, new) for one, new in rest))


def _state(found: str | None, before: str | None, after: str | None) -> str:
    named = {None: "missing", before: "old", after: "new"}
    return named.get(found, "neither")


def _fill(folder: Path, made: Path, group: Group) -> None:
    folder.mkdir(exist_ok=True)
    for name, source in group.start.items():
        copy = shutil.copytree if (made / source).is_dir() else shutil.copy
        copy(made / source, folder / name)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _apart(folder: Path, work: Callable[[], Any]) -> Any:
    """Do something in a fork, inside of a folder, and give what it gave: this process stays as it is."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.chdir(folder)
            note, code = json.dumps(work()), 0
        except BaseException:
            traceback.print_exc()
            note, code = "null", 1
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            stream.write(note)
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        note = stream.read()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError("what the cases start from could not be made")
    return json.loads(note)
