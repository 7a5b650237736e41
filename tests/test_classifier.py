"""TextClassifier: shaped like scikit-learn's, true to the labels it was given, and clear about bad input."""

from __future__ import annotations

import dataclasses
import inspect
import io
import pickle
import pydoc
from unittest import mock

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from toy import BAD, GOOD, toy_texts
from vmask import TextClassifier
from vmask.config import DataConfig, EstimatorConfig, TrainConfig
from vmask.errors import ConfigError, DataError, NoWordScores, UnknownName, VmaskWarning
from vmask.inference.probability_config import ProbabilityConfig
from vmask.text.words import LONGEST_TEXT
from vmask.training.prepare_words import prepare_words

TEXTS, LABELS = toy_texts(40)
pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike


def small(**options):
    """A small CNN-VMASK."""
    return plain(**{"mask__hidden": 20, **options})


def plain(**options):
    """A small CNN without a mask."""
    return TextClassifier(
        **{"mask": "base" if "mask__hidden" not in options else "vmask", "embeddings": "random", "epochs": 3}
        | {"learning_rate": 0.02, "model__filters": 8}
        | options
    )


# Arguments ------------------------------------------------------------------------------------------------


def test_the_constructor_has_every_option_and_the_known_others():
    named = [
        p.name
        for p in inspect.signature(TextClassifier.__init__).parameters.values()
        if p.kind is not p.VAR_KEYWORD and p.name != "self"
    ]
    options = [
        f.name for cls in (DataConfig, TrainConfig, ProbabilityConfig, EstimatorConfig) for f in dataclasses.fields(cls)
    ]
    assert named == ["model", "mask", *options] == list(TextClassifier().get_params())
    assert inspect.signature(TextClassifier).parameters["epochs"].annotation == "int | None"
    assert "epochs" in pydoc.render_doc(TextClassifier)


def test_the_repr_shows_what_was_given():
    assert repr(TextClassifier(epochs=3, mask__pi=0.3)) == "TextClassifier(epochs=3, mask__pi=0.3)"


def test_every_argument_is_documented():
    documented = TextClassifier.__doc__.partition("Args:")[2].partition("Attributes:")[0]
    missing = [name for name in TextClassifier().get_params() if f"        {name}: " not in documented]
    assert missing == []


def test_arguments_are_kept_untouched():
    widths = [3, 4]
    classifier = TextClassifier("lstm", "l2x", epochs=7, mask__k=3, model__widths=widths)
    params = classifier.get_params()
    assert (params["model"], params["mask"], params["epochs"], params["mask__k"]) == ("lstm", "l2x", 7, 3)
    assert params["model__widths"] is widths
    assert params["learning_rate"] is None


def test_a_clone_has_the_same_arguments_and_is_not_fitted(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(["x"])


def test_nested_options_can_be_set_later():
    classifier = TextClassifier().set_params(mask__pi=0.3, model__filters=5, epochs=2)
    assert classifier.get_params()["mask__pi"] == 0.3
    assert classifier.plan().mask_options.pi == 0.3
    assert classifier.plan().model_options.filters == 5
    assert clone(classifier).get_params()["mask__pi"] == 0.3
    assert "mask__pi=0.3" in repr(classifier)


def test_an_unknown_argument_names_the_near_one():
    with pytest.raises(TypeError, match="Did you mean 'epochs'"):
        TextClassifier(epoch=3)
    with pytest.raises(ValueError, match="Did you mean 'learning_rate'"):
        TextClassifier().set_params(learningrate=1)
    with pytest.raises(ConfigError, match=r"mask__hiden.*Did you mean 'hidden'"):
        small(mask__hiden=3).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"epochs": "many"}, "epochs is 'many'; it must be of type int"),
        ({"vocabulary": "vector"}, "Did you mean 'vectors'"),
        ({"dev_fraction": 1.5}, r"dev_fraction is 1\.5"),
        ({"dev_fraction": "half"}, "dev_fraction is 'half'"),
        ({"device": "gpu"}, "device is 'gpu'"),
        ({"preset": "paper"}, "Unknown preset 'paper'"),
        ({"mask__pi": 1.5}, "pi"),
        ({"mask": "vmsk"}, "Did you mean 'vmask'"),
        ({"model": "cn"}, "Did you mean 'cnn'"),
    ],
)
def test_a_wrong_value_is_kept_by_the_constructor_and_refused_by_fit(options, message):
    classifier = small(**options)
    ((name, value),) = options.items()
    assert classifier.get_params()[name] == value
    with pytest.raises((ConfigError, UnknownName), match=message):
        classifier.fit(TEXTS, LABELS)


# scikit-learn ---------------------------------------------------------------------------------------------


def test_it_works_in_a_pipeline():
    pipeline = Pipeline([("lower", FunctionTransformer(lambda texts: [t.lower() for t in texts])), ("clf", small())])
    pipeline.set_params(clf__mask__pi=0.4, clf__epochs=2).fit(TEXTS, LABELS)
    assert pipeline["clf"].plan_.mask_options.pi == 0.4
    assert pipeline.predict(TEXTS).shape == (40,)
    assert set(pipeline.classes_) == {"neg", "pos"}


def test_it_can_be_cross_validated():
    texts, labels = map(np.array, toy_texts(120))
    scores = cross_val_score(plain(epochs=12, dev_fraction=0.3), texts, labels, cv=2)
    assert scores.shape == (2,)
    assert scores.mean() > 0.8


def test_a_grid_search_reaches_the_options_of_the_mask():
    search = GridSearchCV(small(epochs=2), {"mask__pi": np.array([0.3, 0.6])}, cv=2).fit(TEXTS, LABELS)
    tried = [params["mask__pi"] for params in search.cv_results_["params"]]
    assert tried == [0.3, 0.6]
    assert search.best_estimator_.plan_.mask_options.pi == search.best_params_["mask__pi"]
    assert search.predict(["lovely"]).tolist()[0] in ("neg", "pos")


def test_copies_of_a_dev_text_are_not_trained_on_unless_that_is_asked_for():
    texts = [f"fine film number {i // 4}" if i % 2 else f"dull  PLOT number {i // 4}" for i in range(80)]
    shared = {}
    for duplicates in ("exact", "ignore"):
        with mock.patch("vmask.training.fit.prepare_words", wraps=prepare_words) as prepared:
            plain(epochs=1, duplicates=duplicates).fit(texts, [i % 2 for i in range(80)])
        data = prepared.call_args.args[1]
        shared[duplicates] = len(set(data.texts) & set(data.dev_texts))
    assert shared["exact"] == 0 < shared["ignore"]
    with pytest.raises(ConfigError, match="duplicates is 'all'"):
        plain(duplicates="all").fit(texts, [i % 2 for i in range(80)])


def test_prices_are_no_classes():
    with pytest.raises(DataError, match="30 different numbers in 60 texts"):
        plain().fit([f"text {i}" for i in range(60)], [i % 30 + 0.5 for i in range(60)])
    with pytest.raises(DataError, match="30 different numbers"):
        plain().fit([f"text {i}" for i in range(60)], np.arange(60) % 30 / 7)


def test_a_second_fit_forgets_the_first():
    classifier = small().fit(TEXTS, LABELS)
    classifier.about_ = {"dataset": "the first"}
    with pytest.warns(VmaskWarning, match=r"only 2 different texts.*dev=\(texts, labels\)"):
        again = classifier.fit(["red apple", "green pear"] * 10, [1, 2] * 10)
    assert again is classifier
    assert again.classes_.tolist() == [1, 2]
    assert {w.word for w in again.word_importance()} == {"red", "apple", "green", "pear"}
    assert list(again.about_) == ["calibration", "dev_profile"]
    assert len(again.history_) == 3


@pytest.mark.parametrize("call", ["predict", "predict_proba", "explain"])
def test_nothing_is_predicted_before_fit(call):
    with pytest.raises(NotFittedError):
        getattr(TextClassifier(), call)(["a text"])


def test_nothing_is_ranked_or_saved_before_fit(tmp_path):
    with pytest.raises(NotFittedError):
        TextClassifier().word_importance()
    with pytest.raises(NotFittedError):
        TextClassifier().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_fitted_classifier_survives_pickle_and_joblib(fitted):
    expected = fitted.predict_proba(TEXTS)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(file)):
        assert np.array_equal(copy.predict_proba(TEXTS), expected)
        assert copy.get_params() == fitted.get_params()


# Labels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pos", "neg", "kind"),
    [("gut", "schlecht", str), (5, 1, int), (True, False, bool), (3.5, 0.5, float), (-1, 10, int)],
)
@pytest.mark.parametrize("container", [list, np.array])
def test_predict_returns_the_labels_it_was_given(pos, neg, kind, container):
    given = container([pos if label == "pos" else neg for label in LABELS])
    classifier = plain(epochs=12).fit(TEXTS, given, dev=(TEXTS, given))
    predicted = classifier.predict(TEXTS).tolist()
    assert {type(label) for label in predicted} == {kind}
    assert set(predicted) == {pos, neg}
    assert classifier.classes_.tolist() == sorted([pos, neg])
    assert classifier.score(TEXTS, given) == np.mean([a == b for a, b in zip(predicted, list(given), strict=True)])
    assert classifier.score(TEXTS, given) > 0.9


def test_score_weighs_the_texts(fitted):
    right = fitted.predict(["lovely", "awful"]).tolist()
    assert fitted.score(["lovely", "awful"], [right[0], "other"], sample_weight=[3, 1]) == 0.75


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_a_missing_label_is_said_with_its_number(missing):
    with pytest.raises(DataError, match="Label number 1 is missing"):
        small().fit(["a", "b", "c"], ["x", missing, "y"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["same"] * 40, "All labels are 'same'"),
        (["x", "y"], "40 texts and 2 labels"),
        ([[["x"]], [["y"]]] * 20, "Labels must be strings or numbers"),
        (np.array([["x"], ["y"]] * 20), "With several columns each must be 0 or 1"),
        (["1", 2] * 20, "Some labels are strings and some are numbers"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(labels, message):
    with pytest.raises(DataError, match=message):
        small().fit(TEXTS, labels)


@pytest.mark.parametrize("labels", [["neg", "odd"], [1, 2], ["neg", 1]])
def test_a_dev_set_with_labels_that_training_lacks_is_refused(labels):
    with pytest.raises(DataError, match=r"labels that training lacks|some are numbers"):
        small().fit(TEXTS, LABELS, dev=(["one", "two"], labels))


def test_numbers_in_dev_do_not_pass_for_strings_in_training():
    with pytest.raises(DataError, match=r"training lacks: 0, 1\."):
        small().fit(TEXTS, [str(i % 2) for i in range(40)], dev=(["one", "two"], [0, 1]))


def test_a_class_with_one_text_stays_in_training():
    labels = ["zebra", *LABELS[1:]]
    for seed in range(4):
        classifier = plain(epochs=1, seed=seed, dev_fraction=0.5).fit(TEXTS, labels)
        assert classifier.classes_.tolist() == ["neg", "pos", "zebra"]
        assert classifier.data_["train"] == 20


def test_too_few_texts_to_hold_any_out_is_said():
    with pytest.raises(DataError, match=r"2 texts are too few.*dev="):
        small().fit(["a", "b"], [0, 1])


# Texts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["good", 3], "Text number 1 .counted from 0. is 3, of type int"),
        (["good", None], "Text number 1 .counted from 0. is None"),
        ([b"good", b"bad"], "of type bytes"),
        ("one text", "Put it in a list"),
        (["", "  \n"], "no training text with anything in it"),
        ([], "no training text with anything in it"),
    ],
)
def test_texts_that_cannot_be_learnt_from_are_refused(texts, message):
    with pytest.raises(DataError, match=message):
        small().fit(texts, [0, 1][: len(texts)])


def test_texts_that_the_cleaning_empties_are_refused():
    with pytest.raises(DataError, match=r"No training text has a word.*gentle"):
        small(cleaning="paper", duplicates="ignore").fit(["电影", "很好"] * 10, [0, 1] * 10)


def test_single_bad_texts_are_dropped_or_cut_and_counted():
    long = " ".join(["word"] * 300)
    with pytest.warns(VmaskWarning) as caught:
        classifier = small(epochs=1).fit([*TEXTS, "", " ", long, long], [*LABELS, "pos", "pos", "pos", "neg"])
    said = [str(w.message) for w in caught]
    assert any("2 empty training texts were dropped" in line for line in said)
    assert any("cut to 256 words" in line for line in said)
    assert classifier.data_["train"] + classifier.data_["dev"] == 42


@pytest.mark.parametrize(
    "text",
    ["", "   ", "qwertz zxcvb", "lovely", "lovely " * 150_000, "\ud83d half", "\0"],
    ids=["empty", "blank", "unknown", "one", "long", "half a character", "zero"],
)
def test_every_text_is_answered(fitted, text):
    probabilities = fitted.predict_proba([text])
    assert probabilities.shape == (1, 2)
    assert probabilities.sum() == pytest.approx(1)
    as_read = text.replace("\ud83d", "\ufffd")[:LONGEST_TEXT]
    assert fitted.explain(text)[0].text == as_read


def test_no_texts_give_no_answers(fitted):
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.explain([]) == []


@pytest.mark.parametrize("model", ["cnn", "lstm"])
def test_answers_depend_on_neither_order_nor_company(model):
    size = {"cnn": "model__filters", "lstm": "model__hidden"}[model]
    options = {"embeddings": "random", "epochs": 3, "learning_rate": 0.02, size: 8}
    classifier = TextClassifier(model, **options).fit(TEXTS, LABELS)
    texts = [*TEXTS, "", "lovely", " ".join(TEXTS)]
    together = classifier.predict_proba(texts)
    np.testing.assert_allclose(classifier.predict_proba(texts[::-1])[::-1], together, atol=1e-6)
    alone = np.concatenate([classifier.predict_proba([text]) for text in texts])
    np.testing.assert_allclose(alone, together, atol=1e-6)


def test_a_user_can_pass_arrays_and_series(fitted):
    import pandas as pd

    expected = fitted.predict(TEXTS)
    for texts in (np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS), tuple(TEXTS)):
        assert np.array_equal(fitted.predict(texts), expected)
    small(epochs=1).fit(pd.Series(TEXTS, index=range(40, 80)), pd.Series(LABELS, dtype="category"))


# Explanations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A LOVELY film!", ["A", "LOVELY", "film", "!"]),
        ("  Grüße\tan 电影 – it's fine", ["Grüße", "an", "电", "影", "–", "it", "'s", "fine"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("👍🏽 ok 🇩🇪", ["👍🏽", "ok", "🇩🇪"]),
    ],
)
def test_offsets_are_those_of_the_original_text(fitted, text, words):
    explanation = fitted.explain(text)[0]
    assert explanation.text == text
    assert [text[start:end] for start, end in explanation.spans] == words
    assert list(explanation.words) == words
    assert len(explanation.scores) == len(words)
    assert all(0 <= score <= 1 for score in explanation.scores)


def test_an_explanation_is_of_the_predicted_class(fitted):
    for explanation, label, row in zip(
        fitted.explain(TEXTS), fitted.predict(TEXTS), fitted.predict_proba(TEXTS), strict=True
    ):
        assert explanation.target == label
        assert explanation.probability == pytest.approx(row.max(), abs=1e-6)


def test_words_behind_the_length_limit_are_counted():
    with pytest.warns(VmaskWarning, match="cut to 3 words"):
        classifier = small(max_words=3).fit(TEXTS, LABELS)
    explanation = classifier.explain("one two three four five")[0]
    assert explanation.words == ("one", "two", "three")
    assert explanation.unseen == 2


@pytest.mark.parametrize("mask", ["base", "l2", "word_dropout"])
def test_a_model_without_word_scores_says_how_to_get_them(mask):
    classifier = plain(mask=mask, epochs=1).fit(TEXTS, LABELS)
    with pytest.raises(NoWordScores, match="--mask vmask"):
        classifier.explain("lovely")
    with pytest.raises(NoWordScores, match="--mask vmask"):
        classifier.word_importance()


def test_an_unknown_method_names_those_there_are(fitted):
    with pytest.raises(UnknownName, match="Did you mean 'mask'"):
        fitted.explain("lovely", method="masks")


def test_words_are_ranked_by_importance_without_the_specials(fitted):
    ranked = fitted.word_importance()
    assert [w.score for w in ranked] == sorted((w.score for w in ranked), reverse=True)
    assert not {"<pad>", "<unk>"} & {w.word for w in fitted.word_importance(min_count=0)}
    assert {*GOOD, *BAD} <= {w.word for w in ranked}
    assert fitted.word_importance(5) == ranked[:5]


def test_rare_words_can_be_left_out(fitted, toy):
    counts = {w.word: w.count for w in fitted.word_importance()}
    often = {w.word for w in fitted.word_importance(min_count=20)}
    assert often == {word for word, count in counts.items() if count >= 20}
    assert 0 < len(often) < len(counts)


def test_a_words_score_is_the_same_in_the_ranking_and_in_a_text(fitted):
    ranked = {w.word: w.score for w in fitted.word_importance()}
    explanation = fitted.explain("a lovely film")[0]
    np.testing.assert_allclose(explanation.scores, [ranked[word] for word in ("a", "lovely", "film")], atol=1e-6)


# Vocabulary -----------------------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path):
    """Vectors of some words of training and of one that is not in it."""
    stream = np.random.default_rng(0)
    words = [*GOOD, *BAD, "film", "the", "is", "glorious"]
    lines = [f"{word} {' '.join(f'{v:.3f}' for v in stream.normal(size=12))}" for word in words]
    path = tmp_path / "toy.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def with_vectors(path, **options):
    return small(embeddings=str(path), **options).fit(TEXTS, LABELS)


def test_a_word_that_only_the_vectors_know_has_its_own_vector_and_mask(vectors):
    classifier = with_vectors(vectors, vocabulary="vectors")
    predictor = classifier.predictor_
    row = predictor.tokenizer.id_of("glorious")
    expected = [float(v) for v in vectors.read_text().split("glorious ")[1].split()]
    np.testing.assert_allclose(predictor.model.encoder.embedding.weight[row].numpy(), expected, atol=2e-3)
    glorious, unknown = (classifier.explain(text)[0].scores[0] for text in ("glorious", "qwertz"))
    assert abs(glorious - unknown) > 1e-4
    assert predictor.known[row]
    assert "glorious" not in {w.word for w in classifier.word_importance()}  # never seen in training
    assert "glorious" in {w.word for w in classifier.word_importance(min_count=0)}


def test_with_the_training_vocabulary_such_a_word_is_unknown(vectors):
    classifier = with_vectors(vectors, vocabulary="train")
    assert "glorious" not in classifier.predictor_.tokenizer.words
    glorious, unknown = (classifier.explain(text)[0].scores[0] for text in ("glorious", "qwertz"))
    assert glorious == unknown


def test_the_papers_vocabulary_counts_the_words_of_all_splits(vectors):
    classifier = small(embeddings=str(vectors), vocabulary="paper", min_count=2)
    classifier.fit(TEXTS, LABELS, vocabulary_texts=["glorious glorious once", *TEXTS])
    words = classifier.predictor_.tokenizer.words
    assert "glorious" in words
    assert "once" not in words


def test_frozen_vectors_are_not_trained_and_random_ones_are(vectors):
    assert not with_vectors(vectors, epochs=1).predictor_.model.encoder.embedding.weight.requires_grad
    assert with_vectors(
        vectors, epochs=1, train_embeddings=True
    ).predictor_.model.encoder.embedding.weight.requires_grad
    assert small(epochs=1).fit(TEXTS, LABELS).predictor_.model.encoder.embedding.weight.requires_grad


def test_coverage_of_the_vectors_is_kept(vectors):
    coverage = with_vectors(vectors, epochs=1).data_["coverage"]
    assert 0 < coverage["types"] < coverage["tokens"] < 1
    assert small(epochs=1).fit(TEXTS, LABELS).data_["coverage"] is None


@pytest.mark.parametrize("label", [2**70, -(2**63), 1e300, float("inf")])
def test_numbers_that_a_folder_cannot_keep_are_no_labels(label):
    with pytest.raises(DataError, match="must lie between"):
        small().fit(["good", "bad"] * 10, [label, 1] * 10)
