"""Requests and answers of the API, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vmask.serve.page_options import LARGEST

Show = Literal["all", "right", "wrong", "uncertain"]
Sort = Literal["importance", "count", "word"]
TableFormat = Literal["csv"]
WordNumber = Annotated[int, Field(ge=0, le=LARGEST)]


class _Request(BaseModel):
    """A request is read strictly: an unknown field is an error, and a number is not taken for a text."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictRequest(_Request):
    """Texts to classify."""

    texts: list[str] = Field(description="The texts.", examples=[["A charming film.", "A dull film."]])
    model: str | None = Field(None, description="Name of a model; by default the first.")
    hidden: list[list[WordNumber]] | None = Field(
        None, description="For every text the numbers of the words to hide, from 0.", examples=[[[1], []]]
    )
    hide: str | None = Field(None, description="How words are hidden; by default `remove`.")
    words: bool = Field(False, description="Also give the offsets of the words.")


class ExplainRequest(_Request):
    """Texts to explain."""

    texts: list[str] = Field(description="The texts.", examples=[["A charming film with a clumsy ending."]])
    model: str | None = Field(None, description="Name of a model; by default the first.")
    explainer: str | None = Field(None, description="Name of an explainer; by default the model's first.")
    target: str | None = Field(None, description="Label to explain; by default the predicted one of each text.")
    hide: str | None = Field(None, description="How words are hidden, of explainers that hide any.")
    seed: int = Field(0, ge=0, le=LARGEST, description="Seed of random explainers.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the explainer, see `/api/options`.", examples=[{}]
    )


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str = Field(description="What is wrong, and the limit or the fix.")


class Health(BaseModel):
    """That the server is there."""

    status: Literal["ok"]
    version: str
    models: int


class Span(BaseModel):
    """Where a word stands in its text, in code points."""

    start: int
    end: int


class Predicted(BaseModel):
    """What the model says of a text."""

    label: str
    probabilities: list[float | None] = Field(description="In the order of `labels`.")
    unseen: int = Field(description="Words past the model's length limit.")
    words: list[Span] | None = Field(None, description="Only where they were asked for.")


class Predictions(BaseModel):
    """A prediction a text."""

    model: str
    labels: list[str]
    predictions: list[Predicted]


class ScoredWord(BaseModel):
    """A word of a text and how much it matters."""

    word: str
    start: int
    end: int
    score: float | None
    strength: float | None = Field(description="How strongly to colour it, from -1 (against) to 1 (for).")


class Explained(BaseModel):
    """Which words of a text matter."""

    text: str
    label: str = Field(description="The class that is explained.")
    probability: float | None = Field(description="Of that class.")
    probabilities: list[float | None]
    predicted: str
    method: str
    options: dict[str, Any]
    seed: int | None
    signed: bool = Field(description="Whether a score below 0 speaks against the class.")
    details: dict[str, Any]
    unseen: int
    words: list[ScoredWord]


class Explanations(BaseModel):
    """An explanation a text."""

    model: str
    labels: list[str]
    explanations: list[Explained]
    milliseconds: float


class RankedWord(BaseModel):
    """A word and how much the model sees of it, wherever it stands."""

    word: str
    score: float | None
    count: int = Field(description="Places in the training texts.")
    known: bool = Field(description="Whether the word vectors know it.")


class Words(BaseModel):
    """Some of the words of a model."""

    model: str
    total: int = Field(description="Words that match.")
    words: list[RankedWord]


class ShownExample(BaseModel):
    """A test text, its label and its prediction."""

    number: int
    text: str
    label: str
    predicted: str
    probability: float | None = Field(description="Of the predicted class.")
    right: bool


class ShownExamples(BaseModel):
    """Some of the examples of a model."""

    model: str
    dataset: str
    split: str
    total: int = Field(description="Examples that match.")
    accuracy: float = Field(description="Over all examples.")
    examples: list[ShownExample]


class Preparing(BaseModel):
    """The answer is not there yet; ask again in a moment."""

    preparing: float = Field(description="How much is done, from 0 to 1.")


class OptionDescription(BaseModel):
    """An option of an explainer."""

    name: str
    kind: Literal["int", "float", "bool", "choice", "text"]
    default: Any
    choices: list[Any] | None
    most: int | None = Field(description="The largest whole number that is taken.")
    help: str


class ExplainerDescription(BaseModel):
    """A way to explain."""

    name: str
    title: str
    description: str
    signed: bool
    hides: bool
    draws: bool
    by_class: bool = Field(description="Whether scores depend on the class that is explained.")
    instant: bool = Field(description="Cheap enough for every keystroke; it does not wait in the queue.")
    options: list[OptionDescription]


class ExamplesDescription(BaseModel):
    """Which test texts there are."""

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
    explainers: list[str] = Field(description="Those that apply, the default first.")
    hides: list[str]
    ranks: bool
    max_words: int
    examples: ExamplesDescription | None
    no_examples: str | None = Field(None, description="Why there are none.")
    about: dict[str, Any]


class HideDescription(BaseModel):
    """A way to hide a word."""

    name: str
    description: str


class Colours(BaseModel):
    """How words are coloured."""

    model_config = ConfigDict(populate_by_name=True)

    for_: list[int] = Field(alias="for")
    against: list[int]
    strong: float


class Options(BaseModel):
    """Everything that a page needs to offer."""

    version: str
    models: list[ModelDescription]
    explainers: list[ExplainerDescription]
    hides: list[HideDescription]
    limits: dict[str, float]
    colours: Colours
