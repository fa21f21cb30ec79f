"""Matching as a method of data frames."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from augury.hosts.spark.options import FrameOptions, MatchOptions, RunOptions
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of
from tests.spark.test_stream import EVENTS, QUERIES


def test_frames_have_methods(spark: SparkSession) -> None:
    augury.spark.install()
    frame: Any = frame_of(spark, EVENTS)
    query = QUERIES["by key"]
    assert rows_of(frame.augury.match(query, partitions=3)) == local_rows(EVENTS, query)
    every = frame.augury.match_all({"rise": query}, chunks=2)
    assert every.where("query = 'rise'").count() == sum(local_rows(EVENTS, query).values())
    with pytest.raises(TypeError, match="partition"):
        frame.augury.match(query, partition=3)


def test_a_column_of_that_name_is_still_there(spark: SparkSession) -> None:
    augury.spark.install()
    frame = frame_of(spark, pa.table({"augury": [1, 2]}))
    assert rows_of(frame.select(frame["augury"])).total() == 2


@pytest.mark.parametrize(
    "function, options", [(augury.spark.match, MatchOptions), (augury.spark.match_all, FrameOptions)]
)
def test_methods_take_what_functions_take(function: Callable[..., DataFrame], options: type) -> None:
    named = {name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert get_type_hints(options).keys() == named | get_type_hints(RunOptions).keys()
