"""Pictures of a grid's page, inside of it, so that it needs nothing from outside."""

from __future__ import annotations

import base64
from pathlib import Path


def picture_data(path: Path) -> str:
    """A PNG as the address of an image that is inside of the page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
