"""Streams and tables are read as they are written, and what is written wrongly is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from augury.loss import Exponential, LossModel
from augury.testing.tables import Case, blocks, cases, loss_model, parse_stream


def test_columns_of_a_stream() -> None:
    stream = parse_stream("a1(x=5,k=p) shelf2@7(x=0.5) b(k=null,ok=true)")
    assert stream.schema == pa.schema(
        [
            ("ts", pa.int64()),
            ("type", pa.string()),
            ("id", pa.string()),
            ("k", pa.string()),
            ("ok", pa.bool_()),
            ("x", pa.float64()),
        ]
    )
    assert stream.to_pydict() == {
        "ts": [1, 7, 3],
        "type": ["A", "Shelf", "B"],
        "id": ["a1", "shelf2", "b"],
        "k": ["p", None, None],
        "ok": [None, None, True],
        "x": [5.0, 0.5, None],
    }


@pytest.mark.parametrize("text", ["1a", "a1@", "a1(x)", "a1(x=)", "a1(=5)", "a1(x=5", "a1 a1"])
def test_what_is_not_a_stream(text: str) -> None:
    with pytest.raises(ValueError, match=r"event|attribute|same id"):
        parse_stream(text)


PAGE = """
| query | stream | matches |
|---|---|---|
| `PATTERN A\\|B x` | `a1 b2` | `a1; b2` |
| `PATTERN A a` | `b1` | none |

| query | other |
|---|---|
| `PATTERN A a` | `b1` |

```
| query | stream | matches |
|---|---|---|
| not | a | table |
```
"""


def test_only_tables_of_queries_streams_and_matches_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    first, second = cases(page)
    assert first == Case("page.md", 4, "PATTERN A|B x", "a1 b2", "a1; b2")
    assert first.expected == ["a1", "b2"]
    assert (second.line, second.expected) == (5, [])


def test_a_row_with_a_cell_too_many_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("A\\|B x", "A|B x"))
    with pytest.raises(ValueError, match=r"page\.md:4"):
        cases(page)


def test_a_block_that_is_never_closed_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n```python\n1\n")
    with pytest.raises(ValueError, match=r"page\.md:2"):
        blocks(page)


def test_the_loss_model_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```json\n{"rate": 0.1, "rates": {"z": 0.2}, "delays": {"y": {"exponential": {"mean": 3600}}}}\n```\n'
    )
    assert loss_model(page) == LossModel(0.1, {"z": 0.2}, {"y": Exponential(3600)})
