"""Every query printed in the five papers, in the paper's own spelling, is read and printed in ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from augury.lang import parse
from augury.source import Source

HERE = Path(__file__).parent
QUERIES = sorted(HERE.glob("*.query"))


def _read(path: Path) -> Source:
    return Source(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_paper_query_reads_back_from_its_printed_form(path: Path) -> None:
    program = parse(_read(path))
    assert parse(Source(str(program))) == program


def test_paper_queries_print_as_in_the_golden_copy() -> None:
    printed = "\n".join(f"-- {path.stem}\n{parse(_read(path))}\n" for path in QUERIES)
    assert printed == (HERE / "printed.txt").read_text(encoding="utf-8")


def test_no_paper_is_missing() -> None:
    assert {path.stem[:3] for path in QUERIES} == {"000", "001", "002", "003", "004"}
