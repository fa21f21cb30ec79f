"""Plan -> kernel: readable Python source specialised to the query, compiled by Numba."""

from augury.codegen.eager_kernel import EagerKernel

__all__ = ["EagerKernel"]
