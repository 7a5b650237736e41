"""Processes that a process has started, and theirs."""

from __future__ import annotations

import os
import time
from pathlib import Path


def descendants(pid):
    """Ids of all processes below a process."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, ahead = [], [pid]
    while ahead:
        new = children.get(ahead.pop(), [])
        found += new
        ahead += new
    return found


def title(pid):
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def running(pids):
    """Those of the processes that run; what has ended and waits to be noticed does not."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def wait_until_gone(pids, seconds=60):
    """Wait until the processes have ended; return the titles of those that have not."""
    until = time.monotonic() + seconds
    while (left := running(pids)) and time.monotonic() < until:
        time.sleep(0.1)
    return [title(pid) for pid in left]


def below_here():
    """Ids of all processes below this one."""
    return descendants(os.getpid())
