"""What runs a compiled source over batches, one folder a family."""

from augury.kernels.eager.kernel import EagerKernel
from augury.kernels.lazy.kernel import LazyKernel
from augury.kernels.linked.kernel import LinkedKernel
from augury.kernels.lossy.kernel import LossyKernel
from augury.kernels.sets.kernel import EventSetKernel

__all__ = ["EagerKernel", "EventSetKernel", "LazyKernel", "LinkedKernel", "LossyKernel"]
