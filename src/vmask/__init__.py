"""Text classifiers that show which words they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vmask._core.moved_modules import install

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier
    from vmask.data.datasets import load_dataset
    from vmask.evaluation.compare import compare
    from vmask.evaluation.measure import evaluate
    from vmask.evaluation.result import Evaluation
    from vmask.explain.api import explain_texts
    from vmask.explain.contract import Explanation
    from vmask.explain.explanation_file import read_explanations

__all__ = [
    "Evaluation",
    "Explanation",
    "TextClassifier",
    "__version__",
    "compare",
    "evaluate",
    "explain_texts",
    "load_dataset",
    "read_explanations",
]

# torch and scikit-learn take seconds to import; `vmask --help` and `import vmask` should not.
_LAZY = {
    "Evaluation": "vmask.evaluation.result",
    "Explanation": "vmask.explain.contract",
    "TextClassifier": "vmask.classifier",
    "compare": "vmask.evaluation.compare",
    "evaluate": "vmask.evaluation.measure",
    "explain_texts": "vmask.explain.api",
    "load_dataset": "vmask.data.datasets",
    "read_explanations": "vmask.explain.explanation_file",
}


install()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'vmask' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
