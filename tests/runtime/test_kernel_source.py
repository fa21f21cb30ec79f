"""What a kernel is made of: its entries take what their texts use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from augury.jit.tier import Tier
from augury.options import make_options
from augury.runtime.arrays import FLOAT64, ArraySpec
from augury.runtime.kernel_source import KernelSource, Signature, kernel_source

ADD = Signature("add", ("i0", "n", ArraySpec("unused"), ArraySpec("x", FLOAT64), ArraySpec("other")))
TWICE = Signature("twice", ("a", "b"))
TEXT = f"""
@kernel
{ADD.head}
    total = 0.0
    for i in range(i0, n):
        total += twice(x[i], other)
    return total


@kernel
{TWICE.head}
    return a + a
"""


def source() -> KernelSource:
    return kernel_source(TEXT, (ADD, TWICE))


def test_an_entry_does_not_take_what_it_does_not_use() -> None:
    assert "def add(i0, n, x, other):" in source().text
    assert source().taken == {"add": (0, 1, 3, 4)}
    assert source().signatures["add"] == tuple(ADD.types[k] for k in (0, 1, 3, 4))


def test_a_function_that_others_call_keeps_its_parameters() -> None:
    assert TWICE.head in source().text
    assert source().signatures["twice"] == TWICE.types


@pytest.mark.parametrize("jit", [False, True])
def test_hosts_call_an_entry_with_all_arguments(jit: bool, tmp_path: Path) -> None:
    code = Tier(source(), make_options(jit=jit, cache_dir=tmp_path))
    nothing = np.zeros(1, np.int64)
    assert code("add", 1, 3, nothing, np.array([1.0, 2.0, 3.0]), nothing) == 10.0
    if jit:
        # Compiling it for its declared types gives no second form: the call had arguments of the same ones.
        forms = code.compiled
        code.compile(["add"])
        assert code.compiled == forms
