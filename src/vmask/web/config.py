"""Options of `vmask serve`. This file imports nothing heavy: the command's help reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vmask.config import check_positive, option
from vmask.errors import ConfigError


@dataclass(frozen=True)
class ServeConfig:
    """Where the server listens, and how much it takes on."""

    port: int = option(8000, "port; 0 takes one that is free")
    host: str = option("127.0.0.1", "address to listen at; another than a loopback one lets others in")
    allow_host: str | None = option(
        None, "names by which the server may be called besides its address, commas between, e.g. behind a proxy"
    )
    examples: int = option(2000, "test texts to show with their predictions, at most; 0 for none")
    explain_seconds: float = option(60.0, "an explanation that computes longer is ended")
    max_texts: int = option(256, "texts in a request")
    max_explain_texts: int = option(16, "texts in a request for explanations")
    max_characters: int = option(20_000, "characters of a text")
    max_body_bytes: int = option(4 << 20, "bytes of a request")
    max_table_rows: int = option(10_000, "rows of a table")
    max_queue: int = option(16, "explanations that wait for their turn")
    max_connections: int = option(128, "requests that are answered at a time")
    max_times_default: int = option(20, "an explainer's whole numbers, such as samples, in times of their defaults")

    def __post_init__(self) -> None:
        if not 0 <= self.port < 1 << 16:
            raise ConfigError(f"port is {self.port}; it must be from 0 to 65535.")
        check_positive(self, "examples", "max_queue", minimum=0)
        check_positive(self, "explain_seconds")
        check_positive(self, *(f.name for f in fields(self) if f.name.startswith("max_") and f.name != "max_queue"))

    def limits(self) -> dict[str, float]:
        """What a request must keep within, by name."""
        named = {f.name.removeprefix("max_"): getattr(self, f.name) for f in fields(self) if f.name.startswith("max_")}
        return {**named, "explain_seconds": self.explain_seconds}

    def allowed_hosts(self) -> tuple[str, ...]:
        """Names by which the server may be called, as they were given."""
        return tuple(name.strip().lower() for name in (self.allow_host or "").split(",") if name.strip())
