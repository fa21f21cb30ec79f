"""Plans: one dataclass module a family."""

from __future__ import annotations

from typing import TypeAlias

from augury.plan.choice import Choice, Dearer
from augury.plan.components import Absence, Component, Computed
from augury.plan.eager_nfa import EagerNfaPlan, NfaBranch
from augury.plan.event_sets import EventSetsPlan, SetBranch
from augury.plan.lazy_chain import Bound, ChainBranch, ChainStep, Key, LazyChainPlan, LazyTreePlan, Near, Negation, Way
from augury.plan.linked import LinkedPlan
from augury.plan.lossy import LossyEdge, LossyPlan, ScoreTable
from augury.plan.reference import ReferencePlan
from augury.plan.statistics import GivenStatistics, Statistics, StreamStatistics
from augury.plan.unsupported import Unsupported

FAMILIES = ("reference", "eager-nfa", "lazy-chain", "lazy-tree", "event-sets", "linked", "lossy")
"""Every evaluator a caller may ask for by name."""

Plan: TypeAlias = "EagerNfaPlan | EventSetsPlan | LazyChainPlan | LazyTreePlan | LinkedPlan | LossyPlan | ReferencePlan"

__all__ = [
    "FAMILIES",
    "Absence",
    "Bound",
    "ChainBranch",
    "ChainStep",
    "Choice",
    "Component",
    "Computed",
    "Dearer",
    "EagerNfaPlan",
    "EventSetsPlan",
    "GivenStatistics",
    "Key",
    "LazyChainPlan",
    "LazyTreePlan",
    "LinkedPlan",
    "LossyEdge",
    "LossyPlan",
    "Near",
    "Negation",
    "NfaBranch",
    "Plan",
    "ReferencePlan",
    "ScoreTable",
    "SetBranch",
    "Statistics",
    "StreamStatistics",
    "Unsupported",
    "Way",
]
