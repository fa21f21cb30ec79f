"""Names and values of users never become code: what they hold is neither run nor breaks a kernel."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import Exponential, LossModel
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import constant, heading, origin, remark
from augury.ir.predicate import Compare, Literal, Ref, conjunct
from augury.plan import FamilyName
from augury.runtime.identifiers import identifier
from augury.schema import STRING
from augury.source import Source, Span

BREAKS = ("\r", "\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029")

CODE = "__builtins__.update(AUGURY_RAN_THIS=True)#"
"""Python that leaves a trace, in characters that stand in any name or string."""


def payload(indent: int, line_break: str = "\r") -> str:
    """A value that was once written into a comment: behind the break it would be a statement."""
    return f"bob{line_break}{' ' * indent}{CODE}"


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    yield
    ran = vars(builtins).pop("AUGURY_RAN_THIS", False)
    assert not ran, "text of a user was run"


def events(**names: str) -> pa.Table:
    """Eight events; `names` rename columns."""
    rows: dict[str, list[Any]] = {
        "ts": list(range(8)),
        "type": ["A", "B", "A", "C", "B", "A", "B", "C"],
        "name": ["bob", "ann", "eve", "bob", "ann", "bob", "eve", "ann"],
        "x": [1.0, 2.0, 1.5, 3.0, 2.5, 0.5, 4.0, 3.5],
        "k": [1, 1, 2, 1, 2, 1, 1, 2],
    }
    return pa.table({names.get(name, name): values for name, values in rows.items()})


def agrees(query: str, table: pa.Table, plan: FamilyName, **options: Any) -> int:
    """The number of matches, which are those of the reference."""
    found = augury.match(table, query, time="ts", plan=plan, jit=False, **options).to_arrow()
    assert found.equals(augury.match(table, query, time="ts", plan="reference", **options).to_arrow())
    return int(found.num_rows)


INDENTS = (0, 4, 8, 12, 16, 20, 24, 28)
PLANS = ("eager-nfa", "lazy-chain", "lazy-tree", "linked")


@pytest.mark.parametrize("indent", INDENTS)
def test_a_parameter_is_not_run(indent: int) -> None:
    query = """PATTERN SEQ(A a, B b)
               WHERE skip_till_next_match { a.name != who OR b.name != who } WITHIN 9 seconds"""
    assert agrees(query, events(), "eager-nfa", parameters={"who": payload(indent)})
    found = augury.match(events(), query, time="ts", parameters={"who": payload(indent)})
    assert len(found)


@pytest.mark.parametrize("line_break", BREAKS)
@pytest.mark.parametrize("plan", PLANS)
def test_a_literal_is_not_run(plan: FamilyName, line_break: str) -> None:
    strategy = "skip_till_next_match" if plan == "eager-nfa" else "skip_till_any_match"
    for indent in INDENTS:
        text = payload(indent, line_break)
        query = f"""PATTERN SEQ(A a, B b)
                    WHERE {strategy} {{ a.name != '{text}' AND (a.name != b.name OR b.name = '{text}') }}
                    WITHIN 9 seconds OUTPUT {"COVER" if plan == "linked" else "ALL"}"""
        assert agrees(query, events(), plan)


@pytest.mark.parametrize("plan", [*PLANS, "event-sets"])
@pytest.mark.parametrize("indent", INDENTS)
def test_the_name_of_a_column_is_not_run(plan: FamilyName, indent: int) -> None:
    # It stands in no query, but `[name]` and RETURN may be about a column beside it.
    column = f"n ' \" {CODE}"
    table = events(name=column).append_column(payload(indent), pa.array(range(8)))
    strategy = "skip_till_any_match" if plan in ("lazy-chain", "lazy-tree", "linked") else "skip_till_next_match"
    pattern = "AND(A a, B b)" if plan == "event-sets" else "SEQ(A a, B b)"
    query = f"""PATTERN {pattern} WHERE {strategy} {{ a.`{column}` != b.`{column}` }} WITHIN 9 seconds
                OUTPUT {"COVER" if plan == "linked" else "ALL"}"""
    assert agrees(query, table, plan)


@pytest.mark.parametrize("plan", [*PLANS, "event-sets"])
def test_a_type_is_not_run(plan: FamilyName) -> None:
    name = f'"""{CODE}'
    table = events()
    types = pa.array([name if t == "A" else t for t in table["type"].to_pylist()])
    table = table.set_column(1, "type", types)
    strategy = "skip_till_any_match" if plan in ("lazy-chain", "lazy-tree", "linked") else "skip_till_next_match"
    pattern = f"AND(`{name}` a, B b)" if plan == "event-sets" else f"SEQ(`{name}` a, NOT(C c), B b)"
    query = f"""PATTERN {pattern} WHERE {strategy} {{ a.x < b.x }} WITHIN 9 seconds
                OUTPUT {"COVER" if plan == "linked" else "ALL"}"""
    assert agrees(query, table, plan)


def test_a_key_of_a_lossy_query_is_not_run() -> None:
    key = f"k' {CODE}"
    table = events(k=key)
    loss = LossModel(rate=0.2, delays={v: Exponential(2.0) for v in "abc"})
    query = f"PATTERN SEQ(A a, B b, C c) WHERE [`{key}`] WITHIN 9 seconds THRESHOLD 0.01"
    assert agrees(query, table, "lossy", loss=loss)


@pytest.mark.parametrize("plan", [*PLANS, "event-sets"])
@pytest.mark.parametrize(
    "name", ["low-speed", "a.b", "é", "def", "i", "nums", "e_a", "v1_b", "q", "pool0", "c0", "'", "#", "\\"]
)
def test_variables_of_any_name(plan: FamilyName, name: str) -> None:
    strategy = "skip_till_any_match" if plan in ("lazy-chain", "lazy-tree", "linked") else "skip_till_next_match"
    output = "COVER" if plan == "linked" else "ALL"
    v, other = f"`{name}`", f"`{name}2`"
    pattern = f"AND(A {v}, B {other})" if plan == "event-sets" else f"SEQ(A {v}, B {other})"
    query = f"PATTERN {pattern} WHERE {strategy} {{ {v}.x < {other}.x }} WITHIN 9 seconds OUTPUT {output}"
    assert agrees(query, events(), plan)
    if plan != "linked":
        lists = pattern.replace(f"A {v}", f"A+ {v}[]")
        query = f"PATTERN {lists} WHERE {strategy} {{ {v}[i].x < {other}.x AND avg({v}[].x) > 0 }} WITHIN 5 seconds"
        assert agrees(query, events(), plan)
    if plan != "event-sets":
        absent = f"SEQ(A a, NOT(C {v}), B b)"
        query = (
            f"PATTERN {absent} WHERE {strategy} {{ {v}.x > a.x AND {v}.x < 2 * b.x }} WITHIN 9 seconds OUTPUT {output}"
        )
        assert agrees(query, events(), plan)


def test_a_registered_function_of_any_name() -> None:
    def scaled(x: float) -> float:
        return 2.0 * x

    for name in ("low-speed", "a.b", "größe", "print", "f0", "'"):
        query = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ `{name}`(a.x) < b.x }} WITHIN 9 seconds"
        assert agrees(query, events(), "eager-nfa", functions={name: scaled})


def test_columns_whose_arrays_would_have_one_name() -> None:
    table = pa.table(
        {"ts": [0, 1], "type": ["A", "B"], "h": [[1.0, 0.0]] * 2, "h_offsets": [7.0, 9.0], "h_null": [1, 2]}
    )
    query = """PATTERN SEQ(A a, B b) WHERE skip_till_next_match { corr(a.h, b.h) > 0.5 AND a.h_offsets < b.h_offsets
                                                                  AND a.h_null < b.h_null AND b.h IS NOT NULL }"""
    assert agrees(query, table, "eager-nfa") == 1


@pytest.mark.parametrize("value", ["\0", "a\0b", "\x1b[31m", "\u202e", "'", '"', "\\", "{x}", "%s"])
def test_odd_strings_are_values_like_others(value: str) -> None:
    names = ["bob", value, "eve", value, "ann", "bob", value, "ann"]
    table = events().set_column(2, "name", pa.array(names))
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { b.name = who } WITHIN 9 seconds"
    assert agrees(query, table, "eager-nfa", parameters={"who": value}) == 3
    quoted = value.replace("'", "''")
    assert agrees(query.replace("who", f"'{quoted}'"), table, "eager-nfa") == 3


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", [*"\r\n\t\0\x1b\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800"])
def test_a_name_holds_no_control_character(character: str) -> None:
    query = f"PATTERN SEQ(A a, B `b{character}c`)"
    with pytest.raises(augury.QueryError) as caught:
        augury.compile(query, events().schema, time="ts")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "A290"
    assert query[diagnostic.span.start : diagnostic.span.end] == character
    assert str(caught.value).replace("\n", "").replace("\t", "").isprintable()


POSITIONS = (
    "A `{}`",
    "`{}` a",
    "A a WHERE a.`{}` = 1",
    "A a WHERE [`{}`]",
    "A a WHERE a.x = `{}`",
    "A a WHERE `{}`(a.x) = 1",
    "A a RETURN a.x AS `{}`",
    "A a RETURN a.x AS y INTO `{}`",
)


@pytest.mark.parametrize("position", POSITIONS)
def test_no_position_takes_one(position: str) -> None:
    with pytest.raises(augury.QueryError) as caught:
        augury.compile(f"PATTERN {position.format(payload(4))}", events().schema, time="ts")
    assert [d.code for d in caught.value.diagnostics] == ["A290"]


def test_joiners_of_persian_and_indic_names_are_no_control_characters() -> None:
    column = "می\u200cخواهم"
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ a.`{column}` < b.`{column}` }}"
    assert agrees(query, events(x=column), "eager-nfa")


def test_half_of_a_surrogate_pair_is_no_character() -> None:
    for query, parameters in (("a.name = '\udc80'", {}), ("a.name = who", {"who": "x\ud800"})):
        with pytest.raises(augury.QueryError) as caught:
            augury.match(events(), f"PATTERN A a WHERE {query}", time="ts", parameters=parameters)
        assert [d.code for d in caught.value.diagnostics] == ["A291"]
        assert str(caught.value).replace("\n", "").replace("\t", "").isprintable()


# -- what the generator writes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", [*BREAKS, "\0", "\x1b", "\u202e", "\ud800"])
def test_lines_refuse_what_is_not_one_printable_line(character: str) -> None:
    with pytest.raises(ValueError, match="not a comment"):
        Lines().add("x = 1", f"why{character}")
    with pytest.raises(ValueError, match="not a statement"):
        Lines().add(f"x = 1{character}")


@pytest.mark.parametrize("text", ["x = 'a'", 'x = "a"', "x = 1  # why", "x = é", "x = a\\", "x; y", "x = {1}"])
def test_statements_hold_neither_strings_nor_comments(text: str) -> None:
    with pytest.raises(ValueError, match="not a statement"):
        Lines().add(text)


def test_every_comment_is_a_printable_line() -> None:
    for character in BREAKS:
        assert remark(f"a{character}b").isprintable()
        source = Source(f"PATTERN{character}A a", f"file{character}")
        test = Compare("=", Ref("a", f"x{character}", STRING), Literal(f"x{character}", STRING), span=Span(8, 9))
        assert origin(conjunct(test, ("a",)), source).isprintable()
        assert all(line.isprintable() for line in heading(source))
    assert len(remark("x" * 10_000)) < 250
    assert len(heading(Source("x\n" * 10_000))) < 100


def test_identifiers_differ_whatever_their_names() -> None:
    names = ["a", "a_", "_a", "a-", "é", "ü", "", "0", "x" * 100, "x" * 101, "a\rb"]
    found = [identifier("v", k, name) for k, name in enumerate(names)]
    assert len(set(found)) == len(names)
    assert all(name.isidentifier() and name.isascii() and "__" not in name for name in found)


def test_constants_are_numbers() -> None:
    class Sly(int):
        def __repr__(self) -> str:
            return CODE

    assert [constant(x) for x in (Sly(3), True, -1, 1e300, float("-inf"))] == ["3", "1", "-1", "1e+300", "-inf"]
