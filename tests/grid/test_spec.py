"""The file of an experiment: read strictly, and those of this repository have what they promise."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from grid.tiny import write_tiny
from vmask import TextClassifier
from vmask.errors import ConfigError, FileMissing
from vmask.grid.experiment import Resources, Where
from vmask.grid.search_space import Range
from vmask.grid.spec import parse_seeds, parse_where, read_experiment
from vmask.masks import MASKS

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "experiments"
REPRODUCTION = ROOT / "reproduction"
BLOCK = {"datasets": ["trec"], "models": ["cnn"], "masks": ["base", "vmask"], "seeds": 0}
STAGE = {"name": "local", "metrics": ["aopc"], "explainers": {"lime": {"samples": 50}}}
ONE = {"models": {"cnn": {"epochs": 3}}, "grid": [BLOCK], "stages": [STAGE]}


@pytest.fixture
def read(tmp_path):
    """Read an experiment with some parts changed; None takes one out."""

    def make(**changes):
        path = tmp_path / "mine.yaml"
        parts = {key: one for key, one in {**ONE, **changes}.items() if one is not None}
        path.write_text(yaml.safe_dump(parts, sort_keys=False))
        return read_experiment(path)

    return make


@pytest.fixture
def refused(read, tmp_path):
    """The message about an experiment that cannot be; it begins with the file's name."""

    def make(**changes):
        with pytest.raises(ConfigError) as caught:
            read(**changes)
        assert str(caught.value).startswith(f"{tmp_path / 'mine.yaml'}: ")
        return str(caught.value)

    return make


# What a file says -----------------------------------------------------------------------------------------


def test_a_file_has_cells_and_stages(read):
    experiment = read(title="A title")
    assert (experiment.name, experiment.title, experiment.out) == ("mine", "A title", "results")
    assert [cell.key for cell in experiment.cells] == ["trec--cnn--base--s0", "trec--cnn--vmask--s0"]
    assert experiment.cells[0].combination.options == {"epochs": 3}
    (stage,) = experiment.stages
    assert stage.explainers == {"lime": {"samples": 50}}
    assert stage.metrics == {"aopc": {}}
    assert experiment.search is None


SEEDS = [
    ("0-4", [0, 1, 2, 3, 4]),
    ("0,2", [0, 2]),
    ([1, 3], [1, 3]),
    (7, [7]),
    ("0-1, 5", [0, 1, 5]),
    (["0-1"], [0, 1]),
]


@pytest.mark.parametrize(("said", "seeds"), SEEDS)
def test_seeds_can_be_said_in_many_ways(read, said, seeds):
    assert parse_seeds(said) == seeds
    assert [cell.seed for cell in read(grid=[{**BLOCK, "masks": ["base"], "seeds": said}]).cells] == seeds


@pytest.mark.parametrize("said", ["0-999999999", "0-1000", "0-" + "9" * 18])
def test_too_many_seeds_are_refused_without_counting_them_out(refused, said):
    assert "maximum of 1,000" in refused(grid=[{**BLOCK, "seeds": said}])


@pytest.mark.parametrize("part", ["datasets", "models", "masks"])
@pytest.mark.parametrize("odd", [1, None, ["a"], {"a": 1}, "a\0b"])
def test_names_are_names(refused, part, odd):
    assert "which is no name" in refused(grid=[{**BLOCK, part: [odd]}])


def test_a_grid_of_too_many_cells_is_refused(refused):
    block = {**BLOCK, "datasets": [f"d{i}" for i in range(200)], "seeds": "0-999"}
    assert "more than 100,000 cells" in refused(grid=[block])


@pytest.mark.parametrize("said", ["x", "1-", "-1", "4-0", "1.5", [], "", None, True, [[0]], "²"])
def test_seeds_that_are_none_are_refused(refused, said):
    grid = [{**BLOCK, "seeds": said}]
    assert "Write them as 0-4 or 0,2,5" in refused(grid=grid)


def test_masks_are_all_that_there_are_by_default_too(read):
    for block in ({**BLOCK, "masks": "all"}, {key: one for key, one in BLOCK.items() if key != "masks"}):
        assert [cell.combination.mask for cell in read(grid=[block]).cells] == MASKS.names()


def test_variants_are_cells_with_options_of_their_own(read):
    variants = {"narrow": {"model__filters": 5}, "long": {"epochs": 9}}
    cells = read(grid=[{**BLOCK, "masks": ["base"], "variants": variants}]).cells
    assert [cell.key for cell in cells] == ["trec--cnn--base--narrow--s0", "trec--cnn--base--long--s0"]
    assert [dict(cell.combination.options) for cell in cells] == [{"epochs": 3, "model__filters": 5}, {"epochs": 9}]


def test_options_of_a_block_stand_between_those_of_its_models_and_of_its_variants(read):
    block = {**BLOCK, "masks": ["base"], "options": {"epochs": 6, "batch_size": 20}}
    cells = read(grid=[{**block, "variants": {"": {}, "long": {"epochs": 9}}}, {**BLOCK, "datasets": ["subj"]}]).cells
    options = {cell.key: dict(cell.combination.options) for cell in cells}
    assert options["trec--cnn--base--s0"] == {"epochs": 6, "batch_size": 20}
    assert options["trec--cnn--base--long--s0"] == {"epochs": 9, "batch_size": 20}
    assert options["subj--cnn--vmask--s0"] == {"epochs": 3}, "the other block has none"


def test_a_file_beside_the_experiment_is_found(read, tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\n")
    cells = read(grid=[{**BLOCK, "datasets": ["mine.csv", "trec"], "masks": ["base"]}]).cells
    assert [cell.combination.dataset for cell in cells] == [str(tmp_path / "mine.csv"), "trec"]


def test_of_stages_with_one_name_the_first_that_fits_counts(read):
    stages = [
        {**STAGE, "where": {"masks": ["vmask"], "seeds": "0-1"}, "n": 5},
        {**STAGE, "where": {"datasets": ["trec"]}, "n": 9},
        {"name": "more", "metrics": "accuracy", "where": {"seeds": 2}},
    ]
    experiment = read(grid=[{**BLOCK, "seeds": "0-2"}], stages=stages)
    found = {cell.key: [(one.name, one.n) for one in experiment.stages_of(cell)] for cell in experiment.cells}
    assert found["trec--cnn--vmask--s0"] == [("local", 5)]
    assert found["trec--cnn--base--s0"] == [("local", 9)]
    assert found["trec--cnn--vmask--s2"] == [("local", 9), ("more", 1000)]


def test_a_stage_is_told_apart_by_what_it_measures_and_not_by_its_cells(read):
    (one,), (other,) = (read(stages=[{**STAGE, "where": where}]).stages for where in ({}, {"masks": ["base"]}))
    assert one.request() == other.request()
    (more,) = read(stages=[{**STAGE, "n": 7}]).stages
    assert more.request() != one.request()


def test_the_ranker_is_of_the_same_seed_and_variant(read):
    variants = {"a": {"epochs": 1}, "b": {"epochs": 2}}
    experiment = read(grid=[{**BLOCK, "seeds": "0-1", "variants": variants}], stages=[{**STAGE, "ranking": "vmask"}])
    for cell in experiment.cells:
        ranker = experiment.ranker_of(cell, experiment.stages[0])
        assert (ranker.combination.mask, ranker.seed) == ("vmask", cell.seed)
        assert ranker.combination.variant == cell.combination.variant


def test_a_ranker_that_is_not_trained_is_said(refused):
    said = refused(grid=[{**BLOCK, "masks": ["base"]}], stages=[{**STAGE, "ranking": "vmask"}])
    assert "Stage local of trec--cnn--base--s0 needs the model of trec--cnn--vmask--s0" in said
    assert "Add it to the grid" in said


# The search -----------------------------------------------------------------------------------------------


def test_values_of_model_and_method_are_crossed(read):
    search = {"trials": 2, "models": {"cnn": {"epochs": [7, 8]}}, "masks": {"base": {}, "vmask": {"beta": [0.5, 1]}}}
    experiment = read(search=search)
    base, vmask = (cell.combination for cell in experiment.cells)
    assert experiment.search.seed == 100
    assert experiment.search.trials_of(base) == [{"epochs": 7}, {"epochs": 8}]
    assert len(experiment.search.trials_of(vmask)) == 2
    assert experiment.search.trials_of(vmask)[0] == {"epochs": 7, "beta": 0.5}


def test_a_model_that_is_not_named_is_not_searched(read):
    search = read(models={"cnn": {}, "lstm": {}}, search={"trials": 2, "models": {"lstm": {"epochs": [1, 2]}}})
    assert search.searches_for(search.cells[0].combination) == []


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"sed": 1}, "`search` has no key 'sed'. Did you mean 'seed'?"),
        ({"seed": "x"}, "seed of `search` is 'x'"),
        ({"trials": 0}, "trials of `search` is 0"),
        ({"models": {"cnn": {letter: [0] * 100 for letter in "abcdef"}}}, "more than 100,000 combinations"),
        ({"models": {"cn": {}}}, "Did you mean 'cnn'?"),
        ({"models": {"cnn": [{}]}}, "map names to options"),
        ({"models": {"cnn": {"epochs": 3}}}, "options with their values"),
        ({"models": {"cnn": {"epochs": []}}}, "options with their values"),
        ({"trials": 1, "models": {"cnn": {"learning_rat": [1]}}}, "Did you mean 'learning_rate'?"),
        ({"models": {"cnn": {}}, "masks": {"vmsk": {}}}, "Did you mean 'vmask'?"),
        ({"models": {"cnn": {"epochs": [1, 2]}}}, "2 combinations of values for cnn with base and makes 8 trials"),
        ({"trials": 1, "models": {"cnn": {}}, "masks": {"vmask": {"mask__pie": [1]}}}, "Unknown option 'mask__pie'"),
    ],
)
def test_a_search_is_read_strictly(refused, search, said):
    assert said in refused(search=search)


def test_options_of_all_models_and_methods_stand_once(read):
    search = {"trials": 2, "space": {"epochs": [7, 8]}, "models": {"cnn": {"model__filters": [5, 6]}}}
    experiment = read(models={"cnn": {}, "lstm": {}}, search=search)
    assert experiment.search.of_models == {
        "cnn": {"epochs": [7, 8], "model__filters": [5, 6]},
        "lstm": {"epochs": [7, 8]},
    }
    assert len(experiment.search.trials_of(experiment.cells[0].combination)) == 2


RATE = {"low": "1e-4", "high": 0.01, "log": True}


def test_a_search_by_optuna_has_ranges(read):
    search = {"engine": "optuna", "trials": 30, "space": {"learning_rate": RATE}, "masks": {"base": {}, "vmask": {}}}
    search["masks"]["vmask"] = {"beta": {"low": 0.1, "high": 1.0}, "model__filters": [10, 20]}
    made = read(search=search)
    base, vmask = (cell.combination for cell in made.cells)
    assert made.search.engine == "optuna"
    assert made.search.options_of(base) == {"learning_rate": Range(1e-4, 0.01, log=True)}
    assert made.search.options_of(vmask)["beta"] == Range(0.1, 1.0)
    assert {"learning_rate": 0.01, "beta": 0.1, "model__filters": 10} in made.search.samples(vmask)
    assert made.searches_for(vmask) == [vmask]


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"engine": "optunna"}, "Unknown engine of `search` 'optunna'. Did you mean 'optuna'?"),
        ({"engine": "list", "space": {"learning_rate": RATE}}, "Set `engine: optuna`, or write a list of values"),
        ({"space": {"learning_rate": {**RATE, "high": 1e-5}}}, "learning_rate: {'low': '1e-4', 'high': 1e-05, "),
        ({"space": {"learning_rate": {**RATE, "high": 1e-5}}}, "above high"),
        ({"space": {"learning_rate": {**RATE, "low": 0.0}}}, "with log it must be above 0"),
        ({"space": {"learning_rate": {**RATE, "lwo": 0.0}}}, "it has no key 'lwo'. Did you mean 'low'?"),
        ({"space": {"learning_rate": {}}}, "options with their values"),
        ({"space": {"learning_rate": 0.1}}, "options with their values"),
        ({"space": [1]}, "options with their values"),
        ({"space": {"epochs": [1, 2, 1.0]}}, "with a value twice"),
        (
            {"space": {"learning_rate": {"low": 0.01, "high": 1e9}}},
            "learning_rate is 1000000000.0; it must be a number",
        ),
        ({"space": {"learning_rate": {"low": -1.0, "high": 1.0}}}, "learning_rate is -1.0; it must be above 0"),
        ({"space": {"learning_rate": {"low": 1, "high": 50}}}, "Write low: 1.0, or list values."),
        ({"space": {"model__filters": {"low": 1.5, "high": 50}}}, "model__filters is 1.5; it must be of type int"),
        ({"space": {"model__filtrs": {"low": 1, "high": 50}}}, "Did you mean 'filters'?"),
        ({"space": {"epochs": {"low": 1, "high": 7}}}, "7 combinations of values for cnn with base and makes 8 trials"),
        ({"space": {}}, "1 combinations of values"),
    ],
)
def test_a_search_by_optuna_is_read_strictly(refused, search, said):
    assert said in refused(search={"engine": "optuna", **search})


def test_by_optuna_one_dataset_chooses_for_others(read, refused):
    grid = [{**BLOCK, "datasets": ["trec", "sst2", "subj"]}]
    search = {"engine": "optuna", "space": {"learning_rate": RATE}}
    assert "but Optuna makes other trials on each" in refused(
        grid=grid, search={**search, "datasets": ["trec", "sst2"]}
    )
    for datasets, searched in ((["sst2"], "sst2"), ([], "subj")):
        made = read(grid=grid, search={**search, "datasets": datasets})
        (found,) = made.searches_for(made.cells[-1].combination)
        assert found.dataset == searched


# What is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modles": {}}, "the file has no key 'modles'. Did you mean 'models'?"),
        ({"models": None}, "models is None"),
        ({"models": ["cnn"]}, "map names to options"),
        ({"models": {"cnn": {"epoch": 3}}}, "Did you mean 'epochs'?"),
        ({"models": {"cnn": {"epochs": "3"}}}, "epochs is '3'"),
        ({"models": {"cnn": {"learning_rate": "1e-3"}}}, "learning_rate is '1e-3'"),  # YAML's 1e-3 is a text
        ({"models": {"cnn": {"seed": 3}}}, "the options of trec--cnn--base cannot be used"),
        ({"models": {"cnn": {"model__filter": 3}}}, "Did you mean 'filters'?"),
        ({"models": {"cn": {}}, "grid": [{**BLOCK, "models": ["cn"]}]}, "Unknown model 'cn'. Did you mean 'cnn'?"),
        ({"grid": None}, "the file has grid: None"),
        ({"grid": []}, "It must be a list"),
        ({"grid": BLOCK}, "It must be a list"),
        ({"grid": ["trec"]}, "a block of `grid` is 'trec'"),
        ({"grid": [{**BLOCK, "mask": ["base"]}]}, "Did you mean 'masks'?"),
        ({"grid": [{**BLOCK, "masks": ["vmsk"]}]}, "Unknown mask 'vmsk'. Did you mean 'vmask'?"),
        ({"grid": [{**BLOCK, "masks": "base"}]}, "masks: 'base'. It must be a list"),
        ({"grid": [{**BLOCK, "datasets": "trec"}]}, "datasets: 'trec'. It must be a list"),
        ({"grid": [{**BLOCK, "models": "cnn"}]}, "models: 'cnn'. It must be a list"),
        ({"grid": [{"models": ["cnn"]}]}, "datasets: None"),
        ({"grid": [{**BLOCK, "models": ["lstm"]}]}, "the grid has model 'lstm', which `models` does not list"),
        ({"grid": [{**BLOCK, "variants": {"a/b": {}}}]}, "variant 'a/b' cannot be part of a file's name"),
        ({"grid": [{**BLOCK, "variants": ["a"]}]}, "variants is ['a']"),
        ({"grid": [{**BLOCK, "options": ["epochs"]}]}, "a block of `grid` has options: ['epochs']"),
        ({"grid": [{**BLOCK, "options": {"epocs": 6}}]}, "Did you mean 'epochs'"),
        ({"stages": STAGE}, "It must be a list"),
    ],
)
def test_what_cannot_be_is_said_with_the_fix(refused, changes, said):
    assert said in refused(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metric": ["aopc"]}, "Did you mean 'metrics'?"),
        ({"metrics": ["aopcc"]}, "Unknown metric 'aopcc'. Did you mean 'aopc'?"),
        ({"metrics": None}, "has no metrics"),
        ({"metrics": {"aopc": {"kk": 3}}}, "Unknown option 'aopc.kk'"),
        ({"explainers": ["lim"]}, "Unknown explanation method 'lim'. Did you mean 'lime'?"),
        ({"explainers": {"lime": {"sample": 3}}}, "Did you mean 'samples'?"),
        ({"where": {"mask": ["base"]}}, "where has no key 'mask'. Did you mean 'masks'?"),
        ({"where": {"masks": ["vmsk"]}}, "asks for mask 'vmsk', which no cell has. Did you mean 'vmask'?"),
        ({"where": {"masks": ["l2"]}}, "Available: base, vmask."),
        ({"where": {"datasets": ["trek"]}}, "Did you mean 'trec'?"),
        ({"where": {"seeds": [4]}}, "asks for seed 4, which no cell has"),
        ({"where": {"masks": "base"}}, "where.masks is 'base'"),
        ({"hide": ["cover"]}, "Unknown way of hiding 'cover'"),
        ({"hide": "remove"}, "It must be a list"),
        ({"n": 0}, "n of a stage is 0"),
        ({"n": "20"}, "n of a stage is '20'"),
        ({"examples": -1}, "examples of a stage is -1"),
        ({"name": None}, "the name of a stage is None"),
        ({"name": "a/b"}, "the name of a stage is 'a/b'"),
        ({"name": "train"}, "names already"),
        ({"name": "search"}, "names already"),
        ({"confidence_of": "base", "metrics": ["log_odds"]}, "confidence_of, which is for aopc"),
        ({"confidence_of": "vmsk", "metrics": ["aopc"]}, "Did you mean 'vmask'?"),
        ({"ranking": "vmsk"}, "Did you mean 'vmask'?"),
    ],
)
def test_a_stage_is_read_strictly(refused, changes, said):
    stage = {key: one for key, one in {**STAGE, **changes}.items() if one is not None or key == "metrics"}
    stage.setdefault("name", None)
    assert said in refused(stages=[stage])


def test_two_cells_of_one_key_are_refused(refused, tmp_path):
    again = {**BLOCK, "masks": ["base"]}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.csv").touch()
    said = refused(grid=[{**again, "datasets": ["a/mine.csv", "b/mine.csv"]}])
    assert "there are two cells mine--cnn--base--s0" in said
    said = refused(grid=[{**again, "variants": {"x": {"epochs": 1}}}, {**again, "variants": {"x": {"epochs": 2}}}])
    assert "there are two cells trec--cnn--base--x--s0" in said


def test_a_cell_that_stands_in_two_blocks_is_one(read):
    cells = read(grid=[{**BLOCK, "masks": ["base"]}, {**BLOCK, "seeds": "0-1"}]).cells
    assert len(cells) == 4
    assert cells[0].key == "trec--cnn--base--s0"


def test_a_file_that_is_missing_or_no_yaml_is_said(tmp_path):
    with pytest.raises(FileMissing, match="There is no file"):
        read_experiment(tmp_path / "none.yaml")
    (tmp_path / "a.yaml").write_text("grid: [")
    with pytest.raises(ConfigError, match="is not YAML"):
        read_experiment(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00grid")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_experiment(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text("just words")
    with pytest.raises(ConfigError, match="holds no experiment"):
        read_experiment(tmp_path / "a.yaml")


# Some of the cells ----------------------------------------------------------------------------------------


def test_cells_are_chosen_by_name(read):
    cells = read(grid=[{**BLOCK, "seeds": "0-2"}]).cells
    assert len([cell for cell in cells if parse_where("").fits(cell)]) == 6
    assert len([cell for cell in cells if parse_where("mask=vmask").fits(cell)]) == 3
    assert len([cell for cell in cells if parse_where("mask=vmask, seed=0-1,dataset=trec").fits(cell)]) == 2
    assert parse_where("dataset=trec,dataset=sst2") == Where(datasets=("trec", "sst2"))


def test_cells_of_a_path_are_chosen_by_its_name(read, tmp_path):
    (tmp_path / "Mine.csv").touch()
    (cell,) = read(grid=[{**BLOCK, "datasets": ["Mine.csv"], "masks": ["base"]}]).cells
    assert parse_where("dataset=mine").fits(cell)
    assert parse_where(f"dataset={tmp_path / 'Mine.csv'}").fits(cell)


@pytest.mark.parametrize("text", ["trec", "data=trec", "dataset=", "=trec", "dataset=trec,cnn"])
def test_what_selects_no_cells_is_said(text):
    with pytest.raises(ConfigError, match="selects no cells"):
        parse_where(text)


# The files of this repository -----------------------------------------------------------------------------


EXPERIMENTS = ["paper", "controls", "paper_code", "plausibility", "faithfulness", "recipe", "vectors", "gates"]


@pytest.mark.parametrize("path", [SHIPPED / "smoke.yaml", *(REPRODUCTION / f"{name}.yaml" for name in EXPERIMENTS)])
def test_every_experiment_of_the_repository_can_be_read(path):
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    assert experiment.cells


def test_every_yaml_there_is_an_experiment_or_the_published_numbers():
    assert {path.stem for path in SHIPPED.glob("*.yaml")} == {"search", "smoke"}
    of_lists = "curves"  # needs files that are not in the repository: tests/reproduction/test_rivals.py reads it
    assert {path.stem for path in REPRODUCTION.glob("*.yaml")} == {*EXPERIMENTS, of_lists, "published"}


@pytest.fixture(scope="module")
def paper():
    return read_experiment(REPRODUCTION / "paper.yaml")


def test_the_papers_grid_has_the_cells_that_it_promises(paper):
    count = Counter((cell.combination.dataset, cell.combination.model) for cell in paper.cells)
    for model in ("cnn", "lstm"):
        assert [count[dataset, model] for dataset in ("trec", "sst2", "subj")] == [40] * 3  # 4 methods, 10 seeds
        assert [count[dataset, model] for dataset in ("sst1", "agnews", "yelp")] == [16] * 3  # 2 with 5 seeds, 2 with 3
        assert count["imdb", model] == 7
    assert [count[dataset, "minilm"] for dataset in ("trec", "sst2", "subj")] == [9, 3, 3]
    controls = read_experiment(REPRODUCTION / "controls.yaml")
    assert len({cell.combination.dataset for cell in paper.cells}) == 7
    masks = [{cell.combination.mask for cell in experiment.cells} for experiment in (paper, controls)]
    assert masks[0].isdisjoint(masks[1])
    assert masks[0] | masks[1] == set(MASKS.names()) - {"select"}  # which the paper does not have


def test_every_method_has_as_many_trials_of_its_own_seed(paper):
    for experiment, trials in ((paper, 8), (read_experiment(SHIPPED / "smoke.yaml"), 2)):
        for cell in experiment.cells:
            assert cell.seed != experiment.search.seed
            searched = cell.combination.model in experiment.search.of_models
            assert len(experiment.search.trials_of(cell.combination)) == (trials if searched else 0)


def test_the_shipped_search_by_optuna_can_be_read():
    experiment = read_experiment(SHIPPED / "search.yaml")
    assert experiment.search.engine == "optuna"
    assert all(experiment.searches_for(cell.combination) for cell in experiment.cells)


def test_the_first_trial_is_the_tools_default(paper):
    for of in dict.fromkeys(cell.combination for cell in paper.cells if cell.combination.model != "minilm"):
        first = TextClassifier(of.model, of.mask, **paper.search.trials_of(of)[0]).plan()
        assert first == TextClassifier(of.model, of.mask).plan()


def test_words_are_ranked_by_the_model_itself_or_by_vmask(paper):
    rankings = {}
    for cell in paper.cells:
        for stage in paper.stages_of(cell):
            if stage.name == "words":
                rankings.setdefault(cell.combination.mask, set()).add(stage.ranking)
    assert rankings == {"vmask": {""}, "iba": {""}, "base": {"vmask"}, "word_dropout": {"vmask"}}


def test_the_example_of_the_docs_can_be_read(tmp_path):
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    engine, example = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example + engine, encoding="utf-8")
    experiment = read_experiment(path)
    assert (experiment.engine.engine, experiment.engine.address) == ("ray", "auto")
    assert experiment.resources_of("train") == Resources(cpus=1, gpus=0.25, memory_gb=4)
    assert experiment.resources_of("local").cpus == 2
    assert experiment.resources_of("words") == Resources()
    assert experiment.stages_of(experiment.cells[0])[0].name in ("words", "local")


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        ({"name": "spark"}, "engine"),
        ({"nme": "ray"}, "name"),
        ({"name": "local", "address": "auto"}, "--engine ray"),
        ({"tasks": {"trian": {"cpus": 1}}}, "train"),
        ({"tasks": {"train": {"cpu": 1}}}, "cpus"),
        ({"tasks": {"train": {"gpus": -1}}}, "gpus"),
        ({"tasks": {"train": {"cpus": 0}}}, "cpus"),
        ({"tasks": {"train": 4}}, "tasks"),
        ("ray", "engine"),
    ],
)
def test_a_wrong_engine_is_refused_where_the_file_is_read(tmp_path, engine, says):
    with pytest.raises(ConfigError, match=says):
        read_experiment(write_tiny(tmp_path, engine=engine))
