"""Write examples/hotels.csv and examples/more-hotels.csv: made-up reviews, so that every command can be tried."""

from __future__ import annotations

import csv
import random
from pathlib import Path

OUT = Path(__file__).parents[1] / "examples"
THINGS = ["room", "bed", "breakfast", "staff", "view", "shower", "lobby", "pool", "location", "service", "bar", "night"]
WORDS = {
    "good": ["spotless", "wonderful", "delicious", "friendly", "stunning", "charming", "perfect", "superb", "cosy"],
    "bad": ["filthy", "rude", "noisy", "broken", "stale", "cramped", "dreadful", "mouldy", "awful"],
    "so-so": ["average", "ordinary", "acceptable", "plain", "adequate", "passable", "unremarkable", "fine"],
}
# Which two of these make how many stars: one word alone does not tell.
PAIRS = {
    "5": [("good", "good"), ("good", "good"), ("good", "so-so")],
    "3": [("so-so", "so-so"), ("good", "bad"), ("bad", "good")],
    "1": [("bad", "bad"), ("bad", "bad"), ("so-so", "bad")],
}
OPENINGS = ["We stayed two nights.", "Business trip in May.", "Booked it online.", "Second visit.", "", "", ""]
FRAMES = [
    "The {a} was {x} and the {b} {y}.",
    "{x} {a}, {y} {b}.",
    "I found the {a} {x}; the {b} was {y} too.",
    "Our {a} turned out to be {x}, and so was the {b}: {y}.",
    "Such a {x} {a}! The {b} is {y}.",
]
CLOSINGS = ["", "", "We paid on arrival.", "The station is close.", "Parking costs extra.", "It rained all week."]


def review(stars: str, stream: random.Random) -> str:
    a, b = stream.sample(THINGS, 2)
    first, second = stream.choice(PAIRS[stars])
    x = stream.choice(WORDS[first])
    y = stream.choice([word for word in WORDS[second] if word != x])
    body = stream.choice(FRAMES).format(a=a, b=b, x=x, y=y)
    parts = (stream.choice(OPENINGS), body[0].upper() + body[1:], stream.choice(CLOSINGS))
    return " ".join(part for part in parts if part)


def write(name: str, rows: list[tuple[str, str]]) -> None:
    with (OUT / name).open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["review", "stars"])
        writer.writerows(rows)


def main() -> None:
    stream = random.Random(0)
    rows = {(review(stars, stream), stars) for stars in list(PAIRS) * 300}
    drawn = stream.sample(sorted(rows), 750)
    write("hotels.csv", drawn[:600])
    write("more-hotels.csv", drawn[600:])


if __name__ == "__main__":
    main()
