"""The picture of each query of the examples: its events, with the matches drawn over them; see `make pictures`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from docs.drawing import Axis, Curve, Mark, curve_chart, lane_chart

import augury
from augury.engine.sources.events import read_events

FOLDER = Path(__file__).parent
Event: TypeAlias = "Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class Lanes:
    """How to draw matches as events in lanes, one for each value of `key`: of all matches and of `others` besides."""

    key: str
    others: int
    kind: Callable[[Event], str] = lambda event: str(event["type"])
    since_first: bool = True
    """Whether each lane begins with its own first event; otherwise lanes have the time of day in common."""

    minutes: float = math.inf
    """Up to how many minutes after the first event of a lane its events are shown."""


@dataclass(frozen=True, slots=True)
class Curves:
    """How to draw matches as stretches of curves of `value`, a panel for each value of `key`."""

    key: str
    value: str
    name: Callable[[Any], str] = str
    from_zero: bool = False


def amount(event: Event) -> str:
    return "under 2" if event["amount"] < 2 else "over 300" if event["amount"] > 300 else "other payments"


STYLES: dict[str, Lanes | Curves] = {
    "chemotherapy/chemotherapy": Lanes("patient", 0, since_first=False),
    "fraud/fraud": Lanes("card", 4, kind=amount, minutes=20),
    "funnel/abandoned": Lanes("user", 3),
    "funnel/bought": Lanes("user", 3),
    "logins/logins": Lanes("account", 6, minutes=5),
    "shoplifting/shoplifting": Lanes("tag", 4),
    "silence/silence": Lanes("machine", 5, since_first=False),
    "stocks/double_bottoms": Curves("symbol", "close"),
    "stocks/rallies": Curves("symbol", "close"),
    "traffic/jams": Curves("sensor", "speed", name=lambda sensor: f"sensor {sensor}", from_zero=True),
}


def pictures() -> dict[str, str]:
    """The text of each picture by its path below examples/."""
    return {f"{name}.svg": picture(name, style) for name, style in STYLES.items()}


def picture(name: str, style: Lanes | Curves) -> str:
    """One picture: the matches of a query over the events of its folder."""
    query = FOLDER / f"{name}.augury"
    source = next(p for p in (query.parent / "events.csv", query.parent / "readings.jsonl") if p.exists())
    events = read_events(source, "ts").to_pylist()
    # Of a program the first query is drawn: the others see only the events that it makes.
    matches = augury.match(source, query.read_text(encoding="utf-8").split(";\n\n")[0])
    bound = {row: number for number, match in enumerate(matches) for row in rows_of(match.rows)}
    title = f"{len(matches)} matches of {query.name} in {len(events)} events"
    if isinstance(style, Curves):
        scale = (0.0, max(event[style.value] for event in events)) if style.from_zero else None
        return curve_chart(title, list(curves(events, matches, style)), time_of_day(events), scale)
    return lane_chart(title, *lanes(events, bound, style))


def rows_of(bound: Mapping[str, int | Sequence[int] | None]) -> Iterator[int]:
    """All rows that a match binds, of single variables and of lists."""
    for rows in bound.values():
        if isinstance(rows, int):
            yield rows
        elif rows is not None:
            yield from rows


def curves(events: Sequence[Event], matches: augury.Matches, style: Curves) -> Iterator[Curve]:
    for key in sorted({event[style.key] for event in events}):
        rows = [row for row, event in enumerate(events) if event[style.key] == key]
        place = {row: k for k, row in enumerate(rows)}
        stretches = [sorted(place[row] for row in rows_of(m.rows) if row in place) for m in matches]
        points = [(seconds(events[row]["ts"]), events[row][style.value]) for row in rows]
        yield Curve(style.name(key), points, [(s[0], s[-1]) for s in stretches if s])


def lanes(events: Sequence[Event], bound: Mapping[int, int], style: Lanes) -> tuple[list[Mark], Axis]:
    """The marks of the lanes that are shown, those of matches first, and the axis below them."""
    matched = list(dict.fromkeys(events[row][style.key] for row in sorted(bound)))
    others = [key for key in dict.fromkeys(event[style.key] for event in events) if key not in matched]
    by_key = {key: [(r, e) for r, e in enumerate(events) if e[style.key] == key] for key in [*matched, *others]}
    # Of the others those with most events have most to show.
    others = sorted(others, key=lambda key: -len(by_key[key]))[: style.others]
    shown = [(row, event, by_key[key][0][1]["ts"]) for key in [*matched, *others] for row, event in by_key[key]]
    if not style.since_first:
        axis = time_of_day([event for _, event, _ in shown])
        return [mark(event, seconds(event["ts"]), bound.get(row), style) for row, event, _ in shown], axis
    marks = [mark(e, (e["ts"] - first).total_seconds(), bound.get(row), style) for row, e, first in shown]
    marks = [m for m in marks if m.at <= 60 * style.minutes]
    longest = max(m.at for m in marks)
    step = next(s for s in (60, 120, 300, 600, 1200, 1800, 3600, 7200) if longest / s <= 8)
    ticks = {float(s): str(s // 60) for s in range(0, math.ceil(longest / step) * step + 1, step)}
    return marks, Axis(ticks, "minutes since the first event of each lane")


def mark(event: Event, at: float, match: int | None, style: Lanes) -> Mark:
    name = str(event[style.key])
    # The end of a long name tells it apart.
    return Mark(name if len(name) <= 13 else "…" + name[-8:], at, style.kind(event), match)


def time_of_day(events: Sequence[Event]) -> Axis:
    """Labels from the first to the last event: times of a day, or days of a longer time."""
    first, last = events[0]["ts"], max(event["ts"] for event in events)
    begin = first.replace(minute=0, second=0)
    days = last - first > timedelta(days=2)
    if days:
        begin = begin.replace(hour=0)
    steps = [timedelta(days=n) for n in (1, 2, 7, 14, 28)] if days else [timedelta(minutes=n) for n in (5, 10, 30, 60)]
    step = next(s for s in steps if (last - begin) / s <= 9)
    ticks = [begin + step * k for k in range(math.ceil((last - begin) / step) + 1)]
    return Axis({seconds(at): label(at, days) for at in ticks}, "date" if days else "time of day")


def seconds(at: datetime) -> float:
    return (at - datetime(1970, 1, 1)).total_seconds()


def label(at: datetime, days: bool) -> str:
    return f"{at:%b} {at.day}" if days else f"{at:%H:%M}"
