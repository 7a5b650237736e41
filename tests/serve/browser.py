"""A real browser for the tests of the page, and a real server for it."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time

import uvicorn

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser():
    """Where Chromium is on this machine; None where it is not."""
    named = os.environ.get("VMASK_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Site:
    """An app, served from a thread at a socket that is bound already."""

    def __init__(self, app, listening):
        self.address = "http://{}:{}".format(*listening.getsockname())
        config = uvicorn.Config(app, log_level="error", access_log=False, ws="none", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],))
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)

    def stop(self):
        """End the server; nobody listens any more."""
        self._server.should_exit = True
        self._thread.join()


class Watch:
    """What a page did besides what was asked of it: messages in the console, errors, requests.

    Attributes:
        allowed: pattern of messages that a test provokes.
        origin: the one server that may be asked.
    """

    def __init__(self, context, origin):
        self.allowed = r"(?!)"
        self.messages, self.requests, self.origin = [], [], origin
        context.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: self.messages.append(f"error: {error.error}"))
        context.on("request", lambda request: self.requests.append(request.url))

    def check(self):
        """Nothing was complained about, and nobody else was asked."""
        assert [one for one in self.messages if not re.search(self.allowed, one)] == []
        outside = [url for url in self.requests if not url.startswith((self.origin + "/", "data:", "blob:"))]
        assert outside == []


CONTRAST = """(selector) => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colours) => {  // any CSS colours, one on top of the other, as the browser mixes them
    paint.clearRect(0, 0, 1, 1);
    for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility()).map((node) => {
    const grounds = [];
    for (let at = node; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    const colours = [over(grounds), over([...grounds, getComputedStyle(node).color])];
    const [low, high] = colours.map(light).sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), node.textContent.slice(0, 40)];
  });
}"""
"""Contrast of letters and ground of all elements that a selector finds, with the beginning of their text."""
