"""`vmask compare`: two models on the same texts, or two evaluations that were saved."""

from __future__ import annotations

import json
import shutil

import pytest

from toy import toy_texts, write_csv
from vmask import TextClassifier, compare
from vmask._core import files
from vmask.cli.compare import COMPARISON
from vmask.evaluation.compare import NOTHING
from vmask.persistence.model_folder import digest_of

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike

QUICK = ["--metrics", "accuracy,aopc,frequency_correlation", "--explainers", "lime,mask", "--lime.samples", "30"]


def stars(labels):
    return [5 if label == "pos" else 1 for label in labels]


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A file of twelve texts."""
    texts, labels = toy_texts(12, seed=9)
    return write_csv(tmp_path_factory.mktemp("few") / "few.csv", texts, stars(labels), header=("review", "stars"))


def read_json(text):
    """JSON that has no NaN."""

    def refuse(constant):
        raise AssertionError(f"JSON has no {constant}")

    return json.loads(text, parse_constant=refuse)


def test_two_models_make_a_table_and_words_below(vmask, trained, other_seed, few, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    done = vmask("compare", trained, other_seed, few, *QUICK)
    assert (done.code, done.err) == (0, "few.csv is a single file: all of its 12 texts are measured.\n")
    assert done.lines[0].split() == ["metric", "by", "hidden", "by", "A", "B", "B", "minus", "A", "p", "(Holm)"]
    rows = {tuple(line.split()[:4]): line.split() for line in done.lines if "↑" in line}
    assert {("aopc", "↑", by, hide) for by in ("lime", "mask") for hide in ("remove", "zero")} < set(rows)
    assert not any("random" in line for line in done.lines)
    a, b = (vmask("evaluate", model, few, "--json").json["accuracy"] for model in (trained, other_seed))
    accuracy = next(line.split() for line in done.lines if line.startswith("accuracy ↑"))
    assert accuracy[2:5] == [f"{a:.3f}", f"{b:.3f}", f"{b - a:+.3f}"]
    assert "not tested: the examples are words, not texts: frequency_correlation pearson (mask)" in done.lines
    count = len(few.read_text().splitlines()) - 1  # without the header
    assert f"A is {trained}, B is {other_seed}; n {count}. The same texts are paired: " in " ".join(done.lines)
    assert "1 test of metrics that compare models and, apart, 4 of those that do not (Holm)." in " ".join(done.lines)


def test_a_model_against_itself_shows_nothing(vmask, trained, few):
    done = vmask("compare", trained, trained, few, "--metrics", "accuracy,macro_f1")
    assert f"{NOTHING}: accuracy, macro_f1" in done.lines
    assert "no difference that this sample can show" in done.out
    assert all(line.split()[-1] == "1.000" for line in done.lines if "↑" in line)


def test_json_has_every_row(vmask, trained, base_model, few):
    done = vmask("compare", trained, base_model, few, "--json", *QUICK[:1], "accuracy,stability,aopc", *QUICK[2:])
    (line,) = done.lines
    result = read_json(line)
    assert (result["a"], result["b"], result["models"]) == ("A", "B", [1, 1])
    assert result["facts"]["data"] == str(few)
    assert "paired" in result["how"]
    assert result["notes"] == [
        "few.csv is a single file: all of its 12 texts are measured.",
        "mask is left out, because the model gives words no importance.",
        "aopc by mask is not compared: it was measured for only one of the two.",
    ]
    assert done.err.splitlines() == result["notes"]
    assert {(row["metric"], row["by"]) for row in result["rows"]} == {
        ("accuracy", ""),
        ("aopc", "lime"),
        ("stability", "lime"),
    }
    for row in result["rows"]:
        assert {"part", "hide", "a", "b", "p_holm", "better", "compares", "verdict"} <= set(row)
        assert row["difference"]["value"] == pytest.approx(row["b"] - row["a"])
        assert row["difference"]["low"] <= row["difference"]["value"] <= row["difference"]["high"]
        assert row["compares"] == (row["metric"] != "aopc")


@pytest.mark.full
def test_out_has_the_comparison_and_both_evaluations(vmask, fails, trained, other_seed, few, tmp_path):
    out = tmp_path / "out"
    words = ["compare", trained, other_seed, few, *QUICK, "--out", out]
    done = vmask(*words)
    assert done.lines[-1] == f"saved to {out}"
    kept = {f"explanations/{name}.{end}" for name in ("lime", "mask", "random") for end in ("json", "jsonl")}
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    each = {"scores.json", "values.jsonl", *kept}
    assert there == {"comparison.json", *(f"{side}/{name}" for side in "ab" for name in each)}
    saved = read_json((out / "comparison.json").read_text(encoding="utf-8"))
    assert saved == vmask(*words[:-2], "--json").json
    for side, model in (("a", trained), ("b", other_seed)):
        scores = read_json((out / side / "scores.json").read_text(encoding="utf-8"))["scores"]
        assert scores == vmask("evaluate", model, few, *QUICK, "--json").json["scores"]

    err = fails("compare", "no-model", "no-model", "no-data", "--out", out)
    assert "has a comparison.json already. Choose another folder for --out, or add --overwrite." in err
    assert vmask(*words, "--overwrite").out == done.out

    again = vmask("compare", out / "a", out / "b")
    assert again.code == 0
    assert [line for line in again.lines if "↑" in line] == [line for line in done.lines if "↑" in line]
    vmask("compare", out / "a", out / "b", "--out", tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["comparison.json"]


def test_evaluations_that_were_saved_are_compared_without_data(vmask, fails, trained, other_seed, few, tmp_path):
    for model, name in ((trained, "one"), (other_seed, "two")):
        vmask(
            "evaluate", model, few, "--metrics", "accuracy,prob_drop", "--explainers", "mask", "--out", tmp_path / name
        )
    words = ["compare", tmp_path / "one", tmp_path / "two"]
    done = vmask(*words, "--json")
    assert [row["part"] for row in done.json["rows"]] == ["", "k=5", "k=5"]
    parts = [row["part"] for row in vmask(*words, "--json", "--all-parts").json["rows"]]
    assert parts == ["", *2 * [f"k={k}" for k in range(1, 6)]]
    assert f"A is {tmp_path / 'one'}, B is {tmp_path / 'two'}; n " in " ".join(vmask(*words).lines)
    for more in (["--metrics", "accuracy"], ["--lime.samples", "9"], ["--explain-hide", "zero"], ["--split", "dev"]):
        assert f"{more[0]} is for models, and these are evaluations, measured already." in fails(*words, *more)
    (tmp_path / "two" / "values.jsonl").write_text("{}\n", encoding="utf-8")
    assert "is damaged" in fails(*words)


def test_evaluations_of_other_texts_do_not_compare(vmask, fails, trained, few, tmp_path):
    for n, name in ((5, "one"), (6, "two")):
        vmask("evaluate", trained, few, "--n", n, "--out", tmp_path / name)
    assert "differ in their texts" in fails("compare", tmp_path / "one", tmp_path / "two")


def test_models_without_data_are_an_error_that_names_the_fix(vmask, fails, trained, other_seed, few, tmp_path):
    err = fails("compare", trained, other_seed)
    assert f"{trained} has no scores.json, so it is no evaluation." in err
    assert "name the data too: vmask compare DIR_A DIR_B DATA" in err
    vmask("evaluate", trained, few, "--out", tmp_path / "one")
    assert f"{other_seed} has no scores.json" in fails("compare", tmp_path / "one", other_seed)


def test_one_model_against_several_is_refused_before_any_work(fails, trained, other_seed):
    err = fails("compare", trained, f"{trained},{other_seed}", "no-data.csv")
    assert "DIR_A names 1 and DIR_B 2 model folders. Give one of each, or at least two of each." in err
    assert "DIR_A names 2 and DIR_B 1 " in fails("compare", f"{trained},{other_seed}", trained, "no-data.csv")


def test_several_trainings_of_each_are_compared_by_their_means(vmask, trained, other_seed, few):
    both = f"{trained},{other_seed}"
    done = vmask("compare", both, both, few, "--metrics", "accuracy")
    assert "Means of 2 and 2 trainings are compared (Welch's t)." in " ".join(done.lines)
    assert vmask("compare", both, both, few, "--metrics", "accuracy", "--json").json["models"] == [2, 2]


def test_a_model_that_is_not_there_is_said_before_any_work(fails, trained, few):
    assert "There is no model folder none" in fails("compare", trained, "none", few)
    assert "No folder fits 'none*'" in fails("compare", "none*", trained, few)
    assert "There is no file" in fails("compare", trained, trained, "none.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metrics", "acuracy"], "Did you mean 'accuracy'?"),
        (["--metrics", "aopc", "--aopcc.k", "3"], "Did you mean 'aopc'?"),
        (["--metrics", "aopc", "--naopc.beam", "3"], "Add naopc, or leave it out."),
        (["--planted"], "Unknown argument '--planted'."),
    ],
)
def test_a_wrong_option_is_said_before_a_model_is_loaded(fails, words, message):
    assert message in fails("compare", "no-model", "no-model", "no-data", *words)


def test_both_are_asked_about_the_same_column(vmask, trained, other_seed, tmp_path):
    """Each model would else read the column that it was trained on."""
    data = tmp_path / "two.csv"
    rows = "".join(f"lovely film {i},awful film {i},{5 if i % 2 else 1}\n" for i in range(10))
    data.write_text(f"review,title,stars\n{rows}", encoding="utf-8")
    config = other_seed / "config.json"
    folder = tmp_path / "other"
    shutil.copytree(other_seed, folder)
    about = json.loads(config.read_text(encoding="utf-8"))
    about["about"]["text"] = "title"
    (folder / "config.json").write_text(json.dumps({**about, "digest": digest_of(about)}), encoding="utf-8")
    out = tmp_path / "out"
    assert vmask("compare", trained, folder, data, "--out", out).code == 0
    digests = {json.loads((out / side / "scores.json").read_text())["facts"]["texts"] for side in ("a", "b")}
    assert len(digests) == 1
    found = compare(TextClassifier.load(trained), [TextClassifier.load(folder)], data)  # as in Python
    assert {one.facts["texts"] for one in (found.a, found.b)} == digests
    assert len(found.a.ids) == 10


def test_evaluations_that_are_there_are_not_replaced(vmask, fails, trained, other_seed, reviews_csv, tmp_path):
    assert vmask("evaluate", trained, reviews_csv, "--out", tmp_path / "out" / "a").code == 0
    assert "has a a/scores.json already" in fails(
        "compare", trained, other_seed, reviews_csv, "--out", tmp_path / "out"
    )


def test_evaluations_of_several_trainings_are_put_together(
    vmask, trained, other_seed, base_model, reviews_csv, tmp_path
):
    for name, model in (("v0", trained), ("v1", other_seed), ("b0", base_model), ("b1", base_model)):
        assert vmask("evaluate", model, reviews_csv, "--out", tmp_path / name).code == 0
    result = vmask("compare", f"{tmp_path}/b*", f"{tmp_path}/v0,{tmp_path}/v1", "--json").json
    assert result["models"] == [2, 2]


def test_html_sets_the_models_side_by_side(vmask, fails, trained, base_model, few, tmp_path):
    page = tmp_path / "page.html"
    words = ["compare", trained, base_model, few, "--metrics", "accuracy,aopc", *QUICK[2:], "--html", page]
    done = vmask(*words)
    assert (done.code, done.lines[-1]) == (0, f"saved to {page}")
    html = page.read_text(encoding="utf-8")
    assert f"A is {trained.name}, B is {base_model.name}." in html
    assert html.count('<p class="said"') == 12 * (2 + 1)  # by LIME of both, by the mask of the one that has it
    assert "(lime, remove)" in html
    assert f"{page} exists. Choose another file, or add --overwrite" in fails(*words)
    assert vmask(*words, "--overwrite", "--json").json["html"] == str(page)
    assert page.read_text(encoding="utf-8") == html
    assert "--html shows texts" in fails("compare", trained, base_model, "--html", tmp_path / "other.html")
    unlabelled = [*words[:4], "--metrics", "prob_drop", "--unlabelled", *QUICK[2:], "--html", tmp_path / "third.html"]
    assert vmask(*unlabelled).code == 0
    assert "true class" not in (tmp_path / "third.html").read_text(encoding="utf-8")


def test_one_that_was_cut_off_while_it_wrote_goes_on(
    vmask, fails, trained, other_seed, reviews_csv, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    words = [
        "compare",
        trained,
        other_seed,
        reviews_csv,
        "--out",
        out,
        "--html",
        out / "page.html",
        "--metrics",
        "accuracy",
    ]
    written = files.write_text

    def stop(path, text):
        if path.name == COMPARISON:
            raise KeyboardInterrupt
        written(path, text)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_text", stop)
        assert vmask(*words).code != 0
    assert not (out / COMPARISON).exists()
    assert "already" in fails(*words, "--seed", "1")
    assert vmask(*words).code == 0
    assert sorted(path.name for path in out.iterdir()) == ["a", "b", COMPARISON, "page.html"]
    assert "already" in fails(*words)
