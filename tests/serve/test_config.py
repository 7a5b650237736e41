"""Options of the server: whom it answers, and what it refuses to do."""

from __future__ import annotations

import pytest

from vmask.errors import ConfigError
from vmask.serve.config import ServeConfig


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "box.local", "", "localhost.evil.example"])
def test_other_machines_need_a_token(host):
    with pytest.raises(ConfigError, match=r"there is no token\. Set the variable VMASK_TOKEN.*--insecure"):
        ServeConfig(host=host)
    assert ServeConfig(host=host, insecure=True).token is None
    assert ServeConfig(host=host, token="secret").token == "secret"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_this_machine_needs_none(host):
    assert ServeConfig(host=host).token is None


@pytest.mark.parametrize("token", ["", " ", "two words", "é", "a\n", "\0"])
def test_a_token_that_no_header_can_have_is_refused(token):
    with pytest.raises(ConfigError, match="The token must be of letters"):
        ServeConfig(token=token)


def test_the_token_is_not_shown():
    settings = ServeConfig(token="secret-of-mine")
    assert "secret-of-mine" not in repr(settings)
    assert "token" not in settings.limits()


@pytest.mark.parametrize("name", ["header_seconds", "body_seconds", "max_table_cells", "max_client_connections"])
def test_limits_are_above_zero(name):
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        ServeConfig(**{name: 0})
