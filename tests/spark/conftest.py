"""One Spark session for all tests of this folder, which run one after the other in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import augury.spark

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Tests are over before the JVM's best compiler would pay.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(_own_cache: None) -> Iterator[SparkSession]:
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    yield session
    session.stop()
