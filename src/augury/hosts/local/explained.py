"""Explains a query: its syntax, the stages of the compiler, and why it finds no match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from augury.arguments import text
from augury.budget import within
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import Schema, known_events
from augury.errors import HostError
from augury.explain.explanation import Explanation, explanation_of_run
from augury.explain.text import STAGES, unknown_stage
from augury.hosts.local.query import QueryText, compile, run
from augury.ir.syntax import Program
from augury.lang import parse as parsed
from augury.options import MatchOptions, StageName, read_options
from augury.printable import printable

if TYPE_CHECKING:
    from augury.explain.why_not.result import WhyNot


def parse(text: QueryText) -> Program:
    """The queries of a text, or of a file given as a `Path`, as a tree; only syntax is checked."""
    return parsed(query_source(text))


def explain(
    query: QueryText | Matches,
    schema: Schema | None = None,
    *,
    stage: StageName = "plan",
    **options: Unpack[MatchOptions],
) -> Explanation:
    """A query after a stage of the compiler: its "syntax", "bound", "rewritten", "plan" or "kernel" stage.

    The arguments are those of `compile`; only the syntax can be told without a schema. Of matches it tells how they
    were found: by which plan, where the time of the call went, and with `counters` how many partial matches there were
    beside those that were expected.
    The result is a string that notebooks show as a picture; `to_svg`, `to_mermaid` and `to_json` give its other forms.

    >>> print(explain("pattern sequence(A a, B b) within 90 seconds", stage="syntax"))
    PATTERN   SEQ(A a, B b)
    WITHIN    90 seconds
    """
    if text("stage", stage) not in STAGES:
        raise unknown_stage(stage)
    if isinstance(query, Matches) and query.compiled is not None:
        return explanation_of_run(query.compiled, stage, query.counters, query.times)
    if stage == "syntax" and not isinstance(query, Matches):
        program = parse(query)
        return Explanation(printable(str(program)), stage, program.queries)
    if schema is None or isinstance(query, Matches):
        raise HostError("A524", f"stage `{stage}` depends on the columns of the events", "give a schema, or the events")
    return compile(query, schema, **options).explain(stage)


def why_not(
    events: Events,
    query: QueryText,
    *,
    rows: Mapping[str, int | Iterable[int]] | None = None,
    sample: int | None = None,
    **options: Unpack[MatchOptions],
) -> WhyNot:
    """Why a query has no match, or why the events at certain `rows` are none.

    It says how many events are left after each demand of the query, the first that leaves nothing, and which partial
    match came nearest to a match and what failed it. `rows` gives for some variables the row of an event, or several
    for a list: then the answer is about these very events. Of more than `sample` events, by default 5,000, a part is
    looked at, and the answer says which. The other arguments are those of `match`.

    >>> events = [{"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "B", "x": 3}]
    >>> print(why_not(events, "SEQ(A a, B b) WHERE b.x > a.x WITHIN 1 minute"))
    No match in 2 events.
    <BLANKLINE>
    left after                      events  a  b
    ------------------------------  ------  -  -  ---------------
    type                            2       1  1  a: `A`, b: `B`
    order                           2       1  1
    window                          2       1  1  WITHIN 1 minute
    conditions over several events  0       0  0  b.x > a.x
    <BLANKLINE>
    Nearest miss, without b:
      a: row 0  ts=1 type=A x=5
    It fails at conditions over several events:
      b: row 1  ts=2 type=B x=3
      b.x > a.x is not true: b.x = 3, a.x = 5
    """
    from augury.explain.why_not.answer import why_not_in

    roles, chosen = read_options(options)
    chosen = chosen.watched()
    with within(chosen.watching):
        source = query_source(query)
        known = known_events(events, roles, chosen.threads)
        found = Matches.nothing() if known is None else run(known, source, chosen)[-1]
        return why_not_in(found, chosen, rows=rows, sample=sample)
