"""Groups rules by shape; rules that cannot be matched together with others stand alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from augury.bind import bind
from augury.engine.rules.rule_text import GroupedRule, TextShape, Tokens, text_shape, tokens_of
from augury.engine.rules.shapes import Shape, shaped
from augury.engine.rules.table import Rule
from augury.errors import QueryError
from augury.ir import syntax
from augury.lang import parse
from augury.options import Options
from augury.schema import EventSchema
from augury.source import Source

MAX_TEXTS = 10_000  # texts that are cached, so that years of edits do not fill the memory

MAX_TEMPLATES = 64  # templates kept per text with other parameters; a new rule is compared with each


class RuleShapes:
    """Finds the shapes of rules over events of one schema.

    Rules whose texts differ only in what is lifted out of them, numbers, strings and types, are read and bound once.
    """

    def __init__(self, schema: EventSchema, options: Options) -> None:
        self.schema, self.options = schema, options
        self.bound = 0
        """How many rules were bound because no template of their shape was known."""
        self._parsed: dict[str, tuple[syntax.Query, ...]] = {}
        self._open: dict[str, list[tuple[int, ...]]] = {}
        """By the token kinds of a text, the places of tokens that may differ."""
        self._known: dict[Hashable, list[TextShape]] = {}

    def shape(self, rule: Rule) -> GroupedRule | None:
        """The rule with its shape; None for one that stands alone, which includes rules with errors."""
        parameters = options_of(self.options, rule).parameters
        tokens = tokens_of(rule.query)
        kinds = tokens.kinds
        for places in self._open.get(kinds, ()):
            for known in self._known.get(_key(tokens, places), ()):
                again = known.reused(rule, tokens, parameters)
                if again is not None:
                    return again
        found = self._bound(rule, parameters)
        text = None if found is None else text_shape(found, tokens, parameters)
        if text is not None:
            if text.places not in self._open.setdefault(kinds, []):
                self._open[kinds].append(text.places)
            alike = self._known.setdefault(_key(tokens, text.places), [])
            if len(alike) < MAX_TEMPLATES:
                alike.append(text)
        return found

    def _bound(self, rule: Rule, parameters: Mapping[str, Any]) -> GroupedRule | None:
        source = source_of(rule)
        self.bound += 1
        if len(self._parsed) >= MAX_TEXTS:
            self._parsed.clear()
            self._open.clear()
            self._known.clear()
        try:
            if rule.query not in self._parsed:
                self._parsed[rule.query] = parse(source).queries
            queries = self._parsed[rule.query]
            if len(queries) > 1:
                return None
            bound = bind(queries[0], self.schema, source, parameters=parameters, functions=self.options.functions)
        except QueryError:
            # Compiling it alone reports the errors in full.
            return None
        found = shaped(bound)
        return None if found is None else GroupedRule(rule, queries[0], found)


def _key(tokens: Tokens, places: tuple[int, ...]) -> Hashable:
    return tokens.kinds, places, tokens.without(places)


def grouped(rules: Iterable[Rule], schema: EventSchema, options: Options) -> tuple[list[list[GroupedRule]], list[Rule]]:
    """The groups of rules of one shape, and the rules that stand alone."""
    shapes, groups, alone = RuleShapes(schema, options), dict[Shape, list[GroupedRule]](), list[Rule]()
    by_object: dict[int, list[GroupedRule]] = {}
    """The groups by the object of their shape, which rules of one text share: to hash a shape takes long."""
    for rule in rules:
        found = shapes.shape(rule)
        if found is None:
            alone.append(rule)
            continue
        shape = found.shaped.shape
        group = by_object.get(id(shape))
        if group is None:
            group = by_object[id(shape)] = groups.setdefault(shape, [])
        group.append(found)
    # A single rule gets a better plan alone: the planner knows its values.
    alone += [group[0].rule for group in groups.values() if len(group) == 1]
    return [group for group in groups.values() if len(group) > 1], alone


def source_of(rule: Rule) -> Source:
    """The text of a rule, under its name."""
    return Source(rule.query, rule.id)


def options_of(options: Options, rule: Rule) -> Options:
    """The options of one rule, whose own parameters override those of all rules."""
    return replace(options, parameters={**options.parameters, **rule.parameters})
