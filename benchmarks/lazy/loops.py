"""Reading generated code: what its inner loops call."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass

from augury.compiler import CompiledQuery
from augury.runtime.kernel_source import KernelSource


def numpy_in_loops(query: CompiledQuery) -> list[str]:
    """The calls into NumPy that the kernel makes inside a loop; empty for an evaluator without generated code."""
    return [call for source in _sources(query.kernel) for call in calls_in_loops(source.text)]


def calls_in_loops(text: str) -> list[str]:
    """Calls of `np...` inside `for` and `while`.

    >>> calls_in_loops("x = np.empty(3)\\nfor i in range(3):\\n    x[i] = np.sum(x)\\n")
    ['np.sum(x)']
    """
    found = {}
    for loop in ast.walk(ast.parse(text)):
        if isinstance(loop, ast.For | ast.While):
            for node in ast.walk(loop):
                if isinstance(node, ast.Call) and _root(node.func) in ("np", "numpy"):
                    found[node.lineno, node.col_offset] = ast.unparse(node)
    return [found[at] for at in sorted(found)]


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _sources(emitted: object) -> list[KernelSource]:
    """The texts in what a plan was emitted as, whatever else that holds."""
    if isinstance(emitted, KernelSource):
        return [emitted]
    if isinstance(emitted, tuple):
        return [source for part in emitted for source in _sources(part)]
    if not is_dataclass(emitted) or isinstance(emitted, type):
        return []
    return [s for f in fields(emitted) for s in _sources(getattr(emitted, f.name))]
