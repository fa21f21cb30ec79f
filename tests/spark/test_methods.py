"""Matching as a method of data frames."""

from __future__ import annotations

from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury import HostError
from augury.hosts.spark.options import SparkOptions, Splitting
from augury.options import Options, Roles, option_names
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
    with pytest.raises(HostError, match="there is no option `partition`"):
        frame.augury.match(query, partition=3)


def test_a_column_of_that_name_is_still_there(spark: SparkSession) -> None:
    augury.spark.install()
    frame = frame_of(spark, pa.table({"augury": [1, 2]}))
    assert rows_of(frame.select(frame["augury"])).total() == 2


def test_the_typed_dict_has_the_fields_of_the_frozen_forms() -> None:
    forms = (Roles, Options, Splitting)
    assert get_type_hints(SparkOptions).keys() == {name for form in forms for name in option_names(form)}
