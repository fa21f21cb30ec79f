"""A live stream goes on with the plan it has while a better one is compiled in another process."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury.jit.background import compile_in_background
from augury.jit.compile import compilations, load
from augury.runtime.arrays import ArraySpec
from augury.runtime.kernel_source import KernelSource, Signature, kernel_source

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE a.price > b.price + 0.5 AND b.price > c.price + 0.3 WITHIN 200 seconds"

PATIENCE = 120.0  # seconds that a busy machine gets to start a process and compile


def drifting(events: int, frequent: str, first: int) -> pa.Table:
    """Events, most of them of one type."""
    random = np.random.default_rng(first)
    types = np.where(random.random(events) < 0.9, frequent, random.choice(list("ABC"), events))
    return pa.table({"ts": np.arange(first, first + events), "type": types, "price": random.random(events)})


@pytest.mark.slow
def test_a_better_order_is_compiled_beside_the_stream(tmp_path: Path) -> None:
    began, fed, found = monotonic(), list[pa.Table](), 0
    schema = drifting(1, "A", 0).schema
    options: dict[str, object] = {"plan": "lazy-chain", "cache_dir": tmp_path, "jit": True, "counters": True}
    stream = augury.Matcher(QUERY, schema, **options)  # type: ignore[arg-type]
    compiled, changed = 0, 0
    while not changed or len(fed) < changed + 4:
        # Most events are A, of which the plan knows nothing: to look for them last is better.
        fed.append(drifting(250, "A", 250 * len(fed)))
        matches = stream.feed(fed[-1])
        found += len(matches)
        assert matches.counters is not None
        if len(fed) == 1:
            compiled = matches.counters["compilations"]
            assert compiled > 0
        else:
            # What the other process has compiled is loaded: here nothing is compiled any more.
            assert matches.counters["compilations"] == compiled
        if not changed and matches.counters["orders"] > 1:
            changed = len(fed)
        if len(fed) > 8:
            sleep(0.05)
        assert monotonic() < began + PATIENCE
    assert changed > 3, "the stream went on while it was compiled"
    found += len(stream.finish())
    assert found == len(augury.match(pa.concat_tables(fed), QUERY, plan="eager-nfa"))
    assert found > 0


def doubling(text: str = "@kernel\ndef double(n, x):\n    for i in range(n):\n        x[i] += x[i]\n") -> KernelSource:
    return kernel_source(text, (Signature("double", ("n", ArraySpec("x"))),))


def test_what_was_compiled_beside_is_loaded(tmp_path: Path) -> None:
    source = doubling()
    assert compile_in_background(source, tmp_path).result(PATIENCE)
    x = np.arange(3)
    load(source, cache_dir=tmp_path)["double"](3, x)
    assert x.tolist() == [0, 2, 4]
    assert compilations(source) == 0
    assert list(tmp_path.glob("*/kernel_*.bin"))


def test_a_kernel_that_does_not_compile_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = doubling("@kernel\ndef double(n, x):\n    return unknown_name(x)\n")
    assert not compile_in_background(source, tmp_path).result(PATIENCE)
    assert "was not compiled beside the stream" in caplog.text
    assert "unknown_name" in caplog.text
    assert compile_in_background(doubling(), tmp_path).result(PATIENCE)
