"""Small charts as SVG: events in lanes, values over time, bars, and boxes joined by arrows; each is one text."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 640  # pixels of every picture
LEFT, RIGHT = 112, 24  # pixels left and right of what is drawn
INK, SOFT, RULE, GROUND, ACCENT = "#1b2430", "#5b6675", "#e3e7ec", "#ffffff", "#e11d48"
PALETTE = ("#2563eb", "#d97706", "#0d9488", "#7c3aed", "#64748b")
"""Colours of the kinds of events and of the engines, apart from one another for the colour-blind as well."""

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Mark:
    """One event of a lane: where it lies on the axis, what kind it is, and the number of the match that binds it."""

    lane: str
    at: float
    kind: str
    match: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """One named curve: its points, and the stretches of it, as indices of points, that matches bind."""

    name: str
    points: Sequence[tuple[float, float]]
    stretches: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Axis:
    """Labels by place along the time axis, and what they are labels of."""

    ticks: Mapping[float, str]
    name: str

    def x(self, at: float) -> float:
        low, high = min(self.ticks), max(self.ticks)
        return LEFT + 12 + (at - low) / (high - low) * (WIDTH - LEFT - RIGHT - 24)


def lane_chart(title: str, marks: Sequence[Mark], axis: Axis) -> str:
    """Events as dots in a lane each for their key, and a thick line below those of one match."""
    lanes = list(dict.fromkeys(mark.lane for mark in marks))
    kinds = list(dict.fromkeys(mark.kind for mark in marks))
    lane, top = 30, 44
    bottom = top + lane * len(lanes)

    def y(name: str) -> float:
        return top + lane * (lanes.index(name) + 0.5)

    parts = _legend([(kind, PALETTE[k % len(PALETTE)]) for k, kind in enumerate(kinds)])
    for name in lanes:
        parts.append(f'<path d="M{LEFT},{y(name)} H{WIDTH - RIGHT}" stroke="{RULE}" stroke-width="1.5"/>')
        parts.append(text(LEFT - 10, y(name) + 4, name, anchor="end"))
    matches: dict[int, list[Mark]] = {}
    for mark in marks:
        if mark.match is not None:
            matches.setdefault(mark.match, []).append(mark)
    for bound in matches.values():
        first, last = (axis.x(f(mark.at for mark in bound)) for f in (min, max))
        parts.append(
            f'<rect x="{first - 9:.1f}" y="{y(bound[0].lane) - 9:.1f}" width="{last - first + 18:.1f}" height="18" '
            f'rx="9" fill="{ACCENT}" fill-opacity="0.16" stroke="{ACCENT}" stroke-width="1.5"/>'
        )
    for mark in marks:
        colour = PALETTE[kinds.index(mark.kind) % len(PALETTE)]
        faint = "" if mark.match is not None else ' fill-opacity="0.45"'
        parts.append(f'<circle cx="{axis.x(mark.at):.1f}" cy="{y(mark.lane):.1f}" r="4.5" fill="{colour}"{faint}/>')
    return _svg(title, [*parts, *_axis(axis, bottom)], bottom + 46)


def curve_chart(title: str, curves: Sequence[Curve], axis: Axis, scale: tuple[float, float] | None = None) -> str:
    """A panel for each curve, with the stretches that matches bind drawn over it; `scale` is from least to greatest."""
    panel, top = 74, 14
    bottom = top + panel * len(curves)
    parts: list[str] = []
    for k, curve in enumerate(curves):
        low, high = scale or (min(v for _, v in curve.points), max(v for _, v in curve.points))
        floor = top + panel * (k + 1) - 10
        places = [
            f"{axis.x(at):.1f},{floor - (value - low) / (high - low) * (panel - 22):.1f}" for at, value in curve.points
        ]
        parts.append(f'<path d="M{LEFT},{floor + 5} H{WIDTH - RIGHT}" stroke="{RULE}"/>')
        parts.append(text(LEFT - 10, floor - panel / 2 + 14, curve.name, anchor="end", more=' font-weight="600"'))
        parts.append(text(LEFT - 10, floor - panel / 2 + 31, f"{low:g} to {high:g}", anchor="end", fill=SOFT, size=11))
        parts.append(f'<path d="M{" L".join(places)}" fill="none" stroke="{PALETTE[0]}" stroke-width="1.5"/>')
        for first, last in curve.stretches:
            line = " L".join(places[first : last + 1])
            parts.append(
                f'<path d="M{line}" fill="none" stroke="{ACCENT}" stroke-width="3.5" stroke-linejoin="round"/>'
            )
    return _svg(title, [*parts, *_axis(axis, bottom)], bottom + 46)


def bar_chart(title: str, groups: Mapping[str, Mapping[str, float]], unit: str, note: str) -> str:
    """Bars in groups on a logarithmic axis: one colour for each name, and the number at the end of its bar."""
    names = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    values = [value for bars in groups.values() for value in bars.values()]
    low, high = math.floor(math.log10(min(values))), math.log10(max(values))
    left, bar, gap, top = 236, 15, 12, 62
    height = top + sum(bar * len(bars) + gap for bars in groups.values())

    def x(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * (WIDTH - left - 64)

    parts = [text(14, 20, title, anchor="start", more=' font-weight="600"', size=14)]
    parts += _legend([(name, PALETTE[k]) for k, name in enumerate(names)], y=44)
    for decade in range(low, math.floor(high) + 1):
        at = x(10.0**decade)
        parts.append(f'<path d="M{at:.1f},{top - 4} V{height}" stroke="{RULE}"/>')
        parts.append(text(at, height + 16, f"{10.0**decade:,g} {unit}", fill=SOFT, size=11))
    y = float(top)
    for group, bars in groups.items():
        parts.append(text(left - 10, y + bar * len(bars) / 2 + 4, group, anchor="end"))
        for name, value in bars.items():
            end = x(value)
            colour = PALETTE[names.index(name)]
            parts.append(
                f'<rect x="{left}" y="{y:.1f}" width="{end - left:.1f}" height="{bar - 3}" rx="2" fill="{colour}"/>'
            )
            parts.append(text(end + 5, y + bar - 5, f"{value:,g}", anchor="start", fill=SOFT, size=11))
            y += bar
        y += gap
    parts.append(text(14, height + 38, note, anchor="start", fill=SOFT, size=11))
    return _svg(title, parts, height + 50)


@dataclass(frozen=True, slots=True)
class Box:
    """One stage of a way: its name, what it does in a line or two, and what it hands to the next."""

    name: str
    does: Sequence[str]
    gives: str = ""


def way_chart(title: str, boxes: Sequence[Box]) -> str:
    """Boxes from top to bottom, joined by arrows that name what goes from one to the next."""
    tall, gap, left, wide, top = 52, 34, 60, 520, 16
    parts = [
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 Z" fill="{SOFT}"/></marker></defs>'
    ]
    for k, box in enumerate(boxes):
        y = top + k * (tall + gap)
        parts.append(
            f'<rect x="{left}" y="{y}" width="{wide}" height="{tall}" rx="8" fill="{PALETTE[0]}" fill-opacity="0.07" '
            f'stroke="{PALETTE[0]}" stroke-opacity="0.6"/>'
        )
        parts.append(text(left + 16, y + 31, box.name, anchor="start", more=' font-weight="600"', size=14))
        for n, line in enumerate(box.does):
            middle = y + 31 + 16 * (n - (len(box.does) - 1) / 2)
            parts.append(text(left + 136, middle, line, anchor="start", fill=INK))
        if k + 1 < len(boxes):
            x = left + 76
            parts.append(
                f'<path d="M{x},{y + tall + 2} V{y + tall + gap - 3}" stroke="{SOFT}" stroke-width="1.5" '
                'marker-end="url(#tip)"/>'
            )
            parts.append(text(x + 14, y + tall + 21, box.gives, anchor="start", fill=SOFT))
    return _svg(title, parts, top + len(boxes) * (tall + gap) - gap + 16)


def text(
    x: float, y: float, content: str, *, anchor: str = "middle", fill: str = INK, size: int = 13, more: str = ""
) -> str:
    """One line of text, whatever characters are in it."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="{FONT}" font-size="{size}" '
        f'fill="{fill}"{more}>{html.escape(content)}</text>'
    )


def _legend(entries: Sequence[tuple[str, str]], y: float = 20) -> list[str]:
    parts, x = [], float(LEFT + 12)
    for name, colour in entries:
        parts.append(f'<circle cx="{x:.1f}" cy="{y - 4}" r="4.5" fill="{colour}"/>')
        parts.append(text(x + 10, y, name, anchor="start", fill=SOFT))
        x += 34 + 7.2 * len(name)
    return parts


def _axis(axis: Axis, y: float) -> list[str]:
    parts = [text(axis.x(at), y + 18, label, fill=SOFT, size=11) for at, label in axis.ticks.items()]
    return [*parts, text((LEFT + WIDTH - RIGHT) / 2, y + 36, axis.name, fill=SOFT, size=11)]


def _svg(title: str, parts: Sequence[str], height: float) -> str:
    label = html.escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}"><rect width="{WIDTH}" height="{height:g}" fill="{GROUND}"/>'
        f"{''.join(parts)}</svg>\n"
    )
