"""What the documents say is there, is there: links, names, defaults, the tree of rooms."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from vmask import __version__
from vmask.config import to_dict
from vmask.masks import MASKS
from vmask.models import MODELS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vmask"
DOCS = sorted(
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"))
    if path.is_file()
)
LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)|(?:src|href)=\"(?P<html>[^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"\$\$.*?\$\$", re.DOTALL)
# Paths of one machine. `https://host/home/` is not one.
FORBIDDEN = re.compile(r"(?<![\w.])/(?:work|home|Users)/|\.\./shared")


def name_of(path):
    return str(path.relative_to(ROOT))


def links(path):
    """Text and target of every relative link of a document."""
    prose = MATH.sub("", FENCE.sub("", path.read_text(encoding="utf-8")))
    for match in LINK.finditer(prose):
        target = (match["target"] or match["html"]).partition("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            yield match["text"] or "", target


def section(text, heading):
    """What stands under a heading, up to the next heading of any level."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading!r}"
    return found[1]


def defined(path, dotted):
    """Whether a module defines a name; `Class.method` and assignments count."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for part in dotted.split("."):
        inner = None
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == part:
                inner = node.body
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == part for target in targets):
                    inner = []
        if inner is None:
            return False
        body = inner
    return True


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_relative_links_point_at_files(path):
    missing = [target for _, target in links(path) if not (path.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_names_in_links_to_code_are_defined_there(path):
    wrong = []
    for text, target in links(path):
        if not target.endswith(".py") or not re.fullmatch(r"`[^`]+`", text):
            continue
        name = text.strip("`").removesuffix("()")
        right = target.endswith(name) if name.endswith(".py") else defined(path.parent / target, name)
        if not right:
            wrong.append((name, target))
    assert not wrong


def test_the_method_links_its_equations_to_code():
    code = [text for text, target in links(ROOT / "docs" / "method.md") if target.endswith(".py")]
    assert {"`Masked.apply`", "`_Run._step`", "`bernoulli_kl`", "`logistic_noise`", "`sample_keep`"} <= set(code)


@pytest.mark.parametrize("name", ["no_such", "Masked.no_such", "no_such.apply"])
def test_a_name_that_is_not_defined_is_found_out(name):
    assert defined(SOURCE / "masks" / "contract.py", "Masked.apply")
    assert not defined(SOURCE / "masks" / "contract.py", name)


def own_masks():
    """The masks of this package; a plug-in that is installed beside it has its own documents."""
    return sorted(path.stem for path in (SOURCE / "masks").glob("[!_]*.py") if path.stem != "contract")


def own_models():
    return sorted(path.stem for path in (SOURCE / "models").glob("[!_]*.py") if path.stem != "contract")


@pytest.mark.parametrize("name", own_masks())
def test_the_method_tells_the_true_defaults(name):
    text = section((ROOT / "docs" / "method.md").read_text(encoding="utf-8"), f"`{name}`")
    told = dict(re.findall(r"`(\w+)=([^`]+)`", text.partition("Defaults:")[2]))
    mask = MASKS.get(name)
    assert told == {key: str(value) for key, value in {**to_dict(mask.Options()), **mask.recipe}.items()}


def test_the_method_lists_the_whole_paper_code_preset():
    text = section((ROOT / "docs" / "method.md").read_text(encoding="utf-8"), "The `paper_code` preset")
    told = set(re.findall(r"^\| `(\w+)` \| `(\w+)\.(\w+)=([^`]+)` \|", text, re.MULTILINE))
    classes = {**{name: MASKS.get(name) for name in own_masks()}, **{name: MODELS.get(name) for name in own_models()}}
    true = {
        (name, part, key, str(value))
        for name, cls in classes.items()
        for part, quirks in cls.paper_code.items()
        for key, value in quirks.items()
    }
    assert told == true


def test_the_tree_of_rooms_is_the_real_one():
    rooms = section((ROOT / "docs" / "design.md").read_text(encoding="utf-8"), "Rooms")
    tree = re.search(r"```\n(.*?)```", rooms, re.DOTALL)[1]
    named = set(re.findall(r"\w+(?:\.py|/)", tree))
    there = {path.name + ("/" if path.is_dir() else "") for path in SOURCE.rglob("*")}
    assert not named - there - {"src/", "vmask/"}
    top = {name for name in there if (SOURCE / name).exists() and name.endswith((".py", "/"))} - {"__pycache__/"}
    assert not top - named, "docs/design.md does not name every room"


def test_the_citation_has_what_it_needs():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert (citation["cff-version"], str(citation["version"])) == ("1.2.0", __version__)
    paper = citation["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Chen", "Ji"]
    assert (paper["doi"], paper["year"]) == ("10.18653/v1/2020.emnlp-main.347", 2020)
    assert (paper["start"], paper["end"]) == ("4236", "4251")


def test_the_changelog_has_this_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_the_whole_of_apache_2():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "Copyright [yyyy] [name of copyright owner]" in text


def test_no_document_or_source_names_a_path_of_one_machine():
    files = [*DOCS, ROOT / "CITATION.cff"]
    files += [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".yaml", ".css")]
    found = [
        f"{name_of(path)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if FORBIDDEN.search(line)
    ]
    assert not found
