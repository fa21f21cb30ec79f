"""Plan -> kernel: readable Python source specialised to the query, compiled by Numba."""

from augury.codegen.eager_kernel import EagerKernel
from augury.codegen.event_sets_kernel import EventSetKernel
from augury.codegen.lazy_kernel import LazyKernel
from augury.codegen.linked_kernel import LinkedKernel
from augury.codegen.lossy_kernel import LossyKernel

__all__ = ["EagerKernel", "EventSetKernel", "LazyKernel", "LinkedKernel", "LossyKernel"]
