"""Calls in src/ that could run what a file brings: each says that it does not."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
FORBIDDEN = {
    *("input", "eval", "exec", "compile", "__import__", "breakpoint"),
    *("torch.load", "torch.hub.load", "torch.jit.load", "pickle.load", "pickle.loads", "joblib.load", "marshal.loads"),
    *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen", "shutil.unpack_archive"),
}
MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def name_of(node):
    """`a.b.c` of such a node."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def calls(tree):
    return ((name_of(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def keyword_value(call, name):
    """The constant that a call passes for an argument."""
    return next((word.value.value for word in call.keywords if word.arg == name and hasattr(word.value, "value")), None)


def test_nothing_loads_code_or_asks():
    for path in SOURCES:
        check_calls(path)


def check_calls(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    assert not imported & MODULES, path
    for name, call in calls(tree):
        last = name.rpartition(".")[2] or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
        assert name not in FORBIDDEN, f"{path}:{call.lineno}: {name}"
        if last in ("from_pretrained", "from_config") and "Embedding" not in name:
            assert keyword_value(call, "trust_remote_code") is False, f"{path}:{call.lineno}: trust_remote_code=False"
        if name == "np.load":
            assert keyword_value(call, "allow_pickle") is False, f"{path}:{call.lineno}: allow_pickle=False"
        assert keyword_value(call, "allow_pickle") is not True, path
        assert keyword_value(call, "trust_remote_code") is not True, path
        assert keyword_value(call, "weights_only") is not False, path
