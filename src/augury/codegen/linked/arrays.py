"""The arrays of linked chains: one table, in the order that generated functions take them.

A link is an event of a chain that ends a partial match. A list stands for one way to choose a chain for each component
up to some component. A final is a match, or a combination of chains with one.
"""

from __future__ import annotations

from augury.runtime.arrays import UINT8, ArraySpec

LINKS, LISTS, PARTITIONS, CHAINS, FINALS, DEPTHS = "links", "lists", "partitions", "chains", "finals", "depths"
"""What arrays have a cell for. `DEPTHS` are those of one walk back through the links."""


def linked_arrays(components: int = 1) -> tuple[ArraySpec, ...]:
    """The arrays of a kernel for a pattern of so many components."""
    return (
        ArraySpec("link_event", refers_to="events", owner=LINKS, holds="its event"),
        ArraySpec("link_before", refers_to=LINKS, owner=LINKS, holds="the link before it in its chain, or -1"),
        ArraySpec(
            "link_above", refers_to=LINKS, owner=LINKS, holds="the last link of the list before, when it was made"
        ),
        ArraySpec("link_list", refers_to=LISTS, owner=LINKS, holds="its list"),
        ArraySpec("list_parent", refers_to=LISTS, owner=LISTS, holds="the list of the component before, or -1"),
        ArraySpec("list_chain", refers_to=CHAINS, owner=LISTS, holds="its chain"),
        ArraySpec("list_tail", refers_to=LINKS, owner=LISTS, holds="its last link, or -1"),
        ArraySpec(
            "list_next", refers_to=LISTS, owner=LISTS, holds="the next list of its component, -2 if it is let go"
        ),
        ArraySpec(
            "list_child", owner=LISTS, holds="its newest list of the component after, or its newest final, or -1"
        ),
        ArraySpec("list_depth", refers_to="components", owner=LISTS, holds="its component"),
        ArraySpec(
            "first_list",
            refers_to=LISTS,
            owner=PARTITIONS,
            rows=components,
            fill=-1,
            holds="its newest list of each component, or -1",
        ),
        ArraySpec("live_lists", owner=PARTITIONS, holds="how many lists it has"),
        ArraySpec("growing", owner=PARTITIONS, holds="the components whose chains the last event is in, as bits"),
        ArraySpec(
            "newest_chain", refers_to=CHAINS, owner=PARTITIONS, rows=components, holds="its chain of each component"
        ),
        ArraySpec(
            "root_list", refers_to=LISTS, owner=PARTITIONS, fill=-1, holds="its list of the first component, or -1"
        ),
        ArraySpec("chain_last", refers_to="events", owner=CHAINS, holds="its last event"),
        ArraySpec("final_parent", refers_to=LISTS, owner=FINALS, holds="the list of the component before the last"),
        ArraySpec("final_chain", refers_to=CHAINS, owner=FINALS, holds="the chain of the last component"),
        ArraySpec("final_given", owner=FINALS, holds="1 if it has been reported"),
        ArraySpec(
            "final_above", refers_to=LINKS, owner=FINALS, holds="the last link of the list before, when it was made"
        ),
        ArraySpec(
            "final_own", refers_to=LINKS, owner=FINALS, holds="the last link of the last component's own list, or -1"
        ),
        ArraySpec("final_events", refers_to="events", owner=FINALS, width=components, holds="its events"),
        ArraySpec("path_event", refers_to="events", more=components, holds="the event of each component on a way back"),
        ArraySpec("best_event", refers_to="events", more=components, holds="those of the latest match of one event"),
        ArraySpec("keep", UINT8, more=1, holds="1 if nothing negated rejects a match"),
    )


def walk_arrays(components: int = 1) -> tuple[ArraySpec, ...]:
    """The stack of a walk back through single events and lists."""
    return (
        ArraySpec("stack_event", refers_to="events", owner=DEPTHS, holds="the event that is bound"),
        ArraySpec("stack_component", refers_to="components", owner=DEPTHS, holds="its component"),
        ArraySpec("stack_count", owner=DEPTHS, holds="how many events of its list are bound so far"),
        ArraySpec("stack_own", refers_to=LINKS, owner=DEPTHS, holds="the link to try next in its own chain, or -1"),
        ArraySpec(
            "stack_above", refers_to=LINKS, owner=DEPTHS, holds="the link to try next in the chain before, or -1"
        ),
        ArraySpec("stack_left", owner=DEPTHS, holds="what is left to do: `OPEN`, `LEFT` or `DONE`"),
        ArraySpec("stack_link", refers_to=LINKS, owner=DEPTHS, holds="its link"),
        ArraySpec("stack_matches", owner=DEPTHS, holds="how many matches there were when it was bound"),
        ArraySpec(
            "link_dead", owner=DEPTHS, holds="of each link: one more than the last event it led to no match with"
        ),
        ArraySpec(
            "bound_depth", more=components + 1, fill=None, holds="where each component was bound; last, the depth"
        ),
    )


def combine_arrays(components: int = 1) -> tuple[ArraySpec, ...]:
    """The arguments of `combine`: the finals, where to write matches, and the links that it goes back through."""
    out = ArraySpec("out_events", refers_to="events", owner="matches", width=components, fill=None, holds="its events")
    names = ("link_event", "link_before", "link_above", "list_tail", "path_event")
    return (*_some("final_above", "final_events"), out, *_some(*names))


def combine_lists_arrays() -> tuple[ArraySpec, ...]:
    """The first arguments of `combine` where matches have lists: the finals, and where to write matches."""
    out = tuple(ArraySpec(name, owner="events of matches", fill=None) for name in ("out_events", "out_codes"))
    offsets = ArraySpec("out_offsets", owner="matches", more=1)
    return (*_some("final_own", "final_above", "final_events"), *out, offsets)


def walked_arrays(components: int = 1) -> tuple[ArraySpec, ...]:
    """The arguments of a walk: the links, and its stack."""
    return (*_some("link_event", "link_before", "link_above"), *walk_arrays(components))


def _some(*names: str) -> tuple[ArraySpec, ...]:
    by_name = {spec.name: spec for spec in linked_arrays()}
    return tuple(by_name[name] for name in names)
