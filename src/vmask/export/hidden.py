"""Which tokens an export does not see: the list in its folder, and texts as its tokenizer reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmask._core.files import to_json
from vmask._core.parsing import read_json
from vmask.errors import DataError, ExportError
from vmask.export.folder import CONFIG, TOKENIZER
from vmask.inference.contract import Doc
from vmask.inference.visibility import claimed_ids
from vmask.models.contract import MaskedClassifier

TOKENIZER_CONFIG = "tokenizer_config.json"
"""File of transformers with the settings of a tokenizer."""
HIDDEN = "hidden_tokens.json"
"""File with the hidden tokens and their ids."""


def write_hidden(model: MaskedClassifier, token_of: Callable[[int], str | None], folder: Path) -> None:
    """Write which tokens a model says that it does not see, if there are any.

    Args:
        model: the model.
        token_of: the token of an id.
        folder: the folder of the export.
    """
    claimed = claimed_ids(model)
    if claimed is not None and not claimed.all():
        # Some encoders have more vectors than their tokenizer has tokens.
        tokens = {token: id for id in np.flatnonzero(~claimed).tolist() if (token := token_of(id)) is not None}
        (folder / HIDDEN).write_text(to_json(tokens), encoding="utf-8")


@dataclass(frozen=True)
class ExportReader:
    """Reads texts as an export does.

    Attributes:
        tokenizer: the tokenizer of the folder.
        claimed: (V,) whether the export says that it sees an id.
        labels: the classes, in the order of the probabilities.
        thresholds: (C,) probability from which each label is predicted, where a text may have several; else None.
    """

    tokenizer: Any
    claimed: NDArray[np.bool_]
    labels: list[Any]
    thresholds: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, folder: Path) -> ExportReader:
        """Read the list and the tokenizer of an export.

        Raises:
            ExportError: if it has no list of hidden tokens, or its files are damaged.
        """
        from tokenizers import Tokenizer

        if not (folder / HIDDEN).is_file():
            raise ExportError(
                f"{folder} has no {HIDDEN}: its model hides no word, or it was exported by an older version. "
                "Export it again, from a model of --mask select or of vmask edit."
            )
        try:
            hidden, facts = read_json(folder / HIDDEN), read_json(folder / CONFIG)
            tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            if tokenizer.truncation is None:  # of a Hugging Face folder, which has its limit in another file
                tokenizer.enable_truncation(int(read_json(folder / TOKENIZER_CONFIG)["model_max_length"]))
            claimed = np.ones(max(tokenizer.get_vocab().values(), default=-1) + 1, np.bool_)
            if not all(type(id) is int and 0 <= id < len(claimed) for id in hidden.values()):
                raise ValueError(f"{HIDDEN} has ids that its tokenizer does not know")
            claimed[list(hidden.values())] = False
            labels = facts.get("labels") or [facts["id2label"][str(at)] for at in range(len(facts["id2label"]))]
            given = facts.get("thresholds") or facts.get("vmask", {}).get("thresholds")
            given = [given[label] for label in labels] if isinstance(given, dict) else given
            thresholds = np.array(given, np.float64) if given else None
            if thresholds is not None and thresholds.shape != (len(labels),):
                raise ValueError("it has another number of thresholds than of labels")
        except (DataError, OSError, AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ExportError(f"{folder} is damaged: {error}. Export it again.") from None
        except Exception as error:  # what the tokenizers library raises for a damaged file
            raise ExportError(f"{folder / TOKENIZER} cannot be read: {error}. Export it again.") from None
        tokenizer.no_padding()
        return cls(tokenizer, claimed, list(labels), thresholds)

    def prepare(self, texts: Sequence[str]) -> list[Doc]:
        """Texts as the export reads them; special tokens belong to no word."""
        return [self._doc(text, encoding) for text, encoding in zip(texts, self._encoded(texts), strict=True)]

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        return list(self.tokenizer.encode_batch(list(texts)))

    @staticmethod
    def _doc(text: str, encoding: Any) -> Doc:
        spans: list[tuple[int, int]] = []
        owners: list[tuple[int, int]] = []
        last = None
        for place, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
            if word is None:
                continue
            start += len(text[start:end]) - len(text[start:end].lstrip())  # some count the space before a word
            if word == last:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
            last = word
            owners.append((place, len(spans) - 1))
        pairs = np.array(owners, np.int32).reshape(-1, 2)
        return Doc(text, tuple(spans), np.array(encoding.ids, np.int32), owners=pairs)
