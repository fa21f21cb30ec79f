"""Laws of binding, over random queries."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from augury.bind import bind
from augury.errors import Diagnostic, QueryError
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.ir.terms import AGGREGATES, Operator
from augury.ir.text import query_text
from augury.ir.unbind import unbind_query
from augury.lang import parse_query
from augury.schema import EventSchema
from augury.source import Source
from augury.testing.syntax import queries
from tests.thorough import rounds

SCHEMA = EventSchema.from_arrow(
    pa.schema(
        [
            ("ts", pa.timestamp("ms")),
            ("type", pa.string()),
            ("price", pa.float64()),
            ("volume", pa.int64()),
            ("halted", pa.bool_()),
            ("history", pa.list_(pa.float64())),
            ("delay", pa.duration("ms")),
            ("nothing", pa.null()),
        ]
    )
)
COMPONENTS = (
    syntax.Component("a", (syntax.TypeName("A"),)),
    syntax.Component("b", (syntax.TypeName("B"),), syntax.Quantifier(1, None)),
    syntax.Component("o", (), None, optional=True),
)
PATTERN = syntax.Group(Operator.SEQ, (*COMPONENTS, syntax.Negation(syntax.Component("n"))))
# Numbers are most common, so that many a random condition has a meaning.
ATTRIBUTES = ("price", "volume") * 6 + ("ts", "halted", "history", "delay", "nothing", "len")
INDEXES = (None, syntax.Index.EACH, syntax.Index.PREVIOUS, syntax.Index.FIRST, syntax.Index.LAST)


def atoms() -> SearchStrategy[syntax.Expression]:
    numbers = st.builds(syntax.Number, st.integers(-5, 5) | st.floats(-5, 5))
    single = st.builds(syntax.Attribute, st.sampled_from("aon"), st.sampled_from(ATTRIBUTES))
    element = st.builds(syntax.Attribute, st.just("b"), st.sampled_from(ATTRIBUTES), st.sampled_from(INDEXES))
    return st.one_of(numbers, single, element, lists(), rare())


def rare() -> SearchStrategy[syntax.Expression]:
    # An odd number of milliseconds is in the unit of the columns: other units are scaled, which does not read back.
    milliseconds = st.integers(0, 2000).map(lambda n: (2 * n + 1) * 1_000_000)
    return st.one_of(
        st.builds(syntax.Duration, milliseconds),
        st.builds(syntax.Boolean, st.booleans()),
        st.sampled_from((syntax.Text("2024-01-01"), syntax.Text("x"), syntax.Elements("b", syntax.Index.ALL))),
    )


def lists() -> SearchStrategy[syntax.Expression]:
    every = st.sampled_from((None, syntax.Index.ALL, syntax.Index.BEFORE))
    read = st.builds(syntax.Attribute, st.just("b"), st.sampled_from(ATTRIBUTES), every)
    return st.builds(syntax.Call, st.sampled_from(AGGREGATES), st.tuples(read))


def values(inner: SearchStrategy[syntax.Expression]) -> SearchStrategy[syntax.Expression]:
    return st.one_of(
        st.builds(syntax.Unary, st.just("-"), inner),
        st.builds(syntax.Binary, st.sampled_from("+-*/%"), inner, inner),
        st.builds(syntax.Call, st.sampled_from(("abs", "length", "floor", "round")), st.tuples(inner)),
        st.builds(syntax.Call, st.sampled_from(("least", "coalesce", "corr")), st.tuples(inner, inner)),
    )


def conditions() -> SearchStrategy[syntax.Expression]:
    value = st.recursive(atoms(), values, max_leaves=4)
    comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
    simple = st.one_of(
        st.builds(syntax.Binary, comparisons, value, value),
        st.builds(syntax.In, value, st.lists(value, min_size=1, max_size=2).map(tuple), st.booleans()),
        st.builds(syntax.Between, value, value, value, st.booleans()),
        st.builds(syntax.IsNull, value, st.booleans()),
    )

    def joined(inner: SearchStrategy[syntax.Expression]) -> SearchStrategy[syntax.Expression]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        negations = st.builds(syntax.Unary, st.just("NOT"), inner)
        return st.builds(syntax.Logical, st.sampled_from(("AND", "OR")), several) | negations

    return st.recursive(simple, joined, max_leaves=3)


def attempt(query: syntax.Query) -> tuple[BoundQuery | None, tuple[Diagnostic, ...]]:
    """The query bound, or what is wrong with it."""
    try:
        return bind(query, SCHEMA, Source(query_text(query))), ()
    except QueryError as error:
        return None, error.diagnostics


@given(queries())
@settings(max_examples=rounds(30, 60))
def test_any_query_is_bound_or_refused(query: syntax.Query) -> None:
    bound, refusal = attempt(query)
    assert (bound is None) == bool(refusal)
    assert all(d.help for d in refusal)


@given(conditions())
@settings(max_examples=rounds(50, 100), suppress_health_check=[HealthCheck.filter_too_much])
def test_what_is_bound_reads_back(where: syntax.Expression) -> None:
    query = syntax.Query(PATTERN, where=where)
    bound, _ = attempt(query)
    assume(bound is not None)
    assert bound is not None
    source = Source(query_text(unbind_query(bound)))
    assert replace(bind(parse_query(source), SCHEMA, source), source=bound.source) == bound
