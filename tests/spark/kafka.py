"""A Kafka broker on this machine, from its Maven artifacts; Ivy, which fetches them, comes with Spark."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

from tests.spark.processes import environment, running, wait_until

KAFKA = "3.9.1"
PARTITIONS = 2

BROKER = (
    ("org.apache.kafka", "kafka_2.13", KAFKA),
    ("org.apache.kafka", "kafka-tools", KAFKA),
    ("org.slf4j", "slf4j-reload4j", "1.7.36"),
)

LOGGING = """
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%p %m%n
"""

SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


CONNECTOR, TOKENS = "spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13"

PUBLISHED = (("org.apache.spark", CONNECTOR, "4.2.0"), ("org.apache.spark", TOKENS, "4.0.0"))
"""The last releases of the connector and of its companion that are certain to be there."""


class Unreachable(Exception):
    """Nothing can be fetched from Maven Central."""


class Unpublished(Exception):
    """Maven Central answers, and has no such artifacts."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where it is, and how Java finds Kafka's tools."""

    server: str
    java: tuple[str, ...]

    def produce(self, topic: str, messages: Iterable[tuple[str, str]]) -> None:
        """Append messages, each a key and a value; one key is one partition of the topic."""
        options = ["--property", "parse.key=true", "--property", "key.separator=|"]
        lines = "".join(f"{key}|{value}\n" for key, value in messages)
        self._tool("kafka.tools.ConsoleProducer", topic, *options, given=lines)

    def consume(self, topic: str) -> list[str]:
        """All values that a topic holds."""
        # It ends once nothing has come for a while.
        options = ["--from-beginning", "--timeout-ms", "5000"]
        return self._tool("org.apache.kafka.tools.consumer.ConsoleConsumer", topic, *options).splitlines()

    def _tool(self, main_class: str, topic: str, *options: str, given: str = "") -> str:
        place = ["--bootstrap-server", self.server, "--topic", topic]
        ran = subprocess.run(
            [*self.java, main_class, *place, *options],
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A running broker, its own controller; nothing is left of it afterwards. Unreachable where it cannot be had."""
    fetch([("org.slf4j", "slf4j-api", "1.7.36")], folder / "probe", probe=True)
    jars = fetch(BROKER, folder / "jars")
    client, controller = _free_ports(2)
    settings = folder / "server.properties"
    settings.write_text(_settings(folder / "data", client, controller))
    (folder / "log4j.properties").write_text(LOGGING)
    tools = ("java", *SMALL, "-cp", f"{jars}/*")
    server = (*tools[:-2], f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}", *tools[-2:])
    identity = ["-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(settings)]
    subprocess.run([*server, "kafka.tools.StorageTool", "format", *identity], check=True, capture_output=True)
    log = folder / "broker.log"
    with running([*server, "kafka.Kafka", settings], log, environment()) as program:
        wait_until(lambda: "Kafka Server started" in log.read_text(), "the broker started", program=program, log=log)
        yield Broker(f"127.0.0.1:{client}", tools)


def _settings(data: Path, client: int, controller: int) -> str:
    stated = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "log.dirs": str(data),
        "num.partitions": str(PARTITIONS),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    return "".join(f"{name}={value}\n" for name, value in stated.items())


def connector(folder: Path) -> list[Path]:
    """The jars of Spark's connector: of the release that runs, or of the last one that was published in full."""
    folder.mkdir()
    try:
        jars = fetch([("org.apache.spark", CONNECTOR, pyspark.__version__)], folder / "matching")
    except Unpublished:
        jars = fetch(PUBLISHED, folder / "published")
    return sorted(jars.glob("*.jar"))


def fetch(artifacts: Sequence[tuple[str, str, str]], folder: Path, *, probe: bool = False, alone: bool = False) -> Path:
    """A folder with the jars of these artifacts and, unless `alone`, of all that they depend on."""
    folder.mkdir()
    how = f'conf="default->default" transitive="{"false" if alone else "true"}"'
    wanted = "".join(f'<dependency org="{o}" name="{n}" rev="{r}" {how}/>' for o, n, r in artifacts)
    # What is named here is taken in this version, whatever the others would have.
    fixed = "".join(f'<override org="{o}" module="{n}" rev="{r}"/>' for o, n, r in artifacts)
    module = '<info organisation="augury" module="tests"/><configurations><conf name="default"/></configurations>'
    (folder / "ivy.xml").write_text(
        f'<ivy-module version="2.0">{module}<dependencies>{wanted}{fixed}</dependencies></ivy-module>'
    )
    (ivy,) = (Path(_find_spark_home()) / "jars").glob("ivy-*.jar")
    place = ["-ivy", str(folder / "ivy.xml"), "-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
    try:
        ran = subprocess.run(
            ["java", "-jar", str(ivy), "-types", "jar", "bundle", *place],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=30 if probe else 300,
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        raise Unreachable(f"no answer in {e.timeout} seconds") from e
    if ran.returncode:
        said = next((line for line in ran.stdout.splitlines() if "not found" in line), ran.stdout).strip()
        raise Unreachable(said) if probe else Unpublished(said)
    return folder


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
