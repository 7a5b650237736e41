"""A connection to a Ray cluster, or to one that is started on this machine for as long as it is needed."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vmask.errors import ConfigError, MissingExtra

ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"}
"""Settings of a cluster of this machine alone: no other machine can reach it, and its workers give way to nobody."""
REACHED_WITHIN = 10.0
"""Seconds after which an address that does not answer is taken for wrong."""


def import_ray() -> Any:
    """The module `ray`.

    Raises:
        MissingExtra: if it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # or news of machines are printed between our results
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # tasks without a GPU leave the environment alone
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    return ray


@contextmanager
def connected(address: str | None = None, cpus: int | None = None) -> Iterator[Any]:
    """Connect to a cluster, and yield the module `ray`.

    A connection that exists already is used, and is left open.

    Args:
        address: `auto` for the cluster that this machine belongs to, HOST:PORT for another one; by default that of the
            variable RAY_ADDRESS, and without it a cluster of this machine alone, which ends with the connection.
        cpus: CPUs of a cluster of this machine alone; by default all.

    Raises:
        MissingExtra: if Ray is not installed.
        ConfigError: if there is no such cluster.
    """
    found = address or os.environ.get("RAY_ADDRESS") or "local"
    if found == "local":
        for name, value in ALONE.items():  # before Ray is imported
            os.environ.setdefault(name, value)
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    _check_reachable(found)
    started = {"num_cpus": cpus, "include_dashboard": False} if found == "local" else {}
    try:
        ray.init(address=found, logging_level=logging.ERROR, log_to_driver=False, **started)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise _no_cluster(found, str(error).strip().partition("\n")[0]) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _no_cluster(address: str, reason: str) -> ConfigError:
    return ConfigError(
        f"There is no Ray cluster at {address!r}: {reason.rstrip('.')}. Start one by `ray start --head`, or leave "
        "--address out to use this machine alone."
    )


def _check_reachable(address: str) -> None:
    """Refuse an address at which nothing listens, as Ray would try for many minutes.

    Raises:
        ConfigError: if nothing listens there, or it is no address.
    """
    if address in ("auto", "local"):
        return
    if address.startswith("ray://"):
        raise ConfigError(
            f"The address {address!r} is for Ray's client. Start vmask on a machine of the cluster, with "
            "--address auto."
        )
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 1 << 16):
        raise ConfigError(
            f"The address of Ray is {address!r}. Give `auto`, or HOST:PORT as `ray start --head` prints it."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
    except OSError as error:
        raise _no_cluster(address, error.strerror or str(error)) from None
