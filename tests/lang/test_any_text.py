"""Whatever the text, it is read or refused with a place in it: the parser never fails in any other way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import QueryError
from augury.lang import parse
from augury.source import Source

# Every keyword and sign of the language, the pieces that make lexers stumble, and a valid query to start from.
VOCABULARY = (
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match { b[i].x > 5 AND [tag] } WITHIN 1 hour RETURN a.x AS y INTO T"
    " THRESHOLD OUTPUT ALL OR NOT IN BETWEEN IS NULL TRUE EVENTS ; , ( ) [ ] { } . .. + - * / % ? | ~ ! = <> <= ∧ ¬"
    " i-1 ..i-1 b.len 0.5 80% 1e999 99999999999999999999 1e-999 ns 'it''s' ' \" ` `` -- /* */ ² é ह # \\ \x00 \ufeff"
)
PIECES = VOCABULARY.split()
QUERY = PIECES[: PIECES.index("THRESHOLD")]


def read_or_refused(text: str) -> None:
    try:
        program = parse(Source(text))
    except QueryError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.code in {f"A10{n}" for n in range(1, 9)}
        assert diagnostic.help
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
    else:
        assert parse(Source(str(program))) == program


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25), st.sampled_from(("", " ", "\n")))
def test_any_text_is_read_or_refused(pieces: list[str], between: str) -> None:
    read_or_refused(between.join(pieces))


@pytest.mark.parametrize("place", range(len(QUERY)))
def test_a_query_with_one_piece_put_in_replaced_or_left_out(place: int) -> None:
    read_or_refused(" ".join(QUERY[:place] + QUERY[place + 1 :]))
    for piece in PIECES:
        read_or_refused(" ".join([*QUERY[:place], piece, *QUERY[place:]]))
        read_or_refused(" ".join([*QUERY[:place], piece, *QUERY[place + 1 :]]))
