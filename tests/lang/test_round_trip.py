"""What is printed reads back to what was printed: `parse(str(q)) == q`, over random queries of every form."""

from __future__ import annotations

from hypothesis import given, settings

from augury.ir.syntax import Program, Query
from augury.lang import parse, parse_query
from augury.source import Source
from augury.testing.syntax import programs, queries
from tests.thorough import rounds


@given(queries())
def test_a_printed_query_reads_back_as_itself(query: Query) -> None:
    read = parse_query(Source(str(query)))
    assert read == query
    # 1 == 1.0 == True in Python, but not in a query.
    assert repr(read) == repr(query)
    assert str(read) == str(query)


@given(programs())
@settings(max_examples=rounds(10, 100), deadline=None)
def test_a_printed_program_reads_back_as_itself(program: Program) -> None:
    assert parse(Source(str(program))) == program
