"""What is loaded when: `import augury` loads next to nothing, a call what it needs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import augury


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has loaded after some code."""
    told = f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    return set(subprocess.run([sys.executable, "-c", told], check=True, text=True, capture_output=True).stderr.split())


def test_import_loads_nothing_but_the_names() -> None:
    found = loaded("import augury")
    assert {name for name in found if name.split(".")[0] == "augury"} == {"augury", "augury.explain"}
    heavy = {"numba", "numpy", "pyarrow", "pandas", "scipy", "lark", "rich", "pyspark", "polars", "duckdb", "sqlglot"}
    assert not heavy & found


def test_every_public_name_is_there_and_is_the_one_that_types_are_checked_with() -> None:
    (block,) = [node for node in ast.parse(inspect.getsource(augury)).body if isinstance(node, ast.If)]
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("augury.")
        for alias in node.names
    }
    assert typed == augury._MODULES
    assert {*augury.__all__} == {*typed, "__version__"}
    for name in augury.__all__:
        assert getattr(augury, name) is not None
    assert {*augury.__all__} <= {*dir(augury)}


def test_what_is_not_public_is_no_attribute() -> None:
    assert not hasattr(augury, "nonsense")


def test_explain_stays_a_function_whatever_is_loaded_of_the_folder_of_that_name() -> None:
    loaded("import augury, augury.explain.text, augury.explain.layout; assert augury.explain.__name__ == 'explain'")
    loaded("import augury.explain.text; import augury; assert augury.explain('SEQ(A a)', stage='syntax')")


EVENTS = [{"ts": k, "type": "AB"[k % 2]} for k in range(20)]
MATCH = f"import augury; assert len(augury.match({EVENTS}, 'SEQ(A a, B b) WITHIN 2 seconds')) == 10"
ENDING = "try:\n    main()\nexcept SystemExit as e:\n    assert not e.code"


def test_a_kernel_from_the_cache_is_loaded_without_what_the_compiler_knows(tmp_path: Path) -> None:
    match = f"augury.match({EVENTS}, 'SEQ(A a, B b) WITHIN 2 seconds', jit=True, cache_dir={str(tmp_path)!r})"
    compiled, from_cache = (loaded(f"import augury; assert len({match}) == 10") for _ in range(2))
    assert "numba.np.arraymath" in compiled
    assert "numba" in from_cache
    assert not {"numba.np.arraymath", "numba.np.linalg", "scipy.linalg"} & from_cache


def test_a_call_over_few_events_loads_no_compiler_and_one_plan_family() -> None:
    found = loaded(MATCH)
    assert not {"numba", "scipy", "duckdb", "sqlglot", "pyspark", "typer", "bokeh"} & found
    families = {"eager", "lazy", "linked", "lossy", "sets"}
    assert len([family for family in families if f"augury.kernels.{family}.kernel" in found]) == 1
    assert "augury.reference" not in found
    assert "augury.planner.describe.lazy_chain" not in found


def test_the_command_line_matches_without_pandas_and_explains_too(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text("ts,type\n" + "".join(f"{e['ts']},{e['type']}\n" for e in EVENTS))
    for command in (["match", "SEQ(A a, B b)", str(events)], ["explain", "SEQ(A a, B b)", "--schema", str(events)]):
        run = f"sys.argv = ['augury', *{command}]\nfrom augury.cli import main\n" + ENDING
        assert not {"pandas", "numba", "scipy", "augury.hosts.local.sql"} & loaded(run)


def test_arrow_still_finds_pandas_afterwards() -> None:
    loaded(
        "import pyarrow as pa\nfrom augury.cli.startup import keep_pandas_out\nkeep_pandas_out()\n"
        "assert 'pandas' not in sys.modules and pa.table({'x': [1]}).to_pandas().shape == (1, 1)"
    )


def test_neither_pandas_nor_other_readers_are_loaded_to_match_a_file_and_show_a_match(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({name: [event[name] for event in EVENTS] for name in ("ts", "type")}), tmp_path / "e.parquet"
    )
    query = "SEQ(A a, B b) WITHIN 2 seconds"
    found = loaded(
        f"import augury; assert augury.match({str(tmp_path / 'e.parquet')!r}, {query!r})[0].rows == dict(a=0, b=1)"
    )
    assert "pyarrow" in found
    assert not {"pandas", "pyarrow.csv", "pyarrow.json", "numpy.random", "numpy.polynomial"} & found
