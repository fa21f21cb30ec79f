"""docs/tutorial.md does what it says, from the CSV file to the stream on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import run_page

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.needs("streams")
def test_the_tutorial_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bokeh")
    monkeypatch.chdir(tmp_path)
    assert run_page(PAGE, tmp_path) == 8
