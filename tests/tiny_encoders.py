"""Tiny encoders with random weights, of every family that we promise, with tokenizers made from toy texts."""

from __future__ import annotations

import functools
from string import ascii_lowercase

import torch

from toy import toy_texts

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
SHORT = 40
FAMILIES = {
    "bert": ("wordpiece", {**SIZES, "max_position_embeddings": SHORT}),
    "roberta": ("bytes", {**SIZES, "max_position_embeddings": SHORT + 2}),
    "distilbert": (
        "wordpiece",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": SHORT},
    ),
    "electra": ("wordpiece", {**SIZES, "embedding_size": 8, "max_position_embeddings": SHORT}),
    "albert": ("unigram", {**SIZES, "embedding_size": 8, "max_position_embeddings": SHORT}),
    "deberta-v2": (
        "unigram",
        {**SIZES, "max_position_embeddings": SHORT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "mpnet": ("wordpiece", {**SIZES, "max_position_embeddings": SHORT + 2}),
    "xlm-roberta": ("unigram", {**SIZES, "max_position_embeddings": SHORT + 2}),
    "modernbert": (
        "bytes",
        {**SIZES, "max_position_embeddings": SHORT, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
MORE = {"deberta": ("bytes", {**SIZES, "max_position_embeddings": SHORT, **RELATIVE})}
"""Families with tests of their own, so that not every test of encoders runs on them too."""


@functools.cache
def tokenizer(kind):
    """A fast tokenizer: `wordpiece` (uncased, as BERT's), `bytes` (as RoBERTa's) or `unigram` (as XLM-R's)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    texts = [*toy_texts(200)[0], "Don't go! (It's 42° outside.)", "naïve café, 東京 😀"]
    # Two are written rather than trained: the trainers of the library give other ids each time.
    letters = sorted({*ascii_lowercase, *(char for text in texts for char in text.lower() if char != " ")})
    words = sorted({word for text in texts for word in text.split() if word.isalpha() and 1 < len(word) < 7})
    if kind == "wordpiece":
        special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
        pieces = [*special.values(), *letters, *(f"##{letter}" for letter in letters), *words]
        backend = Tokenizer(models.WordPiece({piece: id for id, piece in enumerate(pieces)}, unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        special = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
        if kind == "bytes":
            backend = Tokenizer(models.BPE())
            backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            backend.decoder = decoders.ByteLevel()
            trainer = trainers.BpeTrainer(
                vocab_size=400,
                special_tokens=list(special.values()),
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            )
            backend.train_from_iterator(texts, trainer)
        else:
            pieces = [*special.values(), "▁", *letters, *(f"▁{word}" for word in words)]
            scores = [0.0 if piece in special.values() else -1.0 / len(piece) for piece in pieces]
            backend = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=3))
            backend.pre_tokenizer = pre_tokenizers.Metaspace()
            backend.add_special_tokens(list(special.values()))
    ids = {name: backend.token_to_id(token) for name, token in special.items()}
    pair = [(special["cls"], ids["cls"]), (special["sep"], ids["sep"])]
    if kind == "bytes":
        backend.post_processor = processors.RobertaProcessing(pair[1], pair[0], add_prefix_space=False)
    else:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{special['cls']} $A {special['sep']}", special_tokens=pair
        )
    named = {f"{name}_token": token for name, token in special.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=SHORT, **named)


def config(family, **more):
    """The configuration of a tiny encoder."""
    from transformers import AutoConfig

    kind, sizes = {**FAMILIES, **MORE}[family]
    made = tokenizer(kind)
    ids = {name: getattr(made, name) for name in ("pad_token_id", "cls_token_id", "sep_token_id")}
    ids |= {"bos_token_id": made.cls_token_id, "eos_token_id": made.sep_token_id}
    return AutoConfig.for_model(family, vocab_size=len(made), **{**sizes, **ids, **more})


def network(family, classes=3, seed=3, **more):
    """A tiny classifier with random weights, large enough to make a difference."""
    from transformers import AutoModelForSequenceClassification

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = AutoModelForSequenceClassification.from_config(config(family, num_labels=classes, **more))
        for parameter in made.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.3)
    return made.eval()


def save_encoder(family, folder, **more):
    """A folder as `save_pretrained` writes it, without a classification head of use."""
    network(family, classes=2, **more).save_pretrained(folder)
    tokenizer({**FAMILIES, **MORE}[family][0]).save_pretrained(folder)
    return folder
