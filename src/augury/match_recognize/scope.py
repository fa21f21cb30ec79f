"""Names visible to the expressions of a clause, and the errors found so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from augury.errors import Diagnostic, names, suggestion
from augury.match_recognize.syntax import Identifier
from augury.source import Source, Span

Answer = tuple[list[Any], pa.DataType, int]
"""The values and the type of the first column of a subquery, and its number of columns."""


@dataclass(slots=True)
class Scope:
    """The input columns, the pattern's variables and subsets, and the errors found so far."""

    schema: pa.Schema
    table: str
    primary: tuple[str, ...]
    answer: Callable[[int], Answer]
    source: Source
    unions: dict[str, frozenset[str]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def error(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> None:
        self.diagnostics.append(Diagnostic(code, message, span, label, help))

    def variables(self, name: Identifier) -> frozenset[str] | None:
        """The primary variables that a name stands for; None if it is not a variable."""
        if name.variable in self.primary:
            return frozenset({name.variable})
        return self.unions.get(name.variable)

    def known_variables(self) -> list[str]:
        return [*self.primary, *self.unions]

    def column(self, name: Identifier) -> int | None:
        """The number of an input column; case matters only where a quoted name has an exact counterpart."""
        if name.quoted and name.text in self.schema.names:
            return int(self.schema.names.index(name.text))
        lowered = [n.lower() for n in self.schema.names]
        return lowered.index(name.text.lower()) if name.text.lower() in lowered else None

    def unknown_variable(self, name: Identifier) -> None:
        help = suggestion(name.variable, self.known_variables())
        if name.text.upper() in self.primary and name.quoted:
            help = f"a quoted name keeps its case; write {name.text.upper()} without quotes"
        message = f"`{name.text}` is not a variable of the pattern or a subset"
        self.error("A710", message, name.span, "unknown variable", help or f"known: {names(self.known_variables())}")

    def unknown_column(self, name: Identifier, span: Span | None = None) -> None:
        help = suggestion(name.text, self.schema.names)
        self.error("A711", f"the input has no column `{name.text}`", span or name.span, "unknown column", help)
