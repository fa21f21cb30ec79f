"""The RFID readings of one trading day in a shop, written to standard output as JSON lines.

Every item carries a tag that is read by antennas at the shelves, the registers and the exits. An item moves through the
shop in one of the stories below; each story lists the readings it leaves behind, and the day is all of them in order of
time. Seven items are stolen. The day is the same on every run:

    python make_readings.py > readings.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import TypeAlias, TypeVar

SEED = 20260314
OPENS = datetime(2026, 3, 14, 9)
DAY = 11 * 3600.0
SHELVES = [f"shelf-{n:02}" for n in range(1, 13)]
REGISTERS = [f"register-{n}" for n in range(1, 5)]
EXITS = ["north", "south", "garage"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """One tag seen by one antenna, `second` seconds after the shop opened."""

    second: float
    type: str
    tag: str
    reader: str
    rssi: int


Story: TypeAlias = "Callable[[Random, str, float], Iterator[Reading]]"


# Of `Random`, only `random` itself is promised to give the same numbers in every release of Python.


def between(rng: Random, low: float, high: float) -> float:
    return low + (high - low) * rng.random()


def one_of(rng: Random, choices: Sequence[T]) -> T:
    return choices[int(rng.random() * len(choices))]


def seen(rng: Random, kind: str, readers: Sequence[str], tag: str, at: float, low: int, high: int) -> Iterator[Reading]:
    """Between `low` and `high` readings of a tag by one antenna, about a second apart, the first of them at `at`."""
    reader = one_of(rng, readers)
    for _ in range(low + int(rng.random() * (high - low + 1))):
        yield Reading(at, kind, tag, reader, int(between(rng, -68, -38)))
        at += between(rng, 0.4, 1.6)


def shelf(rng: Random, tag: str, at: float) -> Iterator[Reading]:
    return seen(rng, "Shelf", SHELVES, tag, at, 1, 4)


def register(rng: Random, tag: str, at: float) -> Iterator[Reading]:
    return seen(rng, "Register", REGISTERS, tag, at, 1, 1)


def leave(rng: Random, tag: str, at: float) -> Iterator[Reading]:
    """Some doors read a tag twice."""
    return seen(rng, "Exit", EXITS, tag, at, 1, 2)


def bought(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Picked, paid for, carried out."""
    paid = start + between(rng, 90, 1500)
    yield from shelf(rng, tag, start)
    yield from register(rng, tag, paid)
    yield from leave(rng, tag, paid + between(rng, 30, 240))


def put_back(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Picked, looked at, and put on a shelf again, not always the right one."""
    yield from shelf(rng, tag, start)
    yield from shelf(rng, tag, start + between(rng, 20, 600))


def put_back_then_bought(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Put back by one customer and bought by another."""
    yield from put_back(rng, tag, start)
    yield from bought(rng, tag, start + between(rng, 1200, 5400))


def bought_yesterday(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Paid for on another day, worn into the shop and out of it again."""
    yield from leave(rng, tag, start)
    yield from leave(rng, tag, start + between(rng, 300, 2400))


def returned_then_bought(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Brought back by its buyer, refunded, put on the shelf and sold again."""
    yield from leave(rng, tag, start)
    yield from register(rng, tag, start + between(rng, 120, 400))
    yield from shelf(rng, tag, start + between(rng, 900, 1800))
    yield from bought(rng, tag, start + between(rng, 2400, 5400))


def stolen(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Picked and carried out."""
    yield from shelf(rng, tag, start)
    yield from leave(rng, tag, start + between(rng, 60, 1500))


def put_back_then_stolen(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Put back by an honest customer and stolen by the next one."""
    yield from put_back(rng, tag, start)
    yield from stolen(rng, tag, start + between(rng, 1200, 5400))


def not_paid_then_stolen(rng: Random, tag: str, start: float) -> Iterator[Reading]:
    """Left at the register by a customer short of money, shelved again, then stolen: the register came too early."""
    yield from shelf(rng, tag, start)
    yield from register(rng, tag, start + between(rng, 200, 900))
    yield from stolen(rng, tag, start + between(rng, 1800, 5400))


STORIES: list[tuple[Story, int]] = [
    (bought, 268),
    (put_back, 92),
    (put_back_then_bought, 21),
    (bought_yesterday, 8),
    (returned_then_bought, 6),
    (stolen, 5),
    (put_back_then_stolen, 1),
    (not_paid_then_stolen, 1),
]


def day(seed: int = SEED) -> list[Reading]:
    """All readings in order of time, no two of them in the same millisecond."""
    rng = Random(seed)
    readings: list[Reading] = []
    for story, items in STORIES:
        for _ in range(items):
            # An SGTIN-96 in hexadecimal, as a reader reports it: header, company and product, then a serial number.
            tag = f"3034257BF4{int(rng.random() * 40):04X}40{int(rng.random() * 2**32):08X}"
            # Nobody comes in the last two hours, so that the longest story ends before the shop closes.
            readings += story(rng, tag, between(rng, 0, DAY - 7200))
    readings.sort(key=lambda r: (r.second, r.tag))
    taken: set[int] = set()
    for reading in readings:
        millisecond = round(reading.second * 1000)
        if millisecond in taken:
            raise SystemExit(f"two readings in millisecond {millisecond}: choose another seed")
        taken.add(millisecond)
    return readings


def line(reading: Reading) -> str:
    """One reading as a line of JSON.

    >>> line(Reading(2.12, "Shelf", "3034", "shelf-01", -51))
    '{"ts": "2026-03-14T09:00:02.120", "type": "Shelf", "tag": "3034", "reader": "shelf-01", "rssi": -51}'
    """
    moment = OPENS + timedelta(milliseconds=round(reading.second * 1000))
    return json.dumps(
        {
            "ts": moment.isoformat(timespec="milliseconds"),
            "type": reading.type,
            "tag": reading.tag,
            "reader": reading.reader,
            "rssi": reading.rssi,
        }
    )


def main() -> None:
    for reading in day():
        sys.stdout.write(line(reading) + "\n")


if __name__ == "__main__":
    main()
