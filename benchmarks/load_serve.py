"""Does the server keep what it promises under mixed load: answers, latencies, flat memory.

    python benchmarks/load_serve.py --minutes 10 [--model MODEL]

The server runs in a process of its own. 32 clients in another ask it at the same time for predictions, explanations
by the mask and by LIME, LIME explanations that they cancel, tables, and now and then for what must be refused; some of
them send slowly. In this process, and in the same minutes, a direct call of the model is timed for each kind. Without a
model, a small one is trained on examples/hotels.csv. Nothing but the provoked refusals may be an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from _facts import facts
from bench_serve import CLIENTS, CLOSE, made_texts, milliseconds, read_answer, request, served

RESULT = Path(__file__).parent / "results" / "load_serve.json"
HOTELS = Path(__file__).parents[1] / "examples" / "hotels.csv"
WARM_UP = 0.2
"""Share of the time after which memory must not grow any more."""
GROWTH = 0.1
"""By how much it may nevertheless, as a share: allocators keep some."""
LOOKS = 120
"""How often memory is looked at."""
SLOW_SECONDS = 0.05
"""How long a slow client rests between two pieces."""
LIME = {"explainer": "lime", "options": {"samples": 200}}
PROVOKED = {"no field": {"text": ["a"]}, "no texts": {"texts": 3}, "no model": {"texts": ["a"], "model": "none"}}
KINDS = {"predict": 12, "explain_mask": 6, "explain_lime": 3, "cancelled": 2, "table": 2, "provoked": 1}
"""What clients ask for, by how often."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model folder [one that is trained on the spot]")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", default=RESULT, type=Path)
    args = parser.parse_args()
    from vmask import TextClassifier
    from vmask._core.files import to_json, write_text

    with tempfile.TemporaryDirectory() as folder:
        model = args.model or trained(Path(folder) / "model")
        classifier = TextClassifier.load(model, "cpu")
        texts = made_texts(classifier)
        with served(model, "--max-queue", str(CLIENTS)) as server:
            found = measured(server, classifier, texts, 60 * args.minutes)
    result = {**facts(), "model": classifier.plan_.title, "clients": CLIENTS, "minutes": args.minutes, **found}
    write_text(args.out, to_json(result))
    print(to_json(result))
    if found["wrong"]:
        sys.exit("\n".join(found["wrong"]))


def trained(out):
    """A small model."""
    command = [sys.executable, "-m", "vmask", "train", HOTELS, "--embeddings", "random", "--report", "none", "--quiet"]
    subprocess.run([*map(str, command), "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    return out


def measured(server, classifier, texts, seconds):
    """Load from another process, direct calls and looks at the memory from this one, all at the same time."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    before = memory(server.pid)
    clients = context.Process(target=load_for, args=(theirs, server.port, texts, seconds))
    clients.start()
    assert ours.recv() == "begun"
    began = time.perf_counter()
    looks, direct, turn = [], defaultdict(list), 0
    calls = list(direct_calls(classifier, texts).items())
    while not ours.poll(max(seconds / LOOKS, 0.1)):
        looks.append((time.perf_counter() - began, memory(server.pid)))
        name, call = calls[turn % len(calls)]
        turn += 1
        started = time.perf_counter()
        call(turn)
        direct[name].append(time.perf_counter() - started)
    load = ours.recv()
    clients.join()
    expected = dict(zip(texts, classifier.predict_proba(texts).tolist(), strict=True))
    return summary(load, before, looks, direct, expected, seconds)


def direct_calls(classifier, texts):
    """What the server does for each kind, asked of the model itself."""
    table = texts[:50]
    return {
        "predict": lambda i: classifier.predict_proba([texts[i % len(texts)]]),
        "explain_mask": lambda i: classifier.explain([texts[i % len(texts)]], method="mask"),
        "explain_lime": lambda i: classifier.explain([texts[i % len(texts)]], method="lime", samples=200),
        "table": lambda i: classifier.predict_proba(table),
    }


def load_for(pipe, port, texts, seconds):
    load = Load(port, texts)
    pipe.send("begun")
    asyncio.run(load.run(seconds))
    pipe.send(load)


class Load:
    """What clients ask, and what came of it."""

    def __init__(self, port, texts):
        self.port, self.texts = port, texts
        self.latencies, self.statuses, self.errors = defaultdict(list), defaultdict(Counter), []
        self.different, self.answers = 0.0, {}

    async def run(self, seconds):
        end = time.perf_counter() + seconds
        await asyncio.gather(*(self.client(number, end) for number in range(CLIENTS)))

    async def client(self, number, end):
        draw, slow = random.Random(number), number % 8 == 0
        while time.perf_counter() < end:
            kind = draw.choices(list(KINDS), KINDS.values())[0]
            started = time.perf_counter()
            try:
                status = await getattr(self, kind)(draw, slow)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                self.errors.append(f"{kind}: {type(error).__name__}: {error}")
                await asyncio.sleep(0.1)
                continue
            self.latencies[f"{kind}, slow clients" if slow else kind].append(time.perf_counter() - started)
            self.statuses[kind][status] += 1

    async def ask(self, path, body, slow, kind="application/json"):
        """A request over a connection of its own, which a slow client sends and reads in pieces."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            content = request(path, body, kind)
            step = max(len(content) // 5, 1) if slow else len(content)
            for start in range(0, len(content), step):
                writer.write(content[start : start + step])
                await writer.drain()
                if slow:
                    await asyncio.sleep(SLOW_SECONDS)
            return await read_answer(reader)
        finally:
            writer.close()

    async def predict(self, draw, slow):
        text = draw.choice(self.texts)
        status, answer = await self.ask("/api/predict", json.dumps({"texts": [text]}).encode(), slow)
        if status == 200:
            row = json.loads(answer)["predictions"][0]["probabilities"]
            first = self.answers.setdefault(text, row)
            self.different = max(self.different, *(abs(a - b) for a, b in zip(row, first, strict=True)))
        return status

    async def explain_mask(self, draw, slow):
        asked = {"texts": [draw.choice(self.texts)], "explainer": "mask"}
        return (await self.ask("/api/explain", json.dumps(asked).encode(), slow))[0]

    async def explain_lime(self, draw, slow):
        asked = {"texts": [draw.choice(self.texts)], **LIME}
        return (await self.ask("/api/explain", json.dumps(asked).encode(), slow))[0]

    async def cancelled(self, draw, slow):
        """An explanation of many samples that nobody waits for."""
        asked = {"texts": self.texts[:16], "explainer": "lime", "options": {"samples": 20_000}}
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request("/api/explain", json.dumps(asked).encode()))
        await writer.drain()
        await asyncio.sleep(draw.uniform(0, 0.3))
        writer.close()
        return "hung up"

    async def table(self, draw, slow):
        rows = "".join(f'{number},"{text}"\r\n' for number, text in enumerate(draw.sample(self.texts, 50)))
        return (await self.ask("/api/table", f"id,text\r\n{rows}".encode(), slow, "text/csv"))[0]

    async def provoked(self, draw, slow):
        wrong = draw.choice(list(PROVOKED.values()))
        return (await self.ask("/api/predict", json.dumps(wrong).encode(), slow))[0]


def summary(load, before, looks, direct, expected, seconds):
    """All of it in numbers, and what is wrong."""
    warm = [size for at, size in looks if at >= WARM_UP * seconds] or [looks[-1][1]]
    third = max(len(warm) // 3, 1)
    after, end = statistics.median(warm[:third]), statistics.median(warm[-third:])
    worst = max(
        (abs(a - b) for text, row in load.answers.items() for a, b in zip(row, expected[text], strict=True)),
        default=0.0,
    )
    wrong = load.errors[:20]
    for kind, counts in load.statuses.items():
        good = {"cancelled": ("hung up",), "provoked": (404, 422)}.get(kind, (200,))
        wrong += [f"{kind}: {number} answers of {status}" for status, number in counts.items() if status not in good]
    if end > (1 + GROWTH) * after:
        wrong.append(f"memory grew from {after:.0f} MB after the warm-up to {end:.0f} MB")
    if max(worst, load.different) > CLOSE:
        wrong.append(f"answers differ by {max(worst, load.different)}")
    step = max(len(looks) // 20, 1)
    return {
        "requests": sum(sum(counts.values()) for counts in load.statuses.values()),
        "statuses": {kind: dict(counts) for kind, counts in sorted(load.statuses.items())},
        "errors": len(load.errors),
        "latency": {
            kind: latency(spent) for kind, spent in sorted(load.latencies.items()) if not kind.startswith("cancelled")
        },
        "direct_call": {kind: latency(spent) for kind, spent in sorted(direct.items())},
        "largest_difference": worst,
        "memory_mb": {
            "start": round(before),
            "after_warm_up": round(after),
            "end": round(end),
            "over_time": [[round(at), round(size)] for at, size in looks[::step]],
        },
        "wrong": wrong,
    }


def latency(spent):
    place = math.ceil(0.99 * len(spent)) - 1
    return {
        "n": len(spent),
        "median_ms": milliseconds(statistics.median(spent)),
        "p99_ms": milliseconds(sorted(spent)[place]),
    }


def memory(pid):
    """What a process has in memory, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    main()
