"""docs/spark.md does what it says: its snippets with an output run, and its pipeline is one."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury.testing.tables import blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "spark.md"


@pytest.mark.needs("Arrow table functions")
def test_snippets_that_have_an_output(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran, names = 0, dict[str, object]()
    for snippet, output in pairwise(blocks(PAGE)):
        if (snippet.language, output.language) == ("python", "text"):
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile("\n" * (snippet.line - 1) + snippet.text, str(PAGE), "exec"), names)
            assert printed.getvalue().strip() == output.text.strip()
            ran += 1
    assert ran == 2


def test_the_pipeline_is_valid(tmp_path: Path) -> None:
    text, rules = (block.text for block in blocks(PAGE) if block.language == "toml")
    path = tmp_path / "pipeline.toml"
    path.write_text(text + rules)
    pipeline = augury.spark.read_pipeline(path)
    assert [query.name for query in pipeline.query] == ["thefts", "shelves", "alerts"]
    assert pipeline.at("incoming") == os.path.join(tmp_path.resolve(), "incoming")
    assert pipeline.at("s3://bucket/x") == "s3://bucket/x"
