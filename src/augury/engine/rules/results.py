"""Matches, costs and diagnostics of rules, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.engine.results.json_text import json_rows
from augury.engine.results.render import MAX_TABLE_ROWS, cell, first_rows
from augury.engine.rules.table import Rule
from augury.errors import AuguryError, HostError, QueryError
from augury.runtime.batch import Integers

DIAGNOSTICS = pa.schema([(name, pa.string()) for name in ("rule", "level", "code", "message")])
"""The columns of diagnostics about rules."""


COUNTERS = {
    "seconds": "Seconds that a rule has taken.",
    "events": "Events that a rule was given.",
    "matches": "Matches that a rule has found.",
}
"""Columns of costs that are counters, with their help texts for Prometheus."""


@dataclass(frozen=True, slots=True, repr=False)
class RuleMatches:
    """The matches of rules, one row each in `table`, the costs of the rules, and diagnostics about some of them.

    `table` has the columns `rule`, `labels`, `start`, `end` and `match`, the bound events or the items of RETURN as
    JSON. `costs` has `rule`, `shape` (rules of one shape share one compiled kernel), `seconds`, the `share` of all
    seconds, `events`, those that the rule was given, `partial_matches`, those that are open in a stream now, `matches`,
    and `last_match`, the end of the last one. Rules that are matched together share the seconds by their events.
    `diagnostics` has `rule`, `level`, `code` and `message`; a rule with an error takes no part.
    """

    table: pa.Table
    diagnostics: pa.Table
    _costs: Callable[[], pa.Table]

    @property
    def costs(self) -> pa.Table:
        """The cost of each rule so far; for a stream, at the time of the call."""
        return self._costs()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        text = "1 match" if len(self) == 1 else f"{len(self)} matches"
        if len(self):
            text += f"\n{first_rows(self.table)}"
        if self.diagnostics.num_rows:
            # The first line of a message says what is wrong; the others show where.
            lines = [f"{rule}: {message.splitlines()[0]}" for rule, message in self._messages()]
            text += "\n\ndiagnostics:\n" + "\n".join(cell(line, None) for line in lines[:MAX_TABLE_ROWS])
            text += f"\n... and {len(lines) - MAX_TABLE_ROWS} more" if len(lines) > MAX_TABLE_ROWS else ""
        return text

    def _messages(self) -> Iterator[tuple[str, str]]:
        return zip(self.diagnostics["rule"].to_pylist(), self.diagnostics["message"].to_pylist(), strict=True)

    def prometheus(self) -> str:
        """The cost of each rule so far, in the text format that Prometheus and OpenTelemetry collectors read.

        For a stream these are counters of the seconds, the events and the matches of each rule.
        """
        costs, lines = self.costs.to_pylist(), list[str]()
        for name, help in COUNTERS.items():
            lines += [f"# HELP augury_rule_{name}_total {help}", f"# TYPE augury_rule_{name}_total counter"]
            for row in costs:
                labels = f'rule="{_escaped(row["rule"])}",shape="{_escaped(row["shape"])}"'
                lines.append(f"augury_rule_{name}_total{{{labels}}} {row[name]}")
        return "".join(f"{line}\n" for line in lines)


@dataclass(slots=True)
class RuleCost:
    """The cost of one rule so far."""

    shape: str = ""
    seconds: float = 0.0
    events: int = 0
    matches: int = 0
    last_match: Any = None

    def taken(self) -> RuleCost:
        """The cost since the last call; resets the counters."""
        since = replace(self)
        self.seconds, self.events, self.matches, self.last_match = 0.0, 0, 0, None
        return since


@dataclass(slots=True)
class RuleResults:
    """Collects the matches, costs and diagnostics of rules."""

    time: pa.DataType
    """The type of the time column."""
    order: dict[str, int]
    """The place of each rule in the table of rules."""
    costs: dict[str, RuleCost] = field(default_factory=dict)
    partial_matches: Callable[[], Mapping[str, int]] = dict
    """Gives the number of open partial matches by rule."""
    diagnostics: list[tuple[str, str, str, str]] = field(default_factory=list)
    _parts: list[pa.Table] = field(default_factory=list)
    _places: list[Integers] = field(default_factory=list)

    def found(
        self,
        rules: Sequence[Rule],
        rule: Integers,
        matches: pa.Table,
        seconds: float,
        touched: Integers,
        shape: str | None = None,
    ) -> None:
        """Add the matches that some rules found together within `seconds`.

        `rule` is for each match the place of its rule among `rules`, in ascending order.
        """
        counts = np.bincount(rule, minlength=len(rules))
        shares = touched / max(1, int(touched.sum()))
        ends = np.cumsum(counts)
        for k, one in enumerate(rules):
            cost = self.costs.setdefault(one.id, RuleCost())
            cost.shape = cost.shape if shape is None else shape
            cost.seconds += seconds * (float(shares[k]) if len(rules) > 1 else 1.0)
            cost.events += int(touched[k])
            cost.matches += int(counts[k])
            if counts[k]:
                cost.last_match = matches["end"][int(ends[k]) - 1].as_py()
        if matches.num_rows:
            self._parts.append(match_rows(rules, rule, matches, self.time))
            self._places.append(np.array([self.order[one.id] for one in rules], dtype=np.int64)[rule])

    def warn(self, rule: Rule, texts: Sequence[str]) -> None:
        """Add warnings for the author of a rule."""
        self.diagnostics += [(rule.id, "warning", "", text) for text in texts]

    def began_anew(self, rule: Rule) -> None:
        """Add a warning that a rule has lost its state, since it has another plan now."""
        error = HostError("A571", "another plan cannot continue this checkpoint: the rule begins anew")
        id, _, code, message = diagnostic_of(rule, error)
        self.diagnostics.append((id, "warning", code, message))

    def failed(self, rule: Rule, error: AuguryError, note: str = "") -> None:
        """Add the error of a rule."""
        id, level, code, message = diagnostic_of(rule, error)
        self.diagnostics.append((id, level, code, message + note))

    def result(self) -> RuleMatches:
        """All that was collected; matches are ordered by rule, those of one rule as they were found."""
        told = list(zip(*self.diagnostics, strict=True)) or [(), (), (), ()]
        diagnostics = pa.table([pa.array(values, pa.string()) for values in told], schema=DIAGNOSTICS)
        return RuleMatches(self._table(), diagnostics, self.costs_table)

    def costs_table(self) -> pa.Table:
        """The cost of each rule, in the order of the rules."""
        known = sorted(self.costs, key=lambda id: self.order.get(id, len(self.order)))
        costs = {id: self.costs[id] for id in known}
        total = sum(cost.seconds for cost in costs.values())
        shares = [cost.seconds / total if total else 0.0 for cost in costs.values()]
        table = cost_table(costs, self.partial_matches(), self.time)
        return table.add_column(table.column_names.index("events"), "share", pa.array(shares, pa.float64()))

    def _table(self) -> pa.Table:
        table = pa.concat_tables([match_schema(self.time).empty_table(), *self._parts])
        if len(self._parts) < 2:
            return table
        return table.take(pa.array(np.argsort(np.concatenate(self._places), kind="stable")))


def _escaped(text: str) -> str:
    """The value of a label, escaped for the text format of Prometheus."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def diagnostic_of(rule: Rule, error: AuguryError) -> tuple[str, str, str, str]:
    """An error as a row of `diagnostics`: its first code and its whole message."""
    code = error.diagnostics[0].code if isinstance(error, QueryError) else getattr(error, "code", "")
    return rule.id, "error", code, str(error)


def cost_table(costs: Mapping[str, RuleCost], partial_matches: Mapping[str, int], time: pa.DataType) -> pa.Table:
    """The costs of rules, one row each; `time` is the type of the time column."""
    rows = [
        {
            "rule": id,
            "shape": cost.shape,
            "seconds": cost.seconds,
            "events": cost.events,
            "partial_matches": partial_matches.get(id, 0),
            "matches": cost.matches,
            "last_match": cost.last_match,
        }
        for id, cost in costs.items()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([("rule", pa.string()), *cost_fields(time)]))


def cost_fields(time: pa.DataType) -> list[pa.Field]:
    """The columns of the cost of a rule; `time` is the type of the time column."""
    counted = [pa.field(name, pa.int64()) for name in ("events", "partial_matches", "matches")]
    return [
        pa.field("shape", pa.string()),
        pa.field("seconds", pa.float64()),
        *counted,
        pa.field("last_match", time),
    ]


def match_schema(time: pa.DataType) -> pa.Schema:
    """The columns of the matches of rules; `time` is the type of the time column."""
    columns = {"rule": pa.string(), "labels": pa.list_(pa.string()), "start": time, "end": time}
    return pa.schema([*columns.items(), ("match", pa.string())])


def match_rows(rules: Sequence[Rule], rule: Integers, matches: pa.Table, time: pa.DataType) -> pa.Table:
    """The matches of some rules, with the columns of `match_schema`.

    `rule` is for each match the place of its rule among `rules`; `time` is the type of the time column.
    """
    own = matches.drop_columns([name for name in ("start", "end") if name in matches.column_names])
    places = pa.array(rule)
    labels = pa.array([list(one.labels) for one in rules], pa.list_(pa.string()))
    nothing = pa.nulls(matches.num_rows, time)
    return pa.table(
        {
            "rule": pa.array([one.id for one in rules], pa.string()).take(places),
            "labels": labels.take(places),
            # OUTPUT COUNT says when matches end, not when they start.
            "start": matches["start"] if "start" in matches.column_names else nothing,
            "end": matches["end"],
            "match": pa.array(json_rows(own), pa.string()),
        },
        schema=match_schema(time),
    )
