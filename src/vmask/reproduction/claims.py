"""What the paper claims, each as a sentence, with what our results say of it.

A claim about many cells (datasets and models) is judged by three things: in how many cells it goes the paper's way, in
how many a test over seeds supports or contradicts it (Welch, adjusted by Holm over the cells), and the mean difference
over cells with its 95% t interval. It `holds` where that interval lies on the claim's side and no cell contradicts it,
`does not hold` where the interval lies on the other side or cells contradict and none supports it, and else is
`not shown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vmask.experiments.published import Published
from vmask.reproduction.agreement import informed, local_and_global
from vmask.reproduction.results import DATASETS, MODELS, TITLES, Key, Results
from vmask.statistics import holm, seeds_difference, seeds_interval

ClaimVerdict = Literal["holds", "holds in part", "not shown", "does not hold", "not run"]
LEVEL = 0.05
NEARLY = 0.02
"""A difference of AOPC that still counts as nearly equal."""
TWO_WORDS = 0.75
"""About 80%, with room for the word about."""
UNCORRELATED = 0.1
TASK_WORD, FREQUENT_WORD, NEAR = 0.8, 0.5, 0.1

Values = Mapping[int, float]
Cell = tuple[str, str]
"""Dataset and model."""


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        name: short, for machines.
        sentence: what the paper says, in our words.
        verdict: what our results say.
        evidence: the numbers behind the verdict.
    """

    name: str
    sentence: str
    verdict: ClaimVerdict
    evidence: str


@dataclass(frozen=True)
class Sides:
    """How two methods compare over cells.

    Attributes:
        differences: cell -> mean of the second minus mean of the first.
        supported: cells where a test finds the second higher.
        contradicted: cells where a test finds it lower.
        tested: cells that have two seeds or more of both.
    """

    differences: Mapping[Cell, float]
    supported: Sequence[Cell]
    contradicted: Sequence[Cell]
    tested: int

    @property
    def higher(self) -> int:
        """Cells where the second method's mean is higher."""
        return sum(one > 0 for one in self.differences.values())

    def verdict(self) -> ClaimVerdict:
        """Whether the second method is higher, see the head of this file."""
        if not self.differences:
            return "not run"
        mean = seeds_interval(list(self.differences.values()))
        if mean.low > 0 and not self.contradicted:
            return "holds"
        if mean.high < 0 or (self.contradicted and not self.supported):
            return "does not hold"
        return "not shown"

    def words(self, scale: float = 100, unit: str = "points") -> str:
        """The numbers behind the verdict."""
        if not self.differences:
            return "not run"
        mean = seeds_interval(list(self.differences.values()))
        ends = "" if len(self.differences) < 2 else f" ({scale * mean.low:+.2f} to {scale * mean.high:+.2f})"
        return (
            f"higher in {self.higher} of {len(self.differences)} cells; tests over seeds support it in "
            f"{len(self.supported)} and contradict it in {len(self.contradicted)} of {self.tested}; mean difference "
            f"{scale * mean.value:+.2f}{ends} {unit}"
        )


def sides(cells: Iterable[Cell], first: Callable[[Cell], Values], second: Callable[[Cell], Values]) -> Sides:
    """Compare two methods in all cells that have both."""
    differences: dict[Cell, float] = {}
    tests: dict[Cell, tuple[float, float]] = {}
    for cell in cells:
        a, b = list(first(cell).values()), list(second(cell).values())
        if not a or not b:
            continue
        differences[cell] = sum(b) / len(b) - sum(a) / len(a)
        if min(len(a), len(b)) > 1:
            found = seeds_difference(b, a)
            tests[cell] = (found.value, found.p)
    adjusted = dict(zip(tests, holm([p for _, p in tests.values()]), strict=True))
    clear = [cell for cell, p in adjusted.items() if p < LEVEL]
    return Sides(
        differences,
        [cell for cell in clear if tests[cell][0] > 0],
        [cell for cell in clear if tests[cell][0] < 0],
        len(tests),
    )


def all_claims(results: Results, published: Published) -> list[Claim]:
    """Every claim of the paper that our results can speak to, in its order."""
    return [
        _more_accurate(results),
        _no_constant_gain(results),
        _iba_above_l2x(results),
        _as_earlier_papers(results, published),
        _aopc_higher(results),
        _aopc_trec(results),
        _post_hoc_above_iba(results),
        _two_words(results),
        _fewer_words_for_encoders(results),
        _not_frequency(results),
        _task_words_above(results),
        _frequent_words_near(results),
        informed_claim(results),
        agreement_claim(results),
    ]


def _cells(datasets: Sequence[str] = DATASETS, models: Sequence[str] = MODELS) -> list[Cell]:
    return [(dataset, model) for model in models for dataset in datasets]


def _accuracy(results: Results, mask: str) -> Callable[[Cell], Values]:
    return lambda cell: results.trained(*cell, mask)


def _score(results: Results, mask: str, stage: str, key: Key) -> Callable[[Cell], Values]:
    return lambda cell: results.scored(*cell, mask, stage, key)


def _more_accurate(results: Results) -> Claim:
    found = sides(_cells(), _accuracy(results, "base"), _accuracy(results, "vmask"))
    control = sides(_cells(), _accuracy(results, "base"), _accuracy(results, "word_dropout"))
    evidence = f"VMASK minus base: {found.words()}. Control, word dropout minus base: {control.words()}."
    return Claim("accuracy", "Models trained with VMASK are more accurate than base models.", found.verdict(), evidence)


def _no_constant_gain(results: Results) -> Claim:
    found = {
        name: sides(_cells(), _accuracy(results, "base"), _accuracy(results, name)) for name in ("l2", "iba", "l2x")
    }
    run = {name: one for name, one in found.items() if one.differences}
    constant = [name for name, one in run.items() if one.higher == len(one.differences)]
    verdict: ClaimVerdict = "not run" if not run else "does not hold" if constant else "holds"
    evidence = ". ".join(f"{TITLES[name]} minus base: {one.words()}" for name, one in run.items()) + "."
    return Claim("others", "l2, IBA and L2X do not improve accuracy everywhere.", verdict, evidence)


def _iba_above_l2x(results: Results) -> Claim:
    found = sides(_cells(), _accuracy(results, "l2x"), _accuracy(results, "iba"))
    return Claim("iba_l2x", "IBA is more accurate than L2X.", found.verdict(), f"IBA minus L2X: {found.words()}.")


def _as_earlier_papers(results: Results, published: Published) -> Claim:
    """Base models against the span of earlier results, widened by the 95% band of one run on the test set."""
    inside, outside = 0, []
    for dataset, model in _cells():
        papers = published.table("previous").rows.get(model, {}).values()
        earlier = [float(paper[dataset]) / 100 for paper in papers if dataset in paper]
        ours = list(results.trained(dataset, model, "base").values())
        size = published.number("datasets", dataset, "test")
        if not earlier or not ours or not size:
            continue
        mean = sum(ours) / len(ours)
        low, high = (
            one + sign * 1.96 * (one * (1 - one) / size) ** 0.5 for one, sign in ((min(earlier), -1), (max(earlier), 1))
        )
        if low <= mean <= high:
            inside += 1
        else:
            outside.append(
                f"{TITLES[model]} {TITLES[dataset]} {100 * mean:.1f} "
                f"({100 * min(earlier):.1f} to {100 * max(earlier):.1f})"
            )
    total = inside + len(outside)
    verdict: ClaimVerdict = (
        "not run" if not total else "holds" if not outside else "holds in part" if inside else "does not hold"
    )
    evidence = f"{inside} of {total} base cells lie in the span of earlier results" + (
        f"; not {', '.join(outside)}." if outside else "."
    )
    return Claim("earlier", "Base models are as accurate as in earlier papers.", verdict, evidence)


def _aopc_cells(results: Results, datasets: Sequence[str], mask: str, metric: str = "aopc") -> dict[str, Sides]:
    return {
        by: sides(
            _cells(datasets),
            _score(results, "base", "local", Key(metric, by, "remove")),
            _score(results, mask, "local", Key(metric, by, "remove")),
        )
        for by in ("lime", "shapley")
    }


def _aopc_higher(results: Results) -> Claim:
    others = [one for one in DATASETS if one != "trec"]
    found = _aopc_cells(results, others, "vmask")
    lines = [f"{TITLES[by]}: {one.words()}" for by, one in found.items()]
    for title, mask, metric in (
        ("NAOPC", "vmask", "naopc"),
        ("AOPC of word dropout minus base", "word_dropout", "aopc"),
    ):
        lines += [
            f"{title}, {TITLES[by]}: {one.words()}" for by, one in _aopc_cells(results, others, mask, metric).items()
        ]
    return Claim(
        "aopc",
        "AOPC of LIME and SampleShapley is higher for VMASK than for base, on all datasets but TREC.",
        _together([one.verdict() for one in found.values()]),
        f"VMASK minus base. {'. '.join(lines)}.",
    )


def _aopc_trec(results: Results) -> Claim:
    found = _aopc_cells(results, ("trec",), "vmask")
    differences = [abs(value) for one in found.values() for value in one.differences.values()]
    verdict: ClaimVerdict = "not run"
    if differences:
        near = sum(one <= NEARLY for one in differences)
        verdict = "holds" if near == len(differences) else "holds in part" if near else "does not hold"
    lines = [f"{TITLES[by]}: {one.words()}" for by, one in found.items()]
    sentence = "On TREC, AOPC of VMASK and base are nearly equal (within 2 points)."
    return Claim("aopc_trec", sentence, verdict, f"VMASK minus base. {'. '.join(lines)}.")


def _post_hoc(results: Results, mask: str, by: str, k: int) -> Callable[[Cell], Values]:
    return _score(results, mask, "words", Key("post_hoc_accuracy", by, "", f"k={k}"))


def _post_hoc_above_iba(results: Results) -> Claim:
    found = {
        k: sides(_cells(), _post_hoc(results, "iba", "mask", k), _post_hoc(results, "vmask", "mask", k))
        for k in (1, 2, 5, 10)
    }
    lines = [f"k = {k}: {one.words()}" for k, one in found.items()]
    control = sides(_cells(), _post_hoc(results, "random_mask", "mask", 2), _post_hoc(results, "vmask", "mask", 2))
    lines.append(f"VMASK minus a random mask, k = 2: {control.words()}")
    return Claim(
        "post_hoc",
        "Post-hoc accuracy of VMASK is higher than IBA's.",
        _together([one.verdict() for one in found.values()]),
        f"VMASK minus IBA. {'. '.join(lines)}.",
    )


def _two_words(results: Results) -> Claim:
    cells = _cells(models=("cnn", "lstm"))
    own = {cell: _mean(_post_hoc(results, "vmask", "mask", 2)(cell)) for cell in cells}
    found = {cell: one for cell, one in own.items() if one is not None}
    enough = [cell for cell, one in found.items() if one >= TWO_WORDS]
    lines = [f"{len(enough)} of {len(found)} cells reach 75%: {_listed(found)}"]
    for title, mask, by in (
        ("base with VMASK's ranking", "base", "ranking"),
        ("by a random ranking", "vmask", "random"),
    ):
        other = {cell: one for cell in cells if (one := _mean(_post_hoc(results, mask, by, 2)(cell))) is not None}
        lines.append(f"{title}: {_listed(other)}")
    verdict: ClaimVerdict = "not run"
    if found:
        verdict = "holds" if len(enough) == len(found) else "holds in part" if enough else "does not hold"
    sentence = "With the two most important words alone, CNN-VMASK and LSTM-VMASK reach about 80% post-hoc accuracy."
    return Claim("two_words", sentence, verdict, ". ".join(lines) + ".")


def _fewer_words_for_encoders(results: Results) -> Claim:
    found = [
        (
            dataset,
            model,
            _mean(_post_hoc(results, "vmask", "mask", 2)((dataset, "bert"))),
            _mean(_post_hoc(results, "vmask", "mask", 2)((dataset, model))),
        )
        for dataset in DATASETS
        for model in ("cnn", "lstm")
    ]
    pairs = [(TITLES[d], TITLES[m], a, b) for d, m, a, b in found if a is not None and b is not None]
    lower = [pair for pair in pairs if pair[2] < pair[3]]
    verdict: ClaimVerdict = "not run"
    if pairs:
        verdict = "holds" if len(lower) == len(pairs) else "holds in part" if lower else "does not hold"
    shown = ", ".join(f"{d}: {100 * a:.1f} against {m} {100 * b:.1f}" for d, m, a, b in pairs)
    return Claim(
        "encoders",
        "Post-hoc accuracy (two words) is lower for BERT (here MiniLM) than for CNN and LSTM.",
        verdict,
        shown or "not run",
    )


def _not_frequency(results: Results) -> Claim:
    parts: dict[str, dict[Cell, float]] = {}
    for part in ("pearson", "log", "spearman"):
        key = Key("frequency_correlation", "mask", "", part)
        means = {cell: _mean(results.scored(*cell, "vmask", "words", key)) for cell in _cells()}
        parts[part] = {cell: one for cell, one in means.items() if one is not None}
    none = {part: sum(abs(one) < UNCORRELATED for one in found.values()) for part, found in parts.items()}
    total = len(parts["pearson"])
    verdict: ClaimVerdict = "not run"
    if total:
        verdict = (
            "does not hold" if none["pearson"] < total else "holds" if none["spearman"] == total else "holds in part"
        )
    evidence = ". ".join(
        f"{name}: below 0.1 in {none[part]} of {total} cells ({_listed(parts[part], 1, 2)})"
        for part, name in (("pearson", "Pearson, raw counts"), ("log", "Pearson, log counts"), ("spearman", "Spearman"))
    )
    return Claim("frequency", "Importance is not correlated with word frequency.", verdict, f"{evidence}.")


def _task_words_above(results: Results) -> Claim:
    found = {cell: one for cell in _cells() if (one := _of_words(results, cell, "top")) is not None}
    above = [cell for cell, scores in found.items() if min(scores) > TASK_WORD]
    verdict: ClaimVerdict = "not run"
    if found:
        verdict = "holds" if len(above) == len(found) else "holds in part" if above else "does not hold"
    lowest = {cell: min(scores) for cell, scores in found.items()}
    evidence = (
        f"In {len(above)} of {len(found)} cells all of the ten most important words are above 0.8; the tenth has: "
        f"{_listed(lowest, 1, 2)}."
    )
    return Claim("task_words", "The importance of the most important words is above 0.8.", verdict, evidence)


def _frequent_words_near(results: Results) -> Claim:
    found = {
        cell: sum(one) / len(one) for cell in _cells() if (one := _of_words(results, cell, "frequent")) is not None
    }
    near = [cell for cell, mean in found.items() if abs(mean - FREQUENT_WORD) <= NEAR]
    verdict: ClaimVerdict = "not run"
    if found:
        verdict = "holds" if len(near) == len(found) else "holds in part" if near else "does not hold"
    evidence = (
        f"Mean importance of the ten most frequent words is within 0.1 of 0.5 in {len(near)} of {len(found)} cells: "
        f"{_listed(found, 1, 2)}."
    )
    return Claim("frequent_words", "The importance of the most frequent words is around 0.5.", verdict, evidence)


def informed_claim(results: Results) -> Claim:
    """Whether words at the top say something about the class, in place of a person's judgement."""
    found = {
        mask: {cell: one for cell in _cells() if (one := informed(results, *cell, mask)) is not None}
        for mask in ("vmask", "iba", "random_mask")
    }
    both = [cell for cell in found["vmask"] if cell in found["random_mask"]]
    better = [cell for cell in both if found["vmask"][cell] > found["random_mask"][cell]]
    verdict: ClaimVerdict = "not run"
    if both:
        verdict = "holds" if len(better) == len(both) else "holds in part" if better else "does not hold"
    shown = ". ".join(f"{TITLES[mask]}: {_listed(one)}" for mask, one in found.items() if one)
    sentence = (
        "The most important words are words of the task (here: of the fifty highest that stand five times or more in "
        "training, the share that is among the tenth of words that tell most about the class; chance is 10%)."
    )
    return Claim("top_words", sentence, verdict, f"Percent. {shown}." if shown else "not run")


def agreement_claim(results: Results) -> Claim:
    """Whether words that LIME finds important are important to the mask."""
    found = {cell: one for cell in _cells() if (one := local_and_global(results, *cell)) is not None}
    agree = [cell for cell, one in found.items() if one > 0]
    verdict: ClaimVerdict = "not run"
    if found:
        verdict = "holds" if len(agree) == len(found) else "holds in part" if agree else "does not hold"
    sentence = (
        "Local and global explanations agree (here: the words with the largest sums of LIME scores have a higher "
        "importance than the mean word)."
    )
    return Claim(
        "agreement",
        sentence,
        verdict,
        f"Importance above the mean word's: {_listed(found, 1, 2)}." if found else "not run",
    )


def _of_words(results: Results, cell: Cell, which: str) -> list[float] | None:
    """Importance of the first ten words of a list, each the mean over seeds' tenths."""
    records = list(results.stage(*cell, "vmask", "words").values())
    lists = [
        [float(row[1]) for row in record["importance"][which][:10]] for record in records if record.get("importance")
    ]
    return [sum(column) / len(column) for column in zip(*lists, strict=False)] if lists else None


def _together(verdicts: Sequence[ClaimVerdict]) -> ClaimVerdict:
    """The verdict on a claim of several parts."""
    run = [one for one in verdicts if one != "not run"]
    if not run:
        return "not run"
    if len(set(run)) == 1:
        return run[0]
    return "holds in part" if "holds" in run else "not shown"


def _mean(values: Values) -> float | None:
    return sum(values.values()) / len(values) if values else None


def _listed(values: Mapping[Cell, float], scale: float = 100, digits: int = 1) -> str:
    return ", ".join(f"{TITLES[m]} {TITLES[d]} {scale * one:.{digits}f}" for (d, m), one in values.items()) or "not run"
