"""The command line as a whole: help, version, exit codes, quick start."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import vmask as package
from vmask.cli.main import COMMANDS
from vmask.errors import DataError

HEAVY = ("torch", "sklearn", "transformers", "numpy", "accelerate", "pyarrow", "datasets", "rich", "tokenizers")


def test_the_version_is_printed(vmask):
    done = vmask("--version")
    assert (done.code, done.out) == (0, f"vmask {package.__version__}\n")


def test_help_lists_every_command_with_what_it_does(vmask):
    done = vmask("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert any(line.split()[:1] == [command] and len(line.split()) > 3 for line in done.lines), command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(vmask, command):
    done = vmask(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: vmask {command}")
    assert "--debug" in done.out


def test_the_help_of_train_lists_every_option_and_those_of_a_method_when_asked(vmask):
    out = vmask("train", "--help").out
    for option in ("--learning-rate", "--beta-schedule", "--train-embeddings", "--no-pad-to-max", "--class-weight"):
        assert option in out
    assert "--mask.pi" not in out
    assert "--mask.pi" in vmask("train", "--mask", "vmask", "--help").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian", "a.csv"], "Unknown command 'trian'. Did you mean 'train'?"),
        ([], "arguments are required: COMMAND"),
        (["train"], "arguments are required: DATA"),
        (["ls", "masks", "--more"], "Unknown argument '--more'"),
        (["ls", "--jsn"], "Unknown argument '--jsn'. Did you mean '--json'?"),
        (["predict", "a", "b", "--ouput", "c"], "Unknown argument '--ouput'."),
        (["train", "a", "--mask.nope", "3"], "has no option '--mask.nope'. See"),
        (["data"], "arguments are required"),
        (["train", "a.csv", "--model"], "argument --model: expected one argument"),
    ],
)
def test_a_wrong_command_line_is_two_lines_and_code_2(fails, words, message):
    err = fails(*words)
    assert message in err
    assert len(err.splitlines()) <= 2


def test_debug_shows_the_traceback(vmask):
    done = vmask("train", "none.csv", "--debug")
    assert done.code == 2
    assert done.err.startswith("Traceback (most recent call last)")
    assert done.err.splitlines()[-1].startswith("error: ")


def test_a_fault_of_ours_asks_for_debug(vmask, monkeypatch):
    def broken(args):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("vmask.cli.ls.run", broken)
    done = vmask("ls")
    assert done.code == 2
    assert done.err.splitlines() == [
        "error: ZeroDivisionError: oops",
        "This looks like a fault in vmask. Run again with --debug for the traceback.",
    ]
    assert "in broken" in vmask("ls", "--debug").err


class PanicException(BaseException):
    """As compiled libraries raise it: no Exception."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PanicException("retry\nlimit\nover"), "error: PanicException: retry limit over"),
        (MemoryError("Unable to allocate 9 GiB"), "error: There is not enough memory (MemoryError: Unable to"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "error: There is not enough memory"),
        (RecursionError("maximum recursion depth exceeded"), "error: Something in the input is nested too deep"),
        (DataError("a\nb\u2028c\n\nd"), "error: a\nb c d\n"),
        (DataError("x" * 10**6), "error: xxxxxxx"),
        (OSError(28, "No space left on device"), "error: [Errno 28] No space left"),
        (OSError(), "error: OSError: "),
        (ValueError("embedded null byte"), "error: ValueError: embedded null byte"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_is_one_or_two_lines_and_code_2(vmask, monkeypatch, error, said):
    def broken(args):
        raise error

    monkeypatch.setattr("vmask.cli.ls.run", broken)
    done = vmask("ls")
    assert done.code == 2
    assert done.err.startswith(said)
    assert len(done.err.splitlines()) <= 2
    assert len(done.err) < 5000


def test_a_nul_in_an_argument_is_refused(fails):
    assert "has a NUL character" in fails("train", "a\0b.csv")


def test_long_and_many_lined_arguments_are_cut_in_messages(fails):
    err = fails("ls", "x\n" * 5000)
    assert len(err.splitlines()) == 2
    assert len(err) < 5000
    assert "is not a whole number" in fails("train", "a.csv", "--epochs", "9" * 5000)


def test_control_c_is_code_130(vmask, monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("vmask.cli.ls.run", interrupted)
    done = vmask("ls")
    assert (done.code, done.err) == (130, "interrupted\n")


def test_warnings_of_libraries_are_kept_from_the_user_and_ours_are_a_line(vmask, monkeypatch):
    def warn(args):
        import warnings

        from vmask.errors import VmaskWarning

        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
        warnings.warn("of ours", VmaskWarning, stacklevel=1)

    monkeypatch.setattr("vmask.cli.ls.run", warn)
    assert vmask("ls").err == "warning: of ours\n"
    assert vmask("ls", "--quiet").err == ""


def loaded(code):
    """The modules that a fresh Python has after `code`."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


@pytest.mark.parametrize(
    "code",
    [
        "import vmask; dir(vmask)",
        "from vmask.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from vmask.cli import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass",
        "from vmask.cli import main; main(['ls', 'masks'])",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    assert not loaded(code) & set(HEAVY)


def test_the_installed_command_runs():
    command = Path(sys.executable).with_name("vmask")
    for words in ([str(command)], [sys.executable, "-m", "vmask"]):
        done = subprocess.run([*words, "ls", "masks"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 8
    done = subprocess.run([str(command), "ls", "mask"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: argument KIND: 'mask' is not known")


# Standard streams -----------------------------------------------------------------------------------------

SMALL = ("--embeddings", "random", "--epochs", "2", "--model.filters", "2", "--report", "none")


def shell(line, folder):
    """The exit code and both streams of a line of bash."""
    vmask = f"{shlex.quote(sys.executable)} -m vmask"
    done = subprocess.run(
        ["bash", "-c", line.replace("vmask", vmask)], cwd=folder, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("streams", ["2>&1 | true", "2>/dev/full", ">&- 2>&-"])
def test_a_training_goes_on_where_nobody_reads(streams, toy_csv, tmp_path):
    line = f"vmask train {toy_csv} --out m {' '.join(SMALL)} {streams}; exit ${{PIPESTATUS[0]}}"
    code, _, err = shell(line, tmp_path)
    assert (code, err) == (0, "")
    assert (tmp_path / "m" / "config.json").is_file()


@pytest.mark.full
@pytest.mark.parametrize("streams", ["2>&1 >/dev/null | true", "2>/dev/full", "2>&-"])
def test_an_error_that_nobody_reads_is_an_error(streams, tmp_path):
    code, out, err = shell(f"vmask predict none none {streams}; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (code, out, err) == (2, "", "")


@pytest.mark.full
def test_a_closed_input_is_empty_and_a_closed_output_goes_nowhere(model_folder, tmp_path):
    assert shell(f"vmask predict {model_folder} - <&-", tmp_path) == (0, "", "")
    assert shell(f"vmask words {model_folder} >&-", tmp_path) == (0, "", "")


def test_without_docstrings_it_says_so(tmp_path):
    done = subprocess.run([sys.executable, "-OO", "-m", "vmask", "ls"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: vmask reads its docstrings")


def test_only_a_training_runs_as_several_processes(fails, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "Start `vmask ls` without `torchrun`, or unset WORLD_SIZE." in fails("ls", "masks")


def test_errors_say_which_of_several_processes_they_are_of(vmask, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    assert vmask("train", "no_such.csv").err.startswith("process 3: error: There is no file 'no_such.csv'")
