"""Options of `vmask serve`. This file imports nothing heavy: the command's help reads it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field, fields

from vmask.config import check_positive, option
from vmask.errors import ConfigError

TOKEN_VARIABLE = "VMASK_TOKEN"
MIN_TOKEN = 16
"""Characters that a token should have where other machines can reach the server."""


@dataclass(frozen=True)
class ServeConfig:
    """Address, access control and limits of the server."""

    port: int = option(8000, "port; 0 takes one that is free")
    host: str = option(
        "127.0.0.1", "address to listen at; another than a loopback one lets others in and needs a token"
    )
    allow_host: str | None = option(
        None, "names by which the server may be called besides its address, commas between, e.g. behind a proxy"
    )
    token: str | None = field(
        default=None,
        repr=False,
        metadata={
            "help": "secret that requests must show; better given by the variable VMASK_TOKEN: others on this machine "
            "can see a command line in the list of processes"
        },
    )
    insecure: bool = option(False, "do without a token where other machines can reach the server")
    access_log: bool = option(False, "write a line for every request to standard error, without texts")
    examples: int = option(2000, "test texts to show with their predictions, at most; 0 for none")
    explain_seconds: float = option(60.0, "an explanation that computes longer is ended")
    header_seconds: float = option(10.0, "seconds in which the header of a request must come")
    body_seconds: float = option(
        30.0, "seconds in which its body must come, and after which an answer that nobody takes is given up"
    )
    max_texts: int = option(256, "texts in a request")
    max_explain_texts: int = option(16, "texts in a request for explanations")
    max_characters: int = option(20_000, "characters of a text")
    max_body_bytes: int = option(4 << 20, "bytes of a request")
    max_answer_bytes: int = option(32 << 20, "bytes of a table with predictions")
    max_table_rows: int = option(10_000, "rows of a table")
    max_table_columns: int = option(1000, "columns of a table")
    max_table_cells: int = option(1_000_000, "rows times columns of a table")
    max_edit_words: int = option(1000, "words that a request hides from a model or shows to it")
    max_queue: int = option(16, "explanations that wait for their turn")
    max_connections: int = option(128, "requests that are answered at a time")
    max_client_connections: int = option(
        64, "connections of one address; behind a proxy, from which all come, as many as of all clients"
    )
    max_times_default: int = option(20, "an explainer's whole numbers, such as samples, in times of their defaults")

    def __post_init__(self) -> None:
        if not 0 <= self.port < 1 << 16:
            raise ConfigError(f"port is {self.port}; it must be from 0 to 65535.")
        check_positive(self, "examples", "max_queue", minimum=0)
        check_positive(self, *(f.name for f in fields(self) if f.name.endswith("_seconds")))
        check_positive(self, *(f.name for f in fields(self) if f.name.startswith("max_") and f.name != "max_queue"))
        if self.token is not None and not re.fullmatch(r"[!-~]+", self.token):
            raise ConfigError(
                "The token must be of letters, digits and signs of ASCII, without spaces. Choose another."
            )
        if self.token is None and not self.insecure and not is_loopback(self.host):
            raise ConfigError(
                f"Other machines can reach {self.host}, and there is no token. Set the variable {TOKEN_VARIABLE} to a "
                "secret, e.g. of `openssl rand -hex 32`, or say --insecure to let everybody use the models."
            )

    def warnings(self) -> list[str]:
        """Return what the operator should know before other machines reach the server."""
        if is_loopback(self.host):
            return []
        users = "who has the token" if self.token else "who reaches it"
        lines = [f"other machines can reach {self.host}; everybody {users} may use the models"]
        if self.token and len(self.token) < MIN_TOKEN:
            lines.append(
                f"the token has {len(self.token)} characters, which can be guessed; use at least {MIN_TOKEN}, "
                "e.g. of `openssl rand -hex 32`"
            )
        return lines

    def limits(self) -> dict[str, float]:
        """Return the limits of requests, by name."""
        limits = {f.name.removeprefix("max_"): getattr(self, f.name) for f in fields(self) if f.name.startswith("max_")}
        return {**limits, "explain_seconds": self.explain_seconds}

    def allowed_hosts(self) -> tuple[str, ...]:
        """Return the additional names of the server, in lower case."""
        return tuple(name.strip().lower() for name in (self.allow_host or "").split(",") if name.strip())


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
