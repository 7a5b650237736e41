"""Write docs/page.png and docs/report.png: web page and report of the README's hotel model, as a browser shows them.

python scripts/make_screenshots.py [--model DIR]     # needs Chromium, and playwright; trains the model without --model
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TEXT = "The view is stunning and the staff were kind, but the shower was filthy and the room noisy."
WIDTH = 1120
COLOURS = 128


def train(folder: Path) -> None:
    command = ["train", "examples/hotels.csv", "--text", "review", "--label", "stars", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "vmask", *command], cwd=ROOT, check=True)


def save(page: Page, name: str, height: int) -> None:
    """What is seen, with few colours: drawings need no more."""
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    few = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(ROOT / "docs" / name, optimize=True)


def shoot(model: Path) -> None:
    serving = [sys.executable, "-m", "vmask", "serve", str(model), "--port", "0", "--json"]
    with subprocess.Popen(serving, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as player:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        path = os.environ.get("VMASK_CHROMIUM") or shutil.which("chromium")
        browser = player.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        page.goto(address)
        page.get_by_label("Your text").fill(TEXT)
        page.get_by_label("Coloured by").select_option("lime")
        page.get_by_text("fit R²").wait_for()
        page.get_by_role("button", name="filthy").first.click()
        page.get_by_text("1 word hidden").wait_for()
        page.mouse.move(5, 5)
        page.evaluate("document.activeElement.blur()")
        page.wait_for_load_state("networkidle")
        save(page, "page.png", 740)
        page.goto((model / "report.html").resolve().as_uri())
        page.set_viewport_size({"width": WIDTH, "height": 1400})
        page.wait_for_load_state("networkidle")
        save(page, "report.png", 1120)
        browser.close()
        server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="DIR", type=Path, help="the hotel model, where it is trained already")
    given = parser.parse_args().model
    with tempfile.TemporaryDirectory() as name:
        if given is None:
            train(Path(name) / "my-model")
        shoot(given or Path(name) / "my-model")


if __name__ == "__main__":
    main()
