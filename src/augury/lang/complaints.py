"""Error messages for text that the parser cannot read."""

from __future__ import annotations

import re
from typing import Any, assert_never, cast

from lark import Token, UnexpectedCharacters, UnexpectedToken

from augury.errors import Diagnostic
from augury.ir.text import RESERVED
from augury.lang.literals import INDEX_HELP, UNIT_HELP, span_of
from augury.lang.tree import CLAUSES
from augury.source import Source, Span

_SYMBOLS = {
    "NAME": "a name", "WORD": "a name", "NUMBER": "a number", "COMMA": "`,`", "LPAR": "`(`", "RPAR": "`)`",
    "LBRACE": "`{`", "RBRACE": "`}`", "LSQB": "`[`", "RSQB": "`]`", "DOT": "`.`", "EVENTS": "EVENTS", "AND": "AND",
    "OR": "OR", "IN": "IN", "BETWEEN": "BETWEEN", "NOT": "NOT", "NULL": "NULL", "AS": "AS", "INTO": "INTO",
    "$END": "the end of the query",
}  # fmt: skip
_OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "MODULO", "COMPARE", "IN", "BETWEEN", "IS", "NOT", "AND", "OR"}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
# Strings, quoted names and comments hide brackets; an opening that matches alone is never closed.
_LEXEMES = re.compile(
    r"""'(?:[^']|'')*+' | "(?:[^"]|"")*+" | `(?:[^`]|``)*+` | --[^\n]* | /\*.*?\*/ | /\* | ['"`()\[\]{}]""",
    re.DOTALL | re.VERBOSE,
)
_UNCLOSED = {"'": "string", '"': "string", "`": "name", "/*": "comment"}

_ORDER = f"the clauses are {', '.join(CLAUSES)}, in this order; `;` ends a query"
# The way out where these tokens, all of them, could have come next; the first that fits is shown.
_WAYS_OUT: tuple[tuple[set[str], str], ...] = (
    ({"PATTERN"}, "a query starts with PATTERN, or at once with SEQ(...), AND(...) or OR(...)"),
    ({"STRATEGY"}, "write predicates, or a strategy with them in braces: skip_till_any_match { a.x > 1 }"),
    ({"STRING"}, "a value is a number, a string in quotes, a duration, a parameter, or an attribute such as `a.price`"),
    ({"GROUP"}, "a component is `Type var`, `Type+ var[]`, `Type? var` or `var`; SEQ, AND, OR and NOT combine them"),
    ({"AS"}, "the items of RETURN are separated by `,`"),
    ({"COMPARE"}, "predicates are joined by AND or OR"),
    ({"OR"}, "predicates are joined by AND or OR"),
    ({"$END"}, _ORDER),
    ({"RBRACE"}, "bounds are written {n}, {low,high} or {low,}"),
    ({"COMMA"}, "the items of a list are separated by `,`"),
    ({"AND"}, "write BETWEEN low AND high"),
    ({"BETWEEN"}, "NOT behind a value starts NOT IN or NOT BETWEEN"),
    ({"NULL"}, "write IS NULL or IS NOT NULL"),
    ({"PERCENT"}, "a threshold is a number from 0 to 1, or a parameter"),
    ({"NUMBER", "NAME"}, "a window is a duration such as 5 minutes, a number of EVENTS, or a parameter"),
    ({"NUMBER"}, "bounds are written {n}, {low,high} or {low,}"),
    ({"LPAR"}, "write the items in parentheses: IN (1, 2, 3)"),
    ({"RSQB"}, "the equivalence test is [attribute]"),
    ({"RPAR"}, "NOT holds one part; combine several with SEQ, AND or OR"),
    (set(), "a name is a word, or anything in backquotes"),
)


def unclosed(source: Source) -> Diagnostic | None:
    """The first string, name or comment of the text that has no end."""
    for lexeme in _LEXEMES.finditer(source.text):
        if lexeme[0] in _UNCLOSED:
            what, end = _UNCLOSED[lexeme[0]], "*/" if lexeme[0] == "/*" else lexeme[0]
            place = Span(lexeme.start(), lexeme.end())
            return Diagnostic("A101", f"this {what} is never closed", place, "opened here", f"end it with {end}")
    return None


def complaint(error: UnexpectedToken | UnexpectedCharacters, source: Source) -> Diagnostic:
    """The diagnostic for input that does not fit the grammar."""
    match error:
        case UnexpectedToken():
            return _unexpected(error.token, error.accepts, source)
        case UnexpectedCharacters():
            # Lark declares neither the place nor what was acceptable there with their types.
            start, accepted = cast("int", error.pos_in_stream), cast("Any", error.interactive_parser).accepts()
            place = Span(start, start + 1)
            found = source.text[place.start]
            shown = f"`{found}`" if found.isprintable() else f"the character U+{ord(found):04X}"
            return Diagnostic(
                "A101", f"expected {_expected(accepted)}, found {shown}", place, "unexpected", _way_out(accepted)
            )
        case _:
            assert_never(error)


def _unexpected(token: Token, accepted: set[str], source: Source) -> Diagnostic:
    at_end = token.type == "$END"
    # The end stands behind the last token; a text without tokens ends where it begins.
    place = Span(token.end_pos or 0, token.end_pos or 0) if at_end else span_of(token)
    word = token.type if token.type in CLAUSES else ""
    if "PATTERN" in accepted and token.type in ("$END", "SEMICOLON"):
        return Diagnostic(
            "A108", "the query is empty", place, "nothing to match", "write PATTERN SEQ(A a, B b), for example"
        )
    if "PATTERN" in accepted and word:
        return Diagnostic("A107", f"{word} stands before PATTERN", place, "out of order", _ORDER)
    if word == "PATTERN" and "SEMICOLON" in accepted:
        return Diagnostic("A107", "PATTERN is given twice", place, "the second one", "end the query before it with `;`")
    if token.type == "LSQB" and "INDEX" in accepted:
        return Diagnostic("A103", "this index is not closed or holds another one", place, "not an index", INDEX_HELP)
    found = "the end of the query" if at_end else f"`{token}`"
    label = "the query ends here" if at_end else "unexpected"
    return Diagnostic(
        "A101", f"expected {_expected(accepted)}, found {found}", place, label, _help(token, accepted, source)
    )


def _expected(accepted: set[str]) -> str:
    """The acceptable tokens in words, those that say most first.

    >>> _expected({"COMMA", "RPAR", "BRACKETS"})
    '`,` or `)`'
    """
    left = set(accepted)
    words: list[str] = []

    def fold(word: str, folded: set[str]) -> None:
        words.append(word)
        left.difference_update(folded)

    if "PATTERN" in left:
        fold("PATTERN", {"PATTERN", "GROUP"})
    if "STRATEGY" in left:
        fold("a strategy", {"STRATEGY", "UNKNOWN_STRATEGY"})
    if "STRING" in left:
        kind = "a predicate" if words else "a value"
        fold(kind, {"NUMBER", "PERCENT", "STRING", "TRUE", "FALSE", "NULL", "NAME", "NOT", "MINUS", "LPAR", "LSQB"})
    if "GROUP" in left:
        fold("a component", {"GROUP", "NAME", "NOT", "TILDE", "BANG", "LPAR"})
    if "UNIT" in left:
        fold("a unit of time", {"UNIT"})
    if "COMPARE" in left or {"MODULO", "SLASH"} <= left:
        # Inside BETWEEN the one AND is what is missing; elsewhere it is an operator among others.
        lone_and = {"AND"} if "AND" in left and "OR" not in left and "COMPARE" not in left else set()
        fold("an operator", _OPERATORS - lone_and | {"DOT", "INDEX", "LPAR", "LSQB"})
    clauses = left & set(CLAUSES)
    if len(clauses) > 1:
        fold("a clause", clauses)
    if "QMARK" in left:
        left.discard("LBRACE")
    words += [word for kind, word in _SYMBOLS.items() if kind in left and word not in words]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _way_out(accepted: set[str]) -> str:
    return next(help for tokens, help in _WAYS_OUT if tokens <= accepted)


def _help(token: Token, accepted: set[str], source: Source) -> str:
    """The way out, told from what was found where that says more than what was expected."""
    if "NAME" in accepted and token.lower() in RESERVED:
        return f"`{token}` is a reserved word; as a name it stands in backquotes"
    opened = _still_open(source.text[: token.end_pos]) if token.type in ("$END", "SEMICOLON", *CLAUSES) else None
    if opened is not None:
        line, column = source.position(opened)
        return f"the `{source.text[opened]}` at {line}:{column} is still open"
    match token.type:
        case "NAME" | "WORD" if "EVENTS" in accepted:
            return f"{UNIT_HELP}; or write EVENTS"
        case "NAME" | "WORD" if "UNIT" in accepted:
            return f"{_way_out(accepted)}; {UNIT_HELP}"
        case "COMPARE" if "OR" in accepted:
            return "comparisons do not chain: join two of them with AND"
        case "PLUS" | "STAR" | "QMARK" | "LBRACE" if "OR" not in accepted and _behind(")", token, source):
            return "components, SEQ, AND and OR are repeated or optional, nothing else"
        case "OR" if "$END" in accepted:
            return "to use OR, write the predicates in braces behind the strategy"
        case _:
            return _way_out(accepted)


def _behind(sign: str, token: Token, source: Source) -> bool:
    return source.text[: token.start_pos].rstrip().endswith(sign)


def _still_open(text: str) -> int | None:
    """The position of the innermost bracket that is not closed in `text`."""
    open_brackets: list[int] = []
    for lexeme in _LEXEMES.finditer(text):
        if lexeme[0] in _BRACKETS:
            open_brackets.append(lexeme.start())
        elif lexeme[0] in _BRACKETS.values() and open_brackets:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else None
