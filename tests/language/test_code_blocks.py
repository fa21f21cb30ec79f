"""Every Python block of the pages on the language and on kernels; the blocks of one page share their names."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from augury.testing.tables import blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted((DOCS / "language").glob("*.md")), DOCS / "kernels.md", DOCS / "lossy.md"]
WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


def test_there_are_examples_in_python() -> None:
    assert len(WITH_PYTHON) >= 5


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_examples(page: Path) -> None:
    examples = []
    for block in blocks(page):
        if block.language == "python":
            found = doctest.DocTestParser().get_examples(block.text)
            assert found, (
                f"{page.relative_to(DOCS.parent)}:{block.line}: a Python block is written as a session, with >>>"
            )
            for example in found:
                example.lineno += block.line - 1
            examples += found
    report: list[str] = []
    test = doctest.DocTest(examples, {}, page.name, str(page), 0, None)
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=report.append)
    assert not report, "".join(report)
