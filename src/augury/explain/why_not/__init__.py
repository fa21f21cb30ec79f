"""Why a query has no match: what each of its demands leaves over, and the partial match that got farthest."""
