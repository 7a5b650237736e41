"""Hugging Face folders: ordinary checkpoints, with the probabilities of the masked model, run without vmask."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import AddedToken

from tiny_encoders import FAMILIES, SHORT, tokenizer
from vmask import TextClassifier, __version__
from vmask.errors import ExportError
from vmask.export import choose_format, hf
from vmask.export.hf import folded_network, run_hf, sample_texts, save_tokenizer, unfoldable
from vmask.text.batches import collate
from vmask.text.pieces import PieceTokenizer

TEXTS = [
    "a lovely film about a small town",
    "",
    "awful",
    "   ",
    "neverseen, un-heard-of!",
    "[CLS] lovely [SEP] <s>awful</s> [MASK] <mask> [PAD] <pad> [UNK] <unk> film",
    "What a DULL evening, don't you think? 电影 cafe\u0301 naïve 東京 😀\u200d🔥 \u202eמוזיקה\n\ttabs",
    " ".join(["the plot is charming and the cast tries hard , boring"] * 20),
]
IDS = [[20, 30, 40, 25, 35, 45, 50], [21, 31], [22], [33, 20, 20, 44], []]
FILES = ("README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
FOLDABLE = {
    "vmask": {},
    "vmask-threshold": {"mask__inference": "threshold"},
    "vmask-special": {"model__mask_special_tokens": True},
    "iba": {},
    "random_mask": {},
    "l2x-soft": {"mask__mode": "soft"},
    "word_dropout": {},
    "base": {},
    "l2": {},
    "base-block": {"model__placement": "block"},
}


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module", params=FAMILIES)
def case(request, masking_encoder, tmp_path_factory):
    """A classifier with VMASK over an encoder of each family, and its export. Do not write to it."""
    classifier = masking_encoder(request.param)
    out = tmp_path_factory.mktemp("exports") / request.param
    return classifier, classifier.export(out)


@pytest.fixture(scope="module")
def exported(masking_encoder, tmp_path_factory):
    """One export of BERT with VMASK. Do not write to it."""
    return masking_encoder().export(tmp_path_factory.mktemp("exports") / "bert")


def pipeline(folder, **options):
    from transformers import pipeline

    return pipeline("text-classification", model=str(folder), truncation=True, top_k=None, **options)


def by_pipeline(folder, texts, labels, **options):
    """(N, C) what `pipeline` answers."""
    answers = pipeline(folder)(list(texts), **options)
    assert all(len(row) == len(labels) for row in answers)
    scores = [{one["label"]: one["score"] for one in row} for row in answers]
    return np.array([[row[str(label)] for label in labels] for row in scores])


def config_of(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


# Folding ----------------------------------------------------------------------------------------------------


def batch(family):
    made = tokenizer(FAMILIES[family][0])
    texts = [np.array([made.cls_token_id, *ids, made.sep_token_id], np.int32) for ids in IDS]
    return collate(texts, pad=made.pad_token_id)


@pytest.mark.parametrize("case", FOLDABLE)
def test_the_network_with_folded_vectors_needs_no_mask(build_encoder, family, case):
    model = build_encoder(family, case.partition("-")[0], **FOLDABLE[case])
    before = copy.deepcopy(model.encoder.network.state_dict())
    with torch.no_grad():
        masked, plain = model(batch(family)).logits, model.encoder(batch(family))
        network = folded_network(model, case)
        folded = network(input_ids=batch(family).ids, attention_mask=batch(family).attend.long()).logits
    torch.testing.assert_close(folded, masked, rtol=0, atol=1e-5)
    nothing = case in ("base", "l2", "base-block")
    assert ((masked - plain).abs().max() > 1e-4) != nothing  # ModernBERT normalises most of a scale away
    after = network.state_dict()
    changed = [name for name, tensor in before.items() if not torch.equal(tensor, after[name])]
    assert changed == (
        []
        if nothing
        else [name for name in before if name.endswith(("word_embeddings.weight", "tok_embeddings.weight"))]
    )
    if changed:
        rows = (before[changed[0]] != after[changed[0]]).any(1)
        assert not rows[~model.encoder.is_word].any()


def test_what_cannot_be_folded_says_why(build_encoder, family):
    for mask, options, reason in [
        ("l2x", {}, "What l2x does to a word depends on the other words of its text"),
        ("l2x", {"mask__mode": "soft", "mask__normalise": True}, "What l2x does to a word depends on the other words"),
        ("vmask", {"model__placement": "block"}, r"The mask acts behind the embedding block \(placement=block\)"),
        ("word_dropout", {"model__placement": "block"}, r"The mask acts behind the embedding block"),
    ]:
        model = build_encoder(family, mask, **options)
        before = model.encoder.network.get_input_embeddings().weight.clone()
        with pytest.raises(
            ExportError, match=f"{reason}.*, so it cannot be folded into .*Use --format onnx, which keeps"
        ):
            folded_network(model, mask)
        assert torch.equal(model.encoder.network.get_input_embeddings().weight, before)


class Scaled(torch.nn.Embedding):
    """As some encoders have it: what is looked up is not what the matrix has."""

    def forward(self, ids):
        return super().forward(ids) * 3


def test_vectors_that_change_as_they_are_looked_up_cannot_be_folded_into(build_encoder):
    model = build_encoder("bert", "vmask")
    model.encoder.network.get_input_embeddings().__class__ = Scaled
    assert "vectors that BertForSequenceClassification changes as it looks them up" in unfoldable(model, "vmask")
    model = build_encoder("bert", "base")
    model.encoder.network.get_input_embeddings().__class__ = Scaled
    assert unfoldable(model, "base") == ""


# The folder, for every family --------------------------------------------------------------------------------


def test_transformers_alone_gives_the_probabilities_of_the_model(case):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    classifier, result = case
    expected = classifier.predict_proba(TEXTS)
    model = AutoModelForSequenceClassification.from_pretrained(result.path).eval()
    made = AutoTokenizer.from_pretrained(result.path)
    with torch.no_grad():
        logits = model(**made(TEXTS, truncation=True, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(torch.softmax(logits, 1).numpy(), expected, rtol=0, atol=1e-5)
    labels = list(classifier.classes_)
    np.testing.assert_allclose(by_pipeline(result.path, TEXTS, labels), expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(by_pipeline(result.path, TEXTS, labels, batch_size=3), expected, rtol=0, atol=1e-5)
    assert [made.decode(ids) for ids in made(TEXTS)["input_ids"]]  # a tokenizer like any other


def test_its_tokenizer_cuts_a_text_as_ours_does(case):
    from transformers import AutoTokenizer

    classifier, result = case
    made = AutoTokenizer.from_pretrained(result.path)
    assert made.is_fast
    assert made.model_max_length == classifier.predictor_.tokenizer.max_tokens
    assert made.padding_side == made.truncation_side == "right"
    ours = [doc.ids.tolist() for doc in classifier.predictor_.prepare(TEXTS)]
    assert made(TEXTS, truncation=True)["input_ids"] == ours
    assert len(ours[-1]) == made.model_max_length
    before = tokenizer(FAMILIES[result.path.name][0])
    names = [f"{name}_token" for name in ("cls", "sep", "pad", "unk", "mask")]
    assert {name: getattr(made, name) for name in names} == {name: getattr(before, name) for name in names}


def test_it_is_the_class_of_the_encoder_with_no_parameter_more(case, encoder_folder):
    from transformers import AutoModelForSequenceClassification

    classifier, result = case
    ours = AutoModelForSequenceClassification.from_pretrained(result.path)
    base = AutoModelForSequenceClassification.from_pretrained(encoder_folder(result.path.name))
    assert type(ours) is type(base) is type(classifier.predictor_.model.encoder.network)
    shapes = {name: tensor.shape for name, tensor in base.state_dict().items()}
    assert {name: tensor.shape for name, tensor in ours.state_dict().items()} == shapes
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in base.parameters())
    stored = load_file(result.path / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values() if tensor.is_floating_point()} == {torch.float32}
    assert not [name for name in stored if "mask" in name and "is_word" in name]
    assert {p.dtype for p in ours.parameters()} == {torch.float32}


def test_its_config_names_the_labels_and_what_made_it(case):
    classifier, result = case
    config = config_of(result.path)
    assert config["id2label"] == {"0": "neg", "1": "pos"}
    assert config["label2id"] == {"neg": 0, "pos": 1}
    assert config["problem_type"] == "single_label_classification"
    assert config["architectures"] == [type(classifier.predictor_.model.encoder.network).__name__]
    assert config["model_type"] == result.path.name
    assert "auto_map" not in config
    assert config["vmask"] == {"version": __version__, "export": "hf", "mask": "vmask", "files": list(FILES)}


def test_the_result_says_what_was_done(case):
    _, result = case
    assert (result.format, result.folded, result.files) == ("hf", True, FILES)
    assert result.notes == ("mask vmask folded into the embedding matrix",)
    assert 0 <= result.difference <= 1e-5
    assert result.sizes == {name: (result.path / name).stat().st_size for name in FILES}
    assert {(result.path / name).stat().st_mode & 0o444 for name in FILES} == {0o444}


def test_nothing_of_the_classifier_is_changed(family, masking_encoder, tmp_path):
    classifier = masking_encoder(family)
    model, config = classifier.predictor_.model, classifier.predictor_.model.encoder.network.config
    before = classifier.predict_proba(TEXTS), copy.deepcopy(model.state_dict()), config.to_dict()
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    words, explained = classifier.word_importance(), classifier.explain(TEXTS[:2])
    classifier.export(tmp_path / "out")
    assert np.array_equal(classifier.predict_proba(TEXTS), before[0])
    assert all(torch.equal(tensor, before[1][name]) for name, tensor in model.state_dict().items())
    assert config.to_dict() == before[2]
    assert [name for name, parameter in model.named_parameters() if parameter.requires_grad] == trained
    assert classifier.word_importance() == words
    assert classifier.explain(TEXTS[:2]) == explained


# The folder, once ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "options", "note"),
    [
        ("iba", {}, "mask iba folded into the embedding matrix"),
        ("l2x", {"mask__mode": "soft"}, "mask l2x folded into the embedding matrix"),
        ("random_mask", {}, "mask random_mask folded into the embedding matrix"),
        ("word_dropout", {}, "mask word_dropout folded into the embedding matrix"),
        ("base", {}, "no mask to fold: base leaves the word vectors as they are"),
        ("base", {"model__placement": "block"}, "no mask to fold: base leaves the word vectors as they are"),
        ("vmask", {"model__mask_special_tokens": True}, "mask vmask folded into the embedding matrix"),
        ("vmask", {"pad_to_max": True, "max_words": 9}, "mask vmask folded into the embedding matrix"),
    ],
)
def test_every_mask_that_can_be_folded(masking_encoder, tmp_path, mask, options, note):
    classifier = masking_encoder("bert", mask, **options)
    result = classifier.export(tmp_path / "out")
    assert result.notes == (note,)
    answers = by_pipeline(result.path, TEXTS, ["neg", "pos"])
    np.testing.assert_allclose(answers, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)
    card = (result.path / "README.md").read_text(encoding="utf-8")
    assert f"Exported to a Hugging Face checkpoint: {note}." in card
    assert ("What the mask learnt is in the rows of the embedding matrix" in card) == (mask != "base")


@pytest.mark.parametrize("labels", [(1, 5), (False, True), (0.5, 3.5), ("ä b", "中")])
def test_labels_of_every_kind_become_names(masking_encoder, tmp_path, labels):
    classifier = masking_encoder("distilbert", "base", labels)
    result = classifier.export(tmp_path / "out")
    assert list(config_of(result.path)["id2label"].values()) == [str(label) for label in labels]
    answers = by_pipeline(result.path, TEXTS, labels)
    np.testing.assert_allclose(answers, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)


def test_an_encoder_goes_to_such_a_folder_unless_asked_otherwise(masking_encoder):
    assert (
        choose_format(masking_encoder()._trained(), None) == choose_format(masking_encoder()._trained(), "hf") == "hf"
    )
    assert choose_format(masking_encoder()._trained(), "onnx") == "onnx"


def test_a_model_that_was_saved_and_loaded_exports_the_same(masking_encoder, exported, tmp_path):
    loaded = TextClassifier.load(masking_encoder().save(tmp_path / "model"), "cpu")
    result = loaded.export(tmp_path / "out")
    for name in FILES:
        assert (result.path / name).read_bytes() == (exported.path / name).read_bytes(), name


def test_the_limit_of_the_user_is_kept(masking_encoder, tmp_path):
    classifier = masking_encoder("bert", "base", max_words=3)
    result = classifier.export(tmp_path / "out")
    settings = json.loads((result.path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings["model_max_length"] == 5
    assert "Texts are cut after 5 tokens" in (result.path / "README.md").read_text(encoding="utf-8")
    stored = json.loads((result.path / "tokenizer.json").read_text(encoding="utf-8"))
    assert stored["truncation"] is stored["padding"] is None
    answers = by_pipeline(result.path, TEXTS, ["neg", "pos"])
    np.testing.assert_allclose(answers, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)


def test_an_encoder_without_a_padding_token_can_be_run_in_batches(masking_encoder, tmp_path):
    from transformers import GPT2Config, GPT2ForSequenceClassification, PreTrainedTokenizerFast

    backend = tokenizer("bytes").backend_tokenizer
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=SHORT, **named).save_pretrained(tmp_path / "gpt")
    config = GPT2Config(
        vocab_size=backend.get_vocab_size(),
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=SHORT,
        bos_token_id=0,
        eos_token_id=2,
    )
    GPT2ForSequenceClassification(config).save_pretrained(tmp_path / "gpt")
    classifier = TextClassifier(str(tmp_path / "gpt"), "base", epochs=1, device="cpu", duplicates="ignore")
    classifier.fit(["a lovely film", "an awful film"] * 5, [1, 0] * 5)
    result = classifier.export(tmp_path / "out")
    answers = by_pipeline(result.path, TEXTS, [0, 1], batch_size=4)
    np.testing.assert_allclose(answers, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)


def test_special_tokens_keep_their_manners(tmp_path):
    """RoBERTa's `<mask>` takes the space before it; a tokenizer that is told only its text would not."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    made = copy.deepcopy(tokenizer("bytes"))
    backend = copy.deepcopy(made.backend_tokenizer)
    named = {name: getattr(made, f"{name}_token") for name in ("cls", "sep", "pad", "unk")}
    eager = AddedToken("<mask>", lstrip=True, special=True)
    backend.add_special_tokens([eager])
    given = PreTrainedTokenizerFast(
        tokenizer_object=backend, mask_token=eager, **{f"{name}_token": token for name, token in named.items()}
    )
    ours = PieceTokenizer.of(given, 20)
    save_tokenizer(ours, tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    texts = ["a <mask> b", "a  <mask>b", "</s><pad> <s>"]
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again(texts)["input_ids"] == [one.ids.tolist() for one in ours.encode(texts)]
    assert again(texts)["input_ids"] == given(texts)["input_ids"]


def test_its_readme_has_the_head_of_the_hub_and_the_facts_of_the_model(exported):
    card = (exported.path / "README.md").read_text(encoding="utf-8")
    head = (
        "---\nlibrary_name: transformers\npipeline_tag: text-classification\ntags: [vmask, interpretability]\n---\n\n"
    )
    assert card.startswith(f"{head}# bert-vmask\n")
    assert "| dev accuracy |" in card
    assert f"Texts are cut after {SHORT} tokens" in card
    assert "TextClassifier" not in card


def run_alone(code, folder, *flags):
    """Run Python code where vmask cannot be imported."""
    blocked = "import sys\nsys.modules['vmask'] = None\n"
    done = subprocess.run(
        [sys.executable, *flags, "-c", blocked + code],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env={**os.environ, "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_the_code_of_its_readme_runs_without_vmask(masking_encoder, exported):
    card = (exported.path / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    texts = ["a text", "another text, somewhat longer"]
    rows, labels = masking_encoder().predict_proba(texts), masking_encoder().predict(texts)
    expected = [f"{label}\t{row.max():.4f}\t{text}" for label, row, text in zip(labels, rows, texts, strict=True)]
    assert run_alone(code, exported.path).splitlines() == expected


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "deberta-v2", "modernbert"])
def test_pipeline_gives_the_same_in_an_isolated_python(masking_encoder, family, tmp_path):
    classifier = masking_encoder(family)
    result = classifier.export(tmp_path / "out")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "texts.json").write_text(json.dumps(TEXTS))
    code = f"""
import json
from transformers import pipeline

try:
    import vmask
except ImportError:
    pass
else:
    raise SystemExit("vmask is there")
classify = pipeline("text-classification", model={str(result.path)!r}, truncation=True, top_k=None)
print(json.dumps(classify(json.load(open("texts.json")))))
assert not [name for name in sys.modules if name.startswith("vmask.")]
"""
    answers = json.loads(run_alone(code, elsewhere, "-I").splitlines()[-1])
    scores = [[{one["label"]: one["score"] for one in row}[label] for label in ("neg", "pos")] for row in answers]
    np.testing.assert_allclose(scores, classifier.predict_proba(TEXTS), rtol=0, atol=1e-5)


def test_the_files_tell_nothing_of_the_machine_that_wrote_them(exported, encoder_folder):
    for name in exported.files:
        content = (exported.path / name).read_bytes()
        for place in (Path(hf.__file__).parent, Path(torch.__file__).parent, encoder_folder("bert"), Path.home()):
            assert str(place).encode() not in content


def test_nor_where_an_encoder_lay_that_is_gone(encoder_folder, tmp_path):
    home = shutil.copytree(encoder_folder("distilbert"), tmp_path / "secret" / "mine")
    classifier = TextClassifier(str(home), "base", epochs=1, device="cpu", duplicates="ignore")
    folder = classifier.fit(["a lovely film", "an awful film"] * 5, [1, 0] * 5).save(tmp_path / "model")
    shutil.rmtree(home)
    result = TextClassifier.load(folder, "cpu").export(tmp_path / "out")
    assert "# mine-base" in (result.path / "README.md").read_text(encoding="utf-8")
    assert not [name for name in result.files if b"secret" in (result.path / name).read_bytes()]


def test_an_export_says_nothing_on_the_screen(masking_encoder, tmp_path, capfd):
    masking_encoder().export(tmp_path / "out")
    assert capfd.readouterr() == ("", "")


def test_others_may_predict_while_it_is_exported(masking_encoder, tmp_path):
    classifier = masking_encoder()
    expected = classifier.predict_proba(TEXTS[-3:])
    answers, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            answers.append(classifier.predict_proba(TEXTS[-3:]))

    thread = threading.Thread(target=ask)
    thread.start()
    classifier.export(tmp_path / "out")
    stop.set()
    thread.join()
    assert all(np.array_equal(answer, expected) for answer in answers)


def test_an_export_is_replaced_when_asked(masking_encoder, tmp_path):
    masking_encoder().export(tmp_path / "out")
    result = masking_encoder("roberta", "base").export(tmp_path / "out", overwrite=True)
    assert config_of(result.path)["model_type"] == "roberta"
    assert sorted(file.name for file in result.path.iterdir()) == list(FILES)


# Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "options", "reason"),
    [
        ("l2x", {}, "What l2x does to a word depends on the other words of its text"),
        ("vmask", {"model__placement": "block"}, r"The mask acts behind the embedding block \(placement=block\)"),
    ],
)
def test_what_is_no_function_of_the_word_is_refused_with_the_way_out(masking_encoder, tmp_path, mask, options, reason):
    with pytest.raises(
        ExportError, match=rf"{reason}.*cannot be folded into an ordinary checkpoint. Use --format onnx"
    ):
        masking_encoder("bert", mask, **options).export(tmp_path / "out", "hf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [0.01, float("nan")])
def test_a_folder_that_answers_otherwise_is_not_kept(masking_encoder, tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(hf, "run_hf", lambda folder, texts: run_hf(folder, texts) + wrong)
    with pytest.raises(ExportError, match=r"differ from the model's by .*, so it was not kept. Try the version of"):
        masking_encoder().export(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_texts_that_are_tried_have_every_length_and_special_token(masking_encoder):
    predictor = masking_encoder().predictor_
    texts = sample_texts(predictor)
    lengths = [len(doc.ids) for doc in predictor.prepare(texts)]
    assert min(lengths) == 2
    assert max(one.total for one in predictor.tokenizer.encode(texts)) > SHORT
    assert all(any(token in text for text in texts) for token in ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"))
