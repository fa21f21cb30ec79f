"""Query text to syntax tree."""

from __future__ import annotations

from typing import cast

from augury.errors import Diagnostic, QueryError
from augury.ir.syntax import Expression, Part, Program, Query, children
from augury.source import Source, Span

MAX_DEPTH = 100
"""How deep patterns and expressions may nest, so that everything behind the parser may recurse."""


def parse(source: Source) -> Program:
    """Read the queries of a text.

    >>> print(parse(Source("pattern sequence(A a, !B b, C c) within 90 min")))
    PATTERN   SEQ(A a, NOT(B b), C c)
    WITHIN    90 minutes
    """
    # Lark is loaded with the first query, not with the package.
    from lark import UnexpectedCharacters, UnexpectedToken

    from augury.lang.complaints import complaint, unclosed
    from augury.lang.grammar import grammar
    from augury.lang.literals import Rejected

    diagnostic = unclosed(source)
    if diagnostic is not None:
        raise QueryError([diagnostic], source)
    try:
        program = cast("Program", grammar().parse(source.text))
    except Rejected as rejected:
        raise QueryError([rejected.diagnostic], source) from None
    except (UnexpectedToken, UnexpectedCharacters) as error:
        raise QueryError([complaint(error, source)], source) from None
    diagnostic = _too_deep(program)
    if diagnostic is not None:
        raise QueryError([diagnostic], source)
    return program


def parse_query(source: Source) -> Query:
    """Read a text that holds one query.

    >>> parse_query(Source("SEQ(A a, B b)")).pattern.operator
    <Operator.SEQ: 'SEQ'>
    """
    first, *more = parse(source).queries
    if more:
        raise QueryError(
            [
                Diagnostic(
                    "A101",
                    f"expected one query, found {len(more) + 1}",
                    Span(more[0].span.start, more[0].span.start + 1),
                    "the second query",
                    "give the queries one by one, or as a program",
                )
            ],
            source,
        )
    return first


def _too_deep(program: Program) -> Diagnostic | None:
    """The first node of the text that is nested too deep, found without recursion."""
    pending: list[tuple[Part | Expression, int]] = [(node, 1) for node in reversed([*children(program)])]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            return Diagnostic(
                "A104",
                f"this is nested more than {MAX_DEPTH} levels deep",
                Span(node.span.start, node.span.start + 1),
                "too deep",
                "split the query, or name parts of it with RETURN ... INTO",
            )
        pending += [(child, depth + 1) for child in reversed([*children(node)])]
    return None
