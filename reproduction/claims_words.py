"""What the paper claims about words and their importance, with what our results say of it."""

from __future__ import annotations

from collections.abc import Callable

from reproduction.agreement import informed, local_and_global
from reproduction.claim import Claim, cells_of, listed, scored
from reproduction.effect import BELOW_0, Cell, Effect, Region, Values, levels, paired
from reproduction.published import Published
from reproduction.results import DATASETS, TITLES, Results, ScoreKey

TWO_WORDS, IN_PAPER = 0.75, 0.8
"""About 80%, with room for the word about."""
UNCORRELATED = 0.1
TASK_WORD, FREQUENT_WORD, NEAR = 0.8, 0.5, 0.1


def claims_about_words(results: Results, published: Published) -> list[Claim]:
    """Every claim about words, in the paper's order."""
    return [
        _post_hoc_above_iba(results),
        _two_words(results),
        _fewer_words_for_encoders(results),
        _not_frequency(results, published),
        _task_words_above(results),
        _frequent_words_near(results),
        _informed(results),
        _agreement(results),
    ]


def _post_hoc(results: Results, mask: str, by: str, k: int) -> Callable[[Cell], Values]:
    return scored(results, mask, "words", ScoreKey("post_hoc_accuracy", by, "", f"k={k}"))


def _post_hoc_above_iba(results: Results) -> Claim:
    effects = []
    for k in (1, 2, 5, 10):
        values = paired(cells_of(), _post_hoc(results, "iba", "mask", k), _post_hoc(results, "vmask", "mask", k))
        effects.append(Effect(f"VMASK minus IBA, k = {k}", values))
    random = paired(cells_of(), _post_hoc(results, "random_mask", "mask", 2), _post_hoc(results, "vmask", "mask", 2))
    control = Effect("Control, VMASK minus random mask, k = 2", random)
    sentence = "Post-hoc accuracy of VMASK is higher than IBA's."
    return Claim("post_hoc", sentence, tuple(effects), (f"{control.title}: {control.words()}",))


def _two_words(results: Results) -> Claim:
    cells = cells_of(models=("cnn", "lstm"))
    values = levels(cells, _post_hoc(results, "vmask", "mask", 2))
    lines = [f"VMASK: {listed(results, values)}"]
    for title, mask, by in (
        ("Base with VMASK's ranking", "base", "ranking"),
        ("VMASK by a random ranking", "vmask", "random"),
    ):
        lines.append(f"{title}: {listed(results, levels(cells, _post_hoc(results, mask, by, 2)))}")
    sentence = (
        "With the two most important words alone, CNN-VMASK and LSTM-VMASK reach about 80% post-hoc accuracy (here: "
        "75% or more)."
    )
    paper = dict.fromkeys(values, IN_PAPER)
    effect = Effect("post-hoc accuracy of VMASK, k = 2", values, Region(TWO_WORDS), paper, signed=False)
    return Claim("two_words", sentence, (effect,), tuple(lines))


def _fewer_words_for_encoders(results: Results) -> Claim:
    values: dict[Cell, list[float]] = {}
    of = _post_hoc(results, "vmask", "mask", 2)
    for dataset in DATASETS:
        encoder = list(of((dataset, "bert")).values())
        for model in ("cnn", "lstm"):
            other = list(of((dataset, model)).values())
            if encoder and other:  # seeds of different models are no pairs
                values[dataset, model] = [sum(encoder) / len(encoder) - sum(other) / len(other)]
    sentence = "Post-hoc accuracy (two words) is lower for BERT (here MiniLM) than for CNN and LSTM."
    line = f"By dataset and the other model: {listed(results, values)}"
    effect = Effect("MiniLM minus CNN and LSTM, VMASK, k = 2", values, BELOW_0)
    return Claim("encoders", sentence, (effect,), (line,))


def _not_frequency(results: Results, published: Published) -> Claim:
    effects, lines = [], []
    for part, name in (("pearson", "Pearson, raw counts"), ("log", "Pearson, log counts"), ("spearman", "Spearman")):
        key = ScoreKey("frequency_correlation", "mask", "", part)
        found = levels(cells_of(), scored(results, "vmask", "words", key))
        sizes = {cell: [abs(value) for value in values] for cell, values in found.items()}
        paper = {}
        if part == "pearson" and "correlation" in published.tables:
            there = {cell: published.number("correlation", cell[1], cell[0]) for cell in sizes}
            paper = {cell: abs(value) for cell, value in there.items() if value is not None}
        region = Region(high=UNCORRELATED)
        effects.append(Effect(f"size of the correlation, {name}", sizes, region, paper, unit="", signed=False))
        lines.append(f"{name}: {listed(results, found, 1, 2)}")
    sentence = "Importance is not correlated with word frequency (here: by less than 0.1 on average)."
    return Claim("frequency", sentence, tuple(effects), tuple(lines))


def _task_words_above(results: Results) -> Claim:
    values = levels(cells_of(), lambda cell: _of_words(results, cell, "top", min))
    sentence = "The importance of the most important words is above 0.8 (here: of the tenth)."
    title = "importance of the tenth of VMASK's words"
    effect = Effect(title, values, Region(TASK_WORD), unit="", signed=False)
    return Claim("task_words", sentence, (effect,), (listed(results, values, 1, 2),))


def _frequent_words_near(results: Results) -> Claim:
    def mean(scores: list[float]) -> float:
        return sum(scores) / len(scores)

    values = levels(cells_of(), lambda cell: _of_words(results, cell, "frequent", mean))
    sentence = "The importance of the most frequent words is around 0.5 (here: within 0.1, the mean of ten)."
    region = Region(FREQUENT_WORD - NEAR, FREQUENT_WORD + NEAR)
    effect = Effect("importance of the ten most frequent words", values, region, unit="", signed=False)
    return Claim("frequent_words", sentence, (effect,), (listed(results, values, 1, 2),))


def _of_words(results: Results, cell: Cell, which: str, summary: Callable[[list[float]], float]) -> Values:
    """A summary of the importance of the first ten words of a list, for every seed."""
    return {
        seed: summary([float(row[1]) for row in record["importance"][which][:10]])
        for seed, record in results.stage(*cell, "vmask", "words").items()
        if record.get("importance")
    }


def _informed(results: Results) -> Claim:
    """Whether words at the top say something about the class, in place of a person's judgement."""

    def of(mask: str) -> Callable[[Cell], Values]:
        return lambda cell: informed(results, *cell, mask)

    effect = Effect("VMASK minus random mask", paired(cells_of(), of("random_mask"), of("vmask")))
    control = Effect("Control, IBA minus random mask", paired(cells_of(), of("random_mask"), of("iba")))
    lines = [f"{control.title}: {control.words()}"]
    for mask in ("vmask", "iba", "random_mask"):
        lines.append(f"Percent, {TITLES[mask]}: {listed(results, levels(cells_of(), of(mask)))}")
    sentence = (
        "The most important words are words of the task (here: of the fifty highest that stand five times or more in "
        "training, the share that is among the tenth of words that tell most about the class; chance is 10%)."
    )
    return Claim("top_words", sentence, (effect,), tuple(lines))


def _agreement(results: Results) -> Claim:
    """Whether words that LIME finds important are important to the mask."""
    values = levels(cells_of(), lambda cell: local_and_global(results, *cell))
    sentence = (
        "Local and global explanations agree (here: of the ten words with the largest sums of LIME scores, more are "
        "among the mask's fifty than by chance)."
    )
    line = f"Points above chance: {listed(results, values)}"
    return Claim("agreement", sentence, (Effect("share of LIME's words minus chance", values),), (line,))
