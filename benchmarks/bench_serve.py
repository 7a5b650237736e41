"""How fast the server answers, beside calling the model directly.

    python benchmarks/bench_serve.py --model MODEL

The server runs in a process of its own, 32 clients ask `/api/predict` for a text at a time from another, and the model
is called directly in a third: one text a call, and 32 a call. The three take turns. Then the same with an explanation
in progress all the time (LIME, many samples). Every answer must be the one that a single client gets. Last, what the
server needs for an explanation by the mask. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from _facts import facts

RESULT = Path(__file__).parent / "results" / "serve.json"
CLIENTS = 32
TURN_SECONDS = 2.0
TEXTS = 400
CLOSE = 1e-6
MASK_BAR_MILLISECONDS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="runs/metrics/sst2--cnn--vmask--s0")
    parser.add_argument("--seconds", type=float, default=20.0, help="of load, with and without an explanation each")
    parser.add_argument("--out", default=RESULT, type=Path)
    args = parser.parse_args()
    import torch

    from vmask import TextClassifier
    from vmask._core.files import to_json, write_text

    classifier = TextClassifier.load(args.model, "cpu")
    texts = made_texts(classifier)
    turns = max(round(args.seconds / TURN_SECONDS), 1)
    with served(args.model) as server, loading(server.port, texts) as load:
        port = server.port
        expected = load(1, 0.0)["answers"]
        check(expected, dict(zip(texts, classifier.predict_proba(texts).tolist(), strict=True)), "a single client")
        quiet = measured(classifier, texts, load, turns, args.seconds / turns, expected)
        with explaining(port, texts) as explanations:
            busy = measured(classifier, texts, load, turns, args.seconds / turns, expected)
        masked = asyncio.run(mask_milliseconds(port, texts))
    result = {
        **facts(),
        "threads": torch.get_num_threads(),
        "model": classifier.plan_.title,
        "clients": CLIENTS,
        "seconds": args.seconds,
        "predict": quiet,
        "predict_while_explaining": {**busy, "explanations_meanwhile": len(explanations)},
        "mask_explain_of_20_words": {**masked, "bar_ms": MASK_BAR_MILLISECONDS},
    }
    write_text(args.out, to_json(result))
    print(to_json(result))


def made_texts(classifier):
    """Texts of 4 to 30 words that the model knows, the same every time."""
    draw = random.Random(0)
    words = [word.word for word in classifier.word_importance(min_count=2)]
    return [" ".join(draw.choices(words, k=draw.randint(4, 30))) for _ in range(TEXTS)]


class Server(NamedTuple):
    pid: int
    port: int


@contextmanager
def served(model, *words):
    """A server in a process of its own."""
    command = [sys.executable, "-m", "vmask", "serve", model, "--port", "0", "--json", "--examples", "0", "--quiet"]
    process = subprocess.Popen([*map(str, command), *words], stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(process.stdout.readline())["address"]
        yield Server(process.pid, int(address.rpartition(":")[2]))
    finally:
        process.terminate()
        assert process.wait(30) == 0


@contextmanager
def loading(port, texts):
    """A function that lets so many clients ask for so many seconds, in another process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=load_forever, args=(theirs, port, texts), daemon=True)
    process.start()

    def load(clients, seconds):
        ours.send((clients, seconds))
        return ours.recv()

    try:
        yield load
    finally:
        ours.send(None)
        process.join(30)


def load_forever(pipe, port, texts):
    while (asked := pipe.recv()) is not None:
        pipe.send(asyncio.run(load_for(port, texts, *asked)))


async def load_for(port, texts, clients, seconds):
    """Latencies, answers and errors of some clients; each asks for every text at least once where it has no time."""
    found = {"latencies": [], "answers": {}, "errors": 0, "different": 0.0}
    began = time.perf_counter()
    end = began + seconds

    async def client(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = number * len(texts) // clients
        while time.perf_counter() < end if seconds else len(found["answers"]) < len(texts):
            text = texts[at % len(texts)]
            at += 1
            started = time.perf_counter()
            status, answer = await post(reader, writer, "/api/predict", {"texts": [text]})
            found["latencies"].append(time.perf_counter() - started)
            if status != 200:
                found["errors"] += 1
                continue
            row = answer["predictions"][0]["probabilities"]
            first = found["answers"].setdefault(text, row)
            found["different"] = max(found["different"], *(abs(a - b) for a, b in zip(row, first, strict=True)))
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return {**found, "seconds": time.perf_counter() - began}


async def post(reader, writer, path, value):
    """A request over a connection that stays open."""
    writer.write(request(path, json.dumps(value).encode()))
    status, body = await read_answer(reader)
    return status, json.loads(body)


def request(path, body, kind="application/json"):
    """The bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


async def read_answer(reader):
    """Status and body."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


def measured(classifier, texts, load, turns, seconds, expected):
    """Latency under load, and its throughput over that of direct calls, which take turns with it."""
    latencies, singles, batches, requests = [], [], [], []
    for _ in range(turns):
        singles.append(direct(classifier, texts, 1, seconds / 2))
        found = load(CLIENTS, seconds)
        assert not found["errors"], f"{found['errors']} requests failed"
        assert found["different"] <= CLOSE, f"answers to one text differ by {found['different']}"
        check(found["answers"], expected, f"{CLIENTS} clients")
        latencies += found["latencies"]
        requests.append(len(found["latencies"]) / found["seconds"])
        batches.append(direct(classifier, texts, CLIENTS, seconds / 2))
    return {
        "requests": len(latencies),
        "errors": 0,
        "median_ms": milliseconds(statistics.median(latencies)),
        "p99_ms": milliseconds(sorted(latencies)[int(0.99 * (len(latencies) - 1))]),
        "texts_a_second": round(statistics.median(requests), 1),
        "over_direct_one_text_a_call": over(requests, singles),
        "over_direct_32_texts_a_call": over(requests, batches),
    }


def direct(classifier, texts, at_once, seconds):
    """Texts a second of the model itself."""
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        some = [texts[(done + i) % len(texts)] for i in range(at_once)]
        classifier.predict_proba(some)
        done += at_once
    return done / (time.perf_counter() - began)


def over(ours, others):
    """Median, smallest and largest ratio within a turn."""
    ratios = [a / b for a, b in zip(ours, others, strict=True)]
    return {"median": round(statistics.median(ratios), 3), "min": round(min(ratios), 3), "max": round(max(ratios), 3)}


def check(found, expected, who):
    worst = max(abs(a - b) for text, row in found.items() for a, b in zip(row, expected[text], strict=True))
    assert worst <= CLOSE, f"answers of {who} differ by {worst}"


@contextmanager
def explaining(port, texts):
    """Let an explanation be in progress all the time; the list gets an entry for each."""
    done, stop, began = [], threading.Event(), threading.Event()
    asked = {"texts": texts[:16], "explainer": "lime", "options": {"samples": 20_000}}

    async def forever():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not stop.is_set():
            answer = asyncio.ensure_future(post(reader, writer, "/api/explain", asked))
            began.set()
            while not answer.done() and not stop.is_set():
                await asyncio.wait({answer}, timeout=0.05)
            if not answer.done():
                answer.cancel()
                break
            assert answer.result()[0] == 200, answer.result()
            done.append(answer.result()[0])
        writer.close()  # the server ends what it is at

    thread = threading.Thread(target=lambda: asyncio.run(forever()))
    thread.start()
    began.wait()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


async def mask_milliseconds(port, texts):
    """What the server needs for an explanation of 20 words by the mask, asked for one after the other."""
    words = " ".join(texts).split()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    spent = []
    for number in range(300):
        text = " ".join(words[20 * number : 20 * number + 20])
        status, answer = await post(reader, writer, "/api/explain", {"texts": [text], "explainer": "mask"})
        assert status == 200
        spent.append(answer["milliseconds"])
    writer.close()
    return {"median_ms": round(statistics.median(spent), 2), "p99_ms": round(sorted(spent)[int(0.99 * 299)], 2)}


def milliseconds(seconds):
    return round(1000 * seconds, 2)


if __name__ == "__main__":
    main()
