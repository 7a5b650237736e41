"""Schemas of the requests and answers of the API, from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vmask.serve.page import MAX_INTEGER

Show = Literal["all", "right", "wrong", "uncertain"]
Sort = Literal["importance", "count", "word"]
TableFormat = Literal["csv", "json"]
ModelName = Annotated[str | None, Field(description="Name of a model; by default the first.")]
Probability = Annotated[float | None, Field(description="Of the predicted class.")]
WordNumber = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
MAX_LISTED = 1000
"""Words or examples in an answer, at most."""
EditedWord = Annotated[str, Field(min_length=1, max_length=400)]


class NoQuery(BaseModel):
    """Query parameters of a route that has none. An unknown parameter is an error."""

    model_config = ConfigDict(extra="forbid")


class _ModelQuery(NoQuery):
    model: ModelName = None


class WordsQuery(_ModelQuery):
    """Query parameters of `/api/words`."""

    query: str = Field("", description="Only words that contain this.")
    min_count: int = Field(
        1, ge=0, le=MAX_INTEGER, description="Only words that are so frequent in the training texts."
    )
    sort: Sort = Field("importance", description="The order; words without an importance are sorted by count.")
    limit: int = Field(100, ge=0, le=MAX_LISTED, description="Number of words, at most.")
    offset: int = Field(0, ge=0, le=MAX_INTEGER, description="Number of words to skip.")


class ExamplesQuery(_ModelQuery):
    """Query parameters of `/api/examples`."""

    show: Show = Field("all", description="Which examples; `uncertain`: all, least certain first.")
    label: str | None = Field(None, description="Only examples with this label.")
    predicted: str | None = Field(None, description="Only examples with this prediction.")
    query: str = Field("", description="Only texts that contain this.")
    limit: int = Field(20, ge=0, le=MAX_LISTED, description="Number of examples, at most.")
    offset: int = Field(0, ge=0, le=MAX_INTEGER, description="Number of examples to skip.")


class TableQuery(_ModelQuery):
    """Query parameters of `/api/table`."""

    column: str | None = Field(None, description="Column of the texts; by default the obvious one.")
    filename: str = Field(
        "table.csv", description="Name of the file; its extension is the format: .csv .tsv .jsonl .xlsx"
    )
    encoding: str | None = Field(None, description="Encoding of a text file; by default UTF-8, UTF-16 or Windows-1252.")
    sheet: str | None = Field(
        None, description="Sheet of a workbook, by name or number; by default the first with rows."
    )
    format: TableFormat = Field("csv", description="Format of the answer; `json`: a summary with the CSV in it.")


class _Body(BaseModel):
    """A JSON body is validated strictly: an unknown field is an error, and a number is not converted to a text."""

    model_config = ConfigDict(extra="forbid", strict=True)


class WordEdit(_Body):
    """Words of a model that are hidden from it or shown to it, in any case, whatever its mask has learnt."""

    hide: list[EditedWord] = Field(default_factory=list, description="Words that it must not see.")
    show: list[EditedWord] = Field(default_factory=list, description="Words that it sees as they are.")


class PredictRequest(_Body):
    """Texts to classify."""

    texts: list[str] = Field(description="The texts.", examples=[["A charming film.", "A dull film."]])
    model: ModelName = None
    hidden: list[list[WordNumber]] | None = Field(
        None, description="For every text the indices of the words to hide, from 0.", examples=[[[1], []]]
    )
    hide: str | None = Field(None, description="How words are hidden; by default `remove`.")
    words: bool = Field(False, description="Also give the offsets of the words.")
    edit: WordEdit | None = Field(None, description="Ask the model with this edit of its words.")


class ExplainRequest(_Body):
    """Texts to explain."""

    texts: list[str] = Field(description="The texts.", examples=[["A charming film with a clumsy ending."]])
    model: ModelName = None
    explainer: str | None = Field(None, description="Name of an explainer; by default the model's first.")
    target: str | None = Field(None, description="Label to explain; by default the predicted one of each text.")
    hide: str | None = Field(None, description="How words are hidden, by explainers that hide words.")
    seed: int = Field(0, ge=0, le=MAX_INTEGER, description="Seed of random explainers.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the explainer, see `/api/options`.", examples=[{}]
    )
    edit: WordEdit | None = Field(None, description="Ask the model with this edit of its words.")


class EditRequest(_Body):
    """An edit of a model to measure; nothing is stored."""

    edit: WordEdit = Field(description="The words.", examples=[{"hide": ["the"]}])
    model: ModelName = None


class Problem(BaseModel):
    """An error."""

    detail: str = Field(description="What is wrong, and the limit or the fix.")


class Health(BaseModel):
    """The state of the server."""

    status: Literal["ok"]
    version: str
    models: int


class Span(BaseModel):
    """Position of a word in its text, in code points."""

    start: int
    end: int


class SeenSpan(Span):
    """Position of a word, and whether the model sees it."""

    hidden: bool = Field(description="Whether the model sees nothing of the word.")


class Predicted(BaseModel):
    """The prediction for a text."""

    label: str = Field(description="The predicted class; of several labels the leading one.")
    predicted_labels: list[str] | None = Field(
        None, description="All that are predicted; only of a model that gives a text several labels, or none."
    )
    probabilities: list[float | None] = Field(description="In the order of `labels`.")
    answered: bool = Field(
        True, description="False if the model was trained with a threshold and is not sure enough of its prediction."
    )
    unseen: int = Field(description="Number of words past the model's length limit.")
    words: list[SeenSpan] | None = Field(None, description="Only if requested.")


class _Answer(BaseModel):
    model: str
    labels: list[str]


class Predictions(_Answer):
    """A prediction for every text."""

    predictions: list[Predicted]


class ScoredWord(BaseModel):
    """A word of a text and its score."""

    word: str
    start: int
    end: int
    score: float | None
    strength: float | None = Field(description="Strength of its colour, from -1 (against) to 1 (for).")
    hidden: bool = Field(False, description="Whether the model sees nothing of it; its score is then 0.")


class Explained(BaseModel):
    """The explanation of a text."""

    text: str
    label: str = Field(description="The class that is explained.")
    probability: float | None = Field(description="Of that class.")
    probabilities: list[float | None]
    predicted: str
    answered: bool = Field(
        True, description="False if the model was trained with a threshold and is not sure enough of its prediction."
    )
    predicted_labels: list[str] | None = Field(
        None, description="All that are predicted; only of a model that gives a text several labels, or none."
    )
    method: str
    options: dict[str, Any]
    seed: int | None
    signed: bool = Field(description="Whether a score below 0 speaks against the class.")
    details: dict[str, Any]
    unseen: int
    words: list[ScoredWord]


class Explanations(_Answer):
    """An explanation for every text."""

    explanations: list[Explained]
    milliseconds: float


class RankedWord(BaseModel):
    """A word and its global importance."""

    word: str
    score: float | None = Field(description="Null if the model ranks no words.")
    count: int = Field(description="Occurrences in the training texts.")
    known: bool = Field(description="Whether it has a pretrained word vector.")
    hidden: bool = Field(description="Whether the model sees nothing of it.")
    editable: bool = Field(description="Whether it can be hidden or shown; false if it is read as the unknown word.")


class Words(BaseModel):
    """A page of the words of a model."""

    model: str
    total: int = Field(description="Number of words that match.")
    words: list[RankedWord]


class ShownExample(BaseModel):
    """A test text, its label and its prediction."""

    number: int
    text: str
    label: str
    predicted: str
    probability: Probability
    right: bool
    labels: list[str] | None = Field(None, description="The labels of the text; only where it may have several.")
    predicted_labels: list[str] | None = Field(
        None, description="All that are predicted; only of a model that gives a text several labels, or none."
    )


class ShownExamples(BaseModel):
    """A page of the examples of a model."""

    model: str
    dataset: str
    split: str
    total: int = Field(description="Number of examples that match.")
    accuracy: float = Field(description="Over all examples.")
    examples: list[ShownExample]


class Preparing(BaseModel):
    """The examples are still being predicted; try again in a moment."""

    preparing: float = Field(description="Progress, from 0 to 1.")


class FlippedExample(BaseModel):
    """A test text that gets another class by an edit."""

    number: int
    text: str
    label: str
    before: str = Field(description="The class without the edit.")
    after: str = Field(description="The class with it.")


class Cost(BaseModel):
    """What an edit does to the test texts of a model."""

    dataset: str
    split: str
    n: int = Field(description="Number of texts.")
    affected: int = Field(description="Number of texts that have an edited word.")
    accuracy_before: float
    accuracy_after: float
    difference: float = Field(description="After minus before.")
    low: float | None = Field(description="Lower end of its 95% interval.")
    high: float | None
    p: float | None = Field(description="Of a paired test.")
    flips: int = Field(description="Number of texts that get another class.")
    examples: list[FlippedExample] = Field(description="The first of them.")


class MeasuredEdit(BaseModel):
    """An edit of a model and its cost."""

    model: str
    also: list[str] = Field(description="Words that change too, as they share a piece with an edited one; the first.")
    also_total: int
    command: str = Field(description="The command that makes the edited model; empty without words.")
    preparing: float | None = Field(description="Progress from 0 to 1 while the test texts are predicted.")
    cost: Cost | None = Field(description="Null while it is prepared, and for a model without test texts.")


class PreviewRow(BaseModel):
    """A row of a table and its prediction."""

    text: str
    label: str
    probability: Probability


class ScoredTable(_Answer):
    """A table with predictions."""

    column: str = Field(description="Column of the texts.")
    total: int = Field(description="Number of rows.")
    empty: int = Field(description="Number of texts that are empty; they are scored like all others.")
    notes: list[str] = Field(description="What was assumed when the file was read: its encoding, the sheet.")
    added: list[str] = Field(description="Names of the columns of the predictions.")
    counts: list[int] = Field(description="Number of rows of each predicted class, in the order of `labels`.")
    first: list[PreviewRow] = Field(description="The first rows.")
    csv: str = Field(description="The table with the predictions, as CSV.")


class OptionDescription(BaseModel):
    """An option of an explainer."""

    name: str
    kind: Literal["int", "float", "bool", "choice", "text"]
    default: Any
    choices: list[Any] | None
    most: int | None = Field(description="The largest integer that is accepted.")
    help: str


class ExplainerDescription(BaseModel):
    """An explanation method."""

    name: str
    title: str
    description: str
    signed: bool
    hides: bool
    draws: bool
    by_class: bool = Field(description="Whether scores depend on the class that is explained.")
    instant: bool = Field(description="Cheap enough for every keystroke; it needs no queue.")
    options: list[OptionDescription]


class ExamplesDescription(BaseModel):
    """The test texts of a model."""

    dataset: str
    split: str
    n: int


class ModelDescription(BaseModel):
    """A model."""

    name: str
    title: str
    model: str
    mask: str
    labels: list[str]
    explainers: list[str] = Field(description="Names of those that apply, the default first.")
    hides: list[str]
    ranks: bool
    max_words: int
    examples: ExamplesDescription | None
    no_examples: str | None = Field(None, description="The reason if there are none.")
    about: dict[str, Any]


class HideDescription(BaseModel):
    """A way to hide a word."""

    name: str
    description: str


class Colours(BaseModel):
    """The colours of words."""

    model_config = ConfigDict(populate_by_name=True)

    for_: list[int] = Field(alias="for")
    against: list[int]
    strong: float


class Options(BaseModel):
    """Everything the page needs to draw itself."""

    version: str
    models: list[ModelDescription]
    explainers: list[ExplainerDescription]
    hides: list[HideDescription]
    limits: dict[str, float]
    colours: Colours
