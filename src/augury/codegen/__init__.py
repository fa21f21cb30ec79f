"""Plan -> kernel: readable Python source specialised to the query, compiled by Numba."""

from augury.codegen.eager_kernel import EagerKernel
from augury.codegen.lazy_kernel import LazyKernel
from augury.codegen.lossy_kernel import LossyKernel

__all__ = ["EagerKernel", "LazyKernel", "LossyKernel"]
