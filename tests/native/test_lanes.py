"""One dot product, whoever computes it: the reference, a plain kernel, or vector instructions."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from augury.ir.functions import dot
from augury.jit.compile import Entries, load
from augury.runtime.kernel_source import kernel_source

Floats = npt.NDArray[np.float64]

SOURCE = kernel_source(
    """\
@kernel
def one(a_offsets, a_values, a_null, a, b_offsets, b_values, b_null, b):
    return dot(a_offsets, a_values, a_null, a, b_offsets, b_values, b_null, b)
""",
    ("one",),
)

WORKER = """
import json, sys
from pathlib import Path
import numpy as np
from augury.jit.compile import load
from augury.runtime.kernel_source import kernel_source
text, folder = json.loads(sys.stdin.read())
one = load(kernel_source(text, ("one",)), cache_dir=Path(folder))["one"]
offsets, values, null = np.array([0, 11]), np.arange(11.0), np.zeros(1, np.uint8)
answer = one(offsets, values, null, 0, offsets, values, null, 0)
print(json.dumps([answer, sum(one.stats.cache_hits.values())]))
"""

OTHER_PROCESSOR = """
import json, sys
from pathlib import Path
import numpy as np
from augury.jit.compile import load
from augury.runtime.kernel_source import kernel_source
text, folder = json.loads(sys.stdin.read())
source = kernel_source(text, ("one",))
plain, compiled = load(source, jit=False)["one"], load(source, cache_dir=Path(folder))["one"]
wrong = []
for size in range(41):
    rng = np.random.default_rng(size)
    values = rng.normal(size=2 * size) * 10.0 ** rng.integers(-9, 9, 2 * size)
    lists = np.array([0, size, 2 * size]), values, np.zeros(2, np.uint8)
    if plain(*lists, 0, *lists, 1) != compiled(*lists, 0, *lists, 1):
        wrong.append(size)
print(json.dumps(wrong))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Entries, Entries]:
    return load(SOURCE, jit=False), load(SOURCE, cache_dir=tmp_path_factory.mktemp("kernels"))


def column(*lists: Floats | None) -> tuple[Any, Any, Any]:
    """Lists as a kernel reads them: offsets, values, nulls."""
    sizes = [0 if x is None else len(x) for x in lists]
    values = np.concatenate([np.empty(0), *(x for x in lists if x is not None)])
    return np.concatenate([[0], np.cumsum(sizes)]), values, np.array([x is None for x in lists], dtype=np.uint8)


def bits(x: float | None) -> bytes:
    """What two evaluators must agree on: every bit, but any NaN is the same null."""
    return b"null" if x is None or np.isnan(x) else struct.pack("d", x)


@pytest.mark.parametrize("size", range(41))
def test_all_evaluators_agree_to_the_last_bit(size: int, kernels: tuple[Entries, Entries]) -> None:
    rng = np.random.default_rng(size)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e308])
    for trial in range(40):
        # Magnitudes far apart, so that another order of the sum shows; a first list shifts the second off alignment.
        before, x, y = (rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n) for n in (trial % 9, size, size))
        for values in (x, y) if trial % 2 else ():
            where = rng.random(size) < 0.1
            values[where] = rng.choice(special, int(where.sum()))
        expected = bits(dot(x.tolist(), y.tolist()))
        for kernel in kernels:
            assert bits(kernel["one"](*column(before, x), 1, *column(y), 0)) == expected


def test_the_order_of_the_sum_is_not_from_left_to_right(kernels: tuple[Entries, Entries]) -> None:
    # Lanes 0 and 4 cancel out before the small ones are added; from left to right the first 1 would be lost.
    x, ones = [1e16, 1.0, 0.0, 0.0, -1e16, 0.0, 0.0, 0.0, 0.0, 1.0], [1.0] * 10
    assert dot(x, ones) == 2.0
    for kernel in kernels:
        assert kernel["one"](*column(np.array(x)), 0, *column(np.array(ones)), 0) == 2.0


def test_a_null_or_another_length_gives_no_number(kernels: tuple[Entries, Entries]) -> None:
    lists = column(np.ones(9), None, np.ones(8), np.empty(0))
    for kernel in kernels:
        found = [[kernel["one"](*lists, a, *lists, b) for b in range(4)] for a in range(4)]
        expected = np.full((4, 4), np.nan)
        expected[0, 0], expected[2, 2], expected[3, 3] = 9.0, 8.0, 0.0
        np.testing.assert_array_equal(found, expected)


def test_a_kernel_with_vectors_is_kept_on_disk(tmp_path: Path) -> None:
    reports = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", WORKER],
            input=json.dumps([SOURCE.text, str(tmp_path)]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        reports.append(json.loads(done.stdout))
    assert reports == [[385.0, 0], [385.0, 1]]


def test_processors_without_masks_agree_as_well(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        input=json.dumps([SOURCE.text, str(tmp_path)]),
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
