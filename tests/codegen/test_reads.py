"""What a text reads is what it says it reads, and strings are ranked where a conjunct orders them."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from augury.codegen.common.constants import constants_of
from augury.codegen.common.expressions import Code, Leaf, false, true
from augury.codegen.common.inventory import columns_of, conjuncts_of
from augury.ir.predicate import Ref
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.testing.evaluate import compiled, family_plan

COLUMNS = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("price", pa.float64()),
        ("size", pa.int64()),
        ("name", pa.string()),
        ("path", pa.list_(pa.float64())),
    ]
)
ARRAYS = re.compile(r"\b(?:c\d+_\w+|string_rank|(?:int|float)_(?:sets|values)|e_\w+)\b")


@pytest.mark.parametrize(
    "condition",
    [
        "b.price > a.price",
        "b.size % a.size = 3 OR a.price IS NULL",
        "NOT (b.name = a.name AND b.size < 4)",
        "b.name < a.name",
        "b.size IN (1, 2, 3, 4, 5, 6) AND coalesce(b.price, a.price) > sqrt(a.price)",
        "b.name IN ('x', 'y') OR a.size IN (1, 2.5)",
        "corr(a.path, b.path) > 0.9",
        "round(a.price, b.size) = least(a.price, b.price, 3.0)",
    ],
)
def test_a_text_reads_what_it_says(condition: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ {condition} }} WITHIN 10 seconds"
    plan = family_plan("eager-nfa", compiled(query, COLUMNS.empty_table(), Options(jit=False)).rewritten)
    assert isinstance(plan, EagerNfaPlan)
    components = [c for branch in plan.branches for c in branch.components]
    conjuncts = conjuncts_of(components)
    assert conjuncts
    constants = constants_of(components, conjuncts)
    _, columns = columns_of(components, conjuncts, plan.computed)

    def read(leaf: Leaf) -> Code:
        assert isinstance(leaf, Ref)
        return columns.at(leaf.column, leaf.type, f"e_{leaf.variable}")

    for conjunct in conjuncts:
        for code in (true(conjunct.expr, read, constants), false(conjunct.expr, read, constants)):
            assert set(code.reads) == set(ARRAYS.findall(code.value))
            assert len(set(code.reads)) == len(code.reads)
    assert constants.ranks_strings == (condition == "b.name < a.name")
