"""Store a tiny model of the present format in tests/golden/formats/, with its answers. Run once for each format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vmask import TextClassifier
from vmask.persistence.model_folder import FORMAT

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from toy import toy_texts  # noqa: E402

TEXTS = ["a lovely film", "Tedious , tedious !", "", "nothing it has seen"]


def main() -> None:
    classifier = TextClassifier(embeddings="random", epochs=8, model__filters=2, mask__hidden=4, learning_rate=0.02)
    folder = ROOT / "tests" / "golden" / "formats" / f"{FORMAT}-cnn-vmask"
    classifier.fit(*toy_texts(80), dev=toy_texts(60, seed=1)).save(folder)
    answers = {
        "texts": TEXTS,
        "probabilities": classifier.predict_proba(TEXTS).tolist(),
        "scores": [list(e.scores) for e in classifier.explain(TEXTS)],
    }
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
