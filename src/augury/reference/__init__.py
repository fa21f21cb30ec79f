"""The reference evaluator: SEMANTICS in slow, obvious Python, the oracle for tests of every other evaluator."""

from augury.reference.kernel import ReferenceKernel

__all__ = ["ReferenceKernel"]
