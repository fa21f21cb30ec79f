"""Measures how well the probabilities of a lossy query are calibrated, by dropping events from a complete stream."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import numpy.typing as npt

from augury.compiler import CompiledQuery, compile_program, load
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.loss.subqueries import exact_rows, part_of
from augury.engine.results.render import text_table
from augury.engine.sources.events import Events, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import event_schema
from augury.errors import HostError
from augury.ir.lossy import check_model, sequence
from augury.ir.query import BoundQuery
from augury.loss import LossModel
from augury.options import MatchOptions, Options, read_options
from augury.runtime.batch import Integers
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER

DECILES = 10
WIDTH, HEIGHT = 4, 10
"""Characters per decile, and lines, of a reliability plot in text."""

SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Decile:
    """Matches of probability `low` to `high`: how many, their mean probability, and the share that was real."""

    low: float
    high: float
    count: int
    said: float
    real: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well a lossy query does on a complete stream from which events were dropped.

    `real` matches are those of the complete stream; a match found is right if one of them agrees with it on every
    component that was observed. `recall` is the share of the real ones that was found, `precision` the share of those
    found that was right, `exact_recall` the share of the real ones of which no event was dropped. `error` is the mean
    distance between what a match said and the share of its decile that was right; `error_missing` is the same over the
    matches with something missing alone.
    """

    deciles: tuple[Decile, ...]
    found: int
    real: int
    dropped: int
    error: float
    error_missing: float
    precision: float
    recall: float
    exact_recall: float

    def __str__(self) -> str:
        rows = [
            [f"{d.low:.1f} - {d.high:.1f}", str(d.count), f"{d.said:.3f}", f"{d.real:.3f}"]
            for d in self.deciles
            if d.count
        ]
        summary = (
            f"{self.real} real matches, {self.dropped} events dropped, {self.found} matches found\n"
            f"recall {self.recall:.3f} (exact matching {self.exact_recall:.3f}), precision {self.precision:.3f}, "
            f"calibration error {self.error:.3f}"
            f" ({self.error_missing:.3f} where something is missing)"
        )
        return "\n".join([summary, "", text_table(["probability", "matches", "said", "real"], rows), "", self.plot()])

    def plot(self) -> str:
        """The reliability plot as text: `o` is the share that was real, `.` what a calibrated decile would have."""
        grid = [[" "] * (WIDTH * DECILES) for _ in range(HEIGHT + 1)]
        for k, d in enumerate(self.deciles):
            if d.count:
                grid[HEIGHT - round(d.said * HEIGHT)][WIDTH * k + WIDTH // 2] = "."
                grid[HEIGHT - round(d.real * HEIGHT)][WIDTH * k + WIDTH // 2] = "o"
        lines = [f"{1 - y / HEIGHT:3.1f} |{''.join(row).rstrip()}" for y, row in enumerate(grid)]
        axis = "".join(f"{d.low:.1f}".rjust(WIDTH) for d in self.deciles)
        return "\n".join(["real", *lines, f"    +{'-' * (WIDTH * DECILES)}", f"     {axis}  said"])

    def to_svg(self) -> str:
        """The reliability plot as an SVG image: a circle for each decile, its area by the number of matches."""
        most = max((d.count for d in self.deciles), default=0) or 1
        parts = [f'<svg xmlns="{SVG}" width="320" height="320" font-family="sans-serif" font-size="11">']
        parts.append('<rect x="40" y="40" width="240" height="240" fill="none" stroke="#888"/>')
        parts.append('<line x1="40" y1="280" x2="280" y2="40" stroke="#bbb" stroke-dasharray="4"/>')
        for k in range(6):
            at = 48 * k
            parts.append(f'<text x="{40 + at}" y="298" text-anchor="middle">{k / 5:.1f}</text>')
            parts.append(f'<text x="32" y="{284 - at}" text-anchor="end">{k / 5:.1f}</text>')
        for d in self.deciles:
            if d.count:
                x, y, r = 40 + 240 * d.said, 280 - 240 * d.real, 3 + 9 * (d.count / most) ** 0.5
                title = f"{d.count} matches, said {d.said:.3f}, real {d.real:.3f}"
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="#2a6f97" fill-opacity="0.7">')
                parts.append(f"<title>{title}</title></circle>")
        parts.append('<text x="160" y="316" text-anchor="middle">probability reported</text>')
        title = f"share that was real; calibration error {self.error:.3f}"
        return "".join([*parts, f'<text x="160" y="26" text-anchor="middle">{title}</text></svg>'])

    def _repr_html_(self) -> str:
        return self.to_svg()


def calibration(
    query: str | os.PathLike[str],
    stream: Events,
    model: LossModel,
    *,
    seed: int = 0,
    **given: Unpack[MatchOptions],
) -> Calibration:
    """Drop events from a complete stream at the rates of the model, and see which matches of the query were real.

    The options are those of `match`; the loss is that of the model.
    """
    roles, options = read_options({**given, "loss": model})
    table = read_events(stream, roles.time, roles.required)
    schema = event_schema(table.schema, roles)
    compiled = compile_program(query_source(query), schema, options).last
    if compiled.bound.threshold is None:
        raise HostError("A559", "without THRESHOLD a query has no probabilities to calibrate", "add a THRESHOLD")
    events = in_order(arrive(table, schema, 0), schema)
    positive = [s.variable for s in sequence(compiled.bound.pattern) if not s.negated]
    truth = exact_rows(part_of(compiled.bound, positive, negations=True), compiled, events, options)
    real = np.stack([truth[v] for v in positive], axis=1)
    rates = event_rates(compiled, events, check_model(compiled.bound, model), options)
    kept = np.random.default_rng(seed).random(len(events)) >= rates
    rows, scores = _lossy(compiled, events, kept, options)
    return _compare(real, rows, scores, kept)


def event_rates(
    compiled: CompiledQuery, events: Arrivals, model: LossModel, options: Options
) -> npt.NDArray[np.float64]:
    """The loss rate of each event: that of the first component it can stand for, 0 if it fits none."""
    rates = np.zeros(len(events))
    query: BoundQuery = compiled.bound
    for step in reversed(sequence(query.pattern)):
        (fitting,) = exact_rows(part_of(query, (step.variable,)), compiled, events, options).values()
        rates[fitting] = model.rate_of(step.variable)
    return rates


def _lossy(
    compiled: CompiledQuery, events: Arrivals, kept: npt.NDArray[np.bool_], options: Options
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Match the kept events: the positions of bound events in the complete stream, -1 for missing ones, and scores."""
    kernel = load(compiled, options)
    left = replace(events, rows=np.arange(len(events))).where(kept)
    _, found = kernel.step(kernel.start(), left.batch(compiled.bound.schema), FOREVER)
    matches = enumerated(found)
    rows = np.full((len(matches), len(matches.variables)), -1, dtype=np.int64)
    for k, column in enumerate(matches.rows):
        there = column.value_lengths().to_numpy(zero_copy_only=False) > 0
        rows[there, k] = column.flatten().to_numpy(zero_copy_only=False)
    return rows, np.empty(0) if matches.probability is None else matches.probability


def _compare(
    real: Integers, rows: Integers, scores: npt.NDArray[np.float64], kept: npt.NDArray[np.bool_]
) -> Calibration:
    right = np.zeros(len(rows), dtype=bool)
    recovered = np.zeros(len(real), dtype=bool)
    patterns = {tuple(row) for row in (rows >= 0).tolist()}
    for pattern in patterns:
        mask = np.array(pattern)
        mine = np.flatnonzero(((rows >= 0) == mask).all(axis=1))
        found = [tuple(row) for row in rows[mine][:, mask].tolist()]
        known = [tuple(row) for row in real[:, mask].tolist()]
        there, seen = set(known), set(found)
        right[mine] = [row in there for row in found]
        recovered |= np.array([row in seen for row in known], dtype=bool)
    deciles, error = _deciles(scores, right)
    partial = (rows < 0).any(axis=1)
    _, error_missing = _deciles(scores[partial], right[partial])
    whole = kept[real].all(axis=1) if len(real) else np.zeros(0, dtype=bool)
    return Calibration(
        deciles,
        found=len(rows),
        real=len(real),
        dropped=int((~kept).sum()),
        error=error,
        error_missing=error_missing,
        precision=float(right.mean()) if len(rows) else 0.0,
        recall=float(recovered.mean()) if len(real) else 0.0,
        exact_recall=float(whole.mean()) if len(real) else 0.0,
    )


def _deciles(scores: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> tuple[tuple[Decile, ...], float]:
    """Matches in ten bins of probability, and the mean distance between probability and the share that was real."""
    deciles = []
    distance = 0.0
    for k in range(DECILES):
        low, high = k / DECILES, (k + 1) / DECILES
        inside = (scores >= low) & ((scores < high) | (k == DECILES - 1))
        count = int(inside.sum())
        said, was = (float(scores[inside].mean()), float(right[inside].mean())) if count else (0.0, 0.0)
        deciles.append(Decile(low, high, count, said, was))
        distance += count * abs(said - was)
    return tuple(deciles), distance / len(scores) if len(scores) else 0.0
