"""The page on kernels lists the arrays of runs as the table says that everything else is made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from augury.codegen.eager.arrays import ARGUMENTS, run_arrays, saved

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


def test_the_page_lists_every_array_in_the_order_of_the_arguments() -> None:
    rows = [f"| `{spec.name}` | {spec.owner} | {spec.holds} |" for spec in run_arrays(walks=1)]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")


def test_every_array_says_what_it_holds_and_has_one_name() -> None:
    specs = run_arrays(2, 3, 1)
    assert all(spec.holds for spec in specs)
    assert len(set(ARGUMENTS)) == len(ARGUMENTS) == len(specs)


def test_arrays_are_allocated_and_grow_as_the_table_says() -> None:
    arrays = {spec.name: spec.allocate(4) for spec in run_arrays(2, 3, walks=2)}
    assert arrays["RI"].shape == (4, 2)
    assert arrays["RF"].shape == (4, 3)
    assert arrays["RF"].dtype == np.float64
    assert arrays["list_event"].shape == (2, 4)
    assert arrays["first_run"].tolist() == [-1] * 4
    spec = next(spec for spec in run_arrays() if spec.name == "first_run")
    assert spec.grown(np.array([3, 5]), 4).tolist() == [3, 5, -1, -1]
    assert [spec.name for spec in saved("edges")] == ["edge_node", "edge_next"]
