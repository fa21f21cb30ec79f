"""Plans: one module of dataclasses a family."""

from __future__ import annotations

from augury.plan.choice import Choice, RejectedPlan
from augury.plan.components import Absence, Component, Computed
from augury.plan.eager_nfa import EagerNfaPlan, Gap, Loop, NfaBranch, NfaState, Phase, Round
from augury.plan.event_sets import EventSetsPlan, SetBranch
from augury.plan.family import FamilyName, Plan
from augury.plan.lazy_chain import (
    Bound,
    ChainBranch,
    ChainStep,
    ChainVariant,
    Key,
    LazyChainPlan,
    LazyTreePlan,
    NearLists,
    Negation,
)
from augury.plan.linked import LinkedPlan
from augury.plan.lossy import LossyEdge, LossyPlan, ScoreTable
from augury.plan.reference import ReferencePlan
from augury.plan.statistics import GivenStatistics, Statistics, StreamStatistics
from augury.plan.unsupported import Unsupported

__all__ = [
    "Absence",
    "Bound",
    "ChainBranch",
    "ChainStep",
    "ChainVariant",
    "Choice",
    "Component",
    "Computed",
    "EagerNfaPlan",
    "EventSetsPlan",
    "FamilyName",
    "Gap",
    "GivenStatistics",
    "Key",
    "LazyChainPlan",
    "LazyTreePlan",
    "LinkedPlan",
    "Loop",
    "LossyEdge",
    "LossyPlan",
    "NearLists",
    "Negation",
    "NfaBranch",
    "NfaState",
    "Phase",
    "Plan",
    "ReferencePlan",
    "RejectedPlan",
    "Round",
    "ScoreTable",
    "SetBranch",
    "Statistics",
    "StreamStatistics",
    "Unsupported",
]
