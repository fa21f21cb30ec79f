"""Lists standardised by compiled code: as by NumPy, and as by the reference, to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.ir.functions import standardise
from augury.jit.tier import Tier
from augury.kernels.common.preparing import standardising
from augury.native.support import support_source
from augury.options import Options
from augury.runtime.computed import StandardiseRows, standardise_rows, standardised


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> list[StandardiseRows]:
    options = (Options(jit=False), Options(jit=True, cache_dir=tmp_path_factory.mktemp("kernels")))
    return [standardise_rows, *(standardising(Tier(support_source(), o)) for o in options)]


@pytest.mark.parametrize("width", [2, 3, 8, 20, 41])
def test_it_does_not_matter_who_standardises(width: int, ways: list[StandardiseRows]) -> None:
    rng = np.random.default_rng(width)
    lists = (rng.normal(size=(300, width)) * 10.0 ** rng.integers(-170, 150, (300, 1))).tolist()
    lists += [[7.0] * width, [float("nan")] * width, [float("inf"), *range(width - 1)], [None, *range(width - 1)], None]
    lists += [[1.5] * (width + 1), list(range(width + 2)), []]
    expected = [None if x is None else standardise(x) for x in lists]
    assert sum(x is None for x in expected) > 10, "squares may overflow, or come to nothing"
    for array in (pa.array(lists), pa.array(lists, pa.large_list(pa.float64())), pa.array(lists[:300])):
        for way in ways:
            assert list(map(repr, standardised(array, way).to_pylist())) == list(map(repr, expected[: len(array)]))
