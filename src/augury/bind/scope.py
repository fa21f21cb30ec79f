"""Names visible to the expressions of a query, and the errors found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from augury.bind.registered import Registered
from augury.errors import Diagnostic, names, suggestion
from augury.ir.query import Variable
from augury.schema import ColumnType, EventSchema
from augury.source import Source, Span


@dataclass(frozen=True, slots=True)
class Problems:
    """The errors of one query, collected so that the user sees all of them at once."""

    found: list[Diagnostic]

    def report(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> None:
        self.found.append(Diagnostic(code, message, span, label, help))


@dataclass(frozen=True, slots=True)
class Scope:
    """The schema, variables, parameters and functions visible to expressions.

    `lossy` if the query has a THRESHOLD, so that attributes may have defaults for a missing event. `completing` is the
    variable whose event, or last event, completes every match; None if there is no such variable.
    """

    source: Source
    schema: EventSchema
    variables: Mapping[str, Variable]
    parameters: Mapping[str, object]
    functions: Mapping[str, Registered]
    lossy: bool
    completing: str | None
    problems: Problems

    def variable(self, name: str, span: Span) -> Variable | None:
        """The variable named `name`, which is the first word of `span`."""
        place = self.word(name, span)
        if name in self.variables:
            variable = self.variables[name]
            if variable.group is None:
                return variable
            help = f"write `{variable.group}[i].{name}.x`, or an aggregate such as avg({variable.group}[].{name}.x)"
            message = f"`{name}` is bound in each round of `{variable.group}`, and is read through it"
            self.problems.report("A441", message, place, "of which round?", help)
            return None
        help = f"bound variables are {names(self.variables)}"
        self.problems.report("A201", f"`{name}` is not bound by PATTERN", place, "unknown variable", help)
        return None

    def is_group(self, name: str) -> bool:
        """Whether a name is that of a group."""
        return any(v.group == name for v in self.variables.values())

    def inside(self, group: str) -> list[str]:
        """The variables of a group."""
        return [v.name for v in self.variables.values() if v.group == group]

    def column(self, name: str, span: Span) -> ColumnType | None:
        """The type of the attribute named `name`."""
        if name in self.schema:
            return self.schema[name]
        help = suggestion(name, self.schema.names)
        self.problems.report("A202", f"the events have no attribute `{name}`", span, "unknown attribute", help)
        return None

    def word(self, name: str, span: Span) -> Span:
        """The place of `name` at the start of `span`, with its backquotes if it has any."""
        quoted = self.source.text[span.start : span.start + 1] == "`"
        length = len(name) + 2 + name.count("`") if quoted else len(name)
        return Span(span.start, min(span.end, span.start + length))
