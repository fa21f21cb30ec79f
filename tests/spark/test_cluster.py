"""On a cluster whose workers die, the matches are those of the local engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.streams import local_rows
from tests.spark.cluster import Cluster, cluster
from tests.spark.on_cluster import PARTS, QUERIES, events
from tests.spark.processes import environment, module, running, wait_until
from tests.spark.streaming import write_files

EVENTS = events()
FILES = 5


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as there:
        yield there


@pytest.fixture
def machines(two_workers: Cluster) -> Cluster:
    """The cluster with both workers: one that an earlier test has killed is replaced."""
    while len(two_workers.workers) < 2:
        two_workers.add_worker()
    return two_workers


def expected(job: str) -> Counter[str]:
    found = local_rows(EVENTS, QUERIES[job], order_by=("ts", "n"))
    assert sum(found.values()) > 50
    return found


def run(master: str, folder: Path, job: str, *, on: Cluster | None = None, **env: str) -> Counter[str]:
    """What a job finds; with a cluster given, one of its workers is killed in the middle."""
    step = -(-len(EVENTS) // FILES)
    write_files([EVENTS.slice(first, step) for first in range(0, len(EVENTS), step)], folder / "events")
    (folder / "tasks").mkdir()
    command, log = module("tests.spark.on_cluster", master, folder, job), folder / "driver.log"
    with running(command, log, environment(SPARK_LOCAL_IP="127.0.0.1", **env)) as driver:
        if on is not None:
            wait_until(lambda: in_the_middle(folder), "it was half done", program=driver, log=log, every=0.01)
            on.kill_worker(at_work(folder))
        assert driver.wait(timeout=240) == 0, log.read_text()
    return Counter(json.loads((folder / "found.json").read_text()))


def in_the_middle(folder: Path) -> bool:
    """Whether a stream is inside of a micro-batch that is not the first one, or a few tasks of a batch have begun."""
    if len(attempts(folder)) >= PARTS // 2:
        return True
    done, begun = (len(list((folder / "checkpoint" / name).glob("[0-9]*"))) for name in ("commits", "offsets"))
    return 1 <= done < begun


def attempts(folder: Path) -> list[Path]:
    """At tasks of a batch, in the order in which they began."""
    found = (folder / "tasks").glob("part-*-attempt-*[0-9]")
    return sorted(found, key=lambda path: int(path.name.split("-")[-1]))


def at_work(folder: Path) -> int | None:
    """The worker that has begun a task of a batch just now."""
    begun = attempts(folder)
    return int(begun[-1].read_text()) if begun else None


@pytest.mark.slow
def test_a_worker_dies_in_the_middle_of_a_batch(machines: Cluster, tmp_path: Path) -> None:
    assert run(machines.master, tmp_path, "by key", on=machines) == expected("by key")
    assert len(attempts(tmp_path)) > PARTS, "nothing had to be done again"


@pytest.mark.slow
def test_a_worker_dies_in_the_middle_of_a_batch_that_is_split_by_time(machines: Cluster, tmp_path: Path) -> None:
    assert run(machines.master, tmp_path, "by time", on=machines) == expected("by time")
    assert len(attempts(tmp_path)) > PARTS, "nothing had to be done again"


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_worker_dies_inside_a_micro_batch(machines: Cluster, tmp_path: Path) -> None:
    assert run(machines.master, tmp_path, "stream", on=machines) == expected("stream")


@pytest.mark.slow
def test_workers_compile_nothing_that_the_driver_compiled(machines: Cluster, tmp_path: Path) -> None:
    driver = tmp_path / "cache"
    (tmp_path / "shipped").mkdir()
    assert run(machines.master, tmp_path / "shipped", "compiled", XDG_CACHE_HOME=str(driver)) == expected("compiled")
    compiled = kernels(driver).keys()
    assert compiled
    assert not compiled & kept_by(machines)
    # What a driver does not keep it cannot send: then workers compile, and keep it themselves.
    unsafe = tmp_path / "everybody's"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    (tmp_path / "alone").mkdir()
    assert run(machines.master, tmp_path / "alone", "compiled", XDG_CACHE_HOME=str(unsafe)) == expected("compiled")
    assert compiled & kept_by(machines)


def kept_by(machines: Cluster) -> set[str]:
    """The kernels that workers have compiled."""
    return {name for cache in machines.folder.glob("cache-*") for name in kernels(cache)}


def kernels(cache: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in cache.rglob("*.bin")}


@pytest.mark.slow
@pytest.mark.parametrize("job", ["by key", "by time", pytest.param("stream", marks=pytest.mark.needs("streams"))])
def test_executors_that_are_processes_of_one_machine(tmp_path: Path, job: str) -> None:
    assert run("local-cluster[2,1,1024]", tmp_path, job) == expected(job)
