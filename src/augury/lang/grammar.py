"""The parser of the language, from tables that were made of `grammar.lark` beforehand: making them takes a while."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib import resources
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR = "grammar.lark"
TABLES = "grammar_tables.json"


@cache
def grammar() -> Lark:
    """The parser, whose rules become nodes of `lang.tree`.

    The tables are used with the very release of Lark, and the very grammar, that they were made by and of.
    """
    import lark

    from augury.lang import tree

    text = _file(GRAMMAR)
    stored = json.loads(_file(TABLES))
    if stored["made"] != made_of(text, lark.__version__):
        return built(text, tree)
    memo = {int(number): node for number, node in stored["memo"].items()}
    # What a parser that Lark writes as a file of its own calls; it has no types.
    load: Any = lark.Lark._load_from_dict
    return cast("Lark", load(_with_numbers(stored["data"]), memo, transformer=tree))


def built(text: str, nodes: ModuleType | None = None) -> Lark:
    """The parser of a grammar; rules become `nodes` while they are read, so that no tree is walked, however deep."""
    from lark import Lark

    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        start="program",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=cast("Any", nodes),
    )


def made_of(text: str, release: str) -> dict[str, str]:
    """The inputs that the tables depend on."""
    return {"lark": release, "grammar": sha256(text.encode()).hexdigest()}


def tables() -> str:
    """The content of `grammar_tables.json`: plain data, from which nothing is run."""
    import lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    text = _file(GRAMMAR)
    data, memo = built(text).memo_serialize([TerminalDef, Rule])
    made = made_of(text, lark.__version__)
    return json.dumps({"made": made, "data": data, "memo": memo}, separators=(",", ":"), sort_keys=True) + "\n"


def _with_numbers(data: dict[str, Any]) -> dict[str, Any]:
    """The tables with states and tokens as numbers again, which are the keys of objects, and so strings, in JSON."""
    parser = data["parser"]["parser"]
    parser["tokens"] = {int(token): name for token, name in parser["tokens"].items()}
    parser["states"] = {
        int(state): {int(token): action for token, action in actions.items()}
        for state, actions in parser["states"].items()
    }
    return data


def _file(name: str) -> str:
    return resources.files("augury.lang").joinpath(name).read_text(encoding="utf-8")
