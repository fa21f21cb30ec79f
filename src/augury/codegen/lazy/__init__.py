"""LazyChainPlan -> source of lazy chains (paper 000)."""
