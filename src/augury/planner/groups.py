"""Groups as loops of an automaton, with conditions over the names that variables have in its rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Event, Repeat, event_of, groups, variable_of
from augury.ir.predicate import (
    Aggregate,
    Compare,
    Conjunct,
    Element,
    Expr,
    InRound,
    ListLength,
    Literal,
    Or,
    Ref,
    conjunct,
    variables,
    walk,
)
from augury.ir.predicate import map_children as map_operands
from augury.ir.query import BoundQuery, Variable
from augury.ir.terms import Strategy
from augury.plan import Absence, Component, Computed, Gap, Loop, NfaBranch, Round
from augury.planner.components import UnsupportedQuery, compiled_conjuncts, component, placed_absence
from augury.planner.rounds import BranchPart, GroupRounds, RoundCopy, parts_of
from augury.schema import INT


def looped_branches(query: BoundQuery) -> tuple[tuple[NfaBranch, ...], tuple[Computed, ...], dict[str, str]]:
    """An automaton per branch of a query with groups, the computed columns, and the variable behind each name.

    Raises `UnsupportedQuery` for conditions on taken rounds that a run does not remember.
    """
    if query.totals:
        raise UnsupportedQuery("sums over all matches, and over the rounds of a group in them", query.pattern.span)
    by_name = {group.variable: group for group in groups(query.pattern)}
    conjuncts = normal_conjuncts(query.conjuncts, query.pattern_order)
    found, computed, names = [], dict[str, Computed](), dict[str, str]()
    for branch in branches(query.pattern):
        if not branch.components:
            continue
        if not branch.sequential or (branch.sets and not query.declarative):
            raise UnsupportedQuery("an AND binds its parts in any order, an automaton only in one", query.pattern.span)
        built = _Builder(query, branch, tuple(parts_of(query, branch, by_name, conjuncts)), conjuncts)
        if len(set(built.all_names)) < len(built.all_names):
            raise UnsupportedQuery("a variable that is called like a round of a group", query.pattern.span)
        plan, columns = built.branch()
        found.append(plan)
        computed |= {c.name: c for c in columns}
        names |= built.stands_for
    return tuple(found), tuple(computed.values()), names


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the automaton of one branch."""

    query: BoundQuery
    found: Branch
    places: tuple[BranchPart, ...]
    conjuncts: Sequence[Conjunct]

    @property
    def rounds(self) -> dict[str, GroupRounds]:
        return {place.variable: place for place in self.places if isinstance(place, GroupRounds)}

    @property
    def stands_for(self) -> dict[str, str]:
        """The variable of the query behind each name that it has in rounds."""
        return {name: v for r in self.rounds.values() for copy in r.copies for v, name in copy.names.items()}

    @property
    def all_names(self) -> list[str]:
        """The names of the query, which may be arbitrary, and the names that its variables have in rounds."""
        rounds = self.rounds.values()
        latest = [r.latest(v) for r in rounds for v in r.inside]
        return [
            *self.query.pattern_order,
            *latest,
            *(n for r in rounds for c in r.copies for n in c.all_names.values()),
        ]

    def branch(self) -> tuple[NfaBranch, tuple[Computed, ...]]:
        """The automaton, and the columns that the host computes for its conditions."""
        placed, computed = compiled_conjuncts(self._plain([*self._written()]))
        components: list[Component] = []
        gaps: list[Gap] = []
        loops: list[Loop] = []
        known: list[str] = []
        for place in self.places:
            if not isinstance(place, GroupRounds):
                known.append(variable_of(place))
                components.append(component(place, known, placed))
                gaps.append(self._gap(place, self.query.strategy_of(variable_of(place))))
                continue
            rounds = []
            negated, more = self._negated(place)
            computed += more
            for copy in place.copies:
                first = len(components)
                # Conditions read the round before through the variables of the last complete one.
                so_far = [*known, *map(place.latest, place.inside)]
                so_far += [] if copy.initial else [n for c in place.copies if c.initial for n in c.names.values()]
                for k, c in enumerate(copy.body):
                    so_far.append(copy.name(variable_of(c)))
                    components.append(component(_renamed(c, copy.all_names), so_far, placed))
                    gap = (place.variable, copy.further and not copy.initial) if k == 0 else (variable_of(c), False)
                    gaps.append(self._gap(c, self.query.strategy_of(gap[0], inside=gap[1])))
                own = [*self._order_of_places, *map(variable_of, copy.body)]
                absent = tuple(placed_absence(self.query, p, own, negated) for p in place.absent[copy.body])
                kind = copy.goes_on, copy.ends, copy.probes
                rounds.append(Round(first, len(components) - 1, copy.initial, copy.further, absent, *kind))
            known += [n for c in place.copies if c.initial for n in c.names.values()]
            known += [*map(place.latest, place.inside), place.variable]
            whole, more = compiled_conjuncts(self._plain(self._whole(place)))
            computed += more
            loops.append(self._loop(place, tuple(rounds), tuple(whole)))
        # A conjunct that reads no event is tested with the first one.
        constant = tuple(j for j in placed if not j.variables)
        plan = NfaBranch(tuple(components), (), tuple(gaps), loops=tuple(loops))
        for k in plan.entries:
            components[k] = replace(components[k], alone=(*constant, *components[k].alone))
        absent = tuple(self._absence(part, placed) for part in self.found.absent)
        return replace(plan, components=tuple(components), absent=absent), computed

    def _gap(self, c: Event | Repeat, before: Strategy) -> Gap:
        inside = self.query.strategy_of(variable_of(c), inside=True)
        return Gap(before, inside, isinstance(c, Repeat) and c.reluctant)

    def _loop(self, place: GroupRounds, rounds: tuple[Round, ...], whole: tuple[Conjunct, ...]) -> Loop:
        latest = tuple(
            (
                _remembered(place.latest(v), c),
                tuple(copy.name(v) for copy in place.copies if v in copy.names),
            )
            for v, c in place.inside.items()
        )
        group = place.group
        return Loop(place.variable, max(1, group.low), group.high, rounds, place.takes_all, whole, latest)

    @property
    def _order_of_places(self) -> list[str]:
        """The groups, and the variables outside of groups, that the branch binds, in order."""
        return [place.variable if isinstance(place, GroupRounds) else variable_of(place) for place in self.places]

    # -- negated parts ------------------------------------------------------------------------------------------------

    def _negated(self, rounds: GroupRounds) -> tuple[list[Conjunct], tuple[Computed, ...]]:
        """The conditions on the negated parts of a round, over the variables of the query."""
        found = []
        for c in self.conjuncts:
            inside = {v for e in walk(c.expr) if isinstance(e, InRound) for v in variables(e.operand)}
            if not any(self.query[v].negated and self._is_absent(v, rounds) for v in inside):
                continue
            if not self._applies(c):
                continue
            self._check_each(c, [rounds])
            if rounds.variable in c.from_second or any(_other_round(e) for e in walk(c.expr)):
                raise UnsupportedQuery("a condition on what must be absent in a round, and on another round", c.span)
            found.append(conjunct(_of_round(c.expr), self.query.pattern_order))
        return compiled_conjuncts(replace(self.query, conjuncts=tuple(found)))

    def _is_absent(self, variable: str, rounds: GroupRounds) -> bool:
        """Whether a negated variable belongs to a NOT of a group, and not to an UNTIL."""
        return self.query[variable].group == rounds.variable and not any(variable in c.all_names for c in rounds.copies)

    def _absence(self, part: AbsentPart, placed: Sequence[Conjunct]) -> Absence:
        """A negated part next to groups: after one, it is searched for behind the last event of the last round."""
        order = self._order_of_places
        if part.silence is not None and part.after and part.before:
            nearest = max(part.after, key=order.index), min(part.before, key=order.index)
            if any(v in self.rounds for v in nearest):
                raise UnsupportedQuery("NOT ... FOR directly beside a group", part.body.span)
        if part.since is not None and part.since.variable in self.rounds:
            raise UnsupportedQuery("NOT ... SINCE a group", part.body.span)
        after, several = set(part.after), False
        for v in part.after & self.rounds.keys():
            last = {variable_of(body[-1]) for body in self.rounds[v].bodies}
            after = (after - {v}) | last
            several = several or len(last) > 1
        found = placed_absence(self.query, replace(part, after=frozenset(after)), order, placed)
        if several and (found.beside is not None or found.silence is not None):
            raise UnsupportedQuery(
                "a NOT with a strategy or FOR behind a group whose rounds end in several ways", part.body.span
            )
        return found

    # -- conditions ---------------------------------------------------------------------------------------------------

    def _plain(self, conjuncts: Sequence[Conjunct]) -> BoundQuery:
        """The query with only these conditions, and the variables that they read."""
        return replace(self.query, conjuncts=tuple(conjuncts), variables=tuple(self._variables()))

    def _variables(self) -> Iterator[Variable]:
        """All variables that a condition may read, in pattern order."""
        for v in self.query.variables:
            if v.name in self.rounds:
                rounds = self.rounds[v.name]
                inside = [u for u in self.query.variables if u.group == v.name]
                for copy in rounds.copies:
                    yield from (replace(u, name=copy.name(u.name)) for u in inside if u.name in copy.all_names)
                yield from (replace(u, name=rounds.latest(u.name)) for u in inside if u.name in rounds.inside)
                yield v
            elif v.group is None:
                yield v

    @property
    def _order(self) -> tuple[str, ...]:
        return tuple(v.name for v in self._variables())

    def _written(self) -> Iterator[Conjunct]:
        """The conditions tested with an event, over the names that variables have in rounds."""
        for c in self.conjuncts:
            if not self._applies(c):
                continue
            each = [self.rounds[v] for v in c.variables if v in self.rounds and v in c.each]
            if not each:
                if self._completed(c) is None:
                    yield self._named(c)
                continue
            self._check_each(c, each)
            (rounds,) = each
            for copy in rounds.copies:
                if copy.initial and rounds.variable in c.from_second:
                    continue
                if self._current(c, rounds) <= copy.all_names.keys():
                    yield self._named(c, copy)

    def _whole(self, rounds: GroupRounds) -> list[Conjunct]:
        """The conditions tested when the last round of a group is complete."""
        found = [c for c in self.conjuncts if self._applies(c) and self._completed(c) is rounds]
        for c in found:
            if c.each - self.rounds.keys():
                raise UnsupportedQuery(
                    "a condition on each element of a list and on all rounds of a group behind it", c.span
                )
        return [self._named(c) for c in found if not c.each & self.rounds.keys()]

    def _applies(self, c: Conjunct) -> bool:
        """Whether all variables of a condition are bound in this branch, or negated."""
        if not set(c.variables) & set(self.query.group_names):
            return True
        others = [self.query[v] for v in c.variables if v not in self.found.variables]
        if any(v.negated for v in others):
            raise UnsupportedQuery("a condition on the rounds of a group and on what must be absent", c.span)
        return not others

    def _completed(self, c: Conjunct) -> GroupRounds | None:
        """The group whose last round decides a condition; None if the condition reads something after it."""
        places = self._order_of_places
        last = max((v for v in c.variables if v in places), key=places.index, default=None)
        return self.rounds[last] if last in self.rounds and last in c.whole else None

    def _check_each(self, c: Conjunct, each: Sequence[GroupRounds]) -> None:
        last = max(c.variables, key=self._order_of_places.index)
        if len(each) > 1 or each[0].variable != last:
            raise UnsupportedQuery("a condition on each round of a group and on what stands behind it", c.span)
        if last in c.whole:
            raise UnsupportedQuery("a condition on each round of a group and on all of them", c.span)

    def _current(self, c: Conjunct, rounds: GroupRounds) -> set[str]:
        """The variables that a condition reads from the round in which it is tested."""
        return {
            v
            for e in walk(c.expr)
            if isinstance(e, InRound) and e.group == rounds.variable and e.round is Element.EACH
            for v in variables(e.operand)
        }

    def _named(self, c: Conjunct, copy: RoundCopy | None = None) -> Conjunct:
        """A condition over the names that variables have, in the rounds `copy` of a group if it is tested in each."""
        missing: dict[str, None] = {}
        expr = self._rename(c.expr, copy, missing)
        # A condition on a variable that a round does not bind does not apply to the round.
        unbound = [Compare("=", ListLength(v), Literal(0, INT)) for v in missing]
        if unbound:
            expr = Or((*unbound, expr), span=c.span)
        return conjunct(expr, self._order)

    def _rename(self, e: Expr, copy: RoundCopy | None, missing: dict[str, None]) -> Expr:
        match e:
            case InRound(group, Element.EACH, operand):
                assert copy is not None
                return _in_round(operand, copy.all_names)
            case InRound(group, Element.FIRST, operand):
                rounds = self.rounds[group]
                if len([c for c in rounds.copies if c.initial]) > 1:
                    raise UnsupportedQuery(
                        "a condition on the first of the rounds of a group that has alternatives", e.span
                    )
                return _in_round(operand, rounds.copies[0].names)
            case InRound(group, _, operand):
                rounds = self.rounds[group]
                missing |= {rounds.latest(v): None for v in variables(operand) if not rounds.always(v)}
                return _in_round(operand, {v: rounds.latest(v) for v in rounds.inside})
            case Aggregate(variable=group, argument=None) if group in self.rounds:
                return ListLength(group, span=e.span)
            case Aggregate(variable=group, argument=argument, rounds=True) if argument is not None:
                return self._over_rounds(e, self.rounds[group], argument)
            case _:
                return map_operands(lambda child: self._rename(child, copy, missing), e)

    def _over_rounds(self, e: Aggregate, rounds: GroupRounds, argument: Expr) -> Aggregate:
        """An aggregate over all rounds, rewritten to the running totals of the last complete round."""
        read = variables(argument)
        lists = {x.variable for x in walk(argument) if isinstance(x, Ref) and x.element is Element.EACH}
        if e.function in ("first", "last"):
            raise UnsupportedQuery(f"`{e.function}` over the rounds of a group", e.span)
        if not all(map(rounds.always, read)):
            raise UnsupportedQuery("an aggregate over what not every round of a group binds", e.span)
        if lists and lists != read:
            raise UnsupportedQuery(
                "an aggregate over the elements of a list in each round, and over other events of it", e.span
            )
        return replace(e, argument=_in_round(argument, {v: rounds.latest(v) for v in read}), rounds=False)


def _other_round(e: Expr) -> bool:
    return isinstance(e, InRound) and e.round is not Element.EACH


def _of_round(e: Expr) -> Expr:
    """A condition on the rounds of a group, rewritten to one on the variables of each round."""
    return e.operand if isinstance(e, InRound) else map_operands(_of_round, e)


def _in_round(e: Expr, names: Mapping[str, str]) -> Expr:
    match e:
        case Ref(variable) | ListLength(variable):
            return replace(e, variable=names[variable])
        case Aggregate(variable=variable):
            named = replace(e, variable=names[variable])
            return map_operands(lambda child: _in_round(child, names), named)
        case _:
            return map_operands(lambda child: _in_round(child, names), e)


def _renamed(c: Event | Repeat, names: Mapping[str, str]) -> Event | Repeat:
    match c:
        case Event(variable):
            return replace(c, variable=names[variable])
        case Repeat(body, until=until):
            ending = None if until is None else replace(until, variable=names[until.variable])
            return replace(c, body=replace(body, variable=names[body.variable]), until=ending)


def _remembered(name: str, c: Event | Repeat) -> Component:
    """The component that stands for a variable of the last complete round: it takes and tests nothing."""
    return Component(name, event_of(c).types, 1, 1, False, (), (), ())
