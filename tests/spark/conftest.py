"""One Spark session for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import augury.spark

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Tests are over before the JVM's best compiler would pay.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="session")
def spark(_own_cache: None) -> Iterator[SparkSession]:
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    yield session
    session.stop()
