"""The pages that run a stream on Spark do what they say: the tutorial, and the guide on Spark in production."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import run_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.needs("streams")
def test_the_tutorial_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bokeh")
    monkeypatch.chdir(tmp_path)
    assert run_page(DOCS / "tutorial.md", tmp_path) == 8


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_the_guide_on_production_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(DOCS / "guides" / "spark-in-production.md", tmp_path) == 4
