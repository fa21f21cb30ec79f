"""What there is to say about a plan, one module a family; `explain` lays it out."""

from augury.planner.describe.eager_nfa import describe_eager_nfa
from augury.planner.describe.event_sets import describe_event_sets
from augury.planner.describe.lazy_chain import describe_lazy_chain, describe_lazy_tree
from augury.planner.describe.linked import describe_linked
from augury.planner.describe.lossy import describe_lossy
from augury.planner.describe.table import Description, Table

__all__ = [
    "Description",
    "Table",
    "describe_eager_nfa",
    "describe_event_sets",
    "describe_lazy_chain",
    "describe_lazy_tree",
    "describe_linked",
    "describe_lossy",
]
