"""One BLAS thread, as in every run; to be set before numpy is imported."""

from erlbench.threads import limit_threads

limit_threads()
