"""Random queries as they may be written: every node of `augury.ir.syntax`, names and values of every kind."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from augury.ir.syntax import (
    AllAttributes,
    Attribute,
    Between,
    Binary,
    Boolean,
    BoundEvent,
    Call,
    Component,
    CountWindow,
    Duration,
    Elements,
    Equivalence,
    Expression,
    Group,
    GroupAttribute,
    In,
    Index,
    IsNull,
    ListedVariable,
    Logical,
    Name,
    Negation,
    NthIndex,
    Null,
    Number,
    Part,
    Program,
    Quantifier,
    Query,
    ReturnItem,
    Step,
    Text,
    TypeName,
    Unary,
)
from augury.ir.terms import Operator, OutputMode, Strategy
from augury.ir.text import RESERVED
from augury.schema import INT_MAX, INT_MIN
from augury.testing.ugly import ugly_names

_ORDINARY = (
    "a",
    "b",
    "Stock",
    "i",
    "len",
    "first",
    "last",
    "events",
    "all",
    "count",
    "day",
    "s",
    "seq",
    "größe",
    "速度",
)
_AWKWARD = (
    *RESERVED,
    *map(str, Strategy),
    "Within",
    "low-speed",
    "tag id",
    "`",
    "``x",
    "1st",
    "'",
    "--",
    "is\u0301",
    "a²",
)


def names() -> SearchStrategy[str]:
    """Names of variables, types, attributes and parameters; some of them need backquotes."""
    return st.sampled_from(_ORDINARY) | st.sampled_from(_AWKWARD) | ugly_names()


def parts(max_leaves: int = 8) -> SearchStrategy[Part]:
    """Patterns as written, at most `max_leaves` components large."""
    return st.recursive(
        _components(),
        lambda inner: st.one_of(
            _groups(inner),
            st.builds(Negation, inner, st.none() | _bound_events(), st.none()),
            st.builds(Negation, inner, st.none(), _durations()),
        ),
        max_leaves=max_leaves,
    )


def expressions(max_leaves: int = 12) -> SearchStrategy[Expression]:
    """Expressions as written, sensible or not: what fits together is for the binder to say."""
    return st.recursive(_atoms(), _compounds, max_leaves=max_leaves)


def queries() -> SearchStrategy[Query]:
    """Queries as written, with every clause there or not."""
    return _queries()


def programs() -> SearchStrategy[Program]:
    """One to three queries."""
    return st.builds(Program, st.lists(_queries(), min_size=1, max_size=3).map(tuple))


@st.composite
def _queries(draw: st.DrawFn) -> Query:
    strategy = draw(st.none() | st.sampled_from(Strategy))
    listed = st.lists(st.builds(ListedVariable, names(), st.booleans()), max_size=3).map(tuple)
    output = draw(st.none() | st.sampled_from(OutputMode))
    every = draw(st.none() | _durations() | st.builds(Name, names())) if output is not None else None
    returns = draw(st.just(()) | st.lists(_return_items(), min_size=1, max_size=3).map(tuple))
    return Query(
        draw(parts()),
        strategy,
        draw(st.none() | listed) if strategy else None,
        draw(st.none() | expressions()),
        draw(st.none() | _durations() | st.builds(CountWindow, st.integers(0, INT_MAX)) | st.builds(Name, names())),
        draw(st.none() | st.builds(Number, st.floats(0, 1) | st.integers(0, 1)) | st.builds(Name, names())),
        output,
        returns,
        draw(st.none() | names()) if returns else None,
        draw(st.lists(st.builds(Step, st.sampled_from(Strategy), st.none() | listed), max_size=2).map(tuple))
        if strategy
        else (),
        draw(_bound_events()) if output is OutputMode.NONOVERLAP_FROM else None,
        draw(st.none() | _durations() | st.builds(Name, names())),
        every,
        output is not None and every is None and draw(st.booleans()),
    )


def _bound_events() -> SearchStrategy[BoundEvent]:
    return st.builds(BoundEvent, names(), st.none() | st.sampled_from((Index.FIRST, Index.LAST)))


def _indexes() -> SearchStrategy[Index | NthIndex]:
    return st.sampled_from(Index) | st.builds(NthIndex, st.integers(2, 9) | st.integers(2, 10**18 - 1))


def _return_items() -> SearchStrategy[ReturnItem]:
    every = st.builds(ReturnItem, st.builds(AllAttributes, names()))
    return st.builds(ReturnItem, expressions(max_leaves=4), st.none() | names()) | every


def _groups(inner: SearchStrategy[Part]) -> SearchStrategy[Group]:
    operators, parts = st.sampled_from(Operator), st.lists(inner, min_size=1, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Group, operators, parts),
        st.builds(Group, operators, parts, _quantifiers(), names()),
        st.builds(Group, operators, parts, optional=st.just(True)),
    )


def _quantifiers() -> SearchStrategy[Quantifier]:
    bounds = st.integers(0, 3) | st.integers(0, INT_MAX)
    return st.builds(Quantifier, bounds, st.none() | bounds, st.booleans())


def _components() -> SearchStrategy[Component]:
    types = st.lists(st.builds(TypeName, names()), max_size=3).map(tuple)
    quantifiers = _quantifiers()
    single = st.builds(Component, names(), types, st.none(), st.booleans())
    ends = st.none() | st.builds(Component, names(), types)
    return single | st.builds(Component, names(), types, quantifiers, st.just(False), ends)


def _durations() -> SearchStrategy[Duration]:
    unit = st.sampled_from((1, 1_000, 1_000_000_000, 60_000_000_000, 604_800_000_000_000))
    whole = st.builds(lambda count, size: Duration(count * size), st.integers(0, 10_000), unit)
    return whole | st.builds(Duration, st.integers(0, INT_MAX))


def _atoms() -> SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Attribute, names(), names(), st.none() | _indexes()),
        st.builds(GroupAttribute, names(), names(), names(), *[st.none() | st.sampled_from(Index)] * 2),
        st.builds(Number, st.integers(-10, 10) | st.integers(INT_MIN, INT_MAX)),
        st.builds(Number, st.floats(allow_nan=False, allow_infinity=False)),
        st.builds(Text, st.text(max_size=8) | st.sampled_from(("'", '"', "--", "/*", "a {", "`"))),
        st.builds(Boolean, st.booleans()),
        st.builds(Null),
        _durations(),
        st.builds(Name, names()),
        st.builds(Elements, names(), _indexes()),
        st.builds(Equivalence, names()),
    )


def _compounds(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    # A function's name is kept in lower case, and some characters have no stable one.
    functions = names().map(str.lower).filter(lambda name: name == name.lower())
    return st.one_of(
        st.builds(Attribute, names(), names(), st.none() | _indexes(), inner),
        st.builds(Unary, st.sampled_from(("-", "NOT")), inner),
        st.builds(Binary, st.sampled_from(("+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=")), inner, inner),
        st.builds(Logical, st.sampled_from(("AND", "OR")), st.lists(inner, min_size=2, max_size=4).map(tuple)),
        st.builds(In, inner, several, st.booleans()),
        st.builds(Between, inner, inner, inner, st.booleans()),
        st.builds(IsNull, inner, st.booleans()),
        st.builds(Call, functions, st.just(()) | several),
    )
