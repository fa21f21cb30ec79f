"""The examples that the papers, and the meaning of the language, work out in full."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import augury
from augury.testing.tables import describe, parse_stream


def matches(query: str, stream: str) -> list[str]:
    table = parse_stream(stream)
    return describe(augury.match(table, query), table)


def test_example_1_1_of_paper_000_has_four_matches() -> None:
    query = """
        PATTERN SEQ(A a, B b, C c)
        WHERE   skip_till_any_match { a.price > T AND b.price > T AND c.price > T }
        WITHIN  1 hour
    """
    stream = parse_stream("a1(price=12) a2(price=13) b1(price=14) b2(price=15) c(price=16)")
    found = augury.match(stream, query, parameters={"T": 10})
    assert describe(found, stream) == ["a1 b1 c", "a1 b2 c", "a2 b1 c", "a2 b2 c"]
    assert len(augury.match(stream, query, parameters={"T": 12})) == 2


def test_the_iteration_example_of_paper_000_section_4_5_has_seven_matches() -> None:
    found = matches("PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour", "a b1 b2 b3 c")
    assert found == ["a b1 b2 b3 c", "a b1 b2 c", "a b1 b3 c", "a b1 c", "a b2 b3 c", "a b2 c", "a b3 c"]


@pytest.mark.parametrize(
    "strategy, expected",
    [
        ("strict_contiguity", []),
        ("skip_till_next_match", ["a1 b2 b4 c5"]),
        ("skip_till_any_match", ["a1 b2 b4 c5", "a1 b2 c5", "a1 b4 c5"]),
    ],
)
def test_the_strategies_differ_in_what_they_skip(strategy: str, expected: list[str]) -> None:
    query = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ }} WITHIN 1 hour"
    assert matches(query, "a1 b2 d3 b4 c5") == expected


# -- paper 002, Figure 1: events of chemotherapy treatments ------------------------------------------------------------

FIGURE_1: list[dict[str, Any]] = [
    {"e": e, "ID": patient, "L": kind, "V": value, "U": unit, "T": datetime(2010, 7, day, hour)}
    for e, patient, kind, value, unit, hour, day in [
        ("e1", 1, "C", 1672.5, "mg", 9, 3),
        ("e2", 1, "B", 0.0, "WHO-Tox", 10, 3),
        ("e3", 1, "D", 84.0, "mgl", 11, 3),
        ("e4", 1, "P", 111.5, "mg", 9, 4),
        ("e5", 2, "B", 0.0, "WHO-Tox", 9, 5),
        ("e6", 2, "P", 88.0, "mg", 10, 5),
        ("e7", 2, "D", 84.0, "mgl", 11, 5),
        ("e8", 2, "C", 1320.0, "mg", 9, 6),
        ("e9", 1, "P", 111.5, "mg", 10, 6),
        ("e10", 2, "P", 88.0, "mg", 11, 6),
        ("e11", 2, "P", 88.0, "mg", 9, 7),
        ("e12", 1, "B", 1.0, "WHO-Tox", 9, 12),
        ("e13", 2, "B", 1.0, "WHO-Tox", 9, 13),
        ("e14", 2, "B", 0.0, "WHO-Tox", 9, 14),
    ]
]

Q1_BY_TYPE = """
    PATTERN SEQ(AND(C c, P+ p[], D d), AND(B b))
    WHERE   skip_till_next_match { [ID] }
    WITHIN  264 hours
"""

# The conditions theta 1 to 7 of the paper's Example 2: untyped variables, and equalities in place of `[ID]`.
Q1_BY_CONDITIONS = """
    PATTERN SEQ(AND(c, p+[], d), AND(b))
    WHERE   skip_till_next_match { c.L = 'C' AND d.L = 'D' AND p.L = 'P' AND b.L = 'B'
                                   AND c.ID = p.ID AND c.ID = d.ID AND d.ID = b.ID }
    WITHIN  264 hours
"""


def sets_of_events(query: str) -> set[frozenset[str]]:
    found = set()
    for match in augury.match(FIGURE_1, query, time="T", type="L"):
        rows = (rows if isinstance(rows, list) else [rows] for rows in match.rows.values())
        found.add(frozenset(FIGURE_1[row]["e"] for part in rows for row in part if row is not None))
    return found


PATIENT_1 = frozenset({"e1", "e3", "e4", "e9", "e12"})
PATIENT_2 = frozenset({"e6", "e7", "e8", "e10", "e11", "e13"})
FROM_E7 = frozenset({"e7", "e8", "e10", "e11", "e13"})


@pytest.mark.parametrize("query", [Q1_BY_TYPE, Q1_BY_CONDITIONS], ids=["by type", "by conditions"])
def test_q1_of_paper_002_has_three_matches(query: str) -> None:
    assert sets_of_events(query) == {PATIENT_1, PATIENT_2, FROM_E7}


def test_q1_without_overlaps_has_the_two_matches_that_the_paper_lists() -> None:
    assert sets_of_events(Q1_BY_TYPE + "OUTPUT NONOVERLAP") == {PATIENT_1, PATIENT_2}


# -- paper 003, section 3: query Q4 over the stream S_t ----------------------------------------------------------------

S_T = "a1 a2 b1 b2 a3 b3 c1 c2"


def test_the_stream_of_paper_003_has_fourteen_matches() -> None:
    pairs = ["a1 b1", "a1 b2", "a1 b3", "a2 b1", "a2 b2", "a2 b3", "a3 b3"]
    assert matches("PATTERN SEQ(A a, B b, C c)", S_T) == sorted(f"{pair} {c}" for pair in pairs for c in ("c1", "c2"))


def test_the_stream_of_paper_003_has_three_covers() -> None:
    assert matches("PATTERN SEQ(A a, B b, C c) OUTPUT COVER", S_T) == ["a2 b2 c2", "a2 b3 c2", "a3 b3 c2"]


def test_each_c_of_paper_003_completes_seven_matches() -> None:
    assert matches("PATTERN SEQ(A a, B b, C c) OUTPUT COUNT", S_T) == ["c1: 7", "c2: 7"]
