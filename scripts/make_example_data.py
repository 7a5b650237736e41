"""Write examples/hotels.csv and examples/more-hotels.csv: made-up reviews, so that every command can be tried."""

from __future__ import annotations

import csv
import random
from pathlib import Path

OUT = Path(__file__).parents[1] / "examples"
THINGS = ["room", "bed", "breakfast", "staff", "view", "shower", "lobby", "pool", "location", "service", "bar", "night"]
WORDS = {
    "5": ["spotless", "wonderful", "delicious", "friendly", "stunning", "charming", "perfect", "superb", "cosy"],
    "1": ["filthy", "rude", "noisy", "broken", "stale", "cramped", "dreadful", "mouldy", "awful"],
    "3": ["average", "ordinary", "acceptable", "plain", "adequate", "passable", "unremarkable", "fine"],
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
    x, y = stream.sample(WORDS[stars], 2)
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
    rows = {(review(stars, stream), stars) for stars in list(WORDS) * 300}
    drawn = stream.sample(sorted(rows), 750)
    write("hotels.csv", drawn[:600])
    write("more-hotels.csv", drawn[600:])


if __name__ == "__main__":
    main()
