"""Two measures of words that the paper leaves to the eye: are they words of the task, do local and global agree?"""

from __future__ import annotations

from vmask.reproduction.results import Results

TOP = 50


def informed(results: Results, dataset: str, model: str, mask: str) -> float | None:
    """Share of the most important words that tell most about the class, mean over seeds.

    Of the words that stand five times or more in training, the fifty that the model finds most important are looked up
    in the tenth with the highest mutual information with the class. Chance is 0.1.
    """
    telling = set(results.datasets.get(dataset, {}).get("telling", ()))
    if not telling:
        return None
    shares = []
    for record in results.stage(dataset, model, mask, "words").values():
        if record.get("importance"):
            words = [row[0] for row in record["importance"]["top_seen_5"][:TOP]]
            shares.append(sum(word in telling for word in words) / max(len(words), 1))
    return sum(shares) / len(shares) if shares else None


def local_and_global(results: Results, dataset: str, model: str) -> float | None:
    """How much more important to the mask the words are that LIME finds most important, mean over seeds.

    The words with the ten largest sums of absolute LIME scores, against the mean of all words. It is 0 where the two
    have nothing to do with each other.
    """
    found = []
    for record in results.stage(dataset, model, "vmask", "local").values():
        importance = record.get("importance") or {}
        if by_lime := [float(score) for _, score in importance.get("by_lime", ())]:
            found.append(sum(by_lime) / len(by_lime) - float(importance["mean"]))
    return sum(found) / len(found) if found else None
