"""`vmask explain`: the words of a text, where they stand, how much each matters."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time

import pytest

from toy import toy_texts, write_csv
from vmask import Explanation, TextClassifier
from vmask.errors import DataError, FileMissing
from vmask.explain import api
from vmask.explain.explanation_file import read_explanations

pytestmark = pytest.mark.filterwarnings("ignore:The masks of all words")  # so short a training may leave them alike


def test_a_text_is_shown_with_its_label_and_top_words(vmask, trained):
    done = vmask("explain", trained, "a lovely film")
    assert done.lines[0] == "a lovely film"
    assert "top words: " in done.lines[1]
    assert done.lines[1].split()[0] in ("1", "5")


@pytest.mark.parametrize(
    "text", ["a lovely film", "Grüße, 电影! cafe\u0301 👍🏽", "", "qwertz", 'say "[bold]hi[/bold]"']
)
def test_json_has_the_words_with_their_offsets_and_scores(vmask, trained, text):
    value = vmask("explain", trained, text, "--json").json
    assert value["text"] == text
    assert value["label"] in ("1", "5")
    for word in value["words"]:
        assert text[word["start"] : word["end"]] == word["word"]
        assert 0 <= word["score"] <= 1
    expected = TextClassifier.load(trained).explain(text)[0]
    assert Explanation.from_dict(value) == expected


def test_brackets_and_colons_are_printed_as_they_are(vmask, tmp_path):
    model = TextClassifier(embeddings="random", epochs=1, duplicates="ignore")
    model.fit(["one", "two"] * 20, ["[b]", ":smile:"] * 20)
    done = vmask("explain", model.save(tmp_path / "m"), "[bold]so[/bold] :smile:")
    assert done.lines[0] == "[bold]so[/bold] :smile:"
    assert done.lines[1].split()[0] in ("[b]", ":smile:")


def test_many_texts_come_from_a_file_or_standard_input(vmask, trained, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("lovely\n\nawful\n", encoding="utf-8")
    data = write_csv(tmp_path / "a.csv", ["lovely", "", "awful"], ["x", "y", "z"], header=("review", "other"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"lovely\n\nawful\n")))
    for source in (tmp_path / "a.txt", data, "-"):
        done = vmask("explain", trained, "--input", source, "--json")
        assert [json.loads(line)["text"] for line in done.lines] == ["lovely", "", "awful"]


def test_words_past_the_length_limit_are_counted(vmask, trained):
    assert "(44 words past the length limit)" in " ".join(vmask("explain", trained, "word " * 300).out.split())
    assert vmask("explain", trained, "word " * 300, "--json").json["unseen"] == 44


def test_a_model_without_word_scores_says_how_to_get_them(fails, base_model):
    said = fails("explain", base_model, "a lovely film")
    assert "Train with `--mask vmask`" in said
    assert said.rstrip().endswith("Or explain it by another method: --method lime")


def test_either_a_text_or_a_file_is_needed(fails, trained, tmp_path):
    assert "Give either a text" in fails("explain", trained)
    assert "Give either a text" in fails("explain", trained, "a text", "--input", tmp_path / "a.txt")


def test_an_unknown_method_names_the_near_one(fails, trained):
    assert "Did you mean 'mask'" in fails("explain", trained, "text", "--method", "msk")


def test_a_missing_input_is_said(fails, trained, tmp_path):
    assert "There is no file" in fails("explain", trained, "--input", tmp_path / "none.txt")
    assert "There is no file" in fails("explain", trained, "--input", "nowhere/none.txt")
    assert "Did you mean 'sst2'" in fails("explain", trained, "--input", "sst22")


# Methods --------------------------------------------------------------------------------------------------


def test_a_signed_method_names_the_words_for_and_against(vmask, trained):
    line = vmask("explain", trained, "a lovely and dreadful film", "--method", "lime").lines[1]
    assert "top words: " in line
    assert "against: " in line
    assert "(fit R² " in line


def test_options_say_how_to_explain(vmask, trained):
    words = ["explain", trained, "a lovely film", "--json", "--method", "lime", "--method.samples", 20]
    value = vmask(*words, "--seed", 3, "--hide", "unk", "--target", "1", "--batch-size", 7, "--workers", 2).json
    assert (value["method"], value["seed"], value["label"]) == ("lime", 3, "1")
    assert (value["options"]["samples"], value["options"]["hide"]) == (20, "unk")
    options = {"samples": 20, "seed": 3, "hide": "unk", "target": 1}
    assert Explanation.from_dict(value) == TextClassifier.load(trained).explain("a lovely film", "lime", **options)[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "lime", "--method.sample", "5"], "Did you mean '--method.samples'?"),
        (["--method.samples", "5"], "method 'mask' has no option '--method.samples'."),
        (["--method", "lime", "--method.samples", "1"], "samples is 1; it must be at least 2."),
        (["--metod", "lime"], "Did you mean '--method'?"),
        (["--method", "lime", "--hide", "zro"], "Did you mean 'zero'?"),
        (["--method", "lime", "--target", "6"], "Unknown label '6'. Available: 1, 5."),
        (["--hide", "zero"], "method=mask hides no words."),
        (["--workers", "0"], "workers is 0; it must be at least 1."),
    ],
)
def test_a_wrong_option_is_said(fails, trained, words, message):
    assert message in fails("explain", trained, "a text", *words)


def test_help_lists_the_options_of_the_chosen_method(vmask):
    assert "--method.samples" not in vmask("explain", "--help").out
    assert "--method.samples" in vmask("explain", "--method", "lime", "--help").out
    assert "no options of its own" in vmask("explain", "--method", "mask", "--help").out


# Many texts -----------------------------------------------------------------------------------------------


@pytest.fixture
def splits(tmp_path):
    """A folder of datasets with one dataset in it."""
    folder = tmp_path / "data" / "mine"
    folder.mkdir(parents=True)
    for name, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_csv(folder / f"{name}.csv", *toy_texts(12, seed), header=("review", "stars"))
    return folder


def texts_of(done):
    return [json.loads(line)["text"] for line in done.lines]


def test_a_dataset_is_known_by_its_folder_or_its_name(vmask, fails, trained, splits):
    for words in (["--input", splits], ["--input", "mine", "--data-dir", splits.parent]):
        assert texts_of(vmask("explain", trained, *words, "--json")) == toy_texts(12, 2)[0]
        assert texts_of(vmask("explain", trained, *words, "--json", "--split", "dev")) == toy_texts(12, 1)[0]
        assert "Did you mean 'test'" in fails("explain", trained, *words, "--split", "tst")
    assert "Leave --split out" in fails("explain", trained, "--input", splits / "dev.csv", "--split", "dev")


def test_a_file_goes_before_a_dataset_of_its_name(vmask, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sst2").write_text("lovely\nawful\n", encoding="utf-8")
    assert texts_of(vmask("explain", trained, "--input", "sst2", "--json")) == ["lovely", "awful"]


def test_the_first_texts_are_enough_where_a_limit_says_so(vmask, trained, splits):
    for source in (splits, splits / "test.csv"):
        done = vmask("explain", trained, "--input", source, "--json", "--limit", 3)
        assert texts_of(done) == toy_texts(12, 2)[0][:3]


def test_texts_before_a_bad_row_are_explained(vmask, trained, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"review": "lovely"}\n{"review": "awful"}\nno json\n', encoding="utf-8")
    done = vmask("explain", trained, "--input", tmp_path / "a.jsonl", "--json")
    assert done.code == 2
    assert texts_of(done) == ["lovely", "awful"]
    assert "Line 3 of 'a.jsonl' is not JSON" in done.err
    done = vmask("explain", trained, "--input", tmp_path / "a.jsonl", "--out", tmp_path / "out.jsonl")
    assert done.code == 2
    assert not (tmp_path / "out.jsonl").exists()  # with the row corrected the same command goes on


def test_a_bar_on_a_terminal_does_not_take_what_is_printed(vmask, trained, splits, monkeypatch):
    plain = vmask("explain", trained, "--input", splits, "--json")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = vmask("explain", trained, "--input", splits, "--json")
    assert done.out == plain.out
    assert "12/12" in done.err
    assert vmask("explain", trained, "--input", splits, "--json", "--quiet").err == ""


def test_a_page_is_written_of_one_text_or_of_many(vmask, fails, trained, splits, tmp_path):
    page = tmp_path / "pages" / "a.html"
    assert vmask("explain", trained, "a lovely film", "--html", page).out == f"1 explanation in {page}\n"
    assert "one text" in page.read_text(encoding="utf-8")
    words = ["explain", trained, "--input", splits, "--method", "lime", "--html", page]
    assert "add --overwrite" in fails(*words)
    assert vmask(*words, "--overwrite").code == 0
    html = page.read_text(encoding="utf-8")
    assert html.count('<li><p class="said"') == 12
    for part in ("mine test", "12 texts", "samples 1000", trained.name, "remove"):
        assert part in html
    assert "is a folder" in fails("explain", trained, "a text", "--html", tmp_path)


# A file of explanations -----------------------------------------------------------------------------------

LIME = ["--method", "lime", "--method.samples", 50]


@pytest.fixture
def small_chunks(monkeypatch):
    """Texts are explained four at a time."""
    monkeypatch.setattr(api, "CHUNK", 4)


@pytest.fixture
def cut_off(monkeypatch):
    """Stop after some explanations, as Control-C does."""
    whole = api.explain_texts

    def after(n):
        def broken(*args, **named):
            for number, explanation in enumerate(whole(*args, **named)):
                if number == n:
                    raise KeyboardInterrupt
                yield explanation

        monkeypatch.setattr(api, "explain_texts", broken if n is not None else whole)

    return after


def test_the_file_has_what_json_prints(vmask, fails, trained, splits, tmp_path):
    words = ["explain", trained, "--input", splits, *LIME]
    out = tmp_path / "new" / "out.jsonl"
    done = vmask(*words, "--out", out)
    assert done.out == f"12 explanations in {out}\n"
    assert out.read_text(encoding="utf-8") == vmask(*words, "--json").out
    assert [path.name for path in out.parent.iterdir()] == ["out.jsonl"]
    assert list(read_explanations(out)) == TextClassifier.load(trained).explain(toy_texts(12, 2)[0], "lime", samples=50)
    assert "out.jsonl exists. Choose another file, or add --overwrite" in fails(*words, "--out", out)
    assert "is a folder" in fails(*words, "--out", tmp_path)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("n", [0, 1, 4, 6, 11])
def test_a_file_that_was_cut_off_is_gone_on_with(vmask, trained, splits, tmp_path, cut_off, n):
    whole, out, page = tmp_path / "whole.jsonl", tmp_path / "out.jsonl", tmp_path / "out.html"
    words = ["explain", trained, "--input", splits, *LIME]
    vmask(*words, "--out", whole)
    cut_off(n)
    done = vmask(*words, "--out", out, "--html", page)
    hint = "; the same command goes on" if n else ""  # with no line there is nothing to go on with
    assert (done.code, done.err.splitlines()[-1]) == (130, f"interrupted{hint}")
    assert not out.exists()
    assert not page.exists()
    part = tmp_path / "out.jsonl.part"
    assert (len(part.read_text(encoding="utf-8").splitlines()) if part.exists() else 0) == n
    if n:
        with part.open("a", encoding="utf-8") as stream:
            stream.write('{"text": "torn')
    cut_off(None)
    done = vmask(*words, "--out", out, "--html", page)
    assert done.code == 0
    assert (f"going on after {n} text" in done.err) == (n > 0)
    assert out.read_bytes() == whole.read_bytes()
    assert page.read_text(encoding="utf-8").count('<li><p class="said"') == 12
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.html", "out.jsonl"]


def test_a_file_that_is_replaced_stays_until_the_new_one_is_whole(vmask, trained, splits, tmp_path, cut_off):
    out = tmp_path / "out.jsonl"
    words = ["explain", trained, "--input", splits, "--out", out]
    vmask(*words)
    before = out.read_bytes()
    cut_off(5)
    err = vmask(*words, *LIME, "--overwrite").err
    assert err.endswith("interrupted; the same command without --overwrite goes on\n")
    assert out.read_bytes() == before
    cut_off(None)
    assert "going on after 5 texts" in vmask(*words, *LIME).err
    assert {explanation.method for explanation in read_explanations(out)} == {"lime"}


def test_a_file_is_not_gone_on_with_where_something_else_is_asked(
    vmask, fails, trained, base_model, splits, tmp_path, cut_off
):
    out = tmp_path / "out.jsonl"
    words = ["explain", trained, "--input", splits, "--out", out]
    cut_off(5)
    vmask(*words, *LIME)
    cut_off(None)
    for more, what in (
        (["--method", "lime", "--method.samples", 60], "method.samples 50, now 60"),
        ([*LIME, "--seed", 1], "seed 0, now 1"),
        ([*LIME, "--hide", "zero", "--target", "5"], "target none, now 5; hide remove, now zero"),
        (["--method", "occlusion"], "method lime, now occlusion"),
    ):
        err = fails(*words, *more)
        assert what in err
        assert "add --overwrite to start anew" in err
    assert "otherwise: model.safetensors " in fails("explain", base_model, *words[2:], *LIME)
    assert "explains another text" in fails("explain", trained, "--input", splits / "dev.csv", "--out", out, *LIME)
    assert "the input has 3 texts" in fails(*words, *LIME, "--limit", 3)
    fails("explain", trained, "--input", tmp_path / "none.txt", "--out", out, "--overwrite")
    assert len(list(read_explanations(tmp_path / "out.jsonl.part"))) == 5  # kept until something else is begun
    assert vmask(*words, *LIME, "--workers", 2, "--batch-size", 9, "--hide", "remove", "--limit", 8).code == 0
    assert len(list(read_explanations(out))) == 8
    assert vmask(*words, "--method", "occlusion", "--overwrite").code == 0


def test_lines_without_a_word_on_what_they_are_are_not_gone_on_with(fails, vmask, trained, splits, tmp_path):
    (tmp_path / "out.jsonl.part").write_text("{}\n", encoding="utf-8")
    words = ["explain", trained, "--input", splits, "--out", tmp_path / "out.jsonl"]
    assert "cannot be read" in fails(*words)
    assert vmask(*words, "--overwrite").code == 0


def test_a_run_that_could_not_begin_leaves_nothing(fails, base_model, splits, tmp_path):
    assert "Train with `--mask vmask`" in fails(
        "explain", base_model, "--input", splits, "--out", tmp_path / "out.jsonl"
    )
    assert not list(tmp_path.glob("out*"))


@pytest.mark.full
def test_a_process_that_was_killed_is_gone_on_with(vmask, trained, tmp_path):
    texts = toy_texts(140, 5)[0]
    source, out, part = tmp_path / "in.txt", tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    source.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    words = ["explain", trained, *LIME]
    vmask(*words, "--input", source, "--out", tmp_path / "whole.jsonl")
    command = [sys.executable, "-m", "vmask", *map(str, words), "--input", "-", "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        process.stdin.write("".join(f"{text}\n" for text in texts[:130]).encode())
        process.stdin.flush()  # it waits for more, so it is not done when it is killed
        deadline = time.monotonic() + 120
        while (not part.exists() or part.read_bytes().count(b"\n") < api.CHUNK) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
    assert process.returncode == -9
    assert not out.exists()
    done = vmask(*words, "--input", source, "--out", out)
    assert re.search(r"going on after \d+ texts", done.err)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_damaged_line_is_named(tmp_path, fitted):
    path = tmp_path / "a.jsonl"
    line = fitted.explain("a lovely\u2028film")[0].to_json()
    path.write_text(f"{line}\n\n{line}\n", encoding="utf-8")
    assert [explanation.text for explanation in read_explanations(path)] == ["a lovely\u2028film"] * 2
    for bad in ("[1]", "{}", line[:-5], '{"text": 1, "words": 3}'):
        path.write_text(f"{line}\n{bad}\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"Line 2 of '.*a.jsonl' is (not an explanation|not JSON)"):
            list(read_explanations(path))
    with pytest.raises(FileMissing, match="There is no file"):
        read_explanations(tmp_path / "none.jsonl")


def test_two_processes_do_not_write_one_file(vmask, fails, trained, splits, tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="this system has no locks")
    out = tmp_path / "out.jsonl"
    words = ["explain", trained, "--input", splits, *LIME, "--out", out]
    with (tmp_path / "out.jsonl.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "Another process is writing" in fails(*words)
    assert vmask(*words).code == 0


def test_files_of_one_command_differ(fails, trained, splits, tmp_path):
    same = tmp_path / "same"
    assert "--out and --html are both" in fails("explain", trained, "a text", "--out", same, "--html", same)
    source = splits / "dev.csv"
    assert "--input and --out are both" in fails(
        "explain", trained, "--input", source, "--out", splits / "." / "dev.csv", "--overwrite"
    )
    assert "are for --input" in fails("explain", trained, "a text", "--limit", 3)


def test_two_into_one_file_the_second_is_told_at_once(fails, trained, reviews_csv, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "x.jsonl"
    with (tmp_path / "x.jsonl.part").open("wb") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        said = fails("explain", trained, "--input", reviews_csv, "--out", out, "--overwrite")
    assert "Another process is writing" in said


@pytest.fixture
def shards(tmp_path):
    """A folder of files that are no splits."""
    folder = tmp_path / "shards"
    folder.mkdir()
    write_csv(folder / "b.csv", ["third"], ["x"], header=("review", "other"))
    write_csv(folder / "a.csv", ["first", "second"], ["x", "y"], header=("review", "other"))
    return folder


def test_all_files_of_a_folder_are_explained_in_the_order_of_their_names(vmask, fails, trained, shards, tmp_path):
    done = vmask("explain", trained, "--input", shards, "--json")
    assert [json.loads(line)["text"] for line in done.lines] == ["first", "second", "third"]
    done = vmask("explain", trained, "--input", shards, "--json", "--limit", 2, "--text", "other")
    assert [json.loads(line)["text"] for line in done.lines] == ["x", "y"]
    for option in ("--out", "--html"):
        assert "all of whose files are read" in fails(
            "explain", trained, "--input", shards, option, shards / "new.html"
        )
    assert "has no train file" in fails("explain", trained, "--input", shards, "--split", "test")
    (tmp_path / "empty").mkdir()
    assert "has no texts" in fails("explain", trained, "--input", tmp_path / "empty")


def test_workers_of_a_cluster_need_ray_and_many_texts(fails, trained, shards, monkeypatch):
    assert "--engine ray is for many texts" in fails("explain", trained, "a text", "--engine", "ray")
    assert "--address is for --engine ray" in fails("explain", trained, "--input", shards, "--address", "auto")
    assert "workers is 0; it must be at least 1" in fails("explain", trained, "--input", shards, "--workers", 0)
    monkeypatch.setitem(sys.modules, "ray", None)
    for words in (("explain", trained, "--input", shards), ("predict", trained, shards)):
        assert "pip install 'vmask[ray]'" in fails(*words, "--engine", "ray", "--workers", 2)


def test_one_thread_a_worker_gives_the_same_bytes(vmask, trained, tmp_path):
    data = write_csv(tmp_path / "a.csv", *toy_texts(70), header=("review", "stars"))
    outs = [tmp_path / f"{number}.jsonl" for number in (1, 3)]
    for out in outs:
        vmask("explain", trained, "--input", data, "--method", "shapley", "--out", out, "--workers", out.stem)
    assert outs[0].read_bytes() == outs[1].read_bytes()
