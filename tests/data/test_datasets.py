from __future__ import annotations

import csv
import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoroughness import examples
from vmask.data import datasets, downloads, hub
from vmask.data.card import Hub, SplitRule, load_card
from vmask.data.datasets import load_dataset, load_table
from vmask.data.splits import Split, complete
from vmask.errors import AssetError, DataError, FileMissing, MissingExtra, UnknownName

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")


@pytest.fixture(autouse=True)
def _no_data_dir(monkeypatch):
    monkeypatch.delenv("VMASK_DATA", raising=False)


def toy(count: int = 50, labels=("neg", "pos")) -> list[dict[str, object]]:
    return [{"text": f"film number {i}", "label": labels[i % len(labels)]} for i in range(count)]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def sizes(dataset) -> dict[str, int]:
    return {name: len(split) for name, split in dataset.splits.items()}


# --- a user's file


def test_a_file_is_split_and_says_so(tmp_path):
    dataset = load_dataset(write(tmp_path / "mine.csv", toy(50)))
    assert sizes(dataset) == {"train": 40, "dev": 5, "test": 5}
    assert (dataset.name, dataset.labels, dataset.card, dataset.defaults) == ("mine.csv", ("neg", "pos"), None, {})
    assert (dataset.text, dataset.label) == ("text", "label")
    assert dataset.notes[:2] == (
        "No test split: held out 10% of all rows (5 rows), stratified, seed 0.",
        "No dev split: held out 10% of all rows (5 rows), stratified, seed 0.",
    )
    train = dataset.splits["train"]
    assert Counter(train.labels) == {"neg": 20, "pos": 20}
    assert train.ids[0] in ("row-0", "row-1", "row-2")
    for split in dataset.splits.values():
        for id, text, label in zip(split.ids, split.texts, split.labels, strict=True):
            row = toy(50)[int(id.removeprefix("row-"))]
            assert (text, label) == (row["text"], row["label"])


def test_splits_do_not_depend_on_the_order_of_rows(tmp_path):
    rows = toy(60, ("a", "b", "c"))
    mixed = random.Random(1).sample(rows, len(rows))
    one, two = (load_dataset(write(tmp_path / f"{i}.csv", r)) for i, r in enumerate((rows, mixed)))
    for name in ("train", "dev", "test"):
        assert set(one.splits[name].texts) == set(two.splits[name].texts)


@given(st.integers(10, 60), st.integers(2, 5), st.integers(0, 3))
@settings(max_examples=examples(40), deadline=None)
def test_every_row_is_in_exactly_one_split(count, classes, seed):
    labels = [f"c{i % classes}" for i in range(count)]
    whole = Split([f"t{i}" for i in range(count)], labels, [f"row-{i}" for i in range(count)])
    splits, notes = complete({"all": whole}, SplitRule(seed=seed))
    ids = [id for split in splits.values() for id in split.ids]
    assert sorted(ids) == sorted(whole.ids)
    assert len(notes) == 2
    assert len(splits["dev"]) == len(splits["test"]) == max(1, round(count / 10))
    assert splits == complete({"all": whole}, SplitRule(seed=seed))[0]


def test_a_rare_label_is_not_stratified_and_that_is_said(tmp_path):
    rows = [*toy(40), {"text": "odd one", "label": "rare"}]
    dataset = load_dataset(write(tmp_path / "a.csv", rows))
    assert "not stratified as label 'rare' has only 1 row," in dataset.notes[0]
    assert sum(sizes(dataset).values()) == 41


def test_fingerprint_follows_the_content(tmp_path):
    rows = toy(20)
    fingerprint = load_dataset(write(tmp_path / "a.csv", rows)).fingerprint
    assert load_dataset(write(tmp_path / "b.csv", rows)).fingerprint == fingerprint
    rows[3] = {"text": "changed", "label": rows[3]["label"]}
    assert load_dataset(write(tmp_path / "c.csv", rows)).fingerprint != fingerprint


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([4.0, 10.0, 9], ("4", "9", "10")),
        (["4.0", "10", "9"], ("4", "9", "10")),
        ([True, False], ("false", "true")),
        (["b", "a", "10"], ("10", "a", "b")),
        ([-1, 1], ("-1", "1")),
    ],
)
def test_labels_are_strings_in_order(values, labels, tmp_path):
    rows = [{"text": f"t{i}", "label": values[i % len(values)]} for i in range(30)]
    assert load_dataset(write(tmp_path / "a.jsonl", rows)).labels == labels


def test_bad_rows_are_left_out_and_counted(tmp_path):
    rows = [*toy(40), {"text": " \n", "label": "pos"}, {"text": "x", "label": None}, {"text": "y", "label": "NaN"}]
    dataset = load_dataset(write(tmp_path / "a.jsonl", rows))
    assert dataset.notes[:2] == ("Left out 1 row without a text.", "Left out 2 rows without a label.")
    assert sum(sizes(dataset).values()) == 40


def test_ids_come_from_a_unique_column(tmp_path):
    rows = [{"id": f"r{i}", **row} for i, row in enumerate(toy(20))]
    assert load_table(write(tmp_path / "a.csv", rows)).ids[:2] == ["r0", "r1"]
    rows[1]["id"] = "r0"
    assert load_table(write(tmp_path / "b.csv", rows)).ids[:2] == ["row-0", "row-1"]


def test_texts_in_two_splits_are_noted(tmp_path):
    for name in ("train", "dev", "test"):
        write(tmp_path / f"{name}.csv", toy(20 if name == "train" else 3))
    notes = load_dataset(tmp_path).notes
    assert notes[1:] == ("3 texts of dev stand in train too (100.0%).", "3 texts of test stand in train too (100.0%).")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "", "label": "a"}] * 12, "No row of a.csv .all. has a text in 'text' and a label in 'label'"),
        ([{"text": f"t{i}", "label": "same"} for i in range(12)], "All 12 rows.*label 'same'.*at least two"),
        ([{"text": f"t{i}", "label": f"l{i}"} for i in range(40)], "40 different values.*not classes.*--label"),
        (toy(9), "only 9 rows, too few to hold out a test split.*at least 10"),
        ([{"good stuff": f"t{i}", "pos": "pos" if i % 2 else "neg"} for i in range(20)], "looks like data: 'pos'"),
    ],
)
def test_data_that_cannot_be_learnt_from(rows, message, tmp_path):
    with pytest.raises(DataError, match=message):
        load_dataset(write(tmp_path / "a.csv", rows))


@pytest.mark.parametrize("change", [{"label": "\udfff"}, {"id": "\ud800x"}, {"label": "9" * 5000}, {"text": "a\udfff"}])
def test_half_a_character_is_read_as_one_that_can_be_written(change, tmp_path):
    rows = toy()
    rows[0] = {**rows[0], **change}
    rows[1] = {**rows[1], **change}
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for split in load_dataset(path).splits.values():
        "".join([*split.texts, *split.labels, *split.ids]).encode("utf-8")


def test_a_header_alone_has_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no rows"):
        load_dataset(tmp_path / "a.csv")


def test_lists_are_no_texts(tmp_path):
    rows = [{"text": ["a", "b"], "label": i % 2} for i in range(12)]
    with pytest.raises(DataError, match=r"holds lists or objects.*--text"):
        load_dataset(write(tmp_path / "a.jsonl", rows))


def test_a_table_is_read_whole(tmp_path):
    rows = [*toy(5), {"text": "no label", "label": ""}]
    table = load_table(write(tmp_path / "a.csv", rows))
    assert (len(table), table.labels[:2], table.ids[-1]) == (5, ["neg", "pos"], "row-4")
    assert table.notes == ("Left out 1 row without a label.",)
    unlabelled = load_table(tmp_path / "a.csv", require_labels=False)
    assert (len(unlabelled), unlabelled.labels, unlabelled.notes) == (6, [], ())
    alone = load_table(write(tmp_path / "b.csv", [{"text": "x"}]), require_labels=False)
    assert (alone.texts, alone.labels) == (["x"], [])
    with pytest.raises(DataError, match="which column holds the labels"):
        load_table(tmp_path / "b.csv")


def test_unlabelled_data_is_not_split(tmp_path):
    dataset = load_dataset(write(tmp_path / "a.csv", [{"text": "x"}, {"text": "y"}]), require_labels=False)
    assert (sizes(dataset), dataset.labels, dataset.label) == ({"all": 2}, (), "")


# --- folders and cards


@pytest.mark.parametrize("dev", ["dev", "val", "valid", "validation"])
def test_a_folder_with_its_own_splits(dev, tmp_path):
    write(tmp_path / "train.csv", toy(20))
    write(tmp_path / f"{dev}.jsonl", [{"text": "d1", "label": "neg"}, {"text": "d2", "label": "pos"}])
    write(tmp_path / "test.tsv", [{"text": "t", "label": "pos"}])
    dataset = load_dataset(str(tmp_path))
    assert sizes(dataset) == {"train": 20, "dev": 2, "test": 1}
    assert dataset.splits["dev"].ids == ["dev-0", "dev-1"]
    assert dataset.notes == ()


def test_a_missing_dev_is_held_out_of_train(tmp_path):
    write(tmp_path / "train.csv", toy(30))
    write(tmp_path / "test.csv", [{"text": "t", "label": "pos"}])
    dataset = load_dataset(tmp_path)
    assert sizes(dataset) == {"train": 27, "dev": 3, "test": 1}
    assert dataset.notes[0] == "No dev split: held out 10% of train (3 rows), stratified, seed 0."


def test_classes_txt_names_the_labels(tmp_path):
    write(tmp_path / "train.csv", toy(30, (0, 1, 2)))
    (tmp_path / "classes.txt").write_text("zebra\napple\nmango\n", encoding="utf-8")
    dataset = load_dataset(tmp_path)
    assert dataset.labels == ("zebra", "apple", "mango")
    assert set(dataset.splits["train"].labels) == set(dataset.labels)


def test_folders_that_cannot_be_used(tmp_path):
    with pytest.raises(DataError, match=r"has no train file.*train\.csv"):
        load_dataset(tmp_path)
    write(tmp_path / "train.csv", toy())
    write(tmp_path / "train.tsv", toy())
    with pytest.raises(DataError, match=r"two files for train: train\.csv and train\.tsv"):
        load_dataset(tmp_path)


def test_a_card_by_name_in_the_data_dir(tmp_path, monkeypatch):
    rows = [{"label": i % 6, "text": f"question {i}?"} for i in range(120)]
    write(tmp_path / "trec" / "train.tsv", rows)
    write(tmp_path / "trec" / "test.tsv", [{"label": "num", "text": 'how "many"'}, {"label": 2, "text": "what"}])
    by_option = load_dataset("trec", data_dir=tmp_path)
    monkeypatch.setenv("VMASK_DATA", str(tmp_path))
    assert load_dataset("trec") == by_option
    assert by_option.labels == ("DESC", "ENTY", "ABBR", "HUM", "LOC", "NUM")
    assert by_option.splits["test"].labels == ["NUM", "ABBR"]
    assert by_option.defaults == {"cleaning": "paper", "max_words": 15, "min_count": 1}
    # 452 of 5,452 in the paper; of 120 rows the same share
    assert sizes(by_option) == {"train": 110, "dev": 10, "test": 2}
    assert by_option.notes[0] == "No dev split: held out 8.29% of train (10 rows), stratified, seed 0."


def test_quotes_in_the_files_of_a_card_belong_to_the_texts(tmp_path):
    lines = "".join(f'{i % 2}\t"quoted {i}"\n' for i in range(20))
    (tmp_path / "sst2").mkdir()
    for name in ("train", "dev", "test"):
        (tmp_path / "sst2" / f"{name}.tsv").write_text(f"label\ttext\n{lines}", encoding="utf-8")
    assert load_dataset("sst2", data_dir=tmp_path).splits["train"].texts[0] == '"quoted 0"'
    assert load_table(tmp_path / "sst2" / "train.tsv").texts[0] == "quoted 0"


def test_a_card_in_the_folder_overrides_ours(tmp_path):
    write(tmp_path / "yelp" / "part.csv", toy(40, ("bad", "good")))
    card = "name: yelp\nstandin: true\nnote: our own\nfiles: {train: part.csv}\nlabels: [bad, good]\nmax_words: 9\n"
    (tmp_path / "yelp" / "card.yaml").write_text(card, encoding="utf-8")
    dataset = load_dataset("yelp", data_dir=tmp_path)
    assert dataset.card.standin
    assert dataset.notes[0] == "Stand-in data: our own"
    assert (dataset.labels, dataset.defaults["max_words"]) == (("bad", "good"), 9)
    assert sizes(dataset) == {"train": 32, "dev": 4, "test": 4}


def test_an_own_card_for_an_own_folder(tmp_path):
    write(tmp_path / "train.csv", [{"q": f"q{i}", "kind": i % 2} for i in range(30)])
    (tmp_path / "card.yaml").write_text("name: mine\ntext: q\nlabel: kind\nlabels: [no way, aye]\n", encoding="utf-8")
    dataset = load_dataset(tmp_path)
    assert (dataset.name, dataset.text, dataset.labels) == ("mine", "q", ("no way", "aye"))
    assert dataset.defaults["cleaning"] == "gentle"


def test_a_label_that_the_card_does_not_know(tmp_path):
    write(tmp_path / "sst2" / "train.tsv", toy(20, ("0", "7")))
    with pytest.raises(DataError, match=r"'7' is not a label of sst2.*negative, positive, or 0 to 1.*card\.yaml"):
        load_dataset("sst2", data_dir=tmp_path)


def test_a_card_folder_without_its_files(tmp_path):
    (tmp_path / "sst2").mkdir()
    with pytest.raises(FileMissing, match=r"has no file 'train\.tsv' for the dataset sst2.*card\.yaml"):
        load_dataset("sst2", data_dir=tmp_path)


def test_names_that_are_nothing(tmp_path):
    with pytest.raises(UnknownName, match=r"Did you mean 'imdb'.*owner/name on the Hugging Face hub"):
        load_dataset("imbd")
    write(tmp_path / "mine.csv", toy())
    with pytest.raises(FileMissing, match=r"Did you mean 'mine\.csv'"):
        load_dataset(tmp_path / "mne.csv")


# --- reviews and the hub


def test_reviews_are_rated_sentences(tmp_path, monkeypatch):
    lines = [f"{i}\t{(i % 5 - 2) / 2}\tsentence {i}" for i in range(100)]
    path = tmp_path / "r.txt"
    path.write_bytes("\r\n".join(lines).encode())
    monkeypatch.setattr(downloads, "fetch", lambda name: path)
    dataset = load_dataset("reviews")
    assert dataset.labels == ("negative", "positive")
    assert sizes(dataset) == {"train": 64, "dev": 8, "test": 8}
    ratings = dict(zip(dataset.splits["train"].ids, dataset.splits["train"].labels, strict=True))
    assert all(label == ("positive" if int(id.split("-")[1]) % 5 > 2 else "negative") for id, label in ratings.items())


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    import datasets as library

    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", tmp_path / "hub-cache")
    return tmp_path / "on-hub"


@pytest.mark.full
def test_hub_datasets_are_loaded_by_the_real_package(hub_cache, monkeypatch):
    write(hub_cache / "train.csv", toy(30, ("neg", "pos")))
    write(hub_cache / "test.csv", [{"text": "t", "label": "pos"}])
    monkeypatch.setattr(hub, "_probe", lambda id: None)
    card = load_card("imdb")
    object.__setattr__(card.hub_source, "id", str(hub_cache))
    monkeypatch.setattr(datasets, "load_card", lambda name: card)
    dataset = load_dataset("imdb")
    assert dataset.labels == ("negative", "positive")  # theirs are neg, pos
    assert dataset.splits["test"].labels == ["positive"]
    assert sizes(dataset) == {"train": 24, "dev": 6, "test": 1}


def test_hub_label_codes_come_as_their_names(hub_cache):
    import datasets as library

    features = library.Features({"text": library.Value("string"), "label": library.ClassLabel(names=["no", "yes"])})
    split = library.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=features)
    assert [row["label"] for row in hub._named(split)] == ["yes", "no", None]


def test_hub_codes_without_names_are_refused_for_a_card(hub_cache):
    write(hub_cache / "train.csv", toy(12, (0, 1)))
    with pytest.raises(DataError, match=r"numbers without names.*--data-dir"):
        hub.hub_rows(Hub(id=str(hub_cache)), probe=False)
    assert len(list(hub.hub_rows(str(hub_cache), probe=False)["train"])) == 12


def test_offline_says_how_to_go_on(monkeypatch, tmp_path):
    import huggingface_hub

    def offline(self, *args, **kwargs):
        raise OSError("Name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", offline)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(AssetError, match=r"SetFit/sst2.*Name or service not known.*--data-dir .or VMASK_DATA.*sst2"):
        load_dataset("sst2", data_dir=tmp_path)
    with pytest.raises(AssetError, match="owner/name"):
        load_dataset("owner/name")


def test_the_hub_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setattr(hub.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"vmask\[hub\]"):
        load_dataset("sst2")


# --- the real files


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sst1", {"train": 8544, "dev": 1101, "test": 2210}),
        ("sst2", {"train": 6920, "dev": 872, "test": 1821}),
        ("trec", {"train": 5000, "dev": 452, "test": 500}),
        ("subj", {"train": 8000, "dev": 1000, "test": 1000}),
        ("yelp", {"train": 4004, "dev": 480, "test": 4455, "test_polarity1000": 1000}),
    ],
)
def test_the_development_data_works_as_it_is(name, expected):
    dataset = load_dataset(name, data_dir=SHARED)
    assert sizes(dataset) == expected
    assert dataset.card.standin == (name == "yelp")
    assert Counter(dataset.splits["train"].labels).keys() == set(dataset.labels)
