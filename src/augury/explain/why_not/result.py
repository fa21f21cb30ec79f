"""The answer of `why_not` as an object: fields, text and HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from augury.engine.results.render import text_table
from augury.printable import printable

NEW_LINE = "\n"


@dataclass(frozen=True, slots=True)
class Step:
    """The events left by one step of a query and those before it.

    `events` counts the events that some assignment to all variables could still bind, `by_variable` those of each
    variable; the steps for type and for conditions on one event count all events that pass, whatever the other
    variables have. `details` are the conditions of the step. If the search stopped early, `exact` is False and there
    may be more.
    """

    name: str
    events: int
    by_variable: Mapping[str, int]
    details: tuple[str, ...] = ()
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that is not true, and the values it reads."""

    text: str
    values: Mapping[str, str]

    def __str__(self) -> str:
        read = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.text} is not true" + (f": {read}" if read else "")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The partial match that lacks the least, and the reason why it fails.

    `rows` are the events that it binds, `missing` the variables without events, or without as many as they need.
    `variable` is the one that failed and `candidates` the rows of the events it failed with, if there are any; for a
    match of all conditions these are the negated event, or the event that the strategy does not skip. `step` names the
    check that failed. `exact` is False if the search stopped early.
    """

    rows: Mapping[str, tuple[int, ...]]
    missing: tuple[str, ...]
    variable: str | None
    candidates: tuple[int, ...]
    step: str
    reason: str
    conditions: tuple[FailedCondition, ...] = ()
    exact: bool = True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WhyNot:
    """The reason why there is no match, returned by `augury.why_not`; prints as text, and as a table in a notebook.

    `matches` counts the matches in all events. `steps` say how many events are left after each step of the query; the
    last one leaves none if there is no match among the events that were `looked_at`. With `rows`, they are about
    these events alone, and `found` is a match that binds them, if there is one; `note` says how OUTPUT treats it.
    `shown` are the events in the answer, as text, by row.
    """

    query: str
    matches: int
    events: int
    looked_at: int
    sample: str
    steps: tuple[Step, ...]
    nearest: NearMiss | None
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    found: Mapping[str, tuple[int, ...]] | None = None
    note: str = ""
    shown: Mapping[int, str] = field(default_factory=dict)

    @property
    def failed(self) -> Step | None:
        """The first step that leaves no events; None if all leave some, or if the search stopped before it knew."""
        last = self.steps[-1] if self.steps else None
        return last if last is not None and not last.events and last.exact else None

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        plain: dict[str, Any] = asdict(self)
        plain["shown"] = {str(row): text for row, text in self.shown.items()}
        return plain

    def __str__(self) -> str:
        parts = ["\n".join(self._head())]
        if self.steps:
            header, rows = self._table()
            parts.append(text_table(header, rows))
        if self.nearest is not None:
            parts.append("\n".join(self._miss(self.nearest)))
        return printable("\n\n".join(parts))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(line)}</p>" for line in self._head()]
        if self.steps:
            header, rows = self._table()
            lines = "".join(_html_row(row, "td", strong=row[1] == "0") for row in rows)
            parts.append(f"<table><thead>{_html_row(header, 'th')}</thead><tbody>{lines}</tbody></table>")
        if self.nearest is not None:
            parts.append(f"<pre>{html.escape(NEW_LINE.join(self._miss(self.nearest)))}</pre>")
        return f"<div>{''.join(parts)}</div>"

    def _head(self) -> list[str]:
        lines = []
        if self.rows:
            asked = ", ".join(f"{v} = {_row_text(rows)}" for v, rows in self.rows.items())
            if self.found is None:
                lines.append(f"No match binds {asked}.")
            else:
                whole = ", ".join(f"{v} = {_row_text(rows)}" for v, rows in self.found.items())
                note = f", {self.note}" if self.note else ""
                lines.append(f"{asked}: there is the match {whole}{note}.")
        else:
            count = "No match" if not self.matches else "1 match" if self.matches == 1 else f"{self.matches:,} matches"
            lines.append(f"{count} in {_events(self.events)}.")
        if self.sample:
            lines.append(f"Looked at {self.looked_at:,} of them: {self.sample}.")
        return lines

    def _table(self) -> tuple[list[str], list[list[str]]]:
        variables = list(self.steps[0].by_variable)
        header = ["left after", "events", *variables, ""]
        rows = []
        for step in self.steps:
            more = "" if step.exact else "≥ "
            counts = [f"{more}{step.by_variable[v]:,}" for v in variables]
            rows.append([step.name, f"{more}{step.events:,}", *counts, ", ".join(step.details)])
        return header, rows

    def _miss(self, miss: NearMiss) -> list[str]:
        bound = [self._event(row, v) for v, rows in miss.rows.items() for row in rows]
        if not bound:
            lines = ["Nearest miss: nothing is bound."]
        elif miss.missing:
            lines = [f"Nearest miss, without {', '.join(miss.missing)}:", *bound]
        else:
            lines = ["Nearest miss, which all conditions hold for:", *bound]
        what = "negated" if miss.step == "negation" else "between" if miss.step == "strategy" else "not bound"
        lines.append(f"It fails at {miss.step}:{f' {miss.reason}' if miss.reason else ''}")
        lines += [self._event(row, miss.variable or what) for row in miss.candidates]
        lines += [f"  {condition}" for condition in miss.conditions]
        if not miss.exact:
            lines.append("The search gave up before it had looked at everything; there may be a nearer one.")
        return lines

    def _event(self, row: int, variable: str) -> str:
        return f"  {variable}: row {row}  {self.shown.get(row, '')}".rstrip()


def _html_row(cells: Sequence[str], tag: str, *, strong: bool = False) -> str:
    style = ' style="font-weight:bold"' if strong else ""
    return f"<tr{style}>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in cells) + "</tr>"


def _row_text(rows: tuple[int, ...]) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows))}"


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"
