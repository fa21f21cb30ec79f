"""The compiled library that kernels call: plain Python that Numba compiles, and intrinsics in its place."""
