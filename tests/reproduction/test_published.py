"""The published numbers: every one is there, and is the one that the paper prints."""

import re
from pathlib import Path

import pytest
import yaml

from reproduction.published import load_published
from vmask.data.card import load_card
from vmask.errors import DataError, FileMissing, UnknownName

ROOT = Path(__file__).parents[2]
FILE = ROOT / "reproduction" / "published.yaml"
PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "vmask-emnlp2020.tex"

# Counted in the paper: rows times columns of the LaTeX, dashes left out.
COUNTS = {
    "introduction": 12,  # 2 examples, 2 models, 3 words
    "datasets": 35,  # 7 datasets, 5 columns
    "accuracy": 105,  # 3 models, 5 methods, 7 datasets
    "aopc": 84,  # 2 explainers, 3 models, 2 methods, 7 datasets
    "examples": 18,  # 3 models, 2 methods, 3 words
    "sp_lime": 0,  # words alone
    "preprocessing": 21,  # 7 datasets, 3 columns
    "validation": 105,
    "seconds": 105,
    "previous": 21,  # 8 papers, 7 datasets, 35 dashes
    "correlation": 21,  # 7 datasets, 3 models
    "parameters": 3,
    "text": 40,
}
DATASETS = {
    "IMDB": "imdb",
    "SST-1": "sst1",
    "SST-2": "sst2",
    "Yelp": "yelp",
    "AG News": "agnews",
    "TREC": "trec",
    "Subj": "subj",
}
EXPLAINERS = {"LIME": "lime", "SampleShapley": "shapley"}
WORDS = {"single": 1, "two": 2, "three": 3, "seven": 7}
# Where the text says each number, in the section that `where` names.
TEXT = {
    "datasets": r"evaluated on (seven) text",
    "models": r"with (three) typical neural",
    "trec_classes": r"(\d+)-class question",
    "prior": r"Bernoulli\}\(([\d.]+)\)",
    "mask_layers": r"adopt a (single)-layer",
    "mask_samples": r"with a (single) sample",
    "cnn_layers": r"a (single) convolutional layer",
    "filter_width_lowest": r"filter sizes ranging from (\d+) to \d+",
    "filter_width_highest": r"filter sizes ranging from \d+ to (\d+)",
    "lstm_layers": r"a (single) unidirectional",
    "embedding_size": r"(\d+)-dimensional",
    "bert_layers": r"(\d+) transformer layers",
    "bert_heads": r"(\d+) self-attention heads",
    "bert_size": r"hidden size of (\d+)",
    "dropout": r"\\rho=([\d.]+)",
    "aopc_texts": r"pick up (\d+) examples",
    "aopc_words": r"deleting top (\d+) words",
    "trec_length": r"average length of (\d+)",
    "imdb_length": r"sentence length of (\d+)",
    "post_hoc_k_lowest": r"ranging from (\d+) to \d+",
    "post_hoc_k_highest": r"ranging from \d+ to (\d+)",
    "post_hoc_few": r"only top (two) words",
    "post_hoc_few_percent": r"about \$(\d+)\\%\$",
    "example_words": r"highlight the top (three)",
    "sp_lime_words": r"lists the top (three)",
    "plotted_frequent_words": r"top (\d+) high-frequency words and",
    "plotted_important_words": r"top (\d+) important words based",
    "sentiment_importance": r"are over ([\d.]+),",
    "frequent_importance": r"all around ([\d.]+),",
    "word_cloud_words": r"visualizes top (\d+)",
    "pytorch": r"PyTorch (\d+\.\d+)",
    "kernels_lowest": r"kernel numbers \(\$\\\{(\d+),",
    "kernels_highest": r"kernel numbers \(\$\\\{\d+, \\cdots, (\d+)\\\}",
    "hidden_lowest": r"hidden states \(\$\\\{(\d+),",
    "hidden_highest": r"hidden states \(\$\\\{\d+, \\cdots, (\d+)\\\}",
    "learning_rate_lowest": r"lr \\in \\\{(\d+e-\d+),",
    "learning_rate_highest": r"lr \\in \\\{[^}]*?(\d+)\\\}",
    "clip_lowest": r"clip \\in \\\{(\d+e-\d+),",
    "clip_highest": r"clip \\in \\\{[^}]*?(\d+)\\\}",
    "gpus": r"a (single) NVidia",
}


@pytest.fixture(scope="module")
def published():
    return load_published(FILE)


def test_every_number_is_there(published):
    assert {name: len(list(published.cells(name))) for name in published.tables} == COUNTS


def test_every_word_of_sp_lime_is_there(published):
    rows = published.table("sp_lime").rows
    assert sum(len(words) for methods in rows.values() for words in methods.values()) == 18  # 3 models, 2 methods


def test_cells_and_number_agree(published):
    for name in published.tables:
        cells = list(published.cells(name))
        assert len({keys for keys, _ in cells}) == len(cells)
        for keys, value in cells:
            assert published.number(name, *keys) == value


def test_number(published):
    assert published.number("accuracy", "cnn", "vmask", "imdb") == 90.10
    assert published.number("examples", "lstm", "base", "words", "2", "of") == 60
    assert published.number("previous", "cnn", "Kim 2014", "imdb") is None  # a dash
    assert published.number("aopc", "lime", "cnn", "l2", "imdb") is None  # a method that is not in the table
    assert published.number("sp_lime", "cnn", "base", "0") is None  # a word
    assert published.number("parameters", "cnn", "imdb") is None  # beyond the number
    assert isinstance(published.number("parameters", "cnn"), float)


def test_a_way_that_stops_early_names_the_next_keys(published):
    with pytest.raises(DataError, match=r"'accuracy cnn' is more than one number\. Add one of: base, l2, l2x"):
        published.number("accuracy", "cnn")


def test_an_unknown_table_has_a_nearest(published):
    with pytest.raises(UnknownName, match="Did you mean 'accuracy'"):
        published.number("acuracy", "cnn")
    with pytest.raises(UnknownName, match="Did you mean 'seconds'"):
        published.cells("second")


@pytest.mark.parametrize("dataset", DATASETS.values())
def test_the_dataset_cards_say_the_same(published, dataset):
    card = load_card(dataset)
    shown = published.table("datasets").rows[dataset]
    prepared = published.table("preprocessing").rows[dataset]
    assert vars(card.paper) == {
        "classes": shown["classes"],
        "average_length": shown["length"],
        **{split: shown[split] for split in ("train", "dev", "test")},
        "vocabulary": prepared["vocabulary"],
    }
    assert (card.threshold, card.max_words) == (prepared["threshold"], prepared["length"])


# The paper itself, where it is at hand: its LaTeX is read by other means, and every number compared.


@pytest.fixture(scope="module")
def latex():
    """The paper in the order in which it is typeset, with spaces made one."""
    if not PAPER.is_file():
        pytest.skip("the LaTeX of the paper is not here")
    parts = re.split(r"^%% file: (\S+)$", PAPER.read_text(encoding="utf-8"), flags=re.MULTILINE)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))

    def flow(name):
        return re.sub(r"\\input\{([^}]+)\}", lambda found: flow(f"{found[1]}.tex"), files[name])

    return re.sub(r"\s+", " ", flow("main.tex"))


@pytest.fixture(scope="module")
def tables(latex):
    """LaTeX label to the place of the table in the paper and its text."""
    found = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", latex)
    return {re.search(r"\\label\{(.+?)\}", text)[1]: (place, text) for place, text in enumerate(found, start=1)}


def body(text):
    """The cells of a table row by row, without its head; an empty first cell repeats the one above."""
    text = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    text = re.sub(r"\\rule\{[^}]*\}\{[^}]*\}|\\midrule", "", text).replace("~", "")
    text = re.sub(r"\\multirow\{\d+\}\{\*\}\{([^}]*)\}|\\textbf\{([^}]*)\}", r"\1\2", text)
    text = text.replace(r"\ourmethod", "VMASK").replace(r"$\ell_2$", "L2").replace("$l2$", "L2")
    first = ""
    for line in text.split(r"\\"):
        if line.strip():
            row = [cell.strip() for cell in line.split("&")]
            first = row[0] or first
            yield [first, *row[1:]]


def head(text):
    """The names of the columns that have numbers."""
    names = text.partition(r"\toprule")[2].partition(r"\\")[0].split("&")
    return [name.strip() for name in names if name.strip() not in ("Models", "Methods", "Datasets")]


def value(printed):
    return round(float(printed[:-1]) * 1000) if printed.endswith("K") else float(printed)


def model_and_method(name):
    return tuple(name.lower().split("-"))


def per_dataset(keys, printed):
    """Numbers of a row that has a column for each dataset."""
    return {(*keys, key): value(one) for key, one in zip(DATASETS.values(), printed, strict=True) if one != "-"}


def per_column(columns):
    """Reader of a table that has a row for each dataset."""

    def read(row):
        return {(DATASETS[row[0]], key): value(one) for key, one in zip(columns, row[1:], strict=True)}

    return read


def citation(cell):
    author, year = re.fullmatch(r"\\citet\{([a-z]+)(\d{4})\w+\}", cell).groups()
    return f"{author.capitalize()} {year}"


HEADS = {
    "datasets": [r"\textit{C}", r"\textit{L}", r"\textit{\#train}", r"\textit{\#dev}", r"\textit{\#test}"],
    "preprocessing": ["$vocab$", "$threshold$", "$length$"],
    "correlation": ["CNN", "LSTM", "BERT"],
}
READERS = {
    "datasets": per_column(["classes", "length", "train", "dev", "test"]),
    "preprocessing": per_column(["vocabulary", "threshold", "length"]),
    "accuracy": lambda row: per_dataset(model_and_method(row[1]), row[2:]),
    "validation": lambda row: per_dataset(model_and_method(row[1]), row[2:]),
    "seconds": lambda row: per_dataset(model_and_method(row[1]), row[2:]),
    "aopc": lambda row: per_dataset((EXPLAINERS[row[0]], *model_and_method(row[1])), row[2:]),
    "previous": lambda row: per_dataset((model_and_method(row[0])[0], citation(row[1])), row[2:]),
    "correlation": lambda row: {
        (model, DATASETS[row[0]]): value(one) for model, one in zip(("cnn", "lstm", "bert"), row[1:], strict=True)
    },
}


def test_every_table_of_the_paper_is_here_with_its_number(published, tables):
    ours = {table.label: table.number for table in published.tables.values() if table.number is not None}
    assert ours == {label: place for label, (place, _) in tables.items()}


@pytest.mark.parametrize("name", READERS)
def test_every_number_is_the_papers(published, tables, name):
    _, text = tables[published.table(name).label]
    assert head(text) == HEADS.get(name, list(DATASETS))
    printed = {}
    for row in body(text):
        printed.update(READERS[name](row))
    assert dict(published.cells(name)) == printed
    assert len(printed) == COUNTS[name]


def test_the_words_of_sp_lime_are_the_papers(published, tables):
    printed = {model_and_method(row[0]): row[1].split(", ") for row in body(tables["tab:sp_lime"][1])}
    rows = published.table("sp_lime").rows
    assert {(model, method): words for model, row in rows.items() for method, words in row.items()} == printed


def highlighted(cell):
    """Colours and words of a text with highlights."""
    found = re.findall(r"\\hlc\[(\w+)!(\d+)\]\{([^}]*)\}", cell)
    (colour,) = {colour for colour, _, _ in found}
    return {"colour": colour, "words": [{word: int(saturation)} for _, saturation, word in found]}


def test_the_highlights_of_the_examples_are_the_papers(published, tables):
    printed = {
        model_and_method(name): {"explainer": "lime", "prediction": prediction, **highlighted(text)}
        for name, text, prediction in body(tables["tab:examples"][1])
    }
    rows = published.table("examples").rows
    assert {(model, method): shown for model, row in rows.items() for method, shown in row.items()} == printed


def test_the_highlights_of_the_introduction_are_the_papers(published, tables):
    _, text = tables["tab:intro_examples"]
    predictions = dict(re.findall(r"ex\. (\d): (\w+)", text))
    explainers = dict(zip(predictions, re.findall(r"(LIME|SampleShapley) \\citep", text), strict=True))
    printed = {
        (f"example_{example}", model.lower()): {
            "explainer": EXPLAINERS[explainers[example]],
            "prediction": predictions[example],
            **highlighted(cell),
        }
        for example, model, cell in body(text)
    }
    rows = published.table("introduction").rows
    assert {(example, model): shown for example, row in rows.items() for model, shown in row.items()} == printed


def section(latex, label):
    """The text from a label of a section to the next."""
    assert latex.count(f"\\label{{{label}}}") == 1
    return re.split(r"\\label\{(?:sub)*sec:", latex.partition(f"\\label{{{label}}}")[2])[0]


def test_the_parameters_are_the_papers(published, latex):
    counts = re.search(r"number of parameters .*? are (\d+), (\d+), (\d+)", section(latex, "sec:sup_exp")).groups()
    assert published.table("parameters").rows == dict(zip(("cnn", "lstm", "bert"), map(int, counts), strict=True))


def test_every_number_of_the_text_is_looked_up(published):
    assert list(published.table("text").rows) == list(TEXT)


@pytest.mark.parametrize("name", TEXT)
def test_the_numbers_of_the_text_are_the_papers(published, latex, name):
    row = published.table("text").rows[name]
    found = re.findall(TEXT[name], section(latex, row["where"]))
    assert len(found) == 1
    assert row["value"] == (WORDS[found[0]] if found[0] in WORDS else float(found[0]))


def test_the_source_is_the_paper(published, latex):
    assert f"\\title{{{published.source.title}}}" in latex
    assert ", ".join(published.source.authors) in latex


# A wrong file.


def good():
    """A small file of published numbers."""
    return {
        "source": {"title": "A paper", "authors": ["A. Writer"], "venue": "A venue", "year": 2020},
        "tables": {"speed": {"label": "tab:speed", "title": "Speed", "unit": "seconds", "rows": {"cnn": {"imdb": 2}}}},
    }


def write(folder, values):
    path = folder / "published.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_a_good_file_is_read(tmp_path):
    published = load_published(write(tmp_path, good()))
    assert published.source.year == 2020
    assert published.table("speed").number is None
    assert list(published.cells("speed")) == [(("cnn", "imdb"), 2.0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("source"), r"'source' is missing; add it"),
        (lambda f: f.update(table={}), r"no field 'table'\. Did you mean 'tables'\?"),
        (lambda f: f.update(tables=[]), r"'tables' is \[\]; make it of type dict"),
        (lambda f: f["source"].update(year="2020 AD"), r"'source.year' is '2020 AD'; make it of type int"),
        (lambda f: f["tables"].update(speed=["fast"]), r"make 'tables.speed' a mapping with label, title"),
        (lambda f: f["tables"]["speed"].pop("unit"), r"'tables.speed.unit' is missing; add it"),
        (lambda f: f["tables"]["speed"].update(lable="x"), r"no field 'tables.speed.lable'\. Did you mean 'label'\?"),
        (lambda f: f["tables"]["speed"].update(rows={}), r"'tables.speed.rows' is empty; fill it in"),
        (lambda f: f["tables"]["speed"].update(number=1.5), r"'tables.speed.number' is 1.5; make it of type int"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn=None), r"'tables.speed.rows.cnn' is empty\. Leave out"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn=[False]), r"rows.cnn.0' is true or false.*Put quotes"),
        (lambda f: f["tables"]["speed"]["rows"].update({1: 2}), r"'tables.speed.rows' has the key 1.*Put quotes"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn=float("nan")), r"rows.cnn' is nan; write numbers in full"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn="20K"), r"rows.cnn' is '20K'; write numbers in full"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn="1e-4"), r"rows.cnn' is '1e-4'; write numbers in full"),
        (lambda f: f["tables"]["speed"]["rows"].update(cnn="-.5."), r"rows.cnn' is '-.5.'; write numbers in full"),
    ],
)
def test_a_wrong_file_says_how_to_mend_it(tmp_path, change, message):
    values = good()
    change(values)
    path = write(tmp_path, values)
    with pytest.raises(DataError, match=message) as caught:
        load_published(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["rows: {cnn: [", "", "- a list"])
def test_a_file_of_another_kind(tmp_path, text):
    path = tmp_path / "published.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"(?s)is not YAML.*Correct it|make the file a mapping with source, tables"):
        load_published(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "published.yaml"
    path.write_bytes(b"title: \xff\xfe")
    with pytest.raises(DataError, match="is not UTF-8"):
        load_published(path)


def test_no_file(tmp_path):
    with pytest.raises(FileMissing, match=r"There is no file '.*published\.yaml'\. Name the file"):
        load_published(tmp_path / "published.yaml")
