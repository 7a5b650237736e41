"""What the paper claims about words and their importance, with what our results say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reproduction.agreement import informed, local_and_global
from reproduction.claim import (
    Cell,
    Claim,
    ClaimVerdict,
    Values,
    cell_title,
    cells_of,
    compared,
    listed,
    mean_of,
    of_all,
    scored,
    sides,
    together,
)
from reproduction.early import early, settled
from reproduction.results import DATASETS, TITLES, Results, ScoreKey

TWO_WORDS = 0.75
"""About 80%, with room for the word about."""
UNCORRELATED = 0.1
TASK_WORD, FREQUENT_WORD, NEAR = 0.8, 0.5, 0.1


def claims_about_words(results: Results) -> list[Claim]:
    """Every claim about words, in the paper's order."""
    of_words = (
        _post_hoc_above_iba(results),
        _two_words(results),
        _fewer_words_for_encoders(results),
        _not_frequency(results),
        _task_words_above(results),
        _frequent_words_near(results),
        _informed(results),
    )
    claims = [settled(claim, early(results, cells_of(), "words")) for claim in of_words]
    return [*claims, settled(_agreement(results), early(results, cells_of(), "local"))]


def _post_hoc(results: Results, mask: str, by: str, k: int) -> Callable[[Cell], Values]:
    return scored(results, mask, "words", ScoreKey("post_hoc_accuracy", by, "", f"k={k}"))


def _post_hoc_above_iba(results: Results) -> Claim:
    found = {
        k: sides(cells_of(), _post_hoc(results, "iba", "mask", k), _post_hoc(results, "vmask", "mask", k))
        for k in (1, 2, 5, 10)
    }
    control = sides(cells_of(), _post_hoc(results, "random_mask", "mask", 2), _post_hoc(results, "vmask", "mask", 2))
    parts = {f"VMASK minus IBA, k = {k}": one for k, one in found.items()}
    lines = (f"Control, VMASK minus a random mask, k = 2: {control.words()}",)
    return compared("post_hoc", "Post-hoc accuracy of VMASK is higher than IBA's.", parts, lines)


def _two_words(results: Results) -> Claim:
    cells = cells_of(models=("cnn", "lstm"))
    own = {cell: mean_of(_post_hoc(results, "vmask", "mask", 2)(cell)) for cell in cells}
    found = {cell: one for cell, one in own.items() if one is not None}
    enough = [cell for cell, one in found.items() if one >= TWO_WORDS]
    lines = [f"{len(enough)} of {len(found)} cells reach 75%: {listed(results, found)}"]
    for title, mask, by in (
        ("Base with VMASK's ranking", "base", "ranking"),
        ("VMASK by a random ranking", "vmask", "random"),
    ):
        other = {cell: one for cell in cells if (one := mean_of(_post_hoc(results, mask, by, 2)(cell))) is not None}
        lines.append(f"{title}: {listed(results, other)}")
    verdict = of_all(len(enough), len(found))
    sentence = "With the two most important words alone, CNN-VMASK and LSTM-VMASK reach about 80% post-hoc accuracy."
    return Claim("two_words", sentence, verdict, tuple(lines))


def _fewer_words_for_encoders(results: Results) -> Claim:
    found = [
        (
            dataset,
            model,
            mean_of(_post_hoc(results, "vmask", "mask", 2)((dataset, "bert"))),
            mean_of(_post_hoc(results, "vmask", "mask", 2)((dataset, model))),
        )
        for dataset in DATASETS
        for model in ("cnn", "lstm")
    ]
    pairs = [(results.title(d), TITLES[m], a, b) for d, m, a, b in found if a is not None and b is not None]
    lower = [pair for pair in pairs if pair[2] < pair[3]]
    verdict = of_all(len(lower), len(pairs))
    shown = ", ".join(f"{d} {100 * a:.1f} against {m} {100 * b:.1f}" for d, m, a, b in pairs)
    return Claim(
        "encoders",
        "Post-hoc accuracy (two words) is lower for BERT (here MiniLM) than for CNN and LSTM.",
        verdict,
        (f"Percent: {shown}",) if shown else (),
    )


def _not_frequency(results: Results) -> Claim:
    parts: dict[str, dict[Cell, float]] = {}
    for part in ("pearson", "log", "spearman"):
        key = ScoreKey("frequency_correlation", "mask", "", part)
        means = {cell: mean_of(results.scored(*cell, "vmask", "words", key)) for cell in cells_of()}
        parts[part] = {cell: one for cell, one in means.items() if one is not None}
    none = {part: sum(abs(one) < UNCORRELATED for one in found.values()) for part, found in parts.items()}
    total = len(parts["pearson"])
    verdict: ClaimVerdict = "not run"
    if total:
        verdict = (
            "does not hold" if none["pearson"] < total else "holds" if none["spearman"] == total else "holds in part"
        )
    evidence = tuple(
        f"{name}: below 0.1 in {none[part]} of {total} cells ({listed(results, parts[part], 1, 2)})"
        for part, name in (("pearson", "Pearson, raw counts"), ("log", "Pearson, log counts"), ("spearman", "Spearman"))
    )
    return Claim("frequency", "Importance is not correlated with word frequency.", verdict, evidence)


def _task_words_above(results: Results) -> Claim:
    found = {cell: one for cell in cells_of() if (one := _of_words(results, cell, "top")) is not None}
    above = [cell for cell, scores in found.items() if min(scores) > TASK_WORD]
    verdict = of_all(len(above), len(found))
    lowest = {cell: min(scores) for cell, scores in found.items()}
    evidence = (
        f"In {len(above)} of {len(found)} cells all of the ten most important words are above 0.8; the tenth has: "
        f"{listed(results, lowest, 1, 2)}"
    )
    return Claim("task_words", "The importance of the most important words is above 0.8.", verdict, (evidence,))


def _frequent_words_near(results: Results) -> Claim:
    found = {
        cell: sum(one) / len(one) for cell in cells_of() if (one := _of_words(results, cell, "frequent")) is not None
    }
    near = [cell for cell, mean in found.items() if abs(mean - FREQUENT_WORD) <= NEAR]
    verdict = of_all(len(near), len(found))
    evidence = (
        f"Mean importance of the ten most frequent words is within 0.1 of 0.5 in {len(near)} of {len(found)} cells: "
        f"{listed(results, found, 1, 2)}"
    )
    return Claim("frequent_words", "The importance of the most frequent words is around 0.5.", verdict, (evidence,))


def _informed(results: Results) -> Claim:
    """Whether words at the top say something about the class, in place of a person's judgement."""
    found = {
        mask: {cell: one for cell in cells_of() if (one := informed(results, *cell, mask)) is not None}
        for mask in ("vmask", "iba", "random_mask")
    }
    both = [cell for cell in found["vmask"] if cell in found["random_mask"]]
    better = [cell for cell in both if found["vmask"][cell] > found["random_mask"][cell]]
    verdict = of_all(len(better), len(both))
    shown = tuple(f"Percent, {TITLES[mask]}: {listed(results, one)}" for mask, one in found.items() if one)
    sentence = (
        "The most important words are words of the task (here: of the fifty highest that stand five times or more in "
        "training, the share that is among the tenth of words that tell most about the class; chance is 10%)."
    )
    return Claim("top_words", sentence, verdict, shown)


def _agreement(results: Results) -> Claim:
    """Whether words that LIME finds important are important to the mask, and whether both kinds of scores agree."""
    found = {cell: one for cell in cells_of() if (one := local_and_global(results, *cell)) is not None}
    agree = [cell for cell, (share, chance) in found.items() if share > chance]
    local, whole = _gains(results)
    both = [cell for cell in local if cell in whole]
    alike = [cell for cell in both if (local[cell] > 0) == (whole[cell] > 0)]
    sentence = (
        "Local and global explanations agree (here: of the ten words with the largest sums of LIME scores, more are "
        "among the mask's fifty than by chance; and VMASK gains or loses against base by AOPC as it does by post-hoc "
        "accuracy)."
    )
    lines = []
    if found:
        shares = listed(results, {cell: share for cell, (share, _) in found.items()})
        chances = listed(results, {cell: chance for cell, (_, chance) in found.items()})
        lines += [f"Percent of the ten words: {shares}", f"By chance: {chances}"]
    if both:
        shown = ", ".join(
            f"{cell_title(results, cell)} {100 * local[cell]:+.1f} and {100 * whole[cell]:+.1f}" for cell in both
        )
        lines.append(
            f"VMASK minus base by AOPC of LIME, and by two words: alike in {len(alike)} of {len(both)}: {shown}"
        )
    verdict = together([of_all(len(agree), len(found)), of_all(len(alike), len(both))])
    return Claim("agreement", sentence, verdict, tuple(lines))


def _gains(results: Results) -> tuple[Mapping[Cell, float], Mapping[Cell, float]]:
    """What VMASK gains over base by AOPC, and by post-hoc accuracy where base is asked with VMASK's ranking."""
    aopc = ScoreKey("aopc", "lime", "remove")
    local = sides(cells_of(), scored(results, "base", "local", aopc), scored(results, "vmask", "local", aopc))
    whole = sides(cells_of(), _post_hoc(results, "base", "ranking", 2), _post_hoc(results, "vmask", "mask", 2))
    return local.differences, whole.differences


def _of_words(results: Results, cell: Cell, which: str) -> list[float] | None:
    """Importance of the first ten words of a list, each the mean over seeds' tenths."""
    records = list(results.stage(*cell, "vmask", "words").values())
    lists = [
        [float(row[1]) for row in record["importance"][which][:10]] for record in records if record.get("importance")
    ]
    return [sum(column) / len(column) for column in zip(*lists, strict=False)] if lists else None
