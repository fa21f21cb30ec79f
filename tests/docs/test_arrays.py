"""The page on kernels lists the arrays of every family as the tables say that everything else is made from."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from augury.budget import STOP
from augury.codegen.eager.arrays import ARGUMENTS, run_arrays
from augury.codegen.lazy.chain import emit_lazy_chain
from augury.codegen.linked.arrays import linked_arrays, walk_arrays
from augury.codegen.lossy.arrays import path_arrays, queue_arrays, table_arrays
from augury.native.cells import CELLS, FIRST_COUNTER, Cell, ChainCell, LinkCell, QueueCell, RunCell
from augury.options import Options
from augury.plan import LazyChainPlan
from augury.runtime.arrays import ArraySpec, saved_arrays
from augury.testing.evaluate import compiled, family_plan

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
TABLES = {
    "runs": run_arrays(2, 3, walks=1),
    "linked": (*linked_arrays(3), *walk_arrays(3)),
    "lossy": (*queue_arrays(2), *table_arrays(3, 4), *path_arrays(3, 1)),
}


@pytest.mark.parametrize("family", TABLES)
def test_the_page_lists_every_array_in_the_order_of_the_arguments(family: str) -> None:
    rows = [f"| `{spec.name}` | {spec.owner or '-'} | {spec.holds} |" for spec in TABLES[family]]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("family", TABLES)
def test_every_array_says_what_it_holds_and_has_one_name(family: str) -> None:
    specs = TABLES[family]
    assert all(spec.holds for spec in specs)
    assert len({spec.name for spec in specs}) == len(specs)


def test_the_arguments_of_runs_are_those_of_the_table() -> None:
    assert tuple(spec.name for spec in TABLES["runs"]) == ARGUMENTS


def test_arrays_are_allocated_and_grow_as_the_table_says() -> None:
    arrays = {spec.name: spec.allocate(4) for spec in run_arrays(2, 3, walks=2)}
    assert arrays["run_integers"].shape == (4, 2)
    assert arrays["run_floats"].shape == (4, 3)
    assert arrays["run_floats"].dtype == np.float64
    assert arrays["list_event"].shape == (2, 4)
    assert arrays["first_run"].tolist() == [-1] * 4
    spec = next(spec for spec in run_arrays() if spec.name == "first_run")
    assert spec.grown(np.array([3, 5]), 4).tolist() == [3, 5, -1, -1]
    assert [spec.name for spec in saved_arrays(run_arrays(), "edges")] == ["edge_node", "edge_next"]


def test_arrays_side_by_side_keep_what_they_hold_when_they_grow() -> None:
    spec = ArraySpec("first_list", owner="partitions", rows=2, fill=-1)
    assert spec.grown(np.array([[1, 2], [3, 4]]), 3).tolist() == [[1, 2, -1], [3, 4, -1]]


def test_rows_are_saved_as_a_column_for_each_cell() -> None:
    spec = ArraySpec("entry_watched", owner="entries", width=2)
    rows = np.array([[1, 2], [3, 4]])
    saved = spec.to_columns(rows)
    assert {name: column.tolist() for name, column in saved.items()} == {
        "entry_watched_0": [1, 3],
        "entry_watched_1": [2, 4],
    }
    assert spec.from_columns(saved).tolist() == rows.tolist()


@pytest.mark.parametrize("cells", [RunCell, ChainCell, LinkCell, QueueCell])
def test_cells_of_a_family_leave_those_of_all_alone(cells: type[IntEnum]) -> None:
    assert max(cells) < Cell.STOP == STOP < CELLS
    assert cells["PREDICATES"] >= FIRST_COUNTER


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.x < c.x WITHIN 1 minute",
        "SEQ(A a, B b, C c) WHERE a.k = c.k AND b.k = c.k WITHIN 1 minute",
        "SEQ(A a, B+ b[], NOT(D d), C c) WHERE b[i].x > a.x AND sum(b[].x) < c.x WITHIN 20 EVENTS",
        "SEQ(A a, B b, C c) WHERE corr(a.v, b.v) > 0.9 AND corr(b.v, c.v) > 0.9 WITHIN 1 minute",
        f"SEQ({', '.join(f'A a{k}' for k in range(12))}) WITHIN 1 minute",
    ],
)
def test_the_page_names_every_array_of_lazy_chains(query: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = {_pattern(name) for name in re.findall(r"`(\w+)`", page[page.index("## Lazy chains") :])}
    arrays = _lazy_arrays(query)
    assert arrays
    assert {spec.name for spec in arrays if _pattern(spec.name) not in named} == set()


def _pattern(name: str) -> str:
    """A name without its numbers, and without the names of columns and variables."""
    return re.sub(r"\d+", "0", re.sub(r"(v\d+_|c\d+_)\w+", r"\1", name))


def _lazy_arrays(text: str) -> tuple[ArraySpec, ...]:
    kinds = {"ts": pa.int64(), "type": pa.string(), "k": pa.string(), "x": pa.float64(), "v": pa.list_(pa.float64())}
    table = pa.schema(list(kinds.items())).empty_table()
    plan = family_plan("lazy-chain", compiled(text, table, Options(plan="reference")).rewritten)
    assert isinstance(plan, LazyChainPlan), plan
    return emit_lazy_chain(plan).arrays
