"""The compiled library that kernels call: plain Python for Numba, and LLVM instructions for some of its functions."""
