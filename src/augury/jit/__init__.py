"""Source text -> callables: compiling, the cache on disk, tiers; the only room that imports numba."""
