"""What the playground answers, without a page."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury
from augury.errors import BudgetExceeded, HostError
from augury.options import Roles, make_options
from augury.serve.asking import answer, events_of, mistakes, why
from augury.serve.examples import Example, bundled_examples
from augury.serve.subjects import LANGUAGES, PATTERN, SQL, Subject, example_subject

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPLODING = "PATTERN SEQ(A+ a[], B b)"


def subject(*events: dict[str, object]) -> Subject:
    return Subject("events", {"events": pa.Table.from_pylist(list(events))}, Roles())


@pytest.fixture(params=bundled_examples(), ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    found: Example = request.param
    return found


def test_the_shop_is_bundled() -> None:
    assert "shoplifting" in [example.name for example in bundled_examples()]


@pytest.mark.slow
def test_examples_find_something(example: Example) -> None:
    asked = example_subject(example)
    found = answer(example.text, example.language, asked, make_options(timeout=60))
    assert found.listing.total > 0
    assert all(len(row) == len(found.listing.header) for row in found.listing.rows)


def test_every_example_has_a_query_to_begin_with_in_every_language(example: Example) -> None:
    asked = example_subject(example)
    assert asked.query(example.language) == example.text
    for language in LANGUAGES:
        assert mistakes(asked.query(language), language, asked) == ()


def test_an_answer_is_what_match_finds() -> None:
    folder = EXAMPLES / "shoplifting"
    expected = augury.match(folder / "readings.jsonl", folder / "shoplifting.augury")
    (example,) = (e for e in bundled_examples() if e.name == "shoplifting")
    found = answer(example.text, PATTERN, example_subject(example), make_options())
    assert found.title.startswith("7 matches in 2,167 events")
    assert found.listing.header == tuple(expected.to_arrow().column_names)
    tags = found.listing.header.index("tag")
    assert [row[tags] for row in found.listing.rows] == expected.to_arrow()["tag"].to_pylist()
    assert found.picture is not None
    assert "7 matches in 2,167 events" in found.picture()
    assert "eager-nfa" in found.plan
    assert "negation" in found.why


def test_a_mistake_says_where_it_is() -> None:
    events = subject({"ts": 1, "type": "A", "x": 5})
    (found,) = mistakes("PATTERN SEQ(A a)\nWHERE  a.y > 3", PATTERN, events)
    assert (found.line, found.column) == (1, 7)
    assert found.text.startswith("error[A202]: the events have no attribute `y`")
    (found,) = mistakes("SELECT * FROM nowhere MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS TRUE)", SQL, events)
    assert found.text.startswith("error[A796]: there is no table `nowhere`")
    assert mistakes("PATTERN SEQ(A a)", PATTERN, events) == ()


def test_a_later_query_sees_what_an_earlier_one_derives() -> None:
    events = subject({"ts": 1, "type": "A", "x": 5})
    text = "PATTERN SEQ(A a, A b) RETURN b.x - a.x AS more INTO D;\nPATTERN SEQ(D d) WHERE d.more > 1"
    assert mistakes(text, PATTERN, events) == ()


def test_completions_are_columns_types_and_words() -> None:
    events = subject({"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "Big Sale", "x": 5})
    words = events.words(PATTERN)
    assert ("x", "integer", True) in words
    assert ("Big Sale", "event type", False) in words
    assert ("skip_till_next_match", "strategy", False) in words
    assert ("avg", "function", False) in words
    assert {("x", "int64", True), ("events", "table", False)} <= set(events.words(SQL))
    assert mistakes(events.query(PATTERN), PATTERN, events) == ()
    assert "`Big Sale` b" in events.query(PATTERN)


def test_no_match_says_why_not() -> None:
    events = subject({"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "B", "x": 3})
    text = "PATTERN SEQ(A a, B b) WHERE b.x > a.x"
    found = answer(text, PATTERN, events, make_options())
    assert found.listing.total == 0
    assert "b.x &gt; a.x is not true" in found.why
    assert "b.x &gt; a.x is not true" in why(text, events, {"a": [0], "b": [1]}, make_options())
    with pytest.raises(HostError, match="A647"):
        why(text, events, {"a": [7]}, make_options())


def test_a_query_that_takes_too_long_is_stopped() -> None:
    events = subject(*({"ts": k, "type": "A"} for k in range(400)), {"ts": 400, "type": "B"})
    # Which of its budgets it reaches first depends on the machine.
    with pytest.raises(BudgetExceeded):
        answer(EXPLODING, PATTERN, events, make_options(timeout=2, max_memory="50 MB"))
    cross = ", ".join(f"events t{k}" for k in range(6))
    with pytest.raises(BudgetExceeded, match="A566"):
        answer(f"SELECT sum(t0.ts + t5.ts) FROM {cross}", SQL, events, make_options(timeout=0.5))


def test_sql_reaches_the_named_tables_alone(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    events = subject({"ts": 1, "type": "A"})
    for text in (f"SELECT * FROM '{secret}'", f"SELECT * FROM read_csv('{secret}')"):
        with pytest.raises(augury.AuguryError):
            answer(text, SQL, events, make_options())
    with pytest.raises(augury.AuguryError):
        answer(f"COPY events TO '{tmp_path / 'out.csv'}'", SQL, events, make_options())
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_only_the_first_events_are_listed(tmp_path: Path) -> None:
    size = 2_500
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"ts": range(size), "type": ["A"] * size}), path)
    shown = events_of(Subject("events.parquet", {"events": path}, Roles()))
    assert (len(shown.rows), shown.total, shown.rows[7]) == (1_000, size, ("7", "7", "A"))


def test_files_without_events_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(HostError, match="A703"):
        Subject("empty.jsonl", {"events": path}, Roles()).query(PATTERN)


@pytest.mark.parametrize("text", ["SEQ(A a, NOT(B b) FOR 5 seconds)", "SEQ(A a) WITHIN 1 hour, 1 minute EACH"])
def test_a_query_that_why_not_does_not_explain_is_answered_all_the_same(text: str) -> None:
    found = answer(text, PATTERN, subject({"ts": 1, "type": "A"}), make_options())
    assert found.title.startswith("1 match in 1 event,")
    assert "why_not cannot explain this query" in found.why
    assert found.plan
