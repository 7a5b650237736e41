"""What is said if there is no Ray, or no cluster."""

from __future__ import annotations

import sys

import pytest

from vmask.cluster import connection
from vmask.cluster.connection import connected
from vmask.errors import ConfigError, MissingExtra


class Unconnected:
    """A Ray that must not be asked to connect."""

    def is_initialized(self):
        return False


def connect(address):
    with connected(address):
        raise AssertionError("connected")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'vmask\[ray\]'"):
        connect(None)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ray://host:10001", "is for Ray's client"),
        ("host", "Give `auto`, or HOST:PORT"),
        ("host:port", "Give `auto`, or HOST:PORT"),
        ("host:99999", "Give `auto`, or HOST:PORT"),
        ("127.0.0.1:1", "There is no Ray cluster at '127.0.0.1:1'"),
    ],
)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_wrong_address_is_said_at_once(monkeypatch, address, message, by):
    monkeypatch.setattr(connection, "import_ray", Unconnected)
    monkeypatch.setenv("RAY_ADDRESS", address if by == "variable" else "elsewhere:1")
    with pytest.raises(ConfigError, match=message):
        connect(address if by == "option" else None)


def test_a_connection_that_exists_is_used_and_left_open(monkeypatch):
    class Connected:
        def is_initialized(self):
            return True

    monkeypatch.setattr(connection, "import_ray", Connected)
    with connected("auto") as ray:
        assert isinstance(ray, Connected)
