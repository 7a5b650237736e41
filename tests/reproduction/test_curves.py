"""Accuracy over the share of visible words: tables, aims and the figure, from made-up results."""

from __future__ import annotations

import re

import pytest

from grid_results import FACTS
from reproduction.curves import BUDGETS, METHODS, Curves, aims, curves_tables
from reproduction.figure_shares import shares
from reproduction.write import RESULTS, draw, read_document
from vmask.grid.store import Store
from vmask.report.figures.style import save
from vmask.report.grid import formats

LOSS = {"select": 1.0, "chi2": 2.0, "linear": 3.0, "vmask": 3.5, "frequency": 14.0, "random": 11.0}
TEXTS = 40


class Made:
    """Writes the results of `curves.yaml`."""

    def __init__(self, folder):
        self.store = Store(folder)

    def train(self, dataset, model, variant, accuracy, seed, visible=None):
        mask = "select" if variant.startswith("select") else "base"
        cell = {"dataset": dataset, "model": model, "mask": mask, "variant": variant, "seed": seed}
        right = round(TEXTS * accuracy)
        record = {
            **{"cell": cell, "stage": "train", "status": "done", "test_accuracy": accuracy, "facts": FACTS},
            "visible": visible,
            "test": {"labels": ["no", "yes"], "predicted": [1] * right + [0] * (TEXTS - right)},
        }
        key = "--".join(filter(None, [dataset, model, mask, variant, f"s{seed}"]))
        self.store.write(self.store.cell(key), record)

    def panel(self, dataset, model, base, methods=tuple(METHODS), seeds=5, few=2, budgets=BUDGETS):
        """Every method loses more the less it sees."""
        for seed in range(seeds):
            self.train(dataset, model, "", (base + 0.1 * seed) / 100, seed)
            for method in methods:
                for budget in budgets:
                    if seed < few or method in ("select", "chi2"):
                        loss = LOSS[method] * (0.6 / budget) ** 0.7 + 0.13 * ((seed * 7 + len(method)) % 5)
                        visible = {"types": int(900 * budget) + seed, "train": 0.98 * budget, "test": 0.97 * budget}
                        self.train(dataset, model, f"{method}-{budget:g}", (base - loss) / 100, seed, visible)

    def data(self, name):
        labels = {"name": name, "labels": ["no", "yes"], "test_labels": "1" * TEXTS}
        self.store.write(self.store.data(name), labels)


@pytest.fixture
def folder(tmp_path):
    made = Made(tmp_path / "curves")
    for dataset in ("sst2", "trec", "subj"):
        made.panel(dataset, "cnn", 90.0)
        made.data(dataset)
    made.panel("sst2", "lstm", 86.0)
    made.panel("trec", "minilm", 95.0, methods=("select", "chi2"), seeds=1, budgets=(0.5, 0.25))
    return tmp_path / "curves"


def test_without_results_there_is_nothing(tmp_path):
    assert Curves.read(tmp_path / "curves") is None
    assert shares(None) is None


def test_the_table_has_accuracies_and_paired_differences(folder):
    table, seen = curves_tables(Curves.read(folder))
    assert [row.heads[:2] for row in table.rows[::3]][:4] == [
        ("SST-2", "CNN"), ("TREC", "CNN"), ("Subj", "CNN"), ("SST-2", "LSTM")
    ]  # fmt: skip
    assert [row.heads for row in table.rows[-2:]] == [("TREC", "MiniLM", "50%"), ("TREC", "MiniLM", "25%")]
    half = {column: table.entry("SST-2", "CNN", "50%", column=column) for column in table.columns}
    assert half["all words (base)"].ours.value == pytest.approx(90.2)
    assert half["all words (base)"].ours.n == 5
    assert half["at random"].ours.n == 2
    difference = half["select minus base"].ours
    by_seed = [-1.0 * 1.2**0.7 - 0.13 * ((seed * 7 + 6) % 5) - 0.1 * seed for seed in range(5)]
    assert difference.value == pytest.approx(sum(by_seed) / 5)
    assert difference.low < difference.value < difference.high
    assert difference.how == "paired t over 5 seeds"
    assert seen.entry("SST-2", "CNN", "25%", column="select").text == "24.2, 227"


def test_one_seed_is_compared_by_texts(folder):
    table, _ = curves_tables(Curves.read(folder))
    entry = table.entry("TREC", "MiniLM", "25%", column="select minus chi-squared")
    assert entry.over_texts
    assert entry.ours.n == TEXTS
    assert table.entry("TREC", "MiniLM", "25%", column="at random").absent
    assert "– not run" in formats.markdown(table)


def test_aims_are_judged_as_they_were_written(tmp_path):
    made = Made(tmp_path)
    for seed, noise in enumerate((0.0, 0.001, -0.001)):
        made.train("sst2", "cnn", "", 0.85 + noise, seed)
        made.train("sst2", "cnn", "select-0.5", 0.846 + noise / 2, seed)
        made.train("sst2", "cnn", "select-0.25", 0.82 + noise / 2, seed)
        made.train("sst2", "cnn", "chi2-0.25", 0.80 - noise, seed)
        made.train("trec", "cnn", "select-0.25", 0.82 + noise, seed)
        made.train("trec", "cnn", "chi2-0.25", 0.82 - noise, seed)
    half, quarter, rival = aims(Curves.read(tmp_path))
    assert half.endswith("SST-2 CNN -0.40 (reached).")
    assert quarter.endswith("SST-2 CNN -3.00 (missed).")
    assert rival.endswith("SST-2 CNN above, TREC CNN not told apart.")
    assert list(aims(Curves({}, {}))) == []


def test_the_figure_has_a_panel_for_each_dataset_and_model(folder, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("wordcloud")
    picture = shares(Curves.read(folder))
    assert [axes.get_title() for axes in picture.figure.axes] == [
        "SST-2, CNN", "TREC, CNN", "Subj, CNN", "SST-2, LSTM", "TREC, MiniLM"
    ]  # fmt: skip
    first, last = picture.figure.axes[0], picture.figure.axes[-1]
    assert first.lines[len(METHODS) - 1].get_xdata().tolist() == pytest.approx([9.7, 24.25, 48.5])
    assert len(last.lines) == 3  # two methods, and base
    (path,) = save(picture, tmp_path, ("png",))
    assert path.stat().st_size > 10_000


def test_the_report_has_them_where_they_were_run(folder, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    for name in ("cells", "data", "search"):
        (tmp_path / "results" / name).symlink_to(RESULTS / name)
    assert "share of the running words" not in read_document(tmp_path / "results", None).markdown("figures")
    folder.rename(tmp_path / "results" / "curves")
    document = read_document(tmp_path / "results", None)
    text = document.markdown("figures")
    assert re.search(r"^## Accuracy with a share of the running words$", text, re.MULTILINE)
    monkeypatch.setattr("reproduction.write.all_figures", lambda _, __, curves: [shares(curves)])
    assert [picture.name for picture in draw(document, tmp_path / "figures", ("png",))] == ["visible_shares"]
