"""Plant words that decide the label, so that the words a model must have used are known.

One word per class is inserted at random places of some training texts, and the label of such a text becomes that class.
A model trained on these texts learns the shortcut; an explanation of it is right if it shows the planted words
(Bastings et al. 2022). `relies` checks whether the model does use them, without which the results mean little.

The planted words are drawn at random from words that occur in none of the texts. They need vectors that a model can
distinguish. With frozen word vectors, a word without a pretrained vector has one near 0, and a made-up word is not
learned. So words with pretrained vectors are used if the model has such vectors, whatever the words mean, because they
are assigned to classes at random. Otherwise words are made up: random vectors are trained, and encoders and distilled
vectors represent every word.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from vmask._core.random_streams import numpy_stream
from vmask.config import LARGEST_SEED, check_positive, option
from vmask.data.datasets import Dataset
from vmask.data.label_sets import are_sets
from vmask.data.rationales import Spans
from vmask.data.splits import Split
from vmask.errors import ConfigError, DataError
from vmask.text.words import chunks, count_words
from vmask.training.progress import ProgressCallback

if TYPE_CHECKING:
    from vmask.classifier import TextClassifier
    from vmask.training.run_config import Plan

_CONSONANTS, _VOWELS = "bdfgjklmnprtvz", "aeiou"
_LETTERS = 7


@dataclass(frozen=True)
class PlantOptions:
    """How words are planted."""

    share: float = option(0.5, "share of the training and dev texts that get a word; all test texts do")
    tokens: int = option(1, "how many times it is inserted into a text", most=10_000)
    within: int | None = option(
        None, "it is inserted among this many first words of a text; by default half of what the model sees"
    )
    seed: int = option(0, "seed of the words, the texts and the places", most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_positive(self, "share")
        check_positive(self, "tokens", "within", minimum=1)
        check_positive(self, "seed", minimum=0)
        if self.share > 1:
            raise ConfigError(f"share is {self.share}; it must be at most 1.")


@dataclass(frozen=True)
class Reliance:
    """Whether a model uses the planted words.

    Attributes:
        follows: share of the planted texts that are predicted as the class of their word; near 1 if it was learned.
        flips: share whose prediction changes to another class when the word is replaced by that of the class; likewise.
        n: number of planted texts.
    """

    follows: float
    flips: float
    n: int


def words_to_plant(
    labels: Sequence[str], texts: Iterable[str], seed: int = 0, known: Sequence[str] = ()
) -> dict[str, str]:
    """A word for each label that occurs in none of the texts.

    Args:
        labels: the classes.
        texts: all texts, of every split.
        seed: random seed.
        known: words to choose from, such as those with a vector. If they do not suffice, words are made up of
            lower-case ASCII letters, which every cleaning leaves unchanged.
    """
    taken = {word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower())}
    order = numpy_stream(seed, "planted words").permutation(len(known))
    free = (word for word in chain((known[i] for i in order), _made_up(seed)) if word.lower() not in taken)
    words: dict[str, str] = {}
    for label in labels:
        words[label] = next(free)
        taken.add(words[label].lower())
    return words


def _made_up(seed: int) -> Iterator[str]:
    """An endless stream of words such as `zovibek`."""
    for number in count():
        stream = numpy_stream(seed, "made-up word", number)
        yield "".join(stream.choice(list(_VOWELS if at % 2 else _CONSONANTS)) for at in range(_LETTERS))


def plant(split: Split, words: Mapping[str, str], name: str, share: float, options: PlantOptions) -> Split:
    """Insert the word of a random class into some of the texts; that class becomes their label.

    The change of a text depends only on the seed, the name of the split and the id of the text, not on the other texts.
    The rationale of a text is the spans of the planted words; it is empty if none were planted.

    Args:
        split: the texts.
        words: for each label the word that stands for it.
        name: name of the split.
        share: probability that a text gets a word.
        options: how many times, and where.
    """
    classes = sorted(words)
    texts, labels, rationales = [], [], []
    for text, label, key in zip(split.texts, split.labels, split.ids, strict=True):
        stream = numpy_stream(options.seed, "planted", name, key)
        spans: Spans = ()
        if stream.random() < share:
            label = classes[stream.integers(len(classes))]
            text, spans = _inserted(text, words[label], options, stream)
        texts.append(text)
        labels.append(label)
        rationales.append(spans)
    return Split(texts, labels, list(split.ids), split.notes, rationales)


def _inserted(text: str, word: str, options: PlantOptions, stream: np.random.Generator) -> tuple[str, Spans]:
    """The text with the word at random places between its words or at its ends, and the spans of the word."""
    parts = [(part, False) for part in text.split(" ")] if text else []
    last = len(parts) if options.within is None else min(len(parts), max(options.within - options.tokens, 0))
    for place in sorted(stream.integers(0, last + 1, options.tokens), reverse=True):
        parts.insert(place, (word, True))
    start, spans = 0, []
    for part, planted in parts:
        if planted:
            spans.append((start, start + len(part)))
        start += len(part) + 1
    return " ".join(part for part, _ in parts), tuple(spans)


def planted_splits(
    dataset: Dataset, options: PlantOptions | None = None, known: Sequence[str] = ()
) -> dict[str, Split]:
    """`train` and `dev` with a word in a share of the texts, and `test` with one in every text.

    Args:
        dataset: the source of the texts.
        options: how words are planted.
        known: words to choose from; by default words are made up.

    Raises:
        DataError: if the dataset has fewer than two labels.
    """
    options = options or PlantOptions()
    if len(dataset.labels) < 2:
        raise DataError("Words can be planted only in texts of at least two classes. Give labelled texts.")
    if are_sets(dataset.splits["train"].labels):
        raise DataError("Words are planted for one label a text, and these texts may have several. Give other texts.")
    words = words_to_plant(dataset.labels, _texts(dataset), options.seed, known)
    shares = {"train": options.share, "dev": options.share, "test": 1.0}
    return {name: plant(dataset.splits[name], words, name, share, options) for name, share in shares.items()}


def train_planted(
    classifier: TextClassifier,
    dataset: Dataset,
    options: PlantOptions | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[TextClassifier, Split]:
    """A new classifier with the same parameters, trained on texts with planted words; and test texts with such words.

    Args:
        classifier: fitted or not; it is not changed.
        dataset: the source of the texts.
        options: how words are planted.
        progress: callback of the training.
    """
    from vmask.classifier import TextClassifier
    from vmask.training.prepare_words import DEFAULT_MAX_WORDS

    options = options or PlantOptions()
    trained = TextClassifier(**classifier.get_params())
    plan = trained.plan()
    if options.within is None:
        # A word beyond the length limit has no effect. Cleaning gives more words than there are spaces, and encoders
        # count pieces of words: half of the limit leaves room for both.
        seen = plan.data.max_words or DEFAULT_MAX_WORDS
        options = dataclasses.replace(options, within=max(1, seen // 2))
    splits = planted_splits(dataset, options, _words_with_vectors(plan, dataset))
    train, dev, test = (splits[name] for name in ("train", "dev", "test"))
    over_all = plan.data.vocabulary == "paper" and dataset.card is not None and dataset.card.vocabulary_over == "all"
    trained.fit(
        train.texts,
        train.labels,
        dev=(dev.texts, dev.labels),
        vocabulary_texts=[*dev.texts, *test.texts] if over_all else None,
        progress=progress,
    )
    return trained, test


def _words_with_vectors(plan: Plan, dataset: Dataset) -> list[str]:
    """Words of the model's vector files that occur in none of the texts; empty if it reads no such file."""
    from vmask.pretrained.word_vectors import DISTIL, read_vectors
    from vmask.text.vocabulary import choose_words
    from vmask.training.prepare_words import DEFAULT_CLEANING, choose_word_segmenter

    config = dataclasses.replace(plan.data, vocabulary="vectors", min_count=None)
    parts = config.embeddings.split(",")
    files = ",".join(part for part in parts if not part.strip().startswith(DISTIL))
    if plan.reads_pieces or files in ("", "random"):
        return []
    cleaning = config.cleaning or DEFAULT_CLEANING
    segmenter = choose_word_segmenter(config.segmenter, dataset.splits["train"].texts, cleaning)
    counts = count_words(_texts(dataset), cleaning, segmenter)
    vectors = read_vectors(files, counts, config.vector_words)
    others = choose_words(counts, None, vectors.words, config, segmenter)[len(counts) :]
    return [word for word in others if word.isalpha()]


def _texts(dataset: Dataset) -> Iterator[str]:
    return (text for name in ("train", "dev", "test") for text in dataset.splits[name].texts)


def planted_words(split: Split) -> dict[str, str]:
    """The word that was planted for each label in these texts."""
    rows = (row for row, spans in enumerate(split.rationales or ()) if spans)
    return dict(sorted({split.labels[row]: _planted(split, row) for row in rows}.items()))


def relies(predictor: Any, split: Split) -> Reliance:
    """Whether a model uses the words that were planted in some texts.

    Each word is replaced by that of the next class, in the order of the labels; this needs texts of two classes.
    """
    rows = [row for row, spans in enumerate(split.rationales or ()) if spans]
    words = planted_words(split)
    labels = list(words)
    following = dict(zip(labels, labels[1:] + labels[:1], strict=True))
    own = np.array([split.labels[row] for row in rows])
    next_class = np.array([following[split.labels[row]] for row in rows])
    before = _predicted(predictor, [split.texts[row] for row in rows])
    swapped = _predicted(predictor, [_swapped(split, row, words[following[split.labels[row]]]) for row in rows])
    flips = (before != next_class) & (swapped == next_class)
    return Reliance(
        follows=float((before == own).mean()) if rows else float("nan"),
        flips=float(flips.mean()) if len(labels) > 1 else float("nan"),
        n=len(rows),
    )


def _planted(split: Split, row: int) -> str:
    assert split.rationales is not None
    start, end = split.rationales[row][0]
    return split.texts[row][start:end]


def _swapped(split: Split, row: int, word: str) -> str:
    """A text with another word in place of the planted ones."""
    assert split.rationales is not None
    text = split.texts[row]
    for start, end in reversed(split.rationales[row]):
        text = text[:start] + word + text[end:]
    return text


def _predicted(predictor: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """(N,) predicted labels, with at most a thousand texts in memory."""
    labels = np.array([str(label) for label in predictor.labels])
    numbers = [predictor.predict_docs(predictor.prepare(chunk)).argmax(1) for chunk in chunks(texts, 1000)]
    return labels[np.concatenate(numbers)] if numbers else labels[:0]
