"""Draw docs/picture.png: the test sentences of a demo run, as its model sees them. Needs Chromium.

vmask demo --out demo --json > demo.json && python scripts/make_picture.py demo.json
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from vmask.explain.contract import Explanation
from vmask.explain.highlight import html_text

OUT = Path(__file__).parents[1] / "docs" / "picture.png"
STYLE = """body { margin: 0; padding: 18px 26px; overflow: hidden; background: #fff; color: #1a1a1a }
body { font: 19px/1.6 system-ui, sans-serif }
p { margin: 9px 0 } small { color: #5c6470; margin-left: 8px; white-space: nowrap }
mark { padding: .08em .16em; border-radius: 4px }"""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["texts"]
    explanations = [Explanation.from_dict(text) for text in texts]
    rows = "".join(
        f"<p>{html_text(e)}<small>{escape(str(e.target))} {e.probability:.0%}</small></p>" for e in explanations
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{rows}", encoding="utf-8")
        size = f"--window-size=980,{40 + 68 * len(explanations)}"
        command = ["chromium", *FLAGS, size, "--force-device-scale-factor=1.5", f"--screenshot={OUT}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
