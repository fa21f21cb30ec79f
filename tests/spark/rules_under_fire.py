"""A Spark stream whose rules are edited while it is killed: `python -m ... --edits 50 --kills 10 --seed 1`, or `--key`.

A child process runs the stream. It is killed at moments of chance and started again, while files of events come in and
versions of the rules are published. What it has written by the end is compared with the reference evaluator, rule by
rule and version by version: which version was in force for which micro-batch is read from the checkpoint. Versions that
no micro-batch can need any more are removed under way; the oracle reads a copy.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import augury.spark
from augury.errors import AuguryWarning
from tests.engine.rule_streams import ALONE, SHAPES, edited
from tests.engine.test_rule_buckets import KEYED
from tests.spark.conftest import SETTINGS
from tests.spark.processes import environment, kill, module, running, wait_until
from tests.spark.rule_streams import drawn_file, history_asks_for, rules_over_files, written
from tests.spark.streaming import write_files

LONGEST_DELAY = 1.0  # seconds from the beginning of a micro-batch until the child is killed

MARGIN = 1  # micro-batches whose versions stay, beside the one that may be run again

MAX_MATCHES = 1_000  # of a step: more than any rule finds but the one that explodes

EXPLODES = {"id": "explodes", "query": "PATTERN SEQ(A+ a[], B b) WHERE a[i].x >= 0 WITHIN 5 minutes"}

BROKEN = "PATTERN SEQ("


@dataclass(frozen=True)
class Outcome:
    """What a stream under fire has written, and what the history of its rules asks for."""

    written: Counter[str]
    wanted: Counter[str]
    told: Counter[str]
    late: int
    late_wanted: int
    versions: int
    removed: int
    """Versions that were removed under way."""
    spent: Counter[str]
    """The matches of each rule by its costs."""

    @property
    def agrees(self) -> bool:
        return (self.written, self.late) == (self.wanted, self.late_wanted) and self.spent == self.found

    @property
    def found(self) -> Counter[str]:
        """The matches of each rule by what was written."""
        return sum((Counter({ast.literal_eval(row)[0]: n}) for row, n in self.written.items()), Counter())


def run_stream(folder: Path) -> None:
    """Run the stream until the file `end` is there and all events have been taken in; then tell what was written."""
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    warnings.simplefilter("ignore", AuguryWarning)
    found = rules_over_files(session, folder, max_matches=MAX_MATCHES, key="k" if (folder / "keyed").exists() else None)
    assert found.rows is not None
    writer = found.rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "matches")).start()
    while not (folder / "end").exists():
        if not query.isActive:
            query.awaitTermination()
        time.sleep(0.05)
    query.processAllAvailable()
    query.stop()
    rows = session.read.schema(found.rows.schema).parquet(str(folder / "matches")).collect()
    costs = [row for row in rows if row.cost is not None and row.rule != EXPLODES["id"]]
    said = {
        "spent": sum((Counter({row.rule: row.cost.matches}) for row in costs), Counter()),
        "matches": written(row for row in rows if row.match is not None and row.rule != EXPLODES["id"]),
        "told": Counter(f"{row.rule} {row.code}" for row in rows if row.level is not None),
        "late": sum(row.late is not None for row in rows),
    }
    (folder / "partial").write_text(json.dumps(said))
    os.replace(folder / "partial", folder / "result.json")
    session.stop()


def under_fire(folder: Path, edits: int, kills: int, seed: int, *, keyed: bool = False) -> Outcome:
    """Edit the rules of a stream so many times, and kill it so many times meanwhile; `keyed` ones share a key."""
    rng, log = Random(seed), folder / "log"
    shapes = rng.sample(KEYED, 4) if keyed else [*rng.sample(SHAPES[:11], 3), ALONE[0]]
    explodes = {**EXPLODES, "query": EXPLODES["query"].replace("WHERE", "WHERE [k] AND")} if keyed else EXPLODES
    if keyed:
        (folder / "keyed").touch()
    removed = 0
    table: dict[str, dict[str, Any]] = {}
    command = module("tests.spark.rules_under_fire", f"--child={folder}")
    fatal = sorted(rng.sample(range(edits), kills))
    versions = 0
    write_files([drawn_file(rng, 0)], folder / "events")
    with ExitStack() as stack:
        child = stack.enter_context(running(command, log, environment()))
        for number in range(edits):
            while augury.spark.publish_rules(_rows(table), folder / "versions") == versions:
                edited(rng, table, shapes, number)
                if rng.random() < 0.2:
                    table["broken"] = {"id": "broken", "query": f"{BROKEN} -- {number}"}
                if number == edits // 2:
                    table[EXPLODES["id"]] = explodes
            versions += 1
            shutil.copytree(folder / "versions", folder / "all versions", dirs_exist_ok=True)
            write_files([drawn_file(rng, number + 1)], folder / "events", first=number + 1)
            # Most versions are in force for a micro-batch, and some are replaced before they are.
            if number in fatal or rng.random() < 0.8:
                next_batch = _begun(folder) + 1
                wait_until(partial(_has_begun, folder, next_batch), "a micro-batch", program=child, log=log)
            if number in fatal:
                time.sleep(rng.random() * LONGEST_DELAY)
                removed += len(augury.spark.prune_rules(folder / "versions", folder / "checkpoint", margin=MARGIN))
                kill(child)
                stack.close()
                child = stack.enter_context(running(command, log, environment()))
        (folder / "end").touch()
        wait_until((folder / "result.json").exists, "the end", program=child, log=log, seconds=900)
        child.wait()
    removed += len(augury.spark.prune_rules(folder / "versions", folder / "checkpoint", margin=MARGIN))
    said = json.loads((folder / "result.json").read_text())
    wanted, late = history_asks_for(folder, without=EXPLODES["id"], versions=folder / "all versions")
    spent = +Counter(said["spent"])
    told = Counter(said["told"])
    return Outcome(Counter(said["matches"]), wanted, told, said["late"], late, versions, removed, spent)


def _rows(table: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [dict(row) for row in table.values()]


def _begun(folder: Path) -> int:
    """How many micro-batches have begun."""
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))


def _has_begun(folder: Path, count: int) -> bool:
    return _begun(folder) >= count


def main() -> int:
    """Run a stream under fire; the exit code is 1 if it wrote other matches than the history of its rules asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--key", action="store_true", help="rules that share a key, by which the stream is cut")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        run_stream(given.child)
        return 0
    warnings.simplefilter("ignore", AuguryWarning)
    with tempfile.TemporaryDirectory() as folder:
        outcome = under_fire(Path(folder), given.edits, given.kills, given.seed, keyed=given.key)
    print(
        f"{outcome.versions} versions, {outcome.removed} of them removed under way, killed {given.kills} times: "
        f"{sum(outcome.wanted.values())} matches asked for, "
        f"{sum(outcome.written.values())} written, {sum((outcome.wanted - outcome.written).values())} missing, "
        f"{sum((outcome.written - outcome.wanted).values())} too many; {outcome.late} of {outcome.late_wanted} late "
        f"events; costs tell of {sum(outcome.spent.values())} matches; told: {dict(outcome.told)}"
    )
    return 0 if outcome.agrees else 1


if __name__ == "__main__":
    sys.exit(main())
