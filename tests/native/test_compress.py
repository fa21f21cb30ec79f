"""Masks and ascending integers looked at many at a time, as plain Python, compiled, and for a plainer processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augury.jit.compile import Entries, load
from augury.native.prelude_search import SEARCH_VECTOR
from augury.runtime.kernel_source import kernel_source

TEXT = """\
@kernel
def places(mask, size, lo, found):
    return marked(mask, size, lo, found)
"""
SEARCHES = {
    "next_lower": bisect_left,
    "next_upper": bisect_right,
    "within_lower": bisect_left,
    "within_upper": bisect_right,
}
SOURCE = kernel_source(TEXT, ("places", *SEARCHES))

OTHER_PROCESSOR = """
import json, sys
import numpy as np
from augury.jit.compile import load
from augury.runtime.kernel_source import kernel_source
text, entries = json.loads(sys.stdin.read())
mask = (np.random.default_rng(1).random(320) < np.repeat([0.0, 0.02, 0.5, 1.0, 0.1], 64)).astype(np.uint8)
out = np.empty(320, np.int64)
kernel = load(kernel_source(text, entries))
n = kernel["places"](mask, 300, 7, out)
at = [kernel[search](np.arange(40) * 3, 2, 35, 60) for search in entries[1:]]
print(json.dumps([out[:n].tolist(), (7 + np.flatnonzero(mask[:300])).tolist(), at]))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Entries, Entries]:
    return load(SOURCE, jit=False), load(SOURCE, cache_dir=tmp_path_factory.mktemp("kernels"))


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 5), st.data())
@example([True] * 130, 3, None)
@example([False] * 64 + [True], 0, None)
def test_places_of_a_mask(
    kernels: tuple[Entries, Entries], bits: list[bool], lo: int, data: st.DataObject | None
) -> None:
    size = len(bits) if data is None else data.draw(st.integers(0, len(bits)))
    # What lies behind is not looked at, whatever it is.
    mask = np.array([*bits, *[True] * 64], dtype=np.uint8)
    expected = [lo + k for k in range(size) if bits[k]]
    for kernel in kernels:
        found = np.full(size + 10, -1, dtype=np.int64)
        n = kernel["places"](mask, size, lo, found)
        assert found[:n].tolist() == expected
        assert found[n + 8 :].tolist() == [-1] * (size + 2 - n)


@pytest.mark.parametrize("search", SEARCHES)
@given(st.lists(st.integers(-50, 50), max_size=200), st.integers(-60, 60), st.integers(-60, 60), st.data())
@example([1] * 20, 2, 0, None)
def test_searches_do_not_see_what_lies_behind_the_end(
    kernels: tuple[Entries, Entries],
    search: str,
    values: list[int],
    v: int,
    behind: int,
    data: st.DataObject | None,
) -> None:
    lo, hi = (0, len(values)) if data is None else sorted(data.draw(st.integers(0, len(values))) for _ in range(2))
    array = np.array([*sorted(values)[:hi], *[behind] * SEARCH_VECTOR], dtype=np.int64)
    expected = SEARCHES[search](array[:hi].tolist(), v, lo)
    for kernel in kernels:
        assert kernel[search](array, lo, hi, v) == expected


def test_a_processor_without_wide_vectors_finds_the_same() -> None:
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        input=json.dumps([TEXT, ["places", *SEARCHES]]),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found, expected, at = json.loads(done.stdout)
    assert found == expected
    assert at == [20, 21, 20, 21]
