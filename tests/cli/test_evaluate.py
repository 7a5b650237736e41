"""`vmask evaluate`: a file whole, a dataset by its split; metrics of predictions and of explanations."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from toy import BAD, GOOD, toy_texts, write_csv
from vmask import TextClassifier, evaluate
from vmask._core.locks import only_writer
from vmask.cli import main
from vmask.cli.evaluate import model_folders
from vmask.errors import ModelFolderError
from vmask.evaluation.result import SCORES, VALUES
from vmask.explain import api
from vmask.metrics import METRICS
from vmask.metrics.contract import Facts

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike

QUICK = ["--explainers", "lime,mask", "--lime.samples", "30"]
OF_PEOPLE = {"token_f1", "iou_f1", "auprc"}


def stars(labels):
    return [5 if label == "pos" else 1 for label in labels]


@pytest.fixture
def folder(tmp_path):
    """A folder of splits with the columns of training, and another text column."""
    path = tmp_path / "mine"
    path.mkdir()
    for name, n in (("train", 40), ("dev", 20), ("test", 30)):
        texts, labels = toy_texts(n, seed=n)
        lines = "".join(f'"{t}",x,{s}\n' for t, s in zip(texts, stars(labels), strict=True))
        (path / f"{name}.csv").write_text(f"review,comment,stars\n{lines}", encoding="utf-8")
    return path


def test_a_single_file_is_scored_whole(vmask, trained, reviews_csv):
    result = vmask("evaluate", trained, reviews_csv, "--json").json
    assert result["n"] == 120
    assert result["data"] == str(reviews_csv)
    assert {"accuracy", "macro_f1"} <= set(result)
    assert "reviews.csv is a single file: all of its 120 texts are measured." in result["notes"]


@pytest.mark.parametrize("kind", [str, Path])
def test_python_and_the_command_line_measure_the_same_rows(vmask, trained, reviews_csv, folder, kind):
    """By the columns of training, also where the guess would be others."""
    classifier = TextClassifier.load(trained)
    for data, n in ((reviews_csv, 120), (folder, 30)):
        found = evaluate(classifier, kind(data))
        shown = vmask("evaluate", trained, data, "--json").json
        assert len(found.ids) == shown["n"] == n
        assert found.score("accuracy").value == shown["accuracy"]
        assert list(found.notes) == shown["notes"]
        assert found.facts == shown["facts"]


def test_python_leaves_labels_out_as_the_command_line_does(vmask, trained, tmp_path):
    data = tmp_path / "plain.jsonl"
    data.write_text('{"review": "a lovely film"}\n{"review": "an awful film"}\n', encoding="utf-8")
    found = evaluate(TextClassifier.load(trained), data, "sparsity", "occlusion", labelled=False)
    shown = vmask(
        "evaluate", trained, data, "--metrics", "sparsity", "--explainers", "occlusion", "--unlabelled", "--json"
    )
    assert found.facts == shown.json["facts"]
    assert (
        list(found.notes) == shown.json["notes"] == ["plain.jsonl is a single file: all of its 2 texts are measured."]
    )


def test_the_accuracy_is_the_share_of_right_labels(vmask, trained, tmp_path):
    texts, labels = toy_texts(40, seed=7)
    data = write_csv(tmp_path / "a.csv", texts, stars(labels), header=("review", "stars"))
    predicted = TextClassifier.load(trained).predict(texts).tolist()
    right = sum(one == str(two) for one, two in zip(predicted, stars(labels), strict=True))
    assert vmask("evaluate", trained, data, "--json").json["accuracy"] == right / 40
    shown = vmask("evaluate", trained, data)
    assert shown.out.startswith(f"accuracy {right / 40:.4f}")
    assert shown.err == "a.csv is a single file: all of its 40 texts are measured.\n"


def test_a_dataset_is_scored_on_its_split_by_the_columns_of_training(vmask, trained, folder):
    assert vmask("evaluate", trained, folder, "--json").json["n"] == 30
    assert vmask("evaluate", trained, folder, "--json", "--split", "dev").json["n"] == 20
    assert vmask("evaluate", trained, folder, "--json", "--split", "train").json["data"] == "mine train"


def test_a_split_that_is_not_there_names_those_that_are(fails, trained, folder):
    assert "Did you mean 'test'? Available: dev, test, train" in fails("evaluate", trained, folder, "--split", "tset")


def test_a_split_of_a_single_file_is_refused(fails, trained, reviews_csv):
    assert "measured whole. Leave the split out" in fails("evaluate", trained, reviews_csv, "--split", "test")


@pytest.mark.parametrize("label", [1, 5])
def test_a_file_with_one_of_the_classes_can_be_scored(vmask, trained, tmp_path, label):
    data = write_csv(tmp_path / "a.csv", ["a lovely film", "an awful film"], [label] * 2, header=("review", "stars"))
    result = vmask("evaluate", trained, data, "--json").json
    assert result["n"] == 2
    assert 0 <= result["accuracy"] <= 1


def test_columns_can_be_named(vmask, fails, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful"], [5, 1], header=("body", "score"))
    assert "There is no column 'review'" in fails("evaluate", trained, data)
    assert vmask("evaluate", trained, data, "--text", "body", "--label", "score", "--json").json["n"] == 2


def test_labels_that_the_model_does_not_know_are_named(fails, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful"], [5, 3], header=("review", "stars"))
    err = fails("evaluate", trained, data)
    assert "not trained on: 3." in err
    assert "It knows: 1, 5." in err


def test_rows_without_a_label_are_left_out_and_counted(vmask, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["lovely", "awful", "fine", ""], [5, 1, "nan", 1], header=("review", "stars"))
    done = vmask("evaluate", trained, data, "--json")
    assert done.json["n"] == 2
    assert "Left out 1 row without a text." in done.err
    assert "Left out 1 row without a label." in done.err
    assert len(done.err.splitlines()) == len(done.json["notes"]) == 3  # each is said once
    assert vmask("evaluate", trained, data, "--json", "--quiet").err == ""


def test_a_model_without_word_scores_is_scored_too(vmask, base_model, reviews_csv):
    assert vmask("evaluate", base_model, reviews_csv, "--json").json["n"] == 120


def test_a_folder_that_is_no_model_is_said(fails, tmp_path, reviews_csv):
    assert "There is no model folder" in fails("evaluate", tmp_path / "none", reviews_csv)
    assert "not a complete model folder" in fails("evaluate", tmp_path, reviews_csv)


def test_labels_of_a_model_fitted_in_python_are_compared_by_their_text(vmask, tmp_path):
    texts, labels = toy_texts(40)
    model = TextClassifier(mask="base", embeddings="random", epochs=1).fit(texts, stars(labels)).save(tmp_path / "m")
    data = tmp_path / "a.jsonl"
    rows = [json.dumps({"text": t, "label": s}) for t, s in zip(texts, stars(labels), strict=True)]
    data.write_text("\n".join(rows), encoding="utf-8")
    assert vmask("evaluate", model, data, "--json").json["n"] == 40


# Metrics and explainers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A file of twelve texts."""
    texts, labels = toy_texts(12, seed=9)
    return write_csv(tmp_path_factory.mktemp("few") / "few.csv", texts, stars(labels), header=("review", "stars"))


def refuse(constant):
    raise AssertionError(f"JSON has no {constant}")


def read_json(text):
    """JSON that has no NaN."""
    return json.loads(text, parse_constant=refuse)


def measured(result):
    return {score["metric"] for score in result["scores"]}


def by(result, metric):
    return {score["by"] for score in result["scores"] if score["metric"] == metric}


def column(out, head):
    """The first header line that starts with `head`, in words."""
    return next(line for line in out.splitlines() if line.startswith(head)).split()


def test_all_metrics_are_those_that_apply_and_the_others_are_said(vmask, trained, few, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    done = vmask("evaluate", trained, few, "--metrics", "all", *QUICK)
    assert done.code == 0
    left_out = {line.split()[0] for line in done.err.splitlines() if "is left out" in line}
    assert left_out == OF_PEOPLE | {"shortcut_precision", "micro_f1"}
    assert "no words were planted; use `vmask evaluate --planted`." in done.err
    shown = {line.split()[0] for line in done.lines if line.strip()}
    of_predictions = {name for name in METRICS.names() if Facts.read(name).family == "prediction"} - left_out
    assert set(METRICS.names()) - left_out - of_predictions <= shown
    assert all(name.replace("_", " ") in done.lines[0] for name in of_predictions)
    assert column(done.out, "metric")[3:] == ["lime", "mask", "random"]
    assert "accuracy 0." in done.lines[0]
    assert "macro f1 " in done.lines[0]
    assert done.lines[0].endswith(f"n 12  ({few})")
    assert all(len(line.rstrip()) <= 110 for line in done.lines[1:] if not line.startswith("top words"))
    assert any(line.startswith("top words by lime for ") for line in done.lines)
    assert any(
        line.startswith("top words by mask, of those seen 3 times or more in these texts: ") for line in done.lines
    )


def test_a_metric_can_be_taken_out_of_all(vmask, trained, few):
    result = vmask("evaluate", trained, few, "--metrics", "all,-naopc", *QUICK, "--json").json
    assert measured(result) == set(METRICS.names()) - OF_PEOPLE - {"shortcut_precision", "micro_f1", "naopc"}
    assert by(result, "aopc") == {"lime", "mask", "random"}
    assert result["facts"]["explainers"]["lime"]["samples"] == 30


def test_a_costly_metric_says_so_before_and_quiet_says_nothing(vmask, trained, few):
    words = ["evaluate", trained, few, "--metrics", "naopc", "--explainers", "mask"]
    done = vmask(*words)
    assert done.err.splitlines()[1].startswith("naopc: 12 texts, about ")
    quiet = vmask(*words, "--quiet")
    assert quiet.err == ""
    assert quiet.out == done.out


def test_json_has_every_score_with_its_interval(vmask, trained, few):
    done = vmask("evaluate", trained, few, "--metrics", "all,-naopc", *QUICK, "--json")
    (line,) = done.lines
    result = read_json(line)
    assert result["n"] == 12
    assert result["data"] == result["facts"]["data"] == str(few)
    assert {"accuracy", "macro_f1", "calibration_error"} <= set(result)
    for score in result["scores"]:
        assert {"metric", "part", "by", "hide", "value", "low", "high", "n", "how"} <= set(score)
        assert score["n"] > 0
        assert score["how"]
    accuracy = next(score for score in result["scores"] if score["metric"] == "accuracy")
    assert accuracy["value"] == result["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    assert {score["hide"] for score in result["scores"] if score["metric"] == "aopc"} == {"remove", "zero"}
    assert result["labels"] == ["1", "5"]
    (table,) = result["confusion"]
    assert sum(map(sum, table)) == 12
    assert (table[0][0] + table[1][1]) / 12 == result["accuracy"]
    assert any("is left out" in note for note in result["notes"])
    assert result["words"]["mask"]["mean"]
    assert "ids" not in result


def test_an_option_of_a_metric_changes_it_alone(vmask, trained, few):
    words = ["evaluate", trained, few, "--metrics", "aopc,prob_drop", "--explainers", "mask", "--hide", "unk", "--json"]
    plain, three = vmask(*words).json, vmask(*words, "--aopc.k", 3).json
    assert three["metrics"] == {**plain["metrics"], "aopc": {"k": 3, "temperature": None}}
    for one, two in zip(plain["scores"], three["scores"], strict=True):
        assert (one == two) == (one["metric"] != "aopc"), one
    values = {(score["metric"], score["part"]): score["value"] for score in three["scores"] if score["by"] == "mask"}
    assert values["aopc", ""] == pytest.approx(sum(values["prob_drop", f"k={k}"] for k in (1, 2, 3)) / 3)


def test_every_part_is_shown_where_asked(vmask, trained, few):
    words = ["evaluate", trained, few, "--metrics", "prob_drop", "--explainers", "mask", "--hide", "unk"]
    assert [line.split()[1] for line in vmask(*words).lines if line.startswith("prob_drop")] == ["k=5"]
    parts = [line.split()[1] for line in vmask(*words, "--all-parts").lines if line.startswith("prob_drop")]
    assert parts == ["k=1", "k=2", "k=3", "k=4", "k=5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metrics", "aopcc"], "Unknown metric 'aopcc'. Did you mean 'aopc'?"),
        (["--metrics", "all,-naop"], "Unknown metric 'naop'. Did you mean 'naopc'?"),
        (["--explainers", "lim"], "Unknown explanation method 'lim'. Did you mean 'lime'?"),
        (["--hide", "remove,zro"], "Unknown way of hiding 'zro'. Did you mean 'zero'?"),
        (["--explain-hide", "zro"], "Did you mean 'zero'?"),
        (["--metrics", "aopc", "--naopc.beam", "3"], "an option of naopc, which is not asked for. Add naopc, or"),
        (["--explainers", "mask", "--lime.samples", "9"], "an option of lime, which is not asked for. Add lime, or"),
        (["--metrics", "aopc", "--aopc.kk", "3"], "Unknown argument '--aopc.kk'. Did you mean '--aopc.k'?"),
        (["--metrics", "aopc", "--aopcc.k", "3"], "Unknown metric or explanation method 'aopcc'. Did you mean 'aopc'?"),
        (["--metrics", "aopc", "--aopc.k", "0"], "k is 0; it must be at least 1."),
        (["--metrics", "aopc", "--aopc.k", "few"], "argument --aopc.k: 'few' is not a whole number"),
        (["--lime.samples=1"], "samples is 1; it must be at least 2."),
        (["--metrics", ","], "There is no metric to measure. Name some in --metrics"),
        (["--n", "0"], "n is 0; it must be at least 1."),
        (["--rank", "signd"], "Did you mean 'signed'?"),
        (["--planted.tokens", "2"], "an option of --planted, but no --planted. Add --planted, or"),
        (["--planted", "--planted.tokens", "0"], "tokens is 0; it must be at least 1."),
        (["--planted", "--planted.share", "2"], "share is 2.0; it must be at most 1."),
        (["--planted", "--split", "dev"], "--planted trains and measures on its own splits. Leave --split"),
        (["--planted", "--unlabelled"], "and --unlabelled out."),
    ],
)
def test_a_wrong_option_is_said_before_the_model_is_loaded(fails, words, message):
    assert message in fails("evaluate", "no-model", "no-data.csv", *words)


def test_a_way_of_hiding_that_the_model_lacks_names_one_that_it_has(fails, trained, few):
    assert "no token to hide a word by 'mask'. Use hide=unk." in fails(
        "evaluate", trained, few, "--metrics", "aopc", "--hide", "mask"
    )


def test_a_metric_that_was_named_and_does_not_apply_is_an_error(fails, trained, few):
    err = fails("evaluate", trained, few, "--metrics", "token_f1", *QUICK)
    assert "token_f1 cannot be measured here, because the dataset has no human rationales." in err


def test_help_lists_the_options_of_the_metrics_that_are_named(vmask):
    assert "--aopc.k" not in vmask("evaluate", "--help").out
    assert "--lime.samples 500" in vmask("evaluate", "--help").out
    shown = vmask("evaluate", "--aopc.k", "3", "--lime.samples=9", "--help").out
    assert "metric aopc:" in shown
    assert "--aopc.k INT" in shown
    assert "--lime.kernel-width" in shown
    assert "--naopc.beam" not in shown


def test_texts_that_are_explained_are_a_sample(vmask, trained, few):
    result = vmask("evaluate", trained, few, "--metrics", "accuracy,aopc", *QUICK, "--n", 5, "--json").json
    counts = {score["metric"]: score["n"] for score in result["scores"]}
    assert counts == {"accuracy": 12, "aopc": 5}
    assert result["n"] == 12
    assert result["facts"]["n"] == 5


def test_a_file_with_one_row_has_values_without_intervals(vmask, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", ["a lovely film"], [5], header=("review", "stars"))
    words = ["evaluate", trained, data, "--metrics", "all", *QUICK]
    done = vmask(*words)
    assert done.code == 0
    aopc = next(line for line in done.lines if line.startswith("aopc"))
    assert "[" not in aopc
    result = read_json(vmask(*words, "--json").out)
    assert result["n"] == 1
    score = next(score for score in result["scores"] if score["metric"] == "aopc")
    assert (score["n"], score["low"], score["high"]) == (1, None, None)
    assert score["value"] is not None


def test_texts_without_any_words_have_no_values(vmask, reviews_csv, tmp_path):
    options = ["--embeddings", "random", "--epochs", "1", "--model.filters", "4", "--cleaning", "paper", "--quiet"]
    assert main(["train", str(reviews_csv), "--out", str(tmp_path / "model"), *options]) == 0
    data = write_csv(tmp_path / "a.csv", ["\u7535\u5f71", "\u597d"], [5, 1], header=("review", "stars"))
    words = ["evaluate", tmp_path / "model", data, "--metrics", "all", *QUICK]
    done = vmask(*words)
    assert done.code == 0
    assert next(line for line in done.lines if line.startswith("aopc")).split()[3:] == ["–"] * 3
    result = read_json(vmask(*words, "--json").out)
    assert {score["value"] for score in result["scores"] if score["metric"] in ("aopc", "naopc", "sparsity")} == {None}
    assert result["accuracy"] == 0.5


def test_marked_words_make_metrics_of_people_apply(vmask, trained, tmp_path):
    texts, labels = toy_texts(12, seed=9)
    data = tmp_path / "a.jsonl"
    with data.open("w", encoding="utf-8") as stream:
        for text, star in zip(texts, stars(labels), strict=True):
            word = next(word for word in text.split() if word in GOOD + BAD)
            start = text.index(word)
            row = {"review": text, "stars": star, "rationales": [[start, start + len(word)]]}
            stream.write(json.dumps(row) + "\n")
    done = vmask("evaluate", trained, data, "--metrics", "all,-naopc,-sanity", *QUICK, "--json")
    assert measured(done.json) >= OF_PEOPLE
    assert by(done.json, "token_f1") == {"lime", "mask", "random"}
    assert done.err.splitlines() == [
        "a.jsonl is a single file: all of its 12 texts are measured.",
        "micro_f1 is left out, because each text has one label, and it would be the accuracy.",
        "shortcut_precision is left out, because no words were planted; use `vmask evaluate --planted`.",
    ]
    named = vmask("evaluate", trained, data, "--metrics", "token_f1,iou_f1,auprc", "--explainers", "occlusion")
    assert [line.split()[0] for line in named.lines if "↑" in line] == ["token_f1", "iou_f1", "auprc"]
    assert "hidden by" not in named.out


def test_a_model_without_word_scores_is_ranked_by_another(vmask, fails, base_model, trained, few):
    words = ["evaluate", base_model, few, "--metrics", "post_hoc_accuracy"]
    assert "that of another can be given (ranking, --ranking DIR)" in fails(*words)
    result = vmask(*words, "--ranking", trained, "--json").json
    assert by(result, "post_hoc_accuracy") == {"ranking", "random", "frequency", "tfidf", "majority"}
    assert "gives words no importance" in fails(*words, "--ranking", base_model)
    assert "There is no model folder none" in fails(*words, "--ranking", "none")


def test_a_ranking_is_that_of_the_other_model(vmask, trained, other_seed, few):
    words = ["evaluate", trained, few, "--metrics", "post_hoc_accuracy", "--all-parts", "--json"]

    def curve(done, name):
        return [score["value"] for score in done.json["scores"] if score["by"] == name]

    own, same = vmask(*words), vmask(*words, "--ranking", trained)
    assert curve(own, "mask") == curve(same, "ranking")
    assert curve(own, "mask") != curve(vmask(*words, "--ranking", other_seed), "ranking")


def test_an_explainer_that_the_model_lacks_is_left_out_and_said(vmask, base_model, few):
    done = vmask("evaluate", base_model, few, "--metrics", "aopc", "--explainers", "mask,occlusion")
    assert done.err.splitlines()[1:] == ["mask is left out, because the model gives words no importance."]
    assert column(done.out, "metric")[3:] == ["occlusion", "random"]


# Several models -------------------------------------------------------------------------------------------


@pytest.fixture
def trainings(trained, other_seed, tmp_path):
    """A folder with two trainings of a model, and a file."""
    folder = tmp_path / "runs"
    shutil.copytree(trained, folder / "seed-0")
    shutil.copytree(other_seed, folder / "seed-1")
    (folder / "seed-notes.txt").write_text("nothing", encoding="utf-8")
    return folder


def test_several_models_are_named_by_commas_or_by_a_pattern(vmask, trained, trainings, few):
    words = [few, "--metrics", "accuracy,aopc", "--explainers", "mask"]
    done = vmask("evaluate", f"{trainings / 'seed-0'},{trainings / 'seed-1'}", *words)
    assert done.lines[0].endswith(f"n 12, mean of 2 models  ({few})")
    assert "predicted" not in done.out
    assert vmask("evaluate", trainings / "seed-[01]", *words).out == done.out
    assert vmask("evaluate", trainings / "*", *words).out == done.out
    assert "mean of" not in vmask("evaluate", trained, *words).out
    both = vmask("evaluate", trainings / "*", *words, "--json").json
    each = [vmask("evaluate", trainings / f"seed-{seed}", *words, "--json").json["accuracy"] for seed in (0, 1)]
    assert both["accuracy"] == pytest.approx(sum(each) / 2)
    assert len(both["confusion"]) == both["facts"]["models"] == 2
    assert "2 seeds" in both["scores"][0]["how"]


def test_a_pattern_that_fits_nothing_is_said(fails, trainings, few):
    assert "sed-*'. Check the pattern." in fails("evaluate", trainings / "sed-*", few)
    assert "No folder fits" in fails("evaluate", trainings / "*.txt", few)
    assert "There is no model folder" in fails("evaluate", f"{trainings / 'seed-0'},{trainings / 'seed-2'}", few)


def test_folders_behind_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a", "c[1]"):
        (tmp_path / name).mkdir()
    assert [str(path) for path in model_folders("[ab]")] == ["a", "b"]
    assert [str(path) for path in model_folders("b,a")] == ["b", "a"]
    assert [str(path) for path in model_folders("a,?,a,")] == ["a", "b"]
    assert [str(path) for path in model_folders("c[1]")] == ["c[1]"]
    with pytest.raises(ModelFolderError, match=r"No folder fits 'x\*'"):
        model_folders("a,x*")


# The folder of --out --------------------------------------------------------------------------------------


def files(folder):
    """Path, content and time of every file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


EXPLANATIONS = {f"explanations/{name}.{end}" for name in ("lime", "mask", "random") for end in ("json", "jsonl")}


def test_scores_values_and_explanations_are_written(vmask, trained, few, tmp_path):
    out = tmp_path / "new" / "out"
    words = ["evaluate", trained, few, "--metrics", "accuracy,aopc", *QUICK]
    done = vmask(*words, "--out", out)
    assert done.lines[-1] == f"saved to {out}"
    assert set(files(out)) == {SCORES, VALUES, *EXPLANATIONS}
    saved = read_json((out / SCORES).read_text(encoding="utf-8"))
    printed = vmask(*words, "--json").json
    assert saved["scores"] == printed["scores"]
    assert len(saved["ids"]) == 12
    values = [read_json(line) for line in (out / VALUES).read_text(encoding="utf-8").splitlines()]
    aopc = next(row for row in values if (row["metric"], row["by"], row["hide"]) == ("aopc", "lime", "remove"))
    score = next(
        one for one in saved["scores"] if (one["metric"], one["by"], one["hide"]) == ("aopc", "lime", "remove")
    )
    assert sum(aopc["values"]) / 12 == pytest.approx(score["value"])
    assert len((out / "explanations" / "lime.jsonl").read_text(encoding="utf-8").splitlines()) == 12


def test_json_and_out_go_together(vmask, trained, few, tmp_path):
    done = vmask("evaluate", trained, few, "--metrics", "aopc", *QUICK, "--out", tmp_path / "out", "--json")
    assert measured(done.json) == {"aopc"}
    assert set(files(tmp_path / "out")) == {SCORES, VALUES, *EXPLANATIONS}


def test_a_second_run_is_refused_before_any_work(vmask, fails, trained, few, tmp_path):
    out = tmp_path / "out"
    assert vmask("evaluate", trained, few, "--out", out).code == 0
    before = files(out)
    err = fails("evaluate", "no-model", "no-data", "--out", out)
    assert f"{out} has a scores.json already. Choose another folder for --out, or add --overwrite." in err
    assert "has a scores.json already" in fails("evaluate", "no-model", "no-data", "--out", out, "--planted")
    assert files(out) == before


def test_another_metric_takes_the_explanations_that_are_there(vmask, trained, few, tmp_path, monkeypatch):
    out = tmp_path / "out"
    words = ["evaluate", trained, few, *QUICK, "--out", out]
    vmask(*words, "--metrics", "aopc")
    before = files(out)

    def never(*args, **named):
        raise AssertionError("texts are explained again")

    monkeypatch.setattr("vmask.explain.shards.explain_texts", never)
    assert vmask(*words, "--metrics", "prob_drop", "--overwrite").code == 0
    after = files(out)
    assert {name: after[name] for name in EXPLANATIONS} == {name: before[name] for name in EXPLANATIONS}
    assert measured(read_json(after[SCORES][0])) == {"prob_drop"}


def test_explanations_of_another_model_are_not_taken(vmask, fails, trained, other_seed, few, tmp_path):
    out = tmp_path / "out"
    words = [few, "--metrics", "aopc", *QUICK, "--out", out]
    vmask("evaluate", trained, *words)
    before = files(out)
    (out / SCORES).unlink()
    assert "holds explanations of another model, of other texts or by other options" in fails(
        "evaluate", other_seed, *words
    )
    done = vmask("evaluate", other_seed, *words, "--overwrite")
    assert done.code == 0
    assert files(out)["explanations/lime.jsonl"][0] != before["explanations/lime.jsonl"][0]
    assert done.out.replace(f"saved to {out}\n", "") == vmask("evaluate", other_seed, *words[:-2]).out


def test_one_that_was_cut_off_goes_on_and_ends_the_same(vmask, trained, few, tmp_path, monkeypatch):
    monkeypatch.setattr("vmask.evaluation.run.CHUNK", 4)
    monkeypatch.setattr(api, "CHUNK", 4)
    words = ["evaluate", trained, few, "--metrics", "aopc", *QUICK]
    whole = vmask(*words, "--out", tmp_path / "whole")
    out = tmp_path / "out"
    explain = api.explain_texts
    explained = []

    def counted(predictor, texts, method, *args, **named):
        for explanation in explain(predictor, texts, method, *args, **named):
            explained.append(method)
            if explained.count("lime") > stop:
                raise KeyboardInterrupt
            yield explanation

    monkeypatch.setattr("vmask.explain.shards.explain_texts", counted)
    stop = 6
    cut = vmask(*words, "--out", out)
    assert cut.code == 130
    assert not (out / SCORES).exists()
    assert (out / "explanations" / "lime.jsonl.part").exists()
    stop = 1000
    explained.clear()
    done = vmask(*words, "--out", out)
    assert done.out == whole.out.replace(str(tmp_path / "whole"), str(out))
    assert explained.count("lime") == explained.count("mask") == 8  # the first four were there
    assert {name: content for name, (content, _) in files(out).items()} == {
        name: content for name, (content, _) in files(tmp_path / "whole").items()
    }


def test_an_out_that_is_no_folder_is_said_before_any_work(fails, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("mine", encoding="utf-8")
    assert f"{path} is a file. Name a folder for --out." in fails("evaluate", "no-model", "no-data", "--out", path)
    err = fails("evaluate", "no-model", "no-data", "--out", path / "out", "--overwrite")
    assert "is no folder that can be written to" in err
    assert path.read_text(encoding="utf-8") == "mine"


# Planted words --------------------------------------------------------------------------------------------


def test_planted_words_are_looked_for_in_a_model_trained_anew(vmask, trained, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    words = ["evaluate", trained, folder, "--planted", *QUICK]
    done = vmask(*words)
    assert done.code == 0
    assert "training anew on texts with planted words" in done.err
    assert done.lines[0].startswith("planted: ")
    assert done.lines[1].startswith("the model gives ")
    assert "of the texts the class of their planted word, and changes its mind in " in done.lines[1]
    assert done.lines[2].endswith("n 30  (mine test, words planted)")
    row = next(line for line in done.lines if line.startswith("shortcut_precision ↑"))
    assert column(done.out, "metric") == ["metric", "lime", "mask", "random"]
    quiet = vmask(*words, "--json", "--quiet")
    assert quiet.err == ""
    result = read_json(quiet.out)
    assert f"gives {result['facts']['reliance']['follows']:.1%} of" in done.lines[1]
    assert f"in {result['facts']['reliance']['flips']:.1%} when" in done.lines[1]
    assert done.lines[0] == "planted: " + ", ".join(f"{word} ({k})" for k, word in result["facts"]["planted"].items())
    assert result["facts"]["reliance"]["n"] == 30
    assert result["facts"]["reliance"]["follows"] == result["accuracy"]
    assert measured(result) == {"accuracy", "shortcut_precision"}
    values = {score["by"]: score["value"] for score in result["scores"] if score["headline"] and score["by"]}
    assert row.split()[2::3] == [f"{values[name]:.3f}" for name in ("lime", "mask", "random")]


def test_planted_words_can_stand_more_than_once_and_are_saved(vmask, trained, folder, tmp_path):
    words = ["evaluate", trained, folder, "--planted", "--explainers", "random", "--quiet"]
    out = tmp_path / "out"
    two = vmask(*words, "--planted.tokens", 2, "--out", out)
    assert two.lines[-1] == f"saved to {out}"
    saved = read_json((out / SCORES).read_text(encoding="utf-8"))
    assert saved["facts"]["reliance"]["n"] == 30
    values = [json.loads(line) for line in (out / VALUES).read_text(encoding="utf-8").splitlines()]
    found = next(row["values"] for row in values if (row["metric"], row["part"]) == ("shortcut_precision", ""))
    assert set(found) <= {0, 0.5, 1}  # of two words in each text
    assert 0.5 in found
    once = vmask(*words, "--json").json
    assert once["scores"] != saved["scores"]


def test_planted_words_need_one_model_and_a_dataset(fails, trained, other_seed, folder, reviews_csv):
    err = fails("evaluate", trained, reviews_csv, "--planted")
    assert "is one file. Give a dataset or a folder of splits." in err
    assert "Give one folder." in fails("evaluate", f"{trained},{other_seed}", folder, "--planted")


def test_one_planted_text_has_no_other_class_to_swap_to(vmask, trained, folder):
    test = folder / "test.csv"
    test.write_text("".join(test.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    words = ["evaluate", trained, folder, "--planted", "--explainers", "random"]
    assert read_json(vmask(*words, "--json").out)["facts"]["reliance"]["flips"] is None
    assert vmask(*words).lines[1].endswith("of the texts the class of their planted word")


def test_labels_of_another_kind_can_be_left_out(vmask, fails, trained, tmp_path):
    data = tmp_path / "rated.jsonl"
    rows = [{"review": "a lovely film", "stars": "great", "rationales": [[2, 8]]}] * 3
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    asked = ("evaluate", trained, data, "--metrics", "token_f1", "--explainers", "occlusion")
    assert "--unlabelled" in fails(*asked)
    result = vmask(*asked, "--unlabelled", "--json").json
    assert {score["metric"] for score in result["scores"]} == {"token_f1"}
    assert result["confusion"] == []


def test_no_way_of_hiding_is_refused(fails, trained, reviews_csv):
    assert "no way of hiding words" in fails("evaluate", trained, reviews_csv, "--metrics", "aopc", "--hide", ",")


def test_an_interrupted_run_says_how_to_go_on(vmask, trained, reviews_csv, tmp_path, monkeypatch):
    def stop(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("vmask.evaluation.measure.evaluate", stop)
    done = vmask("evaluate", trained, reviews_csv, "--out", tmp_path / "out")
    assert done.code == 130
    assert "the same command goes on" in done.err
    assert vmask("evaluate", trained, reviews_csv, "--quiet").err.strip() == "interrupted"


def test_a_file_without_labels_is_enough_for_explanations(vmask, fails, trained, tmp_path):
    data = tmp_path / "a.csv"
    data.write_text("review\na lovely film\nan awful evening\n", encoding="utf-8")
    done = vmask("evaluate", trained, data, "--unlabelled", "--metrics", "aopc", "--explainers", "mask", "--json")
    assert done.json["explained"] == 2
    assert "Name other metrics in --metrics" in fails("evaluate", trained, data, "--unlabelled")


def test_a_pattern_without_quotes_is_noticed(fails, trainings, few):
    err = fails("evaluate", trainings / "seed-0", trainings / "seed-1", few)
    assert "put a pattern in quotes" in err


def test_models_of_other_labels_are_no_trainings_of_one(fails, trained, few, tmp_path):
    texts, labels = toy_texts(40)
    other = TextClassifier(embeddings="random", epochs=1, model__filters=4).fit(texts, labels).save(tmp_path / "other")
    assert "different labels" in fails("evaluate", f"{trained},{other}", few)


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_two_into_one_folder_the_second_is_told_at_once(fails, trained, reviews_csv, tmp_path, command):
    models = [trained] if command == "evaluate" else [trained, trained]
    with only_writer(tmp_path / "out"):
        (tmp_path / "out" / "x").touch()
        assert "Another process is writing" in fails(command, *models, reviews_csv, "--out", tmp_path / "out")


def test_planted_words_are_for_one_machine(fails, trained, few):
    assert "on this machine alone" in fails("evaluate", trained, few, "--planted", "--engine", "ray")
