"""ONNX: `model.onnx` from word ids to probabilities, with the tokenizer and the labels beside it."""

from __future__ import annotations

import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vmask import __version__
from vmask._core.files import sha256, to_json
from vmask._core.parsing import read_json
from vmask.config import MULTI_LABEL
from vmask.errors import ExportError, MissingExtra
from vmask.export import Written
from vmask.export.card import onnx_card
from vmask.export.folder import CARD, CONFIG, TOKENIZER
from vmask.export.graph import WordGraph, word_graph
from vmask.export.hidden import write_hidden
from vmask.export.verify import check_predictions, copy_to_cpu, nothing_to_fold
from vmask.inference.predictor import WordPredictor
from vmask.text.batches import sorted_buckets
from vmask.text.segmenters import Segmenter, find_segmenter, spaced
from vmask.text.vocabulary import WordTokenizer
from vmask.text.words import PAD, SPECIALS

if TYPE_CHECKING:
    from vmask.training.trained_model import TrainedModel

MODEL = "model.onnx"
OPSET = 18
"""Of the year 2022, so that older runtimes can run it."""
FIX = "Install the versions of onnx, onnxscript and onnxruntime in vmask's constraints.txt, and try again."
"""What to do about an ONNX file with other predictions than the model."""
BATCH_POSITIONS = 4096
"""Padded positions of the texts that are asked about at a time: about 1 GB for eight texts of 512 pieces."""


def write_onnx(trained: TrainedModel, folder: Path) -> Written:
    """Write a classifier over words to a folder, and compare its predictions with the classifier's.

    Raises:
        MissingExtra: if the packages are not installed.
        ConfigError: if the model's prediction depends on the batch.
        ExportError: if the model cannot be written, or the file predicts otherwise than the model.
    """
    check_installed()
    predictor = copy_to_cpu(trained.predictor)
    assert isinstance(predictor, WordPredictor)
    graph = word_graph(predictor.model, predictor.pad_length, predictor.output)
    export_module(graph, {"ids": torch.ones(2, 7, dtype=torch.long)}, folder / MODEL)
    tokenizer = predictor.tokenizer
    tokenizer.save(folder / TOKENIZER)
    _pad_and_cut(folder / TOKENIZER, tokenizer.max_words)

    notes = (_mask_note(trained.plan.mask, graph, predictor), *_segmenter_note(tokenizer))
    write_hidden(trained.predictor.model, tokenizer.words.__getitem__, folder)
    (folder / CARD).write_text(onnx_card(trained, notes), encoding="utf-8")
    (folder / CONFIG).write_text(to_json(_config(trained, tokenizer, graph, folder)), encoding="utf-8")
    texts = sample_texts(tokenizer.words[len(SPECIALS) :], tokenizer.max_words)
    expected = predictor.predict_docs(predictor.prepare(texts))
    difference = check_predictions(run_onnx(folder, texts), expected, "The ONNX file", FIX)
    return Written(graph.mask is None, difference, notes)


def check_installed() -> None:
    """Raise MissingExtra if the packages are not installed."""
    if any(find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")):
        raise MissingExtra("Export to ONNX", "onnx")


def export_module(
    module: nn.Module, inputs: dict[str, torch.Tensor], path: Path, length: str = "words", way_out: str = ""
) -> None:
    """Write a module from ids (B, T) to `probabilities` (B, C) as ONNX, for any number of texts of any length.

    Args:
        module: in eval mode, on the CPU.
        inputs: (B, T) examples by name, in the order of the module's arguments; more than one text and one word,
            otherwise the exporter takes these sizes as fixed.
        path: the file; weights above 2 GB, the limit of a file, go to a second file beside it.
        length: name of T in the graph.
        way_out: end of the error message.

    Raises:
        ExportError: if the exporter fails, as it may for a mask or a model of another package.
    """
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim(length)}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                module,
                tuple(inputs.values()),
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                input_names=list(inputs),
                output_names=["probabilities"],
                dynamic_shapes=(sizes,) * len(inputs),
                custom_translation_table=_translations(),
            )
            assert program is not None
            if any(isinstance(size, int) for size in program.model.graph.inputs[0].shape or ()):
                raise ExportError("its code takes the number of texts or words of an example for a constant")
            _forget_origin(program.model)
            program.save(path)
    except OSError:
        raise
    except ImportError as error:
        raise ExportError(
            f"torch {torch.__version__} does not find what it needs to write ONNX: {error}. "
            "Run: pip install --upgrade onnx onnxscript onnxruntime"
        ) from error
    except Exception as error:  # the exporter wraps any error in its own
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise ExportError(
            f"The model cannot be put into an ONNX graph: {reason:.300}. Models and masks of other packages must be "
            f"made of operations that torch.onnx.export knows.{way_out}"
        ) from error


def run_onnx(folder: Path, texts: Sequence[str]) -> NDArray[np.float32]:
    """(N, C) probabilities of the texts, computed from the files of an export as in its README."""
    return onnx_answers(folder, segmenter_of(folder))(texts)


def segmenter_of(folder: Path) -> Segmenter | None:
    """The segmenter that an export needs.

    Raises:
        UnknownName: if it names one that is not known.
        MissingExtra: if its package is not installed.
    """
    recorded = read_json(folder / CONFIG).get("segmenter")
    return find_segmenter(recorded["name"], "This export reads texts without spaces. ") if recorded else None


def onnx_answers(folder: Path, segmenter: Segmenter | None) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The same as a function of the texts, with the files read once."""
    from tokenizers import Tokenizer

    session, tokenizer = onnx_session(folder / MODEL), Tokenizer.from_file(str(folder / TOKENIZER))

    def ask(encodings: Sequence[Any]) -> NDArray[np.float32]:
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        probabilities: NDArray[np.float32] = session.run(None, {"ids": ids})[0]
        return probabilities

    answers = in_batches(tokenizer, ask)
    return lambda texts: answers([text.text for text in spaced(texts, segmenter)])


def in_batches(
    tokenizer: Any, ask: Callable[[Sequence[Any]], NDArray[np.float32]]
) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """A function that asks about a few texts of similar length at a time: a few hundred long ones fill the memory.

    Args:
        tokenizer: of the export, which pads texts that it encodes together.
        ask: maps such encodings to probabilities (N, C).
    """

    def answers(texts: Sequence[str]) -> NDArray[np.float32]:
        lengths = np.array([sum(one.attention_mask) for one in tokenizer.encode_batch(list(texts))], np.int64)
        batches = list(sorted_buckets(lengths, BATCH_POSITIONS))
        parts = [ask(tokenizer.encode_batch([texts[row] for row in rows])) for rows in batches]
        probabilities: NDArray[np.float32] = np.concatenate(parts)[np.argsort(np.concatenate(batches))]
        return probabilities

    return answers


def onnx_session(path: Path) -> Any:
    """An ONNX file ready to run on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def sample_texts(words: Sequence[str], max_words: int) -> list[str]:
    """Texts to test a model: with no, one, a few, many and too many words, and with an unknown word."""
    draw = random.Random(0)
    lengths = (0, 1, 1, 2, 3, 5, 8, 20, 60, min(max_words, 600) + 5)
    return ["\u2603", *(" ".join(draw.choices(words, k=length)) for length in lengths)]


def _pad_and_cut(path: Path, max_words: int) -> None:
    """Make the tokenizer of a folder pad batches and truncate long texts itself, as vmask does."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_words)
    tokenizer.enable_padding(pad_id=PAD, pad_token=SPECIALS[PAD])
    tokenizer.save(str(path))


def _mask_note(name: str, graph: WordGraph, predictor: WordPredictor) -> str:
    if graph.mask is not None:
        return f"mask kept in the graph: what {name} does to a word depends on the other words of its text"
    if torch.equal(graph.encoder.embedding.weight, predictor.model.get_parameter("encoder.embedding.weight")):
        return nothing_to_fold(name)
    return "mask folded into the word vectors"


def _segmenter_note(tokenizer: WordTokenizer) -> tuple[str, ...]:
    if tokenizer.segmenter is None:
        return ()
    return (f"texts without spaces must be cut by {tokenizer.segmenter.name} before, as below",)


def _config(trained: TrainedModel, tokenizer: WordTokenizer, graph: WordGraph, folder: Path) -> dict[str, Any]:
    """The `config.json` of an export: labels, inputs and outputs, and its origin under `vmask`."""
    labels = list(trained.labels)
    files = sorted(file.name for file in folder.iterdir())
    segmenter = tokenizer.segmenter
    cut = {} if segmenter is None else {"segmenter": {**segmenter.record(), "run": segmenter.run}}
    return {
        **labels_and_task(trained),
        "max_words": tokenizer.max_words,
        "cleaning": tokenizer.cleaning,
        **cut,
        "inputs": {"ids": {"type": "int64", "shape": ["batch", "words"], "padding": PAD}},
        "outputs": {"probabilities": {"type": "float32", "shape": ["batch", len(labels)]}},
        "vmask": {
            "version": __version__,
            "export": "onnx",
            "model": trained.plan.model,
            "mask": trained.plan.mask,
            "folded": graph.mask is None,
            "files": sorted([*files, CONFIG]),
            "sha256": {name: sha256(folder / name) for name in files if name != CARD},
        },
    }


def labels_and_task(trained: TrainedModel) -> dict[str, Any]:
    """The labels in the `config.json` of an export; where a text may have several, the threshold of each."""
    thresholds = trained.predictor.thresholds
    several = {} if thresholds is None else {"task": MULTI_LABEL, "thresholds": thresholds.tolist()}
    return {"labels": list(trained.labels), **several}


def _translations() -> dict[Any, Any]:
    """A stable sort, which the exporter lacks. TopK of ONNX gives equal values in the order of their positions."""
    from onnxscript import opset18 as op

    def stable_sort(self: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
        size = op.Gather(op.Shape(self), op.Constant(value_ints=[dim]))
        return op.TopK(self, size, axis=dim, largest=int(descending), sorted=1)

    return {torch.ops.aten.sort.stable: stable_sort}


def _forget_origin(model: Any) -> None:
    """Remove the exporter's debugging information, such as paths of source files on this machine."""
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    ClearMetadataAndDocStringPass()(model)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's output: notes on packages that it could use, warnings of torch about torch."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
