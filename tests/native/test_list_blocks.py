"""One list compared with 64 at a time: none that belongs to the answer is left out, whoever computes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from augury.ir.functions import dot, standardise
from augury.jit.compile import Entries, load
from augury.native.prelude_lists import BLOCK_LISTS, LEADS
from augury.runtime.cosines import LEADING, cosines
from augury.runtime.kernel_source import kernel_source
from tests.native.test_lanes import column

Floats = npt.NDArray[np.float64]

TEXT = """\
@kernel
def scan(lo, hi, rows, width, offsets, values, null, e, sign, least, out):
    squares = dot(offsets, values, null, e, offsets, values, null, e)
    limit = least_near(least, squares, offsets[e + 1] - offsets[e], width)
    n = 0
    for block in range(lo >> 6, (hi + 63) >> 6):
        bits = near(rows, width, block << 6, lo, hi, values, offsets[e], sign, limit)
        while bits != 0:
            out[n] = (block << 6) + lowest(bits)
            bits = without_lowest(bits)
            n += 1
    return n


@kernel
def scan_leads(lo, hi, rows, width, cosines, led, offsets, values, null, e, sign, least, out):
    squares = dot(offsets, values, null, e, offsets, values, null, e)
    limit = least_near(least, squares, offsets[e + 1] - offsets[e], width)
    if abs(limit) < inf:
        led[LEADS] = rest_of(squares, coefficients(values, offsets[e], width, cosines, sign, led, 0), width)
    n = 0
    for block in range(lo >> 6, (hi + 63) >> 6):
        bits = near(rows, LEADS + 1, block << 6, lo, hi, led, 0, 1.0, limit)
        while bits != 0:
            out[n] = (block << 6) + lowest(bits)
            bits = without_lowest(bits)
            n += 1
    return n
"""
ENTRIES = ("scan", "turn", "scan_leads", "turn_leads")
SOURCE = kernel_source(TEXT, ENTRIES)

OTHER_PROCESSOR = """
import json, sys
import numpy as np
from augury.jit.compile import load
from augury.runtime.kernel_source import kernel_source
from augury.runtime.cosines import cosines
source = kernel_source(*json.loads(sys.stdin.read()))
rng = np.random.default_rng(2)
x = rng.normal(size=(200, 20)).cumsum(axis=1)
x -= x.mean(axis=1, keepdims=True)
x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
lists = 20 * np.arange(201), x.reshape(-1).copy(), np.zeros(200, np.uint8)
rows, out = np.empty(256 * 20, np.float32), np.empty(200, np.int64)
compiled = load(source)
compiled["turn"](0, 200, np.arange(200), rows, 20, *lists)
n = compiled["scan"](3, 197, rows, 20, *lists, 0, -1.0, 0.2, out)
whole = out[:n].tolist()
led = cosines(20).reshape(-1), np.zeros(9)
compiled["turn_leads"](0, 200, np.arange(200), rows, 20, *led, *lists)
n = compiled["scan_leads"](3, 197, rows, 20, *led, *lists, 0, -1.0, 0.2, out)
print(json.dumps([whole, out[:n].tolist(), (3 + np.flatnonzero(x[3:197] @ x[0] < -0.2)).tolist()]))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Entries, Entries]:
    return load(SOURCE, jit=False), load(SOURCE, cache_dir=tmp_path_factory.mktemp("kernels"))


def found(
    kernel: Entries, lists: list[Floats | None], width: int, other: Floats | None, lo: int, hi: int, sign: int, t: float
) -> list[int]:
    """The places that `near` finds among `lists`, which have been put into blocks in two steps."""
    everything = column(*lists, other)
    n = len(lists)
    # What no list has been put into yet may hold anything.
    rows = np.full(-(-n // BLOCK_LISTS) * BLOCK_LISTS * width, 7.0, dtype=np.float32)
    events, out = np.arange(n), np.empty(n, dtype=np.int64)
    for begin, end in ((0, n // 3), (n // 3, n)):
        kernel["turn"](begin, end, events, rows, width, *everything)
    size = kernel["scan"](lo, hi, rows, width, *everything, n, float(sign), sign * t, out)
    return [int(at) for at in out[:size]]


def not_ruled_out(
    kernel: Entries, lists: list[Floats | None], width: int, other: Floats | None, lo: int, hi: int, sign: int, t: float
) -> list[int]:
    """The places that leading coefficients leave."""
    everything = column(*lists, other)
    n = len(lists)
    rows = np.full(-(-n // BLOCK_LISTS) * BLOCK_LISTS * (LEADING + 1), 7.0, dtype=np.float32)
    out, led = np.empty(n, dtype=np.int64), (cosines(width).reshape(-1), np.full(LEADING + 1, 7.0))
    for begin, end in ((0, n // 3), (n // 3, n)):
        kernel["turn_leads"](begin, end, np.arange(n), rows, width, *led, *everything)
    size = kernel["scan_leads"](lo, hi, rows, width, *led, *everything, n, float(sign), sign * t, out)
    return [int(at) for at in out[:size]]


def unit(x: Floats) -> Floats | None:
    """A list as kernels get it: standardised."""
    values = standardise(x.tolist())
    return None if values is None else np.array(values)


def products(lists: list[Floats | None], other: Floats | None) -> list[float]:
    """What is really so, NaN for null."""
    found = (None if x is None or other is None else dot(x.tolist(), other.tolist()) for x in lists)
    return [float("nan") if x is None else x for x in found]


@pytest.mark.parametrize("width", [2, 3, 8, 20, 33])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_answer_is_among_what_is_found(width: int, sign: int, kernels: tuple[Entries, Entries]) -> None:
    rng = np.random.default_rng(100 * width + sign)
    for trial in range(8):
        n = int(rng.integers(1, 200))
        lists = [unit(x) for x in rng.normal(size=(n, width)).cumsum(axis=1) * 10.0 ** rng.integers(-3, 3, (n, 1))]
        other = unit(rng.normal(size=width).cumsum())
        exact = np.array(products(lists, other))
        lo, hi = sorted(rng.integers(0, n + 1, 2).tolist())
        # Half of the time the bound is one of the products themselves.
        t = float(rng.choice(exact)) if trial % 2 else float(rng.uniform(-1, 1))
        for kernel in kernels:
            places = found(kernel, lists, width, other, lo, hi, sign, t)
            assert places == sorted(set(places))
            assert set(places) <= set(range(lo, hi))
            wanted = {k for k in range(lo, hi) if sign * exact[k] >= sign * t}
            assert wanted <= set(places)
            assert {k for k in places if sign * exact[k] < sign * t - 1e-4} == set(), "few others"
            left = not_ruled_out(kernel, lists, width, other, lo, hi, sign, t)
            assert left == sorted(set(left))
            assert wanted <= set(left) <= set(range(lo, hi))
            if width <= LEADING + 1:
                # All coefficients are there, and what is left of a list is next to nothing.
                assert {k for k in left if sign * exact[k] < sign * t - 1e-4} == set()


def test_leading_coefficients_leave_few_walks(kernels: tuple[Entries, Entries]) -> None:
    """Of white noise they leave most, however far apart: it is for the planner to know."""
    rng = np.random.default_rng(8)
    steps = rng.normal(size=(1_000, 200))
    shares = []
    for lists in ([unit(x) for x in steps.cumsum(axis=1)], [unit(x) for x in steps]):
        found = [len(not_ruled_out(k, lists, 200, lists[0], 0, 1_000, 1, 0.9)) / 1_000 for k in kernels]
        assert found[0] == found[1]
        shares.append(found[0])
    walks, noise = shares
    assert walks < 0.06
    assert noise > 0.9


def test_products_that_rounding_decides_are_left_to_the_exact_one(kernels: tuple[Entries, Entries]) -> None:
    """Lists that differ in the last bits of 64 are the same in 32: all of them are found, for every bound near them."""
    rng = np.random.default_rng(5)
    base = rng.normal(size=20)
    lists = [unit(base * (1 + 1e-15 * rng.normal(size=20))) for _ in range(100)]
    other = unit(base + rng.normal(size=20))
    exact = sorted(set(products(lists, other)))
    assert len(exact) > 3
    for t in (*exact, np.nextafter(exact[-1], -1), np.nextafter(exact[0], 1)):
        for kernel in kernels:
            assert found(kernel, lists, 20, other, 0, 100, 1, t) == list(range(100))
            assert not_ruled_out(kernel, lists, 20, other, 0, 100, 1, t) == list(range(100))


@pytest.mark.slow
def test_a_rest_that_rounding_makes_of_nothing_is_not_too_short(kernels: tuple[Entries, Entries]) -> None:
    """Lists that their leading coefficients make up whole: what is left of squares is an error, of either sign."""
    rng = np.random.default_rng(9)
    lists = [unit(x) for x in rng.normal(size=(300, LEADING)) @ cosines(64).T]
    for other in lists[:20]:
        exact = products(lists, other)
        for t in sorted(exact)[-40::8]:
            wanted = {k for k, x in enumerate(exact) if x >= t}
            for kernel in kernels:
                assert wanted <= set(not_ruled_out(kernel, lists, 64, other, 0, 300, 1, t))


def test_lists_that_are_not_as_expected_decide_nothing(kernels: tuple[Entries, Entries]) -> None:
    """Nulls, other lengths, and lists whose squares underflowed, so that they are no longer of length 1."""
    rng = np.random.default_rng(6)
    tiny = np.array([1.5e-162, -1.5e-162] * 9 + [1.6e-162, -1.6e-162])
    long = unit(tiny)
    assert long is not None
    assert (long * long).sum() > 1.5
    usual = [unit(rng.normal(size=20)) for _ in range(5)]
    for other in (usual[0], long, unit(rng.normal(size=7)), np.full(20, np.nan), None):
        lists = [*usual, long, None, unit(rng.normal(size=7)), np.full(20, np.nan), np.full(20, np.inf)]
        exact = products(lists, other)
        for t in (0.9, 1.2, -0.5):
            for kernel in kernels:
                for places in (
                    found(kernel, lists, 20, other, 0, len(lists), 1, t),
                    not_ruled_out(kernel, lists, 20, other, 0, len(lists), 1, t),
                ):
                    assert {k for k, x in enumerate(exact) if x >= t} <= set(places)
                    if other is not None and len(other) == 20 and not np.isnan(other).any() and other is not long:
                        assert {5, 6, 7, 8, 9} <= set(places), "these are for the exact product to decide"


def test_nothing_is_near_a_null(kernels: tuple[Entries, Entries]) -> None:
    lists = [unit(x) for x in np.random.default_rng(7).normal(size=(70, 5))]
    for kernel in kernels:
        assert found(kernel, lists, 5, None, 0, 70, 1, -1.0) == []
        assert not_ruled_out(kernel, lists, 5, None, 0, 70, 1, -1.0) == []


def test_processors_without_wide_vectors_agree_as_well() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        input=json.dumps([TEXT, ENTRIES]),
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    places, left, expected = json.loads(done.stdout)
    assert places == expected
    assert len(places) > 20
    assert set(places) < set(left) < set(range(3, 197))


def test_the_prelude_has_as_many_coefficients_as_there_are() -> None:
    assert LEADS == LEADING
