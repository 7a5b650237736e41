"""The files of the page, read from the package once.

Starlette's `StaticFiles` would look for each requested path on disk. Here a request chooses among routes that are known
when the server starts, so there is no path that could lead out of the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
"""By extension. The table of the operating system may differ, and browsers run no module of another content type."""


@dataclass(frozen=True)
class StaticFile:
    """A file of the page.

    Attributes:
        content: its bytes.
        content_type: its content type.
    """

    content: bytes
    content_type: str


def load_static_files() -> dict[str, StaticFile]:
    """Return the files of the page by their paths on the server; `index.html` is `/`."""
    static_files = {}
    for entry in files("vmask.serve").joinpath("static").iterdir():
        content_type = CONTENT_TYPES.get(PurePath(entry.name).suffix)
        if content_type is not None and entry.is_file():
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            static_files[path] = StaticFile(entry.read_bytes(), content_type)
    return static_files
