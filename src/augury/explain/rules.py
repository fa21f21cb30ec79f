"""Explanation of a table of rules: the shapes that are matched together, rules matched alone, and broken rules."""

from __future__ import annotations

from collections.abc import Sequence

from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.rules.group import Group, compile_group
from augury.engine.rules.grouping import source_of
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.shapes import Shape, role, why_alone
from augury.engine.rules.table import Rule
from augury.errors import AuguryError
from augury.ir.text import query_text
from augury.ir.unbind import unbind_query
from augury.options import Options
from augury.printable import one_line, printable

NAMED_RULES = 6  # rules of a shape listed by name, before "and ... more"


def explain_rules(
    groups: Sequence[Sequence[GroupedRule]],
    alone: Sequence[tuple[Rule, CompiledProgram]],
    broken: Sequence[tuple[Rule, AuguryError]],
    options: Options,
) -> str:
    """The shapes of rules with the plan they share, the rules that are matched alone, and the broken ones."""
    together, shapes = sum(map(len, groups)), f"{len(groups)} shape{'' if len(groups) == 1 else 's'}"
    total = together + len(alone) + len(broken)
    out = [f"{total} rules: {together} matched together in {shapes}, {len(alone)} alone, {len(broken)} broken"]
    for k, group in enumerate(groups, 1):
        out += ["", *_shape(k, group, options)]
    if alone:
        out += ["", "alone"]
        out += [f"  {_name(rule)}: {_alone(program)}" for rule, program in alone]
    if broken:
        out += ["", "broken"]
        out += [f"  {_name(rule)}: {str(error).splitlines()[0]}" for rule, error in broken]
    # Names of rules and columns may contain control sequences of terminals.
    return printable("\n".join(out))


def _shape(number: int, rules: Sequence[GroupedRule], options: Options) -> list[str]:
    group = Group.of([rule.shaped for rule in rules])
    first, shape = rules[0], group.shape
    query = compile_group(group, source_of(first.rule), first.written, options, None)
    out = [f"shape {number}: {len(rules)} rules, one kernel ({_plan(query)})"]
    out += [f"    {line}" for line in query_text(unbind_query(shape.query)).splitlines()]
    out += [f"    {line}" for line in _differences(shape, rules)]
    named = [_name(rule.rule) for rule in rules[:NAMED_RULES]]
    more = f" and {len(rules) - NAMED_RULES} more" if len(rules) > NAMED_RULES else ""
    return [*out, f"    rules: {', '.join(named)}{more}"]


def _differences(shape: Shape, rules: Sequence[GroupedRule]) -> list[str]:
    """The differences between rules of one shape: columns that stand for values, and names that stand for types."""
    found = [f"`{shape.columns.rule}` is the number of a rule"]
    for k in range(len(shape.value_types)):
        values = {rule.shaped.values[k] for rule in rules}
        found.append(f"`{shape.columns.of_value(k)}` is {_values(values)}")
    if shape.typed:
        for k in range(len(rules[0].shaped.types)):
            found.append(f"`{role(k)}` is {_values({rule.shaped.types[k] for rule in rules})}")
    return found


def _values(values: set[float | str] | set[str]) -> str:
    if len(values) == 1:
        return f"{next(iter(values))!r} in all of them"
    return f"one of {len(values)} values, from {min(values)!r} to {max(values)!r}"


def _alone(program: CompiledProgram) -> str:
    if len(program.queries) > 1:
        why = "it is a program of several queries"
    else:
        why = why_alone(program.last.bound) or "no other rule has its shape"
    return f"{why} ({_plan(program.last)})"


def _plan(query: CompiledQuery) -> str:
    return query.choice.plan.family


def _name(rule: Rule) -> str:
    return f"`{one_line(rule.id, 40)}`"
