"""Training data for encoders: word pieces of their own tokenizer, and the pretrained weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray

from vmask.config import MULTI_LABEL
from vmask.errors import ConfigError
from vmask.inference.edits import PieceFinder
from vmask.inference.piece_predictor import PiecePredictor
from vmask.inference.predictor import TextPredictor
from vmask.models.contract import Encoder, MaskedClassifier
from vmask.models.transformer import Transformer
from vmask.pretrained.encoders import encoder_digest, load_encoder_config, load_pretrained, load_tokenizer, public_name
from vmask.text.pieces import PieceTokenizer
from vmask.text.segmenters import choose_segmenter
from vmask.training.inputs import Labelled, warn
from vmask.training.loop import Examples
from vmask.training.prepared import Prepared, examples_of
from vmask.training.run_config import Plan

MAX_TOKENS = 512
"""Length limit, unless the user or the encoder has a smaller one."""


@dataclass(frozen=True)
class PreparedPieces(Prepared):
    """Texts as word pieces.

    Attributes:
        tokenizer: cuts texts into pieces and words.
        name: name of the encoder.
        cut: number of training texts that are longer than the limit.
    """

    tokenizer: PieceTokenizer
    name: str
    cut: int

    @property
    def pad_length(self) -> int:
        """Maximum length of a text."""
        return self.tokenizer.max_tokens

    @property
    def mask_token(self) -> int | None:
        """Id of the tokenizer's mask token, if it has one."""
        return self.tokenizer.named("mask")

    def finder(self) -> PieceFinder:
        """Finds words in the vocabulary."""
        return PieceFinder(self.tokenizer)

    def encoder(self, plan: Plan) -> Encoder:
        """The pretrained encoder with a fresh head, in float32."""
        network = load_pretrained(
            "AutoModelForSequenceClassification",
            self.name,
            num_labels=len(self.labels),
            dtype=torch.float32,
            ignore_mismatched_sizes=True,
        )
        if self.task == MULTI_LABEL:
            network.config.problem_type = "multi_label_classification"  # its `pipeline` gives each label a sigmoid
        network.config.pad_token_id = self.tokenizer.pad
        network.config.name_or_path = public_name(self.name)  # stored in model folders, so no path of this machine
        return make_transformer(network, self.tokenizer, plan)

    def predictor(self, model: MaskedClassifier, device: torch.device, pad_length: int) -> PiecePredictor:
        """The trained model with the words of the training texts."""
        predictor = PiecePredictor(model, self.tokenizer, self.labels, None, device, pad_length)
        predictor.table = predictor.tabulate(self.labelled.texts)
        return predictor

    def start_from(self, predictor: TextPredictor, plan: Plan) -> Encoder:
        """The encoder of a trained model as a start.

        Raises:
            ConfigError: if the model has another kind, tokenizer or set of labels.
        """
        if not isinstance(predictor, PiecePredictor):
            raise ConfigError("It is no encoder. Give the folder of one.")
        if predictor.tokenizer.to_json() != self.tokenizer.to_json():
            raise ConfigError(f"It has another tokenizer than {self.name}. Give its encoder to --model.")
        if predictor.task != self.task:
            raise ConfigError("One of both has several labels a text, the other one. Leave init_from out.")
        if list(predictor.labels) != self.labels:
            raise ConfigError("Its labels are others than those of the data. Leave init_from out.")
        return make_transformer(predictor.network, self.tokenizer, plan)

    def source_digest(self) -> bytes:
        """Digest of the pretrained encoder."""
        return encoder_digest(self.name).encode()

    def summary(self) -> dict[str, Any]:
        """The facts about the data for a model folder."""
        return {
            **super().summary(),
            "encoder": public_name(self.name),
            "vocabulary": len(self.tokenizer),
            "max_tokens": self.tokenizer.max_tokens,
            "cut": self.cut,
            "coverage": None,
            "merging": self.tokenizer.merging,
        }


def make_transformer(network: Any, tokenizer: PieceTokenizer, plan: Plan) -> Transformer:
    """A network of transformers with its seam."""
    return Transformer(network, tokenizer.special, plan.model_options)


def prepare_pieces(plan: Plan, data: Labelled) -> PreparedPieces:
    """Load the encoder's tokenizer and split the texts into pieces.

    Raises:
        DataError: for data that cannot be trained on.
        VmaskError: for an encoder that cannot be loaded.
    """
    name = plan.model_options.encoder
    tokenizer = load_tokenizer(name)
    most = min(MAX_TOKENS, tokenizer.model_max_length, _positions(load_encoder_config(name)))
    segmenter = choose_segmenter(plan.data.segmenter, data.texts)
    pieces = PieceTokenizer.of(tokenizer, most, segmenter)
    if plan.data.max_words is not None:
        wanted = plan.data.max_words + pieces.backend.num_special_tokens_to_add(False)
        if wanted < most:
            pieces = PieceTokenizer.of(tokenizer, wanted, segmenter)
    examples, cut = _encode(pieces, data.texts, data.codes(data.labels), "training", data.weights)
    dev, _ = _encode(pieces, data.dev_texts, data.codes(data.dev_labels), "dev")
    return PreparedPieces(data, examples, dev, plan.data.train_embeddings, pieces, name, cut)


def _positions(config: Any) -> int:
    """Number of tokens that the encoder has positions for; RoBERTa and similar models reserve the first ones."""
    most = getattr(config, "max_position_embeddings", None) or MAX_TOKENS
    first = (config.pad_token_id or 0) + 1 if config.model_type in _PADDED_POSITIONS else 0
    if most - first < 3:
        raise ConfigError(f"The encoder has {most} positions, too few for a text. Choose another encoder.")
    return int(most - first)


_PADDED_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "xlm-roberta-xl", "data2vec-text")


def _encode(
    tokenizer: PieceTokenizer,
    texts: Sequence[str],
    codes: NDArray[Any],
    name: str,
    weights: Sequence[float] | None = None,
) -> tuple[Examples, int]:
    pieces = tokenizer.encode(texts)
    if cut := sum(text.total > len(text.ids) for text in pieces):
        warn(f"{cut} of {len(pieces)} {name} texts were cut to {tokenizer.max_tokens} tokens.")
    return examples_of({row: text.ids for row, text in enumerate(pieces)}, codes, tokenizer.pad, weights), cut
