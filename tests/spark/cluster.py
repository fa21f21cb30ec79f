"""A Spark standalone cluster on this machine: a master and two workers from the installed pyspark."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from tests.spark.processes import Program, environment, kill, running, wait_until

SPARK_CLASS = Path(_find_spark_home()) / "bin" / "spark-class"
ON_LOOPBACK = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": SMALL,
    "spark.executor.extraJavaOptions": SMALL,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "4",
    # Both machines take part, so that whichever dies has something to lose: each small file is a task.
    "spark.sql.files.openCostInBytes": "128m",
    "spark.locality.wait": "0",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.cores.max": "2",
}
"""Of a driver."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master, and workers as if on machines of their own: each has a folder and a cache of kernels."""

    folder: Path
    master: str
    stack: ExitStack
    memory: str
    """Of a worker."""
    workers: list[Program] = field(default_factory=list)

    def add_worker(self) -> None:
        number = len(list(self.folder.glob("worker-*.log")))
        log = self.folder / f"worker-{number}.log"
        size = ("--cores", "1", "--memory", self.memory, "--work-dir", str(self.folder / f"work-{number}"))
        cache = self.folder / f"cache-{number}"
        started = _daemon(self.stack, "worker.Worker", (*ON_LOOPBACK, *size, self.master), log, cache)
        _logged(started, log, r"Successfully registered with master")
        self.workers.append(started)

    def kill_worker(self, pid: int | None = None) -> None:
        """One worker, the given one or any: itself, its executor, and the Python processes of that."""
        (number, *_) = [k for k, worker in enumerate(self.workers) if pid in (None, worker.pid)]
        kill(self.workers.pop(number))


@contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "600m") -> Iterator[Cluster]:
    """A running cluster; nothing is left of it afterwards."""
    with ExitStack() as stack:
        log = folder / "master.log"
        started = _daemon(stack, "master.Master", ON_LOOPBACK, log, folder / "cache-master")
        found = Cluster(folder, _logged(started, log, r"Starting Spark master at (spark://\S+)"), stack, memory)
        for _ in range(workers):
            found.add_worker()
        yield found


def _daemon(stack: ExitStack, name: str, arguments: tuple[str, ...], log: Path, cache: Path) -> Program:
    env = environment(
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_DAEMON_MEMORY="256m",
        SPARK_DAEMON_JAVA_OPTS=SMALL,
        PYSPARK_PYTHON=sys.executable,
        XDG_CACHE_HOME=str(cache),
    )
    return stack.enter_context(running([SPARK_CLASS, f"org.apache.spark.deploy.{name}", *arguments], log, env))


def _logged(program: Program, log: Path, pattern: str) -> str:
    """What the log says, once it does."""
    wait_until(lambda: re.search(pattern, log.read_text()) is not None, pattern, program=program, log=log)
    found = re.search(pattern, log.read_text())
    assert found is not None
    return found[found.lastindex or 0]
