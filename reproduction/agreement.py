"""Two measures of words that the paper leaves to the eye: are they words of the task, do local and global agree?"""

from __future__ import annotations

from reproduction.results import Results

TOP, SEEN = 50, 5


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
    return _mean(shares) if shares else None


def local_and_global(results: Results, dataset: str, model: str) -> tuple[float, float] | None:
    """Share of the words with the largest sums of LIME scores that are among the mask's fifty, and what chance gives.

    Both are of words that stand five times or more in training, and means over seeds. LIME's sums prefer frequent
    words, as SP-LIME does, and a mask's importance does not, so the share is small even where the two agree. The number
    of words seen five times or more, which decides what chance gives, is estimated from the file's draw of words.
    """
    found = []
    for record in results.stage(dataset, model, "vmask", "local").values():
        importance = record.get("importance")
        by_lime = [row[0].lower() for row in record.get("splime", {}).get("lime", {}).get("absolute", ())]
        if importance and by_lime:
            top = {row[0].lower() for row in importance["top_seen_5"][:TOP]}
            seen = sum(count >= SEEN for count, _ in importance["drawn"]) / max(len(importance["drawn"]), 1)
            chance = min(1.0, len(top) / max(seen * importance["words"], 1))
            found.append((sum(word in top for word in by_lime) / len(by_lime), chance))
    return (_mean([one for one, _ in found]), _mean([one for _, one in found])) if found else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
