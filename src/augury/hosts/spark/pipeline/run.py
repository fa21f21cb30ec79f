"""Run a pipeline: read, match, write."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from augury.engine.board import BatchProgress
from augury.engine.sources.query_text import query_source
from augury.errors import AuguryError, HostError
from augury.hosts.spark.match import match
from augury.hosts.spark.options import SparkOptions
from augury.hosts.spark.pipeline.config import Pipeline, QuerySection
from augury.hosts.spark.pipeline.connectors import read_source, start_stream, write_batch
from augury.hosts.spark.pipeline.progress import LAST_MATCH, ProgressLine
from augury.hosts.spark.pipeline.rules import WatchedRules, prune_own_versions, signature
from augury.hosts.spark.releases import require
from augury.hosts.spark.rules import RuleFrames, match_rules
from augury.hosts.spark.session import embedded_session
from augury.hosts.spark.sql.row_patterns import sql
from augury.hosts.spark.task_errors import error_text, own_error
from augury.options import MatchOptions

STOP_SECONDS = 60.0  # that the last micro-batch gets to finish after Ctrl-C

POLL_SECONDS = 1  # between two checks for streams that have ended or should stop

PRUNE_SECONDS = 600.0  # between two searches for versions of rules that can be removed

EVENTS_VIEW = "events"
"""The view under which SQL queries read the source."""

LISTENER_SECONDS = 10.0  # to wait for the last progress reports of an ended stream


def run_pipeline(
    pipeline: Pipeline,
    *,
    master: str | None,
    say: Callable[[str], None],
    watch: Callable[[BatchProgress], None] | None = None,
) -> None:
    """Run a pipeline to its end or until interrupted, in the active session or a new one; `say` prints progress.

    `watch` gets the progress of every micro-batch of a stream.
    """
    if watch is not None and pipeline.streaming is None:
        raise HostError(
            "A706", "a pipeline without [streaming] runs once: there is no stream to look at", "leave out --ui"
        )
    if pipeline.streaming is not None:
        require("streaming pipelines", "leave out [streaming] to read the source once, or update Spark")
    active = SparkSession.getActiveSession()
    spark = active
    try:
        spark = active or embedded_session(master or pipeline.spark.master, pipeline.spark.settings)
        events = read_source(spark, pipeline)
        if pipeline.streaming is None:
            for query in pipeline.query:
                _batch(events, query, pipeline, say)
        else:
            _stream(spark, events, pipeline, say, watch)
    except (PySparkException, Py4JJavaError) as e:
        # Spark converts most Py4J errors to PySpark errors, but not all.
        raise _reported(e) from e
    finally:
        if active is None and spark is not None:
            spark.stop()


def _batch(events: DataFrame, query: QuerySection, pipeline: Pipeline, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    found = _rules_found(events, query, pipeline) if query.has_rules else None
    count = write_batch(_found(events, query, pipeline) if found is None else found.table, query, pipeline)
    for row in [] if found is None else found.diagnostics.collect():
        say(f"{query.name}: rule {row.rule}: {row.message}")
    written = "" if count is None else f", {count:,} matches"
    say(f"{query.name}: done in {time.monotonic() - began:.1f} s{written}")


def _stream(
    spark: SparkSession,
    events: DataFrame,
    pipeline: Pipeline,
    say: Callable[[str], None],
    watch: Callable[[BatchProgress], None] | None,
) -> None:
    listener = ProgressLine(say, watch)
    # Before the first version is read, so that a change in between is noticed.
    watched = [
        WatchedRules(query.name, source, pipeline.versions(query), say, signature(source))
        for query in pipeline.query
        if query.rules is not None
        for source in (pipeline.folder / query.rules,)
    ]
    spark.streams.addListener(listener)
    running: list[StreamingQuery] = []
    prune_own_versions(pipeline, say)
    pruned = time.monotonic()
    try:
        with _interruption() as asked_to_stop:
            for query in pipeline.query:
                found = _found(events, query, pipeline)
                running.append(start_stream(found if watch is None else _with_last_match(found), query, pipeline))
            while not asked_to_stop.is_set() and not _all_ended(running):
                for rules in watched:
                    rules.look()
                if time.monotonic() - pruned > PRUNE_SECONDS:
                    pruned = time.monotonic()
                    prune_own_versions(pipeline, say)
            if asked_to_stop.is_set():
                say("stopping after the micro-batch under way; what is open is kept in the checkpoint")
                _let_finish(running)
    finally:
        for started in running:
            started.stop()
        listener.wait_for({str(started.runId) for started in running}, LISTENER_SECONDS)
        spark.streams.removeListener(listener)


def _with_last_match(found: DataFrame) -> DataFrame:
    """Matches with a metric of the latest one in each micro-batch; rows of SQL without an end have none."""
    if "end" not in found.columns:
        return found
    latest = F.max_by(F.to_json(F.struct("*")), F.col("end"))
    return found.observe(LAST_MATCH, latest.alias("match"))


def _all_ended(running: list[StreamingQuery]) -> bool:
    """Whether all streams have ended; raises the error of one that has failed."""
    ended = [q.awaitTermination(POLL_SECONDS) for q in running]
    return all(ended)


@contextmanager
def _interruption() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; a second one ends the program at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    # Spark's own handler of Ctrl-C would cancel all jobs, and with them the current micro-batch.
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _let_finish(running: list[StreamingQuery]) -> None:
    """Wait until the current micro-batch of each stream has ended; the next one is left to the next run."""
    deadline = time.monotonic() + STOP_SECONDS
    before = [_last_done(q) for q in running]
    while time.monotonic() < deadline and any(
        q.isActive and q.status["isTriggerActive"] and _last_done(q) == done
        for q, done in zip(running, before, strict=True)
    ):
        time.sleep(0.1)


def _last_done(query: StreamingQuery) -> tuple[int, str] | None:
    last = query.lastProgress
    return None if last is None else (last.batchId, last.timestamp)


def _found(events: DataFrame, query: QuerySection, pipeline: Pipeline) -> DataFrame:
    streaming = pipeline.streaming
    lateness = None if streaming is None else pipeline.events.lateness
    buckets = None if streaming is None else streaming.buckets
    if query.sql is not None:
        events.createOrReplaceTempView(EVENTS_VIEW)
        return sql(events.sparkSession, query.sql, lateness=lateness, buckets=buckets)
    if query.has_rules:
        rules = _rules_found(events, query, pipeline)
        return rules.table if query.write == "matches" or rules.rows is None else rules.rows
    source = query.text if query.text is not None else query_source(pipeline.folder / (query.file or "")).text
    return match(
        events,
        source,
        lateness=lateness,
        buckets=buckets,
        **cast("MatchOptions", pipeline.events.options_given | query.options_given),
    )


def _rules_found(events: DataFrame, query: QuerySection, pipeline: Pipeline) -> RuleFrames:
    """The frames that the rules of a query find; for a stream, the rules are published first."""
    options = cast("SparkOptions", pipeline.events.options_given | query.options_given)
    rules = None if query.rules is None else pipeline.folder / query.rules
    if pipeline.streaming is None:
        return match_rules(events, rules, **options)
    options = {**options, "lateness": pipeline.events.lateness, "buckets": pipeline.streaming.buckets}
    return match_rules(events, rules, versions=pipeline.versions(query), keep=query.keep, key=query.key, **options)


def _reported(error: PySparkException | Py4JJavaError) -> AuguryError:
    """Spark's report without Java and Python traces; Augury's own errors are raised as they were."""
    own, text = own_error(error), error_text(error)
    if own is not None:
        return HostError("A587", f"a task of the pipeline failed: {own}")
    return HostError("A588", f"Spark could not run the pipeline: {text.splitlines()[0] if text else error!r}")
