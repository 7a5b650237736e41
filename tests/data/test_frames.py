"""Tables and columns of other libraries: the same texts and labels, whatever holds them."""

from __future__ import annotations

import math

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toy import toy_texts
from vmask import TextClassifier, evaluate, explain_texts
from vmask.data.frames import as_texts, is_column, is_table, labelled_columns
from vmask.errors import ConfigError, DataError, VmaskWarning

TEXTS, LABELS = toy_texts(80)
COLUMNS = {"id": list(range(80)), "text": TEXTS, "label": LABELS}


class OnlyArrow:
    """A table that has nothing but Arrow's protocol."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


class OnlyInterchange:
    """A table that has nothing but the protocol of data frames."""

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return pa.table(COLUMNS).__dataframe__(nan_as_null, allow_copy)


TABLES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas arrow": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas index": lambda: pd.DataFrame(COLUMNS, index=range(100, 180)),
    "pandas category": lambda: pd.DataFrame(COLUMNS).astype({"label": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "datasets": lambda: datasets.Dataset.from_dict(COLUMNS),
    "class labels": lambda: datasets.Dataset.from_dict(
        {**COLUMNS, "label": [int(label == "pos") for label in LABELS]},
        features=datasets.Features(
            id=datasets.Value("int64"), text=datasets.Value("string"), label=datasets.ClassLabel(names=["neg", "pos"])
        ),
    ),
    "mapping": lambda: COLUMNS,
    "arrow alone": OnlyArrow,
    "interchange alone": OnlyInterchange,
}
SERIES = {
    "pandas": lambda values: pd.Series(values, index=range(5, 5 + len(values))),
    "pandas string": lambda values: pd.Series(values, dtype="string"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "objects": lambda values: np.array(values, dtype=object),
    "tuple": tuple,
    "generator": iter,
}


@pytest.fixture(scope="module")
def classifier():
    """A model that was trained on lists."""
    return TextClassifier(embeddings="random", epochs=2, learning_rate=0.01, model__filters=4).fit(TEXTS, LABELS)


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_its_columns(kind, classifier):
    table = TABLES[kind]()
    assert is_table(table)
    found = labelled_columns(table)
    assert (found.texts, found.labels, found.text, found.label, found.notes) == (TEXTS, LABELS, "text", "label", ())
    assert as_texts(table) == TEXTS
    np.testing.assert_array_equal(classifier.predict_proba(table), classifier.predict_proba(TEXTS))
    assert classifier.score(table) == classifier.score(TEXTS, LABELS)
    assert evaluate(classifier, table, "accuracy").scores[0].value == classifier.score(TEXTS, LABELS)
    assert [one.text for one in classifier.explain(table, "random")][:3] == TEXTS[:3]
    assert next(iter(explain_texts(classifier, table, "random"))).text == TEXTS[0]


@pytest.mark.parametrize("kind", ["pandas", "polars", "datasets", "mapping"])
def test_training_on_a_table(kind, classifier):
    fitted = TextClassifier(**classifier.get_params()).fit(TABLES[kind]())
    np.testing.assert_array_equal(fitted.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert (fitted.about_["text"], fitted.about_["label"]) == ("text", "label")


@pytest.mark.parametrize("kind", SERIES)
def test_columns_are_lists(kind, classifier):
    column = SERIES[kind]
    np.testing.assert_array_equal(classifier.predict(column(TEXTS)), classifier.predict(TEXTS))
    assert classifier.score(column(TEXTS), LABELS) == classifier.score(TEXTS, LABELS)
    assert [one.text for one in classifier.explain(column(TEXTS[:4]), "random")] == TEXTS[:4]
    if kind != "generator":
        assert classifier.score(column(TEXTS), column(LABELS)) == classifier.score(TEXTS, LABELS)
        assert evaluate(classifier, (column(TEXTS), column(LABELS)), "accuracy").scores[0].value == classifier.score(
            TEXTS, LABELS
        )


@pytest.mark.parametrize("kind", ["pandas", "pandas string", "polars", "pyarrow", "chunked", "objects"])
def test_a_missing_text_of_a_column_is_empty(kind, classifier):
    column = SERIES[kind]([TEXTS[0], None, TEXTS[1]])
    assert is_column(column)
    assert as_texts(column) == [TEXTS[0], "", TEXTS[1]]
    assert len(classifier.predict(column)) == 3
    with pytest.raises(DataError, match=r"Text number 1 .* is None"):
        classifier.predict([TEXTS[0], None])


def test_rows_without_a_text_or_a_label_are_left_out_and_counted():
    table = {"text": ["a", None, " ", math.nan, "b", "c"], "label": ["x", "y", "y", "y", None, pd.NA]}
    found = labelled_columns(table)
    assert (found.texts, found.labels) == (["a"], ["x"])
    assert found.notes == ("Left out 3 rows without a text.", "Left out 2 rows without a label.")
    frame = pd.DataFrame(COLUMNS)
    frame.loc[3, "text"], frame.loc[5, "label"] = None, None
    small = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2)
    with pytest.warns(VmaskWarning) as caught:
        small.fit(frame)
    assert [str(one.message) for one in caught] == [
        "Left out 1 row without a text of the training table.",
        "Left out 1 row without a label of the training table.",
    ]
    left_out = ("Left out 1 row without a text.", "Left out 1 row without a label.")
    assert evaluate(small, frame, "accuracy").notes[:2] == left_out


def test_columns_by_name(classifier):
    frame = pd.DataFrame(
        {"headline": ["x"] * 80, "review": TEXTS, "stars": [5 if one == "pos" else 1 for one in LABELS]}
    )
    small = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2).fit(
        frame, text="review", label="stars"
    )
    assert small.classes_.tolist() == [1, 5]
    np.testing.assert_array_equal(small.predict(frame), small.predict(TEXTS))  # by the column of the training
    with pytest.raises(DataError, match=r"There is no column 'rewiew'\. Did you mean 'review'"):
        small.fit(frame, text="rewiew")
    alone = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2).fit(frame[["review"]], LABELS)
    np.testing.assert_array_equal(alone.predict(frame[["review"]]), alone.predict(TEXTS))
    dev = pd.DataFrame({"review": TEXTS[:8], "stars": [5 if one == "pos" else 1 for one in LABELS[:8]]})
    small.fit(frame, text="review", label="stars", dev=dev)
    assert len(small.history_) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}), "not obvious which column holds the text"),
        (pd.DataFrame([["x", "y"]], columns=["text", "text"]), "Two columns of the table have the same name"),
        (datasets.DatasetDict(train=datasets.Dataset.from_dict(COLUMNS)), r"several tables: train.*data\['train'\]"),
        (pd.DataFrame(), "cannot be read|has no columns"),
        (pd.DataFrame({"text": [1, 2]}), "Text number 0 .* is 1, of type int"),
        (np.array("a text"), "A single value was given"),
    ],
)
def test_tables_that_cannot_be_used(data, message, classifier):
    with pytest.raises(DataError, match=message):
        classifier.predict(data)


def test_labels_are_given_once():
    small = TextClassifier(mask="base", embeddings="random", epochs=1, model__filters=2)
    with pytest.raises(DataError, match="There are no labels"):
        small.fit(TEXTS)
    with pytest.raises(ConfigError, match="text and label name columns"):
        small.fit(TEXTS, LABELS, text="text")
    with pytest.raises(DataError, match="There are 80 texts and 3 labels"):
        small.fit(pd.DataFrame({"text": TEXTS}), LABELS[:3])
