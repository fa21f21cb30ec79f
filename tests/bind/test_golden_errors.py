"""Every error message in docs/language/errors.md is the one the query gets."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import augury
from augury.bind import bind
from augury.errors import QueryError
from augury.lang import parse_query
from augury.schema import EventSchema
from augury.source import Source

PAGE = (Path(__file__).parents[2] / "docs" / "language" / "errors.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```augury( without-types)?\n(.*?)\n```\n```text\n(.*?)\n```", re.DOTALL)

COLUMNS = [
    ("ts", pa.timestamp("us")),
    ("type", pa.string()),
    ("symbol", pa.string()),
    ("price", pa.float64()),
    ("volume", pa.int64()),
    ("halted", pa.bool_()),
    ("history", pa.list_(pa.float64())),
]
TYPED = EventSchema.from_arrow(pa.schema(COLUMNS), types="ABCD")
UNTYPED = EventSchema.from_arrow(pa.schema([c for c in COLUMNS if c[0] != "type"]))
PARAMETERS = {"T": 0.9, "empty": None, "forever": timedelta(days=999_999_999)}


def unannotated(x):  # type: ignore[no-untyped-def]
    return x


def sections() -> dict[str, str]:
    """The text of each code's section."""
    _, *pieces = re.split(r"^### (A\d{3}):", PAGE, flags=re.MULTILINE)
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


@pytest.mark.parametrize(
    "code, without_types, query, message",
    [
        pytest.param(code, *found, id=f"{code}-{n}")
        for code, text in sections().items()
        for n, found in enumerate(EXAMPLE.findall(text))
    ],
)
def test_message(code: str, without_types: str, query: str, message: str) -> None:
    source = Source(query)
    with pytest.raises(QueryError) as caught:
        bind(
            parse_query(source),
            UNTYPED if without_types else TYPED,
            source,
            parameters=PARAMETERS,
            functions={"score": unannotated},
        )
    assert str(caught.value) == message
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_every_code_of_a_query_is_on_the_page() -> None:
    files = Path(augury.__file__).parent.rglob("*.py")
    raised = {code for file in files for code in re.findall(r'"(A[1234]\d\d)"', file.read_text(encoding="utf-8"))}
    assert raised == set(sections())


def test_every_section_has_an_example() -> None:
    # What is nested too deeply is long: test_syntax_errors builds it. INTO without RETURN cannot be written as text:
    # test_clauses builds it. Characters that no name or string may hold cannot be shown: test_ugly_text writes them.
    assert [code for code, text in sections().items() if not EXAMPLE.search(text)] == [
        "A104",
        "A290",
        "A291",
        "A292",
        "A420",
    ]


def test_codes_are_in_order() -> None:
    assert list(sections()) == sorted(sections())


def test_the_table_lists_every_section() -> None:
    titles = re.findall(r"^### (A\d{3}): (.*)$", PAGE, flags=re.MULTILINE)
    assert re.findall(r"^\| (A[1-4]\d\d) \| (.*) \|$", PAGE, flags=re.MULTILINE) == titles
