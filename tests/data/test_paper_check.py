from __future__ import annotations

import json
from pathlib import Path

import pytest

from vmask.data.paper_check import CheckRow, check_dataset
from vmask.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")


@pytest.fixture
def toy(tmp_path) -> Path:
    folder = tmp_path / "sst2"
    folder.mkdir()
    for name, count in (("train", 12), ("dev", 4), ("test", 4)):
        rows = "".join(f"{i % 2}\tword{i} is fine , {name}\n" for i in range(count))
        (folder / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
    return tmp_path


def test_a_dataset_is_counted_beside_the_paper(toy):
    check = check_dataset("sst2", toy)
    rows = {row.quantity: row for row in check.rows}
    assert list(rows) == ["classes", "average length", "train", "dev", "test", "vocabulary"]
    assert rows["classes"].agrees
    assert (rows["average length"].ours, rows["average length"].paper) == (5.0, 19)
    assert (rows["train"].ours, rows["train"].paper) == (12, 6920)
    assert rows["vocabulary"].ours == 12 + 3 + 3  # word0..11; is fine , ; train dev test: over all splits
    assert any(text.startswith("train: ours 12 (rows), paper 6,920") for text in check.differences)
    assert not any(text.startswith("classes") for text in check.differences)


def test_a_check_is_json(toy):
    values = json.loads(json.dumps(check_dataset("sst2", toy).to_dict()))
    assert values["rows"][0] == {"quantity": "classes", "ours": 2, "paper": 2, "note": "", "agrees": True}
    assert values["name"] == "sst2"
    assert isinstance(values["differences"], list)


def test_stand_in_data_is_called_so(toy):
    (toy / "sst2" / "card.yaml").write_text("standin: true\nnote: made up\n", encoding="utf-8")
    check = check_dataset("sst2", toy)
    assert check.notes[0] == "Stand-in data: made up"
    assert all("stand-in data, not the paper's rows" in text for text in check.differences)


@pytest.mark.parametrize(
    ("quantity", "ours", "paper", "agrees"),
    [
        ("train", 20_000, 20_000, True),
        ("test", 37_600, 38_000, True),
        ("test", 37_400, 38_000, False),
        ("train", 6_921, 6_920, False),
        ("average length", 18.4, 18, True),
        ("average length", 18.6, 18, False),
        ("vocabulary", 10_000, None, True),
    ],
)
def test_when_a_number_agrees(quantity, ours, paper, agrees):
    assert CheckRow(quantity, ours, paper).agrees is agrees


def test_data_without_a_card_cannot_be_checked(tmp_path):
    rows = "".join(f"t{i},{i % 2}\n" for i in range(20))
    (tmp_path / "train.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    with pytest.raises(DataError, match=r"has no card.*card\.yaml"):
        check_dataset(str(tmp_path))


@pytest.mark.full
@needs_shared
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("sst1", 17_833, 17_833), ("sst2", 16_186, 16_186), ("trec", 8_030, 8_090), ("subj", 9_950, 10_040)],
)
def test_the_papers_vocabularies(name, low, high):
    check = check_dataset(name, SHARED)
    rows = {row.quantity: row for row in check.rows}
    assert low <= rows["vocabulary"].ours <= high
    assert all(rows[quantity].agrees for quantity in ("classes", "average length", "train", "dev", "test"))
    assert [text.partition(":")[0] for text in check.differences] == ["vocabulary"]
