"""Rewrite rules, BoundQuery -> BoundQuery: they need no statistics and never change the matches."""

from __future__ import annotations

from collections.abc import Callable

from augury.ir.query import BoundQuery
from augury.rewrite.close_equalities import close_equalities
from augury.rewrite.corr_to_dot_product import corr_to_dot_product
from augury.rewrite.derive_partition_key import derive_partition_key
from augury.rewrite.derive_window import derive_window
from augury.rewrite.drop_reluctant import drop_reluctant
from augury.rewrite.flatten import flatten
from augury.rewrite.push_negation import push_negation
from augury.rewrite.split_absent import split_absent
from augury.rewrite.split_conjuncts import split_conjuncts

RULES: tuple[Callable[[BoundQuery], BoundQuery], ...] = (
    flatten,
    split_absent,
    drop_reluctant,
    push_negation,
    split_conjuncts,
    close_equalities,
    corr_to_dot_product,
    derive_partition_key,
    derive_window,
)


def rewrite(query: BoundQuery) -> BoundQuery:
    """Apply every rule once, in order."""
    for rule in RULES:
        query = rule(query)
    return query


__all__ = ["RULES", "rewrite"]
