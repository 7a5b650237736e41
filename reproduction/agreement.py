"""Two measures of words that the paper leaves to the eye: are they words of the task, do local and global agree?"""

from __future__ import annotations

from reproduction.results import Results

TOP, SEEN = 50, 5


def informed(results: Results, dataset: str, model: str, mask: str) -> dict[int, float]:
    """Seed -> share of the most important words that tell most about the class.

    Of the words that stand five times or more in training, the fifty that the model finds most important are looked up
    in the tenth with the highest mutual information with the class. Chance is 0.1.
    """
    telling = set(results.datasets.get(dataset, {}).get("telling", ()))
    if not telling:
        return {}
    shares = {}
    for seed, record in results.stage(dataset, model, mask, "words").items():
        if record.get("importance"):
            words = [row[0] for row in record["importance"]["top_seen_5"][:TOP]]
            shares[seed] = sum(word in telling for word in words) / max(len(words), 1)
    return shares


def local_and_global(results: Results, dataset: str, model: str) -> dict[int, float]:
    """Seed -> share of the words with the largest sums of LIME scores that are among the mask's fifty, minus chance.

    Both are of words that stand five times or more in training. LIME's sums prefer frequent words, as SP-LIME does, and
    a mask's importance does not, so the share is small even where the two agree. The number of words seen five times or
    more, which decides what chance gives, is estimated from the file's draw of words.
    """
    above = {}
    for seed, record in results.stage(dataset, model, "vmask", "local").items():
        importance = record.get("importance")
        by_lime = [row[0].lower() for row in record.get("splime", {}).get("lime", {}).get("absolute", ())]
        if importance and by_lime:
            top = {row[0].lower() for row in importance["top_seen_5"][:TOP]}
            seen = sum(count >= SEEN for count, _ in importance["drawn"]) / max(len(importance["drawn"]), 1)
            chance = min(1.0, len(top) / max(seen * importance["words"], 1))
            above[seed] = sum(word in top for word in by_lime) / len(by_lime) - chance
    return above
