from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmask.data.datasets import load_dataset, load_table
from vmask.data.paper_check import check_dataset
from vmask.data.rationales import as_spans, join_tokens
from vmask.data.splits import Split, complete, fingerprint
from vmask.errors import AssetError, DataError, FileMissing

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the development data (../shared) is not here")

TREES = [
    "(3 (2 It) (4 (2 's) (4 (4 lovely) (2 .))))",
    "(1 (2 (2 So) (2 -LRB-)) (0 (1 dull) (2 -RRB-)))",
    r"(0 (2 (2 an) (1 awful)) (2 and\/or) )",
    "(2 (2 Am\u00e9lie) (2 8\u00a01\\/2))",
    r"(4 (4 f\*\*\*ing) (3 great))",
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_trees(folder: Path, train: list[str] = TREES * 4) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("train", train), ("dev", TREES), ("test", TREES[:2])):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def rows_of_text(count: int = 40) -> list[dict[str, object]]:
    """Texts `😀 é word7 tail` with `word7` marked."""
    rows = []
    for i in range(count):
        text = f"😀 é word{i} tail"
        rows.append({"text": text, "label": ("neg", "pos")[i % 2], "rationales": [[4, 4 + len(f"word{i}")]]})
    return rows


def marked(split: Split) -> list[list[str]]:
    assert split.rationales is not None
    assert len(split.rationales) == len(split)
    return [[text[a:b] for a, b in spans] for text, spans in zip(split.texts, split.rationales, strict=True)]


# --- spans in characters


def test_the_rationales_of_a_file_stay_with_their_texts(tmp_path):
    dataset = load_dataset(write(tmp_path / "a.jsonl", rows_of_text()))
    assert [len(dataset.splits[name]) for name in ("train", "dev", "test")] == [32, 4, 4]
    for split in dataset.splits.values():
        assert marked(split) == [[text.split(" ")[2]] for text in split.texts]
    table = load_table(tmp_path / "a.jsonl")
    assert marked(table) == [[f"word{i}"] for i in range(40)]
    assert marked(load_table(tmp_path / "a.jsonl", require_labels=False)) == marked(table)


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_other_files_with_lists_carry_them_too(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    if ending == "json":
        path.write_text(json.dumps(rows_of_text(12)), encoding="utf-8")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows_of_text(12)), path)
    assert marked(load_table(path)) == [[f"word{i}"] for i in range(12)]


def test_left_out_rows_take_their_rationales_with_them(tmp_path):
    rows = rows_of_text(20)
    rows[0]["text"] = " "
    rows[3]["label"] = None
    table = load_table(write(tmp_path / "a.jsonl", rows))
    assert marked(table) == [[f"word{i}"] for i in range(20) if i not in (0, 3)]
    assert len(table.notes) == 2


def test_spans_are_sorted_and_may_overlap(tmp_path):
    rows = rows_of_text(2)
    rows[0]["rationales"] = [[4, 9], [0, 3], [2, 6], [4, 9]]
    assert load_table(write(tmp_path / "a.jsonl", rows)).rationales[0] == ((0, 3), (2, 6), (4, 9), (4, 9))


def test_a_row_without_rationales_has_an_empty_one_unless_none_has_any(tmp_path):
    rows = rows_of_text(12)
    rows[0]["rationales"] = []
    rows[1]["rationales"] = None
    del rows[2]["rationales"]
    assert load_table(write(tmp_path / "a.jsonl", rows)).rationales[:4] == [(), (), (), ((4, 9),)]
    none = [{**row, "rationales": None} for row in rows]
    assert load_table(write(tmp_path / "b.jsonl", none)).rationales is None
    empty = [{**row, "rationales": []} for row in rows]
    assert load_table(write(tmp_path / "c.jsonl", empty)).rationales == [()] * 12


def test_each_split_has_its_own(tmp_path):
    write(tmp_path / "train.jsonl", [{"text": f"t{i}", "label": ("neg", "pos")[i % 2]} for i in range(20)])
    write(tmp_path / "test.jsonl", [*rows_of_text(2), {"text": "x", "label": "pos"}])
    dataset = load_dataset(tmp_path)
    assert (dataset.splits["train"].rationales, dataset.splits["dev"].rationales) == (None, None)
    assert marked(dataset.splits["test"]) == [["word0"], ["word1"], []]


@pytest.mark.parametrize(
    "bad",
    [
        [[0, 0]],
        [[3, 2]],
        [[-1, 2]],
        [[0, 100]],
        [[0.0, 2]],
        [[False, True]],
        [["0", "2"]],
        [[0]],
        [[0, 1, 2]],
        [0, 1],
        {"start": 0, "end": 1},
        "because it is good",
        7,
    ],
)
def test_bad_spans_name_the_row_and_the_fix(bad, tmp_path):
    rows = rows_of_text(30)
    rows[24]["rationales"] = bad  # behind the rows that the columns are chosen from
    with pytest.raises(DataError, match=r"Row 25 of a\.jsonl \(all\): 'rationales' is .*0 <= start < end <= 15\. Corr"):
        load_table(write(tmp_path / "a.jsonl", rows))


def test_a_span_may_reach_the_end_of_the_text_and_no_further():
    assert as_spans([[0, 3]], "abc", "") == ((0, 3),)
    with pytest.raises(DataError):
        as_spans([[0, 4]], "abc", "")


def test_a_message_shows_the_start_of_a_long_value():
    with pytest.raises(DataError) as caught:
        as_spans("x" * 500, "abc", "Row 1")
    assert len(str(caught.value)) < 300


def test_a_column_of_that_name_may_hold_the_texts_or_the_labels(tmp_path):
    rows = [{"rationales": f"reason {i}", "label": i % 2} for i in range(12)]
    table = load_table(write(tmp_path / "a.jsonl", rows), text="rationales")
    assert (table.texts[0], table.rationales) == ("reason 0", None)
    rows = [{"text": f"t{i}", "rationales": i % 2} for i in range(12)]
    table = load_table(write(tmp_path / "b.jsonl", rows), label="rationales")
    assert (table.labels[:2], table.rationales) == (["0", "1"], None)


# --- splits


def test_take_takes_the_rationales():
    split = Split(["a", "bb", "ccc"], ["x", "y", "x"], ["1", "2", "3"], rationales=[((0, 1),), (), ((0, 2), (1, 3))])
    assert split.take([2, 0]).rationales == [((0, 2), (1, 3)), ((0, 1),)]
    assert Split(["a"], ["x"], ["1"]).take([0]).rationales is None
    assert split.take([]).rationales == []


def test_holding_out_keeps_text_and_rationale_together():
    texts = [f"word{i} tail" for i in range(60)]
    whole = Split(
        texts, [f"c{i % 3}" for i in range(60)], texts, rationales=[((0, len(f"word{i}")),) for i in range(60)]
    )
    splits, _ = complete({"all": whole}, None)
    assert [len(split) for split in splits.values()] == [48, 6, 6]
    for split in splits.values():
        assert marked(split) == [[text.split(" ")[0]] for text in split.texts]


def test_fingerprints_of_data_without_rationales_are_what_they_were(tmp_path):
    rows = [{"text": f"film number {i}", "label": ("neg", "pos")[i % 2]} for i in range(20)]
    stored = "6b8fa03acaa1784560d4c9229b76f77f36d132eb789b026bbc9c24fd4401681f"
    assert load_dataset(write(tmp_path / "a.jsonl", rows)).fingerprint == stored


def test_fingerprints_follow_the_rationales():
    def of(rationales):
        return fingerprint({"train": Split(["abc", "abc"], ["x", "y"], ["1", "2"], rationales=rationales)})

    kinds = [None, [(), ()], [((0, 1),), ()], [(), ((0, 1),)], [((0, 2),), ()], [((0, 1), (1, 2)), ()]]
    assert len({of(kind) for kind in kinds}) == len(kinds)


# --- rows of tokens


def rows_of_tokens(count: int = 24) -> list[dict[str, object]]:
    """The two tokens after the first are marked, and the last."""
    return [
        {
            "id": f"doc{i}.txt",
            "label": ("NEG", "POS")[i % 2],
            "tokens": ["naïve", f"word{i}", "!", "😀", "end"],
            "rationale_spans": [[4, 5], [1, 3]],
        }
        for i in range(count)
    ]


def test_tokens_are_joined_and_their_spans_become_characters(tmp_path):
    table = load_table(write(tmp_path / "a.jsonl", rows_of_tokens()))
    assert table.texts[7] == "naïve word7 ! 😀 end"
    assert marked(table) == [[f"word{i} !", "end"] for i in range(24)]
    assert (table.ids[7], table.labels[:2]) == ("doc7.txt", ["NEG", "POS"])


@example(["", "", "a"], (0, 2))
@example(["", "a", ""], (0, 3))
@given(
    st.lists(st.text(alphabet="aé😀\u00a0-", max_size=4), min_size=1, max_size=8),
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_a_span_of_tokens_is_the_text_of_these_tokens(tokens, span):
    a, b = sorted(min(end, len(tokens)) for end in span)
    (row,) = join_tokens([{"tokens": tokens, "rationale_spans": [[a, b]]}], "here")
    assert row["text"] == " ".join(tokens)
    assert [row["text"][i:j] for i, j in row["rationales"]] == ([" ".join(tokens[a:b])] if any(tokens[a:b]) else [])


def test_rows_of_tokens_with_nothing_marked(tmp_path):
    rows = rows_of_tokens()
    rows[0]["rationale_spans"] = []
    rows[1]["rationale_spans"] = [[2, 2], [5, 5], [0, 1]]  # as in ERASER: a span without a token
    rows[2]["rationale_spans"] = None
    del rows[3]["rationale_spans"]
    rows[4]["tokens"] = []
    rows[4]["rationale_spans"] = []
    table = load_table(write(tmp_path / "a.jsonl", rows))
    assert marked(table)[:5] == [[], ["naïve"], [], [], ["word5 !", "end"]]
    assert table.notes == ("Left out 1 row without a text.",)
    none = [{**row, "rationale_spans": None} for row in rows_of_tokens()]
    table = load_table(write(tmp_path / "b.jsonl", none))
    assert (table.texts[3], table.rationales) == ("naïve word3 ! 😀 end", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rationale_spans": [[0, 6]]}, r"Row 23 of a\.jsonl \(all\): 'rationale_spans'.*in tokens.*<= 5\. Correct"),
        ({"rationale_spans": [[3, 2]]}, "'rationale_spans' is"),
        ({"rationale_spans": "1-3"}, "'rationale_spans' is '1-3'"),
        ({"tokens": ["a", 1, "b"]}, r"Row 23 of a\.jsonl.*'tokens' is .*list of strings"),
        ({"tokens": "a b c"}, "'tokens' is 'a b c'"),
    ],
)
def test_bad_rows_of_tokens(change, message, tmp_path):
    rows = rows_of_tokens()
    rows[22].update(change)
    with pytest.raises(DataError, match=message):
        load_table(write(tmp_path / "a.jsonl", rows))


def test_tokens_beside_a_text_are_left_alone(tmp_path):
    rows = [{**row, "text": f"own text {i}"} for i, row in enumerate(rows_of_tokens())]
    table = load_table(write(tmp_path / "a.jsonl", rows))
    assert (table.texts[3], table.rationales) == ("own text 3", None)
    rows = [{**row, "headline": f"head {i}"} for i, row in enumerate(rows_of_tokens())]
    table = load_table(write(tmp_path / "b.jsonl", rows), text="headline")
    assert (table.texts[3], table.rationales) == ("head 3", None)


def test_movies_by_name(tmp_path):
    for name, count in (("train", 24), ("val", 6), ("test", 4)):
        rows = [{**row, "id": f"{name}-{i}"} for i, row in enumerate(rows_of_tokens(count))]
        write(tmp_path / "movies" / f"{name}.jsonl", rows)
    dataset = load_dataset("movies", data_dir=tmp_path)
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 24, "dev": 6, "test": 4}
    assert dataset.labels == ("NEG", "POS")
    assert "do not tune on dev" in dataset.notes[0]
    assert marked(dataset.splits["dev"])[5] == ["word5 !", "end"]
    check = check_dataset("movies", tmp_path)
    assert [row.paper for row in check.rows] == [None] * 6
    assert check.differences == ()


# --- trees


def test_the_leaves_of_a_tree_are_its_text_and_the_rated_ones_its_rationale(tmp_path):
    write_trees(tmp_path / "sst_trees")
    dataset = load_dataset("sst_trees", data_dir=tmp_path)
    dev = dataset.splits["dev"]
    assert dev.texts == ["It 's lovely .", "So ( dull )", "an awful and/or", "Amélie 8\u00a01/2", "f***ing great"]
    assert dev.labels == ["positive", "negative", "very negative", "neutral", "very positive"]
    assert marked(dev) == [["lovely"], ["dull"], ["awful"], [], ["f***ing", "great"]]
    assert [len(dataset.splits[name]) for name in ("train", "test")] == [20, 2]
    assert dev.ids[0] == "dev-0"


def test_a_folder_of_trees_with_a_card(tmp_path):
    folder = write_trees(tmp_path / "mine")
    (folder / "card.yaml").write_text("name: sst_trees\nmax_words: 9\n", encoding="utf-8")
    dataset = load_dataset(folder)
    assert (dataset.name, dataset.defaults["max_words"]) == ("sst_trees", 9)
    assert marked(dataset.splits["test"]) == [["lovely"], ["dull"]]
    (folder / "train.txt").unlink()
    with pytest.raises(FileMissing, match=r"has no file 'train\.txt' for the dataset sst_trees"):
        load_dataset(folder)


def test_trees_of_an_own_card(tmp_path):
    folder = write_trees(tmp_path)
    card = "name: mine\nformat: trees\nfiles: {train: train.txt}\nlabels: [a, b, c, d, e]\n"
    (folder / "card.yaml").write_text(card, encoding="utf-8")
    for name in ("train", "test"):
        write(folder / f"{name}.jsonl", rows_of_text(4))  # no trees, so no part of it
    dataset = load_dataset(folder)
    assert dataset.labels == ("a", "b", "c", "d", "e")
    assert sum(len(split) for split in dataset.splits.values()) == 20


@pytest.mark.parametrize(
    "line",
    [
        "(3 (2 It) (4 lovely)",
        "(3 (2 It) (4 lovely)))",
        "(3 (2 It) (4 lovely)) (2 .)",
        "(3 (2 It) (5 lovely))",
        "(3 (2 It) lovely)",
        "(3 (2 It) (lovely))",
        "(3 (2 It is) (4 lovely))",
        "((2 It) (4 lovely))",
        "(3 (2 It) ())",
        "(3 )",
        ")",
        ") (3 (2 It)",
        "It is lovely",
    ],
)
def test_a_line_that_is_no_tree_is_named(line, tmp_path):
    write_trees(tmp_path / "sst_trees", train=[*TREES * 6, "", line, *TREES])
    with pytest.raises(DataError, match=r"Line 32 of 'train\.txt' is not a tree.*Close every bracket"):
        load_dataset("sst_trees", data_dir=tmp_path)


def test_a_deep_tree_is_read(tmp_path):
    deep = "(2 " * 5000 + "(3 well)" + ")" * 5000
    write_trees(tmp_path / "sst_trees", train=[*TREES * 2, deep])
    assert marked(load_dataset("sst_trees", data_dir=tmp_path).splits["train"])[-1] == ["well"]


@pytest.mark.parametrize(("name", "file"), [("movies", "val.jsonl"), ("sst_trees", "dev.txt")])
def test_without_the_files_it_is_said_where_to_put_them(name, file, tmp_path):
    with pytest.raises(AssetError, match=rf"cannot download.*https://.*{file}.*folder '{name}'.*--data-dir"):
        load_dataset(name)
    with pytest.raises(AssetError, match=rf"no folder '{tmp_path / name}' either"):
        load_dataset(name, data_dir=tmp_path)


# --- the real files


@pytest.mark.full
@needs_shared
def test_the_movies_of_eraser():
    dataset = load_dataset("movies", data_dir=SHARED)
    shares = {}
    for name, rows in (("train", 1600), ("dev", 200), ("test", 199)):
        split = dataset.splits[name]
        assert len(split) == rows
        tokens = sum(text.count(" ") + 1 for text in split.texts)
        shares[name] = sum(part.count(" ") + 1 for parts in marked(split) for part in parts) / tokens
    assert {name: round(share, 3) for name, share in shares.items()} == {"train": 0.086, "dev": 0.065, "test": 0.303}
    assert sum(not spans for spans in dataset.splits["train"].rationales) == 1
    assert marked(dataset.splits["train"])[0][:2] == ["what 's the deal ?", "mind - fuck movie"]


@pytest.mark.full
@needs_shared
def test_the_trees_are_the_sentences_of_sst1():
    trees, sst1 = (load_dataset(name, data_dir=SHARED) for name in ("sst_trees", "sst1"))
    plain = {"-lrb-": "(", "-rrb-": ")", r"\/": "/", r"\*": "*"}
    for name, rows in (("train", 8544), ("dev", 1101), ("test", 2210)):
        texts = [text.lower().replace("\u00a0", " ") for text in trees.splits[name].texts]
        theirs = []
        for text in sst1.splits[name].texts:
            for escaped, char in plain.items():
                text = text.replace(escaped, char)
            theirs.append(text)
        ours = Counter(zip(texts, trees.splits[name].labels, strict=True))
        assert ours == Counter(zip(theirs, sst1.splits[name].labels, strict=True))
        assert ours.total() == rows
        words = sum(text.count(" ") + 1 for text in trees.splits[name].texts)
        assert round(sum(map(len, trees.splits[name].rationales)) / words, 2) == 0.14
