"""Whatever the text, there is a result or an error of our own."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest

from augury.errors import AuguryError
from augury.testing.row_patterns import bound_clause, rows_of
from tests.thorough import rounds

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int32()),
        "s": pa.array(["a", None, "b", "a"]),
        "x": pa.array([1.5, 2.0, None, 0.5]),
        "t": pa.array([0, 1, 2, 3], pa.timestamp("s")),
        "l": pa.array([[1], [], None, [2, 3]], pa.list_(pa.int64())),
    }
)
CLAUSES = [
    "PARTITION BY s ORDER BY id DESC NULLS FIRST MEASURES FIRST(A.x, 1) AS m, count(*) AS n ALL ROWS PER MATCH "
    "AFTER MATCH SKIP TO LAST B PATTERN (^ A{1,2}? (B | {- C -})* $) SUBSET U = (A, B) "
    "DEFINE A AS x > PREV(x), B AS true",
    "ORDER BY t MEASURES array_agg(CLASSIFIER(U)) AS m, FINAL LAST(s || 'x') AS n, MATCH_NUMBER() + 1 AS o "
    "PATTERN (PERMUTE(A, B+?, C)) WITHIN INTERVAL '2' SECOND SUBSET U = (A, C) "
    "DEFINE B AS sum(B.id) / 2 < 5 AND s LIKE '%'",
    "MEASURES CASE WHEN id IN (1, 2) THEN CAST(x AS decimal(5, 2)) ELSE NULL END AS m, max_by(s, x, 2) AS n, "
    "element_at(l, 1) AS o ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A | ()) "
    "DEFINE A AS NEXT(LAST(A.id), 2) IS NOT NULL",
]
PIECE = re.compile(r"\w+|\s+|'[^']*'|.")
SPARE = [
    "(",
    ")",
    "A",
    "x",
    "'",
    ",",
    "*",
    "NULL",
    "FINAL",
    "PREV",
    "LAST",
    "1",
    "-",
    "[",
    "SELECT",
    "{-",
    "?",
    "$",
    "s",
    "l",
    "t",
]


def changed(clause: str, chance: random.Random) -> str:
    """A clause with a few of its pieces dropped, doubled, swapped or replaced."""
    pieces = PIECE.findall(clause)
    for _ in range(chance.randint(1, 4)):
        k = chance.randrange(len(pieces))
        match chance.randrange(4):
            case 0:
                del pieces[k]
            case 1:
                pieces.insert(k, chance.choice(SPARE))
            case 2:
                pieces[k] = chance.choice(SPARE)
            case _:
                j = chance.randrange(len(pieces))
                pieces[k], pieces[j] = pieces[j], pieces[k]
    return "".join(pieces)


def survive(seed: int) -> bool:
    """Run a changed clause; tell whether it was accepted."""
    chance = random.Random(seed)
    text = changed(chance.choice(CLAUSES), chance)
    try:
        rows_of(text, TABLE)
    except AuguryError as e:
        said = str(e)
    else:
        return True
    assert re.match(r"error\[A7\d\d\]", said), text
    return False


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_clauses_are_legal_before_they_are_changed(clause: str) -> None:
    assert bound_clause(clause, TABLE.schema).measures
    rows_of(clause, TABLE)


def test_changed_clauses_run_or_are_refused() -> None:
    accepted = sum(survive(seed) for seed in range(300))
    assert 5 < accepted < 250


@pytest.mark.slow
def test_many_changed_clauses_run_or_are_refused() -> None:
    for seed in range(1_000, 1_000 + rounds(3_000, 10_000)):
        survive(seed)
