"""The lazy emitter asks what pieces of code read, instead of looking at their text."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import augury.codegen
import augury.codegen.lazy
import augury.kernels.lazy
from augury.codegen.common.expressions import Code
from augury.codegen.lazy.body import Body

FOLDERS = (augury.codegen.lazy, augury.kernels.lazy)
FILES = [file for folder in FOLDERS for file in sorted(Path(folder.__path__[0]).glob("*.py"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_nothing_is_learnt_from_text(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert "re" not in [name.name for name in node.names]
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("startswith", "endswith", "removeprefix", "findall"), node.lineno


def test_no_class_of_an_emitter_has_a_grandmother() -> None:
    for info in pkgutil.walk_packages(augury.codegen.__path__, "augury.codegen."):
        module = import_module(info.name)
        for _, found in inspect.getmembers(module, inspect.isclass):
            own = [c for c in found.__mro__ if c.__module__.startswith("augury.codegen.")]
            assert len(own) <= 2, found


def test_a_body_knows_what_the_bodies_in_it_read() -> None:
    inside = Body(depth=1)
    inside.add(f"x = {inside.local('t_v0_a')} + {inside.code(Code('v1_b__c0', 'f', reads=('v1_b__c0',)))}")
    inside.cursor("base1_v1_b")
    inside.stages.add(3)
    out = Body()
    out.cursor("from0_v0_a")
    out.add("while True:")
    out.include(inside)
    assert out.reads == {"t_v0_a", "v1_b__c0"}
    assert list(out.cursors) == ["from0_v0_a", "base1_v1_b"]
    assert out.stages == {3}
    assert [item.depth for item in out.items] == [0, 1]
