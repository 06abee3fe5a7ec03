"""BLAS as in every run; to be set before numpy is imported."""

from erlbench.threads import choose_kernels, limit_threads

limit_threads()
choose_kernels()
