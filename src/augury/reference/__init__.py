"""SEMANTICS in slow, obvious Python: the oracle every other evaluator is tested against."""

from augury.reference.kernel import ReferenceKernel

__all__ = ["ReferenceKernel"]
