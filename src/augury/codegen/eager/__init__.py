"""EagerNfaPlan -> source of NFA^b (paper 001)."""
