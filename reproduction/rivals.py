"""Write the word lists that `curves.yaml` names: words of each ranking, cut off at each budget.

    python -m reproduction.rivals --data-dir DATA --vectors-dir VECTORS

The lists are made from datasets that are not ours, so they are not part of the repository. The same data gives the same
lists. VMASK's ranking needs trained models: they are kept, and trained where they are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.rankings import RANKINGS, Texts, highest_first
from vmask._core.files import write_text
from vmask._core.parsing import read_yaml
from vmask.classifier import TextClassifier
from vmask.cli.console import say_result
from vmask.data.datasets import Dataset, load_dataset
from vmask.errors import DataError, VmaskError
from vmask.grid.cell import identity, short_name
from vmask.grid.model_store import find_or_train
from vmask.grid.provenance import number_versions
from vmask.grid.sources import located
from vmask.inference.predictor import SPECIAL_WORDS, WordPredictor
from vmask.training.fit import prepare_data

HERE = Path(__file__).parent
GRID, LISTS = HERE / "curves.yaml", HERE / "lists"
MODELS = Path("runs") / "rivals"
SEEDED = {"random": (0, 1), "vmask": (0, 1)}
"""Rankings that have a list for each seed; the others have one for all."""
BUDGETS = (0.5, 0.25, 0.1)
OF_WORDS = (*RANKINGS, "vmask")


@dataclass(frozen=True)
class Lists:
    """The lists of a model on a dataset: these rankings at these budgets."""

    dataset: str
    model: str
    rankings: tuple[str, ...] = OF_WORDS
    budgets: tuple[float, ...] = BUDGETS

    def names(self) -> Iterator[tuple[str, str, int, float]]:
        """The file of each list, with its ranking, seed and budget."""
        of = f"{short_name(self.dataset)}-{short_name(self.model)}"
        for ranking in self.rankings:
            for seed in SEEDED.get(ranking, (0,)):
                for budget in self.budgets:
                    of_seed = f"-s{seed}" if ranking in SEEDED else ""
                    yield f"{of}-{ranking}-{budget:g}{of_seed}.txt", ranking, seed, budget


WANTED = (
    Lists("sst2", "cnn"),
    Lists("trec", "cnn"),
    Lists("subj", "cnn"),
    Lists("sst2", "lstm"),
    Lists("trec", "minilm", ("chi2",), (0.5, 0.25)),
)


@dataclass(frozen=True)
class Maker:
    """Makes lists.

    Attributes:
        options: model -> its options, as in the grid.
        data_dir: folder of the datasets, or None.
        vectors_dir: folder of the word vectors, or None.
        models: folder for the models that rank by VMASK.
    """

    options: Mapping[str, Mapping[str, Any]]
    data_dir: str | None
    vectors_dir: str | None
    models: Path

    def write(self, lists: Lists, folder: Path) -> Iterator[str]:
        """Write the lists of a model on a dataset into a folder; gives a line about each.

        Raises:
            DataError: where not even the first word of a ranking keeps to a budget.
        """
        dataset = load_dataset(lists.dataset, data_dir=self.data_dir)
        train, dev = dataset.splits["train"], dataset.splits["dev"]
        plan = self._classifier(lists.model, "base", 0, dataset).plan()
        texts = Texts.of(prepare_data(plan, train.texts, train.labels, (dev.texts, dev.labels), 0.1))
        ranked: dict[tuple[str, int], list[str]] = {}
        for name, ranking, seed, budget in lists.names():
            if (ranking, seed) not in ranked:
                ranked[ranking, seed] = (
                    RANKINGS[ranking](texts, seed)
                    if ranking in RANKINGS
                    else self._by_vmask(lists.model, seed, dataset)
                )
            words = texts.cut(ranked[ranking, seed], budget)
            if not words:
                raise DataError(f"{name} would be empty: its first word alone is more than the budget.")
            write_text(folder / name, "\n".join(words) + "\n")
            yield f"{name}: {len(words):,} words, {texts.share(words):.1%} of the running words"

    def _by_vmask(self, model: str, seed: int, dataset: Dataset) -> list[str]:
        """All words that the model knows, those too that are only in the vectors, by `E[R]`."""
        classifier = self._classifier(model, "vmask", seed, dataset)
        versions = number_versions((model, classifier.mask))
        asked = identity({**classifier.plan().to_dict(), "numbers": versions})
        folder = self.models / f"{dataset.name}-{model}-vmask-s{seed}--{asked}"
        trained = find_or_train(folder, dataset, lambda: classifier)
        predictor = trained.classifier.predictor_
        assert isinstance(predictor, WordPredictor)
        return highest_first(predictor.tokenizer.words[SPECIAL_WORDS:], predictor.word_scores()[SPECIAL_WORDS:])

    def _classifier(self, model: str, mask: str, seed: int, dataset: Dataset) -> TextClassifier:
        options = {**dataset.defaults, **self.options[model]}
        if self.vectors_dir is not None and "embeddings" in options:
            options["embeddings"] = located(options["embeddings"], self.vectors_dir)
        return TextClassifier(model, mask, seed=seed, device="cpu", **options)


def main(words: list[str] | None = None) -> int:
    """Write all lists; the exit code is 2 where that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.rivals", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data-dir", metavar="DIR", help="folder with local datasets [the VMASK_DATA variable]")
    parser.add_argument("--vectors-dir", metavar="DIR", help="folder with the files of word vectors")
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help=f"trained models [{MODELS}]")
    parser.add_argument("--out", type=Path, default=LISTS, metavar="DIR", help="[reproduction/lists]")
    args = parser.parse_args(words)
    try:
        maker = Maker(read_yaml(GRID)["models"], args.data_dir, args.vectors_dir, args.models)
        args.out.mkdir(parents=True, exist_ok=True)
        for lists in WANTED:
            for line in maker.write(lists, args.out):
                say_result(line)
    except VmaskError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
