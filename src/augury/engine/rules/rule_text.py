"""Recognizes rules whose texts differ only in numbers, strings and types, so that only the first of them is bound.

A text is cut into tokens. Tokens of lifted values and types may differ, all others have to be the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, overload

from augury.engine.rules.shapes import MAX_EXACT, ShapedRule
from augury.engine.rules.table import Rule
from augury.ir import syntax
from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS, any_of
from augury.printable import lone_surrogate
from augury.schema import FLOAT

WORD, INTEGER, DECIMAL, STRING, OTHER = "w", "i", "f", "s", "."
"""Kinds of tokens: a type may stand for another type, a number for a number of the same kind."""

PLAIN_VALUES = (str, bool, int, float, type(None))
"""Types of parameters that can be compared by their `repr`."""

MAX_DIGITS = 15  # digits of an integer that is always exact as a float

_TOKENS = re.compile(
    r"(?P<o>--[^\n]*|/\*.*?\*/|`(?:[^`]|``)*`)"
    r"|(?P<s>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<w>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<f>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<i>[0-9]+)"
    r"|\s+|[^\w\s]|.",
    re.DOTALL,
)


_KINDS = {None: OTHER, "o": OTHER, "s": STRING, "w": WORD, "f": DECIMAL, "i": INTEGER}
"""The kinds of tokens by the groups of the pattern."""


class Token(NamedTuple):
    """One token of a query text, with its place in the text."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Tokens(Sequence[Token]):
    """The tokens of a `text`, white space included: joined they are the text.

    `kinds` has a letter for each, `bounds` where each begins and where the last one ends. Of most texts only few tokens
    are looked at.
    """

    text: str
    kinds: str
    bounds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, k: int) -> Token: ...

    @overload
    def __getitem__(self, k: slice) -> list[Token]: ...

    def __getitem__(self, k: int | slice) -> Token | list[Token]:
        if isinstance(k, slice):
            return [self[place] for place in range(*k.indices(len(self)))]
        start, end = self.bounds[k], self.bounds[k + 1]
        return Token(self.kinds[k], self.text[start:end], start, end)

    def without(self, places: Sequence[int]) -> tuple[str, ...]:
        """The text without the tokens at these places, which ascend: what is between them."""
        cuts = [0, *(cut for k in places for cut in self.bounds[k : k + 2]), len(self.text)]
        return tuple([self.text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)])


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRule:
    """A rule that is matched together with others of its shape."""

    rule: Rule
    written: syntax.Query
    shaped: ShapedRule


@dataclass(frozen=True, slots=True, eq=False)
class TextShape:
    """The template of texts that differ in lifted tokens only, made from the `first` rule.

    `places` are those of all tokens that may differ, ascending. `values` hold for each value of the shape the place of
    its token, or the name of its parameter, None for one that never differs. `types` are the places of type names, and
    `roles` the role of each. `fixed` are the parameters that are used elsewhere too.
    """

    first: GroupedRule
    places: tuple[int, ...]
    values: tuple[int | str | None, ...]
    types: tuple[int, ...]
    roles: tuple[int, ...]
    fixed: Mapping[str, Any]
    kinds: Mapping[str, type]
    """The types of all parameters."""

    def reused(self, rule: Rule, tokens: Sequence[Token], parameters: Mapping[str, Any]) -> GroupedRule | None:
        """Build another rule of this template without binding it; None where binding could give something else."""
        parameters = _used(parameters, tokens)
        if {name: type(value) for name, value in parameters.items()} != self.kinds:
            return None
        if any(repr(parameters[name]) != repr(value) for name, value in self.fixed.items()):
            return None
        own = self.first.shaped
        values: list[float | str] = []
        for source, column, before in zip(self.values, own.shape.value_types, own.values, strict=True):
            if source is None:
                values.append(before)
                continue
            value = parameters[source] if isinstance(source, str) else _value(tokens[source])
            if value is None or (isinstance(value, int) and abs(value) > MAX_EXACT):
                return None
            if isinstance(value, float) and not math.isfinite(value):
                return None
            values.append(float(value) if column == FLOAT else value)
        if not self.types:
            return replace(self.first, rule=rule, shaped=replace(own, values=tuple(values)))
        names = [tokens[place].text for place in self.types]
        types = tuple(dict.fromkeys(names))
        if tuple(types.index(name) for name in names) != self.roles or any(map(_is_word, types)):
            return None
        return replace(self.first, rule=rule, shaped=replace(own, values=tuple(values), types=types))


def tokens_of(text: str) -> Tokens:
    """The tokens of a text.

    >>> [token.kind + token.text for token in tokens_of("a.x > 5")]
    ['wa', '..', 'wx', '. ', '.>', '. ', 'i5']
    >>> tokens_of("a.x > 5 AND a.y < 7").without([6, 16])
    ('a.x > ', ' AND a.y < ', '')
    """
    found = list(_TOKENS.finditer(text))
    kinds = "".join([_KINDS[match.lastgroup] for match in found])
    return Tokens(text, kinds, (*[match.start() for match in found], len(text)))


def text_shape(rule: GroupedRule, tokens: Sequence[Token], parameters: Mapping[str, Any]) -> TextShape | None:
    """The template for texts of the shape of a rule; None if that cannot be told from the tokens."""
    parameters = _used(parameters, tokens)
    if not all(type(value) in PLAIN_VALUES for value in parameters.values()):
        return None
    at = {(token.start, token.end): k for k, token in enumerate(tokens)}
    values = list[int | str | None]()
    for span in rule.shaped.spans:
        place = at.get((span.start, span.end))
        if place is not None and tokens[place].kind in (INTEGER, DECIMAL, STRING):
            values.append(place)
        else:
            # A parameter; or something like -5, of which no token is the value, so that all tokens have to be the same.
            values.append(tokens[place].text if place is not None and tokens[place].text in parameters else None)
    types, roles = _types(rule, tokens, at)
    lifted = [value for value in values if isinstance(value, str)]
    used = [token.text for token in tokens]
    # A name that occurs more often than it is lifted also decides about something else.
    fixed = {n: v for n, v in parameters.items() if n not in lifted or used.count(n) > lifted.count(n)}
    kinds = {name: type(value) for name, value in parameters.items()}
    places = {*types, *(value for value in values if isinstance(value, int))}
    return TextShape(rule, tuple(sorted(places)), tuple(values), types, roles, fixed, kinds)


def _used(parameters: Mapping[str, Any], tokens: Sequence[Token]) -> Mapping[str, Any]:
    """The parameters that a text may name; a text with backquotes may name any."""
    if not parameters or any("`" in token.text for token in tokens):
        return parameters
    named = {token.text for token in tokens}
    return {name: value for name, value in parameters.items() if name in named or not name.isidentifier()}


def _types(
    rule: GroupedRule, tokens: Sequence[Token], at: Mapping[tuple[int, int], int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of type names and their roles; empty where types must not differ."""
    if not rule.shaped.shape.typed:
        return (), ()
    names = list(_type_names(rule.written.pattern))
    places = [at.get((name.span.start, name.span.end)) for name in names]
    types = tuple(k for k in places if k is not None and tokens[k].kind == WORD)
    if len(types) < len(names):
        return (), ()
    return types, tuple(rule.shaped.types.index(name.name) for name in names)


def _type_names(part: syntax.Part) -> Iterator[syntax.TypeName]:
    match part:
        case syntax.Component(types=types):
            yield from types
        case syntax.Group(parts=parts):
            for one in parts:
                yield from _type_names(one)
        case syntax.Negation(body=body):
            yield from _type_names(body)


def _value(token: Token) -> float | str | None:
    """The value of a number or string token; None if only the parser can tell."""
    if token.kind == INTEGER:
        return int(token.text) if len(token.text) <= MAX_DIGITS else None
    if token.kind == DECIMAL:
        return float(token.text)
    quote = token.text[0]
    return None if lone_surrogate(token.text) is not None else token.text[1:-1].replace(quote * 2, quote)


def _is_word(name: str) -> bool:
    """Whether a name is a keyword of the language, and so could not stand for a type."""
    return _words().fullmatch(name) is not None


@cache
def _words() -> re.Pattern[str]:
    return re.compile(any_of(("GROUP", *CLAUSES, *OPERATORS, *CONSTANTS)), re.IGNORECASE)
